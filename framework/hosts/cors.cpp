#include "hosts/cors.h"

#include <algorithm>
#include <utility>

namespace turnpike::hosts {

namespace {

constexpr std::string_view preflight_age_s = "7200";

}  // namespace

Cors::Cors(std::vector<std::string> origins, CorsHeaders headers)
    : origins_(std::move(origins)), headers_(headers) {
  allows_all_ = std::find(origins_.begin(), origins_.end(), "*") != origins_.end();
}

bool Cors::add_origin(std::string_view origin, ReplyFields& fields) const {
  if (allows_all_) {
    if (origin.empty()) return false;
    fields.add("Access-Control-Allow-Origin", "*");
    return true;
  }
  if (origins_.empty()) return false;
  fields.add("Vary", "Origin");
  if (std::find(origins_.begin(), origins_.end(), origin) == origins_.end()) return false;
  fields.add("Access-Control-Allow-Origin", origin);
  return true;
}

void Cors::add_reply_fields(std::string_view origin, ReplyFields& fields) const {
  if (add_origin(origin, fields)) fields.add("Access-Control-Expose-Headers", headers_.exposed);
}

void Cors::add_preflight_fields(std::string_view origin, std::string_view methods,
                                ReplyFields& fields) const {
  if (!add_origin(origin, fields)) return;
  fields.add("Access-Control-Allow-Methods", methods);
  fields.add("Access-Control-Allow-Headers", headers_.requested);
  fields.add("Access-Control-Max-Age", preflight_age_s);
}

}  // namespace turnpike::hosts

#include "hosts/cors.h"

#include <utility>

namespace turnpike::hosts {

namespace {

constexpr std::string_view preflight_age_s = "7200";

}  // namespace

Cors::Cors(Origins origins, CorsHeaders headers)
    : origins_(std::move(origins)), headers_(headers) {}

bool Cors::add_origin(std::string_view origin, ReplyFields& fields) const {
  if (origins_.allows_all()) {
    if (origin.empty()) return false;
    fields.add("Access-Control-Allow-Origin", "*");
    return true;
  }
  if (origins_.allows_none()) return false;
  fields.add("Vary", "Origin");
  if (!origins_.allows(origin)) return false;
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

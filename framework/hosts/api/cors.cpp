#include "hosts/api/cors.h"

#include <algorithm>
#include <utility>

namespace turnpike::hosts::api {

namespace {

constexpr std::string_view exposed_headers =
    "ETag, Idempotent-Replayed, PAYMENT-REQUIRED, PAYMENT-RESPONSE, RateLimit, RateLimit-Policy, "
    "Retry-After, Server-Timing, Turnpike-Credits-Charged, Turnpike-Credits-Remaining, "
    "Turnpike-Generation, Turnpike-Lane, Turnpike-Reply-From, WWW-Authenticate, X-Request-Id";

// The first is what the official x402 client sends, oddly, in its paid request.
constexpr std::string_view request_headers =
    "Access-Control-Expose-Headers, Authorization, Content-Type, Idempotency-Key, If-None-Match, "
    "PAYMENT-SIGNATURE, X-Request-Id";

constexpr std::string_view preflight_age_s = "7200";

}  // namespace

Cors::Cors(std::vector<std::string> origins) : origins_(std::move(origins)) {
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
  if (add_origin(origin, fields)) fields.add("Access-Control-Expose-Headers", exposed_headers);
}

void Cors::add_preflight_fields(std::string_view origin, std::string_view methods,
                                ReplyFields& fields) const {
  if (!add_origin(origin, fields)) return;
  fields.add("Access-Control-Allow-Methods", methods);
  fields.add("Access-Control-Allow-Headers", request_headers);
  fields.add("Access-Control-Max-Age", preflight_age_s);
}

}  // namespace turnpike::hosts::api

#include "hosts/api/api_host.h"

#include <utility>

namespace turnpike::hosts::api {

namespace {

constexpr CorsHeaders cors_headers = {
    .exposed =
        "ETag, Idempotent-Replayed, PAYMENT-REQUIRED, PAYMENT-RESPONSE, RateLimit, "
        "RateLimit-Policy, Retry-After, Server-Timing, Turnpike-Credits-Charged, "
        "Turnpike-Credits-Remaining, Turnpike-Generation, Turnpike-Lane, Turnpike-Reply-From, "
        "WWW-Authenticate, X-Request-Id",
    // The first is what the official x402 client sends, oddly, in its paid request.
    .requested =
        "Access-Control-Expose-Headers, Authorization, Content-Type, Idempotency-Key, "
        "If-None-Match, PAYMENT-SIGNATURE, X-Request-Id"};

}  // namespace

ApiHost::ApiHost(const ApiHostParts& parts, ApiHostSettings settings)
    : public_routes_(parts.backend, parts.plugin_paths, parts.discovery, parts.runtime.pool(),
                     parts.clock, std::move(settings.build), std::move(settings.reference)),
      account_({parts.authenticator, parts.ledger, parts.statements, parts.calls, parts.free_counts,
                parts.backend, parts.clock, parts.payments},
               std::move(settings.cursor_key)),
      bodies_(settings.bodies_bytes_max, base::limits::request_body_bytes_max),
      calls_(parts.backend, parts.authenticator, bodies_),
      intake_(parts.plugin_paths, parts.authenticator, bodies_),
      host_({parts.runtime, parts.clock, parts.random, parts.access_log}, api_routes(),
            rules(std::move(settings.cors_origins)), {public_routes_, account_, calls_, intake_}) {}

HostRules ApiHost::rules(std::vector<std::string> cors_origins) const {
  return {.cors = Cors(Origins(std::move(cors_origins)), cors_headers),
          .nothing_here = "There is nothing at this path; /openapi.json lists what there is.",
          .authenticates = {PrincipalKind::api_key},
          .authenticate = [this](Headers headers, std::string_view) {
            return account_.authenticate(headers);
          }};
}

}  // namespace turnpike::hosts::api

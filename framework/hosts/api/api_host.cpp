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

constexpr std::string_view account_segment = "{billing_account_id}";

// An API key, and what its row asks of its account.
std::optional<base::Error> authenticate(const AccountReads& reads, const RouteFacts& facts,
                                        Turn& turn, Asked& asked) {
  auto caller = reads.authenticate(turn.request.headers());
  if (!caller.ok()) return std::move(caller).error();
  turn.keep_principal(*caller);
  asked.caller = *std::move(caller);
  if (facts.caller != CallerKind::account) return std::nullopt;
  const bool names_account = facts.path.find(account_segment) != facts.path.npos;
  if (names_account && asked.parameters[0] != asked.caller->account_id) {
    return base::Error{base::ErrorCode::account_forbidden,
                       "An API key reads its own billing account alone."};
  }
  return AccountReads::account_problem(asked.caller->account_status);
}

}  // namespace

ApiHost::ApiHost(const ApiHostParts& parts, ApiHostSettings settings)
    : public_routes_(parts.backend, parts.discovery, parts.runtime.pool(), parts.clock,
                     std::move(settings.build), std::move(settings.reference)),
      account_({parts.authenticator, parts.ledger, parts.statements, parts.calls, parts.free_counts,
                parts.backend, parts.clock},
               std::move(settings.cursor_key)),
      calls_(parts.backend, parts.authenticator, settings.bodies_bytes_max),
      host_({parts.runtime, parts.clock, parts.random, parts.access_log}, api_routes(),
            rules(std::move(settings.cors_origins)), {public_routes_, account_, calls_}) {}

HostRules ApiHost::rules(std::vector<std::string> cors_origins) const {
  return {.cors = Cors(Origins(std::move(cors_origins)), cors_headers),
          .nothing_here = "There is nothing at this path; /openapi.json lists what there is.",
          .authenticate = [this](const RouteFacts& facts, Turn& turn, Asked& asked) {
            return authenticate(account_, facts, turn, asked);
          }};
}

}  // namespace turnpike::hosts::api

#include "hosts/api/api_host.h"

#include "hosts/account/auto_top_up_routes.h"
#include "hosts/account/grant_routes.h"
#include "hosts/account/notice_routes.h"

#include <utility>

namespace turnpike::hosts::api {

namespace {

constexpr CorsHeaders cors_headers = {
    .exposed =
        "ETag, Idempotent-Replayed, PAYMENT-REQUIRED, PAYMENT-RESPONSE, RateLimit, "
        "RateLimit-Policy, Retry-After, Server-Timing, Turnpike-Credits-Charged, "
        "Turnpike-Credits-Remaining, Turnpike-Generation, Turnpike-Lane, Turnpike-Reply-From, "
        "WWW-Authenticate, X-Request-Id",
    // The official x402 client sends the first one, a response field, in its paid request.
    .requested =
        "Access-Control-Expose-Headers, Authorization, Content-Type, Idempotency-Key, "
        "If-None-Match, PAYMENT-SIGNATURE, X-Request-Id"};

}  // namespace

ApiHost::ApiHost(const ApiHostParts& parts, ApiHostSettings settings)
    : public_routes_(parts.backend, parts.plugin_paths, parts.discovery, parts.runtime.pool(),
                     parts.clock, std::move(settings.build), std::move(settings.reference)),
      account_({parts.authenticator, parts.ledger, parts.statements, parts.calls, parts.free_counts,
                parts.backend, parts.clock, parts.payments, parts.shop, parts.notices},
               settings.cursor_key),
      bodies_(settings.bodies_bytes_max, base::limits::request_body_bytes_max,
              base::limits::long_body_bytes_max),
      calls_(parts.backend, parts.authenticator, bodies_),
      intake_(parts.plugin_paths, parts.authenticator, bodies_),
      rooms_{public_routes_, account_, calls_, intake_},
      account_rooms_{account_},
      people_rooms_(parts.people == nullptr ? std::nullopt
                                            : std::optional(account::PeopleRooms{*parts.people})),
      purchase_rooms_(purchase_rooms_of(parts.people)),
      status_routes_(status_routes_of(parts, settings)),
      status_rooms_(status_routes_ ? std::optional(StatusRooms{*status_routes_}) : std::nullopt),
      host_({parts.runtime, parts.clock, parts.random, parts.access_log}, rows(),
            rules(std::move(settings.cors_origins))) {}

std::optional<account::PurchaseRooms> ApiHost::purchase_rooms_of(
    const account::PooledPeople* people) const {
  if (people == nullptr) return std::nullopt;
  return std::optional<account::PurchaseRooms>(
      std::in_place, account::PurchaseRooms{account_, people->parts().clients});
}

std::optional<StatusRoutes> ApiHost::status_routes_of(const ApiHostParts& parts,
                                                      const ApiHostSettings& settings) {
  if (parts.status == nullptr) return std::nullopt;
  return std::optional<StatusRoutes>(std::in_place,
                                     StatusRoutes::Parts{*parts.status, parts.runtime.pool(),
                                                         parts.clock, settings.cursor_key,
                                                         settings.base_url});
}

std::vector<BoundRoute> ApiHost::rows() const {
  std::vector<BoundRoute> rows = bind_routes(api_routes(), rooms_);
  if (status_rooms_) bind_routes(status_routes(), *status_rooms_, rows);
  bind_routes(account::account_routes(), account_rooms_, rows);
  if (people_rooms_) {
    bind_routes(account::people_routes(), *people_rooms_, rows);
    bind_routes(account::grant_routes(), *people_rooms_, rows);
    bind_routes(account::purchase_routes(), *purchase_rooms_, rows);
    bind_routes(account::auto_top_up_routes(), *purchase_rooms_, rows);
    bind_routes(account::notice_routes(), *purchase_rooms_, rows);
  }
  return rows;
}

// A session is accepted only as a Bearer token: this host reads no cookies.
Result<Caller, base::Error> ApiHost::authenticate(const Presented& presented) const {
  const auto token = account_.token_of(presented.headers);
  if (!token.ok()) return token.error();
  if (people_rooms_ && account::is_session_token(*token)) {
    return people_rooms_->people.authenticate(*token, identity::SessionTransport::bearer,
                                              presented);
  }
  return account_.authenticate(presented.headers);
}

HostRules ApiHost::rules(std::vector<std::string> cors_origins) const {
  return {.cors = Cors(Origins(std::move(cors_origins)), cors_headers),
          .nothing_here = "There is nothing at this path; /openapi.json lists what there is.",
          .authenticates = {PrincipalKind::api_key, PrincipalKind::person},
          .authenticate = [this](const Presented& presented) { return authenticate(presented); },
          .step_up_advice =
              [this](const identity::Principal& person) {
                return people_rooms_->people.step_up_advice(person.id);
              }};
}

}  // namespace turnpike::hosts::api

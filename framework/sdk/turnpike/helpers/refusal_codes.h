// The gateway's codes for Refusal::code, each with its HTTP status and the case that it is for. A
// lane may also use its own codes (LaneTraits::codes). The gateway accepts any of its codes in a
// refusal; this list has those that a lane has a reason to use. An unknown code is a fault of the
// plugin. Constants; any Thread may read them.
//
// Helpers are compiled into the plugin that uses them (see mistakes.h).
#pragma once

#include <string_view>

namespace turnpike {

struct RefusalCode {
  std::string_view name;
  int status = 0;
  std::string_view when;
};

inline constexpr RefusalCode refusal_codes[] = {
    // From admit(): the caller's request is wrong.
    {"request.malformed", 400, "a header or a field of the lane's own is not in its form"},
    {"auth.credential_required", 401, "a credential that the lane needs is missing"},
    {"auth.credential_invalid", 401, "the credential is none, was revoked or has ended"},
    {"auth.credential_conflict", 400, "it came with another that says something else"},
    {"account.forbidden", 403, "the credential is right, and not for this operation"},
    // From admit(): the caller has not paid, or cannot pay.
    {"billing.pricing_unavailable", 503, "the operation has no price in this lane"},
    {"billing.credits_exhausted", 402, "what the credential could pay is spent or has expired"},
    {"billing.credits_reserved", 429, "other calls hold what is left: set retry_after_seconds"},
    {"billing.key_cap_reached", 429, "a limit in time is reached: set retry_after_seconds"},
    // From admit(): the request was sent before.
    {"idempotency.conflict", 409, "the key or the payment was used for another request"},
    {"idempotency.in_progress", 409, "its first call is still running"},
    {"idempotency.reply_not_stored", 409, "it was charged, and its reply cannot be given again"},
    // From admit() and NotCharged: the lane failed. Nothing was charged.
    {"billing.ledger_unavailable", 503, "what the lane keeps its books in cannot be reached"},
    {"gateway.overloaded", 503, "the lane has no room: set retry_after_seconds"},
    // From Unknown. It takes no other code, except the lane's own codes with the role
    // CodeRole::outcome_unknown.
    {"billing.settlement_unknown", 503, "what is charged by the gateway's books or the lane's"},
};

}  // namespace turnpike

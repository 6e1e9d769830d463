#include "ledger/replay.h"

#include "crypto/digest.h"

namespace turnpike::ledger {
namespace {

// Digests each text separately, since plain concatenation would be ambiguous.
std::string digest_of(std::initializer_list<std::string_view> texts) {
  std::string digests;
  for (const std::string_view text : texts) {
    const crypto::Sha256 digest = crypto::sha256(text);
    digests.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  }
  return crypto::sha256_hex(digests);
}

}  // namespace

Claim claim_of(const KeyedCall& call) {
  Claim claim;
  claim.key_digest = digest_of({call.scope, call.key});
  claim.request_digest = digest_of({call.method, call.path, call.query, call.body, call.scope});
  claim.request_id = call.request_id;
  claim.is_repeatable = call.method == "GET";
  claim.ends_in_ms = call.ends_in_ms;
  return claim;
}

base::Error error_of(ClaimAnswer::Kind kind) {
  using base::ErrorCode;
  switch (kind) {
    case ClaimAnswer::Kind::conflict:
      return {ErrorCode::idempotency_conflict,
              "This Idempotency-Key was used for another request. Use a new key."};
    case ClaimAnswer::Kind::in_progress:
      return {ErrorCode::idempotency_in_progress,
              "The call that came first under this Idempotency-Key has not ended yet.", 1};
    case ClaimAnswer::Kind::not_stored:
      return {ErrorCode::idempotency_reply_not_stored,
              "The call under this Idempotency-Key was charged, and its reply was too large to be "
              "stored. If that call was told that its settlement is unknown, its charge is given "
              "back. Nothing was charged now. To call again, use a new key."};
    case ClaimAnswer::Kind::outcome_unknown:
      return {ErrorCode::idempotency_outcome_unknown,
              "The call under this Idempotency-Key was cut off by a failure of the gateway. It was "
              "not charged, but whether the provider has done its work is not known. To call "
              "again, use a new key."};
    case ClaimAnswer::Kind::claimed:
    case ClaimAnswer::Kind::replay:
      break;
  }
  return {ErrorCode::gateway_internal, "The gateway failed."};
}

}  // namespace turnpike::ledger

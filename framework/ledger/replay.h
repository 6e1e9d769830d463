// Replays: make repeating a paid call safe. A call with an Idempotency-Key claims the key, durably,
// before units are held or the upstream is asked. Its reply is stored in the transaction that
// charges it, and a repeat of the call under the key gets that reply, free of charge, for 24 hours.
// Any lane may use it: `scope` separates the keys of different payers.
//
// THE LIFE OF A KEY, one row of table `replay`:
//
//   claimed     by one call of one incarnation of a node, until that call must have ended
//   stored      together with the charge; the repeat is answered from it
//   too_large   together with the charge; the repeat is refused and not charged again
//   (no row)    never seen, freed by an outcome that was not charged, or older than 24 hours
//
// The charge and the change from claimed to stored are one transaction, so a claim is never charged
// without a reply. The claim is also a fence: a settlement that no longer owns its claim is rolled
// back. A claim may therefore be taken over as soon as its call is believed dead, because a later
// incarnation of its node has started or the claim has expired; a wrong belief costs the slow call
// its charge, but never charges the caller twice. It is then unknown whether the upstream did its
// work: a GET is run again, any other method is refused (`outcome_unknown`) until the key expires.
//
// Values and Replays, which EscrowLedger implements over the port ReplayStore (store.h). Callers on
// fibers are suspended, plain Threads blocked; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/message.h>
#include <turnpike/result.h>

#include "base/error.h"

namespace turnpike::ledger {

// A call with an Idempotency-Key, as its lane sees it.
struct KeyedCall {
  std::string_view scope;  // owner of the key, such as an account's id
  std::string_view key;
  std::string_view request_id;
  std::string_view method;
  std::string_view path;
  std::string_view query;
  std::string_view body;
  std::int64_t ends_in_ms = 0;  // the call is settled or released by then
};

// The ownership of a key by one call. Only digests of the callers' texts are stored.
struct Claim {
  std::string key_digest;      // of scope and key
  std::string request_digest;  // of everything that identifies the request
  std::string request_id;      // of the call that owns the claim
  bool is_repeatable = false;  // safe to run again after an unknown outcome
  std::int64_t ends_in_ms = 0;
};
[[nodiscard]] Claim claim_of(const KeyedCall& call);

struct KeptReply {
  int status = 0;
  std::vector<OwnedHeader> headers;
  std::string body;
};

// How the reply is stored when its call is charged.
struct ReplyToKeep {
  enum class How : std::uint8_t {
    with_charge,  // in the settlement's transaction
    kept_before,  // ReplayStore::keep() has written it; the settlement activates it
    too_large,
  };
  std::string key_digest;
  std::string request_id;
  How how = How::with_charge;
  KeptReply reply;  // empty unless with_charge
};

struct ClaimAnswer {
  enum class Kind : std::uint8_t {
    claimed,
    replay,           // `reply` is the answer
    conflict,         // the key belongs to another request
    in_progress,      // the call with the key is still running
    not_stored,       // that call was charged; its reply was too large to store
    outcome_unknown,  // that call was cut off uncharged, and must not be run again
  };
  Kind kind = Kind::claimed;
  KeptReply reply = {};
};

class Replays {
 public:
  virtual ~Replays() = default;
  // A reason not to run the call is an error: idempotency.conflict, .in_progress,
  // .reply_not_stored, .outcome_unknown (all 409), billing.ledger_unavailable. Otherwise `claimed`
  // or `replay`.
  [[nodiscard]] virtual Result<ClaimAnswer, base::Error> claim(const Claim& claim) = 0;
  // billing.ledger_unavailable; idempotency.in_progress when another call has taken over the claim.
  [[nodiscard]] virtual Result<Unit, base::Error> keep(const ReplyToKeep& reply) = 0;
  // If the store cannot be reached, the claim ends by its own expiry.
  virtual void free(const Claim& claim) noexcept = 0;
};

// The error for the caller. REQUIRES: `kind` is neither `claimed` nor `replay`.
[[nodiscard]] base::Error error_of(ClaimAnswer::Kind kind);

}  // namespace turnpike::ledger

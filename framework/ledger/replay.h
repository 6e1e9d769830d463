// Replays: what makes the repeat of a paid call safe. A call with an Idempotency-Key claims it,
// durably, before units are held or the upstream is asked. Its reply is stored in the transaction
// that charges it, and whoever repeats the call under the key gets that reply, free of charge, for
// 24 hours. Any lane may use it: `scope` keeps the keys of one payer apart from those of another.
//
// THE LIFE OF A KEY, one row of table `replay`:
//
//   claimed     by one call of one incarnation of a node, until that call must have ended
//   stored      together with the charge; the repeat is answered from it
//   too_large   together with the charge; the repeat is refused and not charged again
//   (no row)    never seen, freed by an outcome that was not charged, or older than 24 hours
//
// The charge and the step from claimed to stored are one transaction, so a claim is never a charge.
// And it is the fence: a settlement whose claim is no longer its own is rolled back. So a claim may
// be taken over as soon as its call is believed dead, because a later incarnation of its node has
// begun or its time is over, and a belief that is wrong costs the slow call its charge, never the
// caller a second one. What nobody knows then is whether the upstream did its work: a GET is run
// again, anything else is refused (`outcome_unknown`) until the key expires.
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

// A call that came with a key, as its lane sees it.
struct KeyedCall {
  std::string_view scope;  // whose key it is, such as an account's id
  std::string_view key;
  std::string_view request_id;
  std::string_view method;
  std::string_view path;
  std::string_view query;
  std::string_view body;
  std::int64_t ends_in_ms = 0;  // it is settled or released by then
};

// The ownership of a key by one call. Digests: the texts are the callers' and none of our business.
struct Claim {
  std::string key_digest;      // of scope and key
  std::string request_digest;  // of everything that makes the call the same call
  std::string request_id;      // of the call that owns the claim
  bool is_repeatable = false;  // it may be run again when nobody knows whether it ran
  std::int64_t ends_in_ms = 0;
};
[[nodiscard]] Claim claim_of(const KeyedCall& call);

struct KeptReply {
  int status = 0;
  std::vector<OwnedHeader> headers;
  std::string body;
};

// The fate of the reply when its call is charged.
struct ReplyToKeep {
  enum class How : std::uint8_t {
    with_charge,  // in the settlement's transaction
    kept_before,  // ReplayStore::keep() has written it; the settlement makes it count
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
    in_progress,      // the call that has it still runs
    not_stored,       // that call was charged; its reply was too large to keep
    outcome_unknown,  // that call was cut off, was not charged, and must not be run again
  };
  Kind kind = Kind::claimed;
  KeptReply reply = {};
};

class Replays {
 public:
  virtual ~Replays() = default;
  // An obstacle is an error: idempotency.conflict, .in_progress, .reply_not_stored,
  // .outcome_unknown (all 409), billing.ledger_unavailable. Otherwise `claimed` or `replay`.
  [[nodiscard]] virtual Result<ClaimAnswer, base::Error> claim(const Claim& claim) = 0;
  // billing.ledger_unavailable; idempotency.in_progress when another call has taken the claim over.
  [[nodiscard]] virtual Result<Unit, base::Error> keep(const ReplyToKeep& reply) = 0;
  // When the store is out of reach the claim ends by its own time.
  virtual void free(const Claim& claim) noexcept = 0;
};

// The error that an answer is to a caller. REQUIRES: it is neither `claimed` nor `replay`.
[[nodiscard]] base::Error error_of(ClaimAnswer::Kind kind);

}  // namespace turnpike::ledger

// Ledger: Credits for the lanes and account routes. Two-phase: hold() reserves units from the
// node's escrow lease in memory; settle() charges them durably together with the usage fact;
// release() returns them. Every hold ends in exactly one of the two; a Hold that is destroyed
// without either is released.
//
// Owned by app/; safe for concurrent use by all loop Threads. hold() and settle() suspend the
// calling fiber (or block a plain Thread) while they wait.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <turnpike/lane.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "ledger/books.h"
#include "ledger/replay.h"
#include "ledger/usage_fact.h"
#include "runtime/deadline.h"

namespace turnpike::ledger {

inline base::Error ledger_unavailable() {
  return {base::ErrorCode::billing_ledger_unavailable,
          "The Credit ledger cannot be reached; nothing was charged.", 1};
}

class Lease;  // the node's escrow on one allocation; see escrow.h

// Units reserved for one call. Movable; belongs to the call's fiber. Returns its units to the lease
// when destroyed, unless they were settled.
class Hold {
 public:
  Hold() = default;
  Hold(std::shared_ptr<Lease> lease, Credits units) : lease_(std::move(lease)), units_(units) {}
  Hold(Hold&& other) noexcept
      : lease_(std::move(other.lease_)), units_(other.units_), more_(std::move(other.more_)) {
    other.forget();
  }
  Hold& operator=(Hold&& other) noexcept {
    if (this != &other) {
      give_back();
      lease_ = std::move(other.lease_);
      units_ = other.units_;
      more_ = std::move(other.more_);
      other.forget();
    }
    return *this;
  }
  ~Hold() { give_back(); }
  [[nodiscard]] Credits units() const noexcept {
    Credits sum = units_;
    for (const Part& part : more_) sum += part.units;
    return sum;
  }

 private:
  friend class Escrow;
  friend class EscrowLedger;
  struct Part {
    std::shared_ptr<Lease> lease;
    Credits units = 0;
  };
  void give_back() noexcept;  // no effect without a lease
  void forget() noexcept {
    lease_.reset();
    units_ = 0;
    more_.clear();
  }

  std::shared_ptr<Lease> lease_;
  Credits units_ = 0;
  std::vector<Part> more_;  // when more than one lease pays
};

struct Settled {
  Credits charged = 0;
  Credits remaining = -1;  // -1: unknown without another read
};
// The transaction is neither known to have committed nor known to have failed.
struct SettlementUnknown {};
struct SettlementRefused {
  base::Error error;
};  // definitely not charged
using Settlement = std::variant<Settled, SettlementRefused, SettlementUnknown>;

struct Balance {
  Credits credits = 0;
  std::int64_t generated_at_ms = 0;
};

// The payer: an account and, when the calling key has spend caps, that key.
struct Payer {
  std::string_view account_id;
  std::string_view capped_key_id = {};  // empty: only the balance bounds the call
};

class Ledger {
 public:
  virtual ~Ledger() = default;
  // Errors: billing.credits_exhausted (402), billing.key_cap_reached (429, until the cap's window
  // ends), billing.credits_reserved (429), billing.ledger_unavailable (503). `until` is the end of
  // the call: the hold outlives it.
  [[nodiscard]] virtual Result<Hold, base::Error> hold(const Payer& payer, Credits units,
                                                       runtime::Deadline until) = 0;
  // Returns when the charge is durable, definitely refused, or unknown after the commit budget; an
  // uncharged call leaves an uncharged fact. `reply`, for a call that claimed an Idempotency-Key,
  // is stored with the charge; idempotency.in_progress when another call has taken over the claim.
  // An unknown settlement that turns out to be uncharged frees the key by itself; after a refusal
  // the caller must free it.
  [[nodiscard]] virtual Settlement settle(Hold hold, OwnedFact fact,
                                          std::unique_ptr<const ReplyToKeep> reply = nullptr) = 0;
  // Returns the units and records the uncharged fact, lazily: losing that fact in a crash is
  // harmless.
  virtual void release(Hold hold, OwnedFact fact) noexcept = 0;
  // The authoritative balance, read now.
  [[nodiscard]] virtual Result<Balance, base::Error> balance(std::string_view account_id,
                                                             runtime::Deadline deadline) = 0;
};

}  // namespace turnpike::ledger

// The books of Credits: what is recorded, what always holds, and the life of a hold.
//
// THE INVARIANT, for every account at every commit:
//
//     granted = remaining + leased + charged + expired + voided
//
//   granted    units of its allocations (corrections included)
//   remaining  units of its allocations that nobody has taken
//   leased     sum over open leases of (granted - settled): escrow in the hands of nodes
//   charged    units of its usage facts
//   expired    remainders of allocations whose time was over;  voided: withdrawn ones
//
// Every movement of units is one append-only row that names where they leave and where they arrive:
// `posting` (issued -> available -> escrow -> available | expired | voided) or, for a charge,
// `fact` (escrow -> charged). Audit (audit.h) adds those rows up and compares them with the totals
// that allocations and leases carry, so a changed, missing or doubled row shows. Facts are chained
// by their hashes besides (chain.h), so it is also named. Not covered: what moves no units, such as
// an allocation's dates.
//
// A charge is never undone: what is given back for it is a correction, which names the fact and has
// an allocation of its own (corrections.h).
//
// THE LIFE OF A HOLD, and where each rule is enforced:
//
//   1 lease    the node draws a lease from the account's allocations, soonest expiry first, ties
//              oldest first, then id (draw.h plans it, LeaseStore::acquire books it in one
//              transaction). Its size follows the account's rate and shrinks with the balance; a
//              call gets its units whole or not at all. In use it is renewed, idle it is returned.
//   2 hold     units leave the lease's free part in memory, nothing is written (escrow.h). Refused
//              when the call could outlive the lease or the database is out of reach.
//   3 settle   the committer (committer.h) collects the settlements of concurrent calls into one
//              transaction (SettlementStream::settle): batch row first, with what it takes from
//              which leases, and facts with their hashes. Every lease has so many units, is open
//              and of the same epoch, or nothing is written. Time is not tested there: a fence is,
//              which moves before anybody else takes units of those leases; clocks serve liveness.
//              Leases are told later, many charges at a time (storage/books/charges.h):
//              `settled` above is what is posted and what is pending.
//   4 answer   only after the commit does settle() return and the reply leave. An unknown commit is
//              proven by the batch row before anything else is written (committer.h). Whoever was
//              told so meanwhile ends uncharged or gets the stored reply (unknown_calls.h).
//   or release units return to the lease in memory; the uncharged fact is recorded lazily.
//
//   A call with an Idempotency-Key claims it durably before step 2, and its reply is stored in the
//   transaction of step 3 (replay.h).
//
//   A crash loses nothing: what was settled is in the books, what was held was never delivered, and
//   the rest of the lease returns when the node starts again or the lease's time is over, whichever
//   is first (LeaseStore::tend). CRASHES.md shows it for every step.
//
// THE LAST UNITS. A call that finds too little recalls what other nodes have leased and do not hold
// (LeaseStore::acquire writes the recall, every node's heartbeat heeds it) and waits for it up to
// 300 ms. 402 is said only when remaining + leased, read in one snapshot, do not pay the call; 429
// when they would, but calls in flight hold them.
//
// SPEND CAPS. A capped key draws leases of its own, which end with the UTC day; the step that takes
// the units counts them in the key's day and month (caps.h, storage/books/key_windows.h), and units
// that return are taken out of the windows they were counted in.
//
// EXPIRY AND VOID. Both end new holds and let admitted calls settle. An expired allocation's
// remainder is posted to `expired` by the heartbeat (never while the clock has jumped ahead), what
// comes back from its leases too. A voided one posts what is free to `voided` at once (`voiding`)
// and the rest as its leases close (`voided`): LedgerStore::void_allocation.
//
// A RESTORED BACKUP begins a new epoch (LedgerStore::restored): leases that nodes believe to have
// from before are closed or of another epoch, and their streams are never written again.
//
// Values; safe on any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::ledger {

// Whole Credits; never negative in the books.
using Credits = std::int64_t;

enum class Origin : std::uint8_t {
  starter_grant,
  purchase,
  auto_top_up,
  operator_grant,
  correction,
};
std::string_view name_of(Origin origin) noexcept;
std::optional<Origin> origin(std::string_view name) noexcept;

enum class AllocationStatus : std::uint8_t { active, exhausted, expired, voided };
std::string_view name_of(AllocationStatus status) noexcept;

// Credits granted to an account from one origin, with an expiry.
struct Allocation {
  std::string id;
  std::string account_id;
  Origin origin = Origin::operator_grant;
  Credits units = 0;
  Credits remaining = 0;  // leased and held units count until they are charged
  std::int64_t created_at_ms = 0;
  std::int64_t effective_at_ms = 0;
  std::int64_t expires_at_ms = 0;
  AllocationStatus status = AllocationStatus::active;
};

// One account's side of the invariant.
struct AccountSums {
  std::string account_id;
  Credits granted = 0;
  Credits remaining = 0;
  Credits leased = 0;
  Credits charged = 0;
  Credits expired = 0;
  Credits voided = 0;

  [[nodiscard]] bool balanced() const noexcept {
    return granted == remaining + leased + charged + expired + voided;
  }
  [[nodiscard]] Credits balance() const noexcept { return granted - charged - expired - voided; }
};

// The last fact of a committer's stream.
struct StreamHead {
  std::int64_t stream = 0;
  std::int64_t seq = 0;
  std::string head;  // its hash
};

// Where the books stand at one moment: what a checkpoint signs.
struct Checkpoint {
  std::int64_t at_ms = 0;           // ledger time
  std::vector<StreamHead> streams;  // by stream
  AccountSums totals;               // of all accounts; its account_id is empty
};

struct Verification {
  std::vector<AccountSums> accounts;  // by account id
  Checkpoint books;
  std::vector<std::string> problems;  // one sentence each; empty: the books are right
};

}  // namespace turnpike::ledger

// The books of Credits: the records, the invariant, and the life of a hold.
//
// THE INVARIANT, for every account at every commit:
//
//     granted = remaining + leased + charged + expired + voided
//
//   granted    units of its allocations (corrections included)
//   remaining  units of its allocations that are not leased
//   leased     sum over open leases of (granted - settled): escrow held by nodes
//   charged    units of its usage facts
//   expired    remainders of expired allocations;  voided: those of withdrawn ones
//
// Every movement of units is one append-only row that names its source and destination: `posting`
// (issued -> available -> escrow -> available | expired | voided) or, for a charge, `fact` (escrow
// -> charged). Audit (audit.h) sums those rows and compares the sums with the totals in allocations
// and leases, so a changed, missing or duplicated row is detected. Facts are also chained by their
// hashes (chain.h), so the faulty fact is identified. Not covered: changes that move no units, such
// as those of an allocation's dates.
//
// A charge is never undone: returning its units is a correction, which names the fact and has an
// allocation of its own (corrections.h).
//
// THE LIFE OF A HOLD, and where each rule is enforced:
//
//   1 lease    the node draws a lease from the account's allocations, soonest expiry first, ties
//              oldest first, then id (draw.h plans it, LeaseStore::acquire books it in one
//              transaction). Its size follows the account's rate and shrinks with the balance; a
//              call gets all of its units or none. Used leases are renewed, idle ones returned.
//   2 hold     units leave the lease's free part in memory, nothing is written (escrow.h). Refused
//              when the call could outlive the lease or the database cannot be reached.
//   3 settle   the committer (committer.h) collects the settlements of concurrent calls into one
//              transaction (SettlementStream::settle): first the batch row with the units per
//              lease, then the facts with their hashes. Every lease must have the units, be open
//              and have the same epoch, or nothing is written. This is checked by a fence, not by
//              time: the fence moves before any other transaction takes units of those leases;
//              clocks only ensure liveness. The leases' rows are updated later, many charges at a
//              time (storage/books/charges.h): `settled` above includes pending charges.
//   4 answer   settle() returns and the reply is sent only after the commit. A commit of unknown
//              outcome is resolved by the batch row before anything else is written (committer.h).
//              A call that was told "unknown" meanwhile ends uncharged or gets the stored reply
//              (unknown_calls.h).
//   or release units return to the lease in memory; the uncharged fact is recorded lazily.
//
//   A call with an Idempotency-Key claims it durably before step 2, and its reply is stored in the
//   transaction of step 3 (replay.h).
//
//   A crash loses nothing: settled calls are in the books, held calls were not delivered, and the
//   rest of the lease returns when the node restarts or the lease expires, whichever is first
//   (LeaseStore::tend). CRASHES.md shows it for every step.
//
// THE LAST UNITS. A call that finds too few units recalls units that other nodes have leased but
// not held (LeaseStore::acquire writes the recall, every node's heartbeat obeys it) and waits for
// them up to 300 ms. The answer is 402 only when remaining + leased, read in one snapshot, do not
// pay the call; 429 when they would, but calls in flight hold them.
//
// SPEND CAPS. A capped key draws leases of its own, which end with the UTC day; the step that takes
// the units counts them in the key's day and month (caps.h, storage/books/key_windows.h), and
// returned units are subtracted from the windows they were counted in.
//
// EXPIRY AND VOID. Both end new holds and let admitted calls settle. The heartbeat posts an expired
// allocation's remainder to `expired` (never while the clock has jumped ahead), as well as units
// that its leases return. A voided allocation's free units are posted to `voided` at once
// (`voiding`), the rest as its leases close (`voided`): LedgerStore::void_allocation.
//
// A RESTORED BACKUP begins a new epoch (LedgerStore::restored): leases that nodes hold from before
// are closed or of another epoch, and their streams are never written again.
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
  Credits remaining = 0;  // includes leased and held units until they are charged
  std::int64_t created_at_ms = 0;
  std::int64_t effective_at_ms = 0;
  std::int64_t expires_at_ms = 0;
  AllocationStatus status = AllocationStatus::active;
};

// One account's terms of the invariant.
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

// The state of the books at one moment, which a checkpoint signs.
struct Checkpoint {
  std::int64_t at_ms = 0;           // ledger time
  std::vector<StreamHead> streams;  // by stream
  AccountSums totals;               // of all accounts; its account_id is empty
};

struct Verification {
  std::vector<AccountSums> accounts;  // by account id
  Checkpoint books;
  std::vector<std::string> problems;  // one sentence each; empty: no fault
};

}  // namespace turnpike::ledger

// The ports under the ledger (storage/ implements them, on SQLite and on PostgreSQL). Each has one
// kind of user: SettlementStream the committer Thread, LeaseStore the escrow Thread, LedgerStore
// anybody. All block; none may be called from a loop Thread.
//
// What a failure says is part of the contract: `unavailable` means that nothing was written and the
// same call may be repeated; `unknown` that the transaction may or may not have committed; `fatal`
// that the store can no longer be trusted and the process must end and recover.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "ledger/books.h"
#include "ledger/ledger.h"

namespace turnpike::ledger {

struct StoreFailure {
  enum class Kind : std::uint8_t { unavailable, unknown, fatal };
  Kind kind = Kind::unavailable;
  std::string text;  // for the operator's log, never for a caller
};
template <class T>
using Stored = Result<T, StoreFailure>;

// ---- leases -------------------------------------------------------------------------------------

struct LeaseRequest {
  std::string account_id;
  Credits needed = 0;        // what calls are waiting for: granted whole, or as far as units reach
  Credits wanted = 0;        // what the account's rate suggests; given as far as the balance allows
  std::int64_t hold_ms = 0;  // new holds may be taken for so long
  std::int64_t settle_ms = 0;  // and settled for so long, before others may reclaim
};

// Units added to the node's lease on one allocation. Durations count from the database's now, so
// the node adds them to a moment before it asked.
struct LeaseGrant {
  std::int64_t lease_id = 0;
  std::int64_t epoch = 0;
  std::string allocation_id;
  std::int64_t created_at_ms = 0;  // of the allocation
  std::int64_t expires_at_ms = 0;
  Credits units = 0;
  std::int64_t hold_ms = 0;
  std::int64_t settle_ms = 0;
};

struct LeaseAnswer {
  std::vector<LeaseGrant> grants;  // in the order to be drawn
  Credits spendable = 0;           // untaken units after the grants, now usable
  Credits leased = 0;              // unsettled units of all open leases, these included
};

struct LeaseReturn {
  std::int64_t lease_id = 0;
  std::int64_t epoch = 0;
};

struct Tended {
  std::int64_t now_ms = 0;      // ledger time: the database's clock, never going back
  std::uint32_t reclaimed = 0;  // leases whose time was over
  std::uint32_t expired = 0;    // allocations whose remainder was posted to `expired`
  bool paused = false;          // the time was not believed: nothing was reclaimed or posted
};

class LeaseStore {
 public:
  virtual ~LeaseStore() = default;
  // All requests in one transaction; one answer each, in order. One open lease per allocation and
  // purpose: a second grant adds to it.
  [[nodiscard]] virtual Stored<std::vector<LeaseAnswer>> acquire(
      std::span<const LeaseRequest> requests) = 0;
  // Closes leases and gives what is unsettled back to their allocations. Leases that are no longer
  // open under that epoch are skipped.
  [[nodiscard]] virtual Stored<Unit> close(std::span<const LeaseReturn> leases) = 0;
  // Moves ledger time on, reclaims leases whose time is over, posts expired remainders; unless the
  // time is later than `latest_ms`, since a clock that jumped must not expire anything.
  [[nodiscard]] virtual Stored<Tended> tend(std::int64_t latest_ms) = 0;
};

// ---- settlement ---------------------------------------------------------------------------------

struct LeaseShare {
  std::int64_t lease_id = 0;
  std::int64_t epoch = 0;
  Credits units = 0;
};

struct SettleEntry {
  const UsageFact* fact = nullptr;
  std::span<const LeaseShare> shares;  // empty when uncharged; their sum is what is charged
};

struct RepeatedMessage {
  std::size_t entry = 0;
  Credits charged = 0;  // what the stored fact of this message was charged
};

// Empty lists: the batch is committed. Otherwise nothing of it is, and it must be redone, under the
// next number, without the repeated messages and the lost leases.
struct SettleAnswer {
  std::vector<RepeatedMessage> repeated;
  std::vector<std::int64_t> lost_leases;
  [[nodiscard]] bool committed() const noexcept { return repeated.empty() && lost_leases.empty(); }
};

class SettlementStream {
 public:
  virtual ~SettlementStream() = default;
  // One transaction. Numbers grow by one for each call, whatever became of it.
  [[nodiscard]] virtual Stored<SettleAnswer> settle(std::int64_t number,
                                                    std::span<const SettleEntry> entries) = 0;
  // After `unknown`: waits for the transaction of that number to end and says whether it committed;
  // if it had not, it never will.
  [[nodiscard]] virtual Stored<bool> committed(std::int64_t number) = 0;
  // Leases for settlements whose own lease was lost, apart from the node's leases.
  [[nodiscard]] virtual Stored<std::vector<LeaseAnswer>> acquire(
      std::span<const LeaseRequest> requests) = 0;
  [[nodiscard]] virtual Stored<Unit> close(std::span<const LeaseReturn> leases) = 0;
};

// ---- the rest -----------------------------------------------------------------------------------

struct GrantRequest {
  std::string account_id;
  Credits units = 0;
  Origin origin = Origin::operator_grant;
  std::int64_t expires_at_ms = 0;
  std::int64_t effective_at_ms = 0;  // 0: now
};

class LedgerStore {
 public:
  virtual ~LedgerStore() = default;
  // A new incarnation of this node: reclaims what its dead predecessors held, then opens.
  [[nodiscard]] virtual Stored<Unit> start() = 0;
  // REQUIRES: start() succeeded. The objects must not outlive the store.
  [[nodiscard]] virtual Stored<std::unique_ptr<SettlementStream>> open_stream() = 0;
  [[nodiscard]] virtual std::unique_ptr<LeaseStore> open_leases() = 0;

  // request.malformed (units or dates), account.absent, billing.ledger_unavailable.
  [[nodiscard]] virtual Result<Allocation, base::Error> grant(const GrantRequest& request) = 0;
  // Read now; nothing for an account without any allocation is 0. billing.ledger_unavailable.
  [[nodiscard]] virtual Result<Balance, base::Error> balance(std::string_view account_id) = 0;
  [[nodiscard]] virtual Result<std::vector<Allocation>, base::Error> allocations(
      std::string_view account_id) = 0;
  // Reads everything, beside running gateways too, and says what is wrong. `earlier`: what the
  // books must still contain; null: nothing.
  [[nodiscard]] virtual Stored<Verification> verify(const Checkpoint* earlier) = 0;
  [[nodiscard]] Stored<Verification> verify() { return verify(nullptr); }
};

}  // namespace turnpike::ledger

// Charging of leases by batches. A batch is one append: its row lists the units that it takes from
// leases, and changes no lease. Every heartbeat sums such lists and posts them to the leases, so a
// settlement writes no row for each account that it charges, and never waits for a transaction that
// grows a lease. Until then the view `lease_now` counts the pending charges; `lease.settled` alone
// is not up to date.
//
// A stream remembers how much each lease can still pay (Payable). Its memory is valid as long as
// the fence in its row of settle_stream does not move: a transaction that takes units out of
// leases, other than by charging, first moves the fence of the node's streams and posts their
// charges. Batches check the fence, so each is wholly before or wholly after such a transaction.
// The protocol does not depend on time.
//
// Lock order on PostgreSQL: fences, then allocations, then leases (leases.h). Free functions inside
// a write transaction throw StoreError; a Payable belongs to one stream. Private to storage/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ledger/store.h"
#include "storage/engine/transaction.h"

namespace turnpike::storage {

constexpr std::int64_t streams_per_incarnation = 64;

inline constexpr Query select_fence{"SELECT fence FROM settle_stream WHERE stream = $1", "i"};

// The units that a batch takes from one lease; lists are ordered by lease.
struct LeaseTotal {
  std::int64_t lease_id = 0;
  std::int64_t epoch = 0;
  std::int64_t units = 0;
};
std::vector<LeaseTotal> lease_totals(std::span<const ledger::SettleEntry> entries);
// The text of settle_batch.charges.
std::string charges_text(std::span<const LeaseTotal> totals);

void open_settle_stream(Transaction& transaction, std::int64_t stream);
// Ends the streams of the node's former incarnations, which never charge again. REQUIRES: their
// leases are closed.
void end_settle_streams(Transaction& transaction, std::string_view node, std::int64_t incarnation);
void end_all_settle_streams(Transaction& transaction);

[[nodiscard]] bool has_pending_charges(Connection& connection, std::int64_t incarnation);
// From here to the commit, no batch of the node commits, and its next batch reads its leases again.
void move_fence(Transaction& transaction, std::int64_t incarnation);
void post_charges(Transaction& transaction, std::int64_t incarnation);
// Blocks other postings until the commit; for transactions that change several leases of the node
// beside its own postings.
void hold_postings(Transaction& transaction, std::int64_t incarnation);

// The remembered leases of a stream, valid since its fence last moved.
class Payable {
 public:
  explicit Payable(std::int64_t stream) : stream_(stream) {}

  // Returns the leases that cannot pay: not open under that epoch, or with too few units. Reads
  // leases that are not remembered yet, and those that seem to lack units, since they may have
  // grown.
  std::vector<std::int64_t> lost(Connection& connection, std::span<const LeaseTotal> totals);
  // The fence that a batch must find; with another fence the result of lost() is invalid.
  [[nodiscard]] std::int64_t fence() const noexcept { return fence_; }
  void forget() noexcept { known_.clear(); }        // the fence has moved
  void charge(std::span<const LeaseTotal> totals);  // records committed charges

 private:
  struct Lease {
    std::int64_t epoch = 0;
    ledger::Credits granted = 0;
    ledger::Credits settled = 0;  // including pending charges; only this stream charges the lease
  };
  [[nodiscard]] bool can_pay(const LeaseTotal& total) const;
  void read(Connection& connection, std::span<const LeaseTotal> totals);

  const std::int64_t stream_;
  std::int64_t fence_ = 0;
  std::unordered_map<std::int64_t, Lease> known_;  // empty: the fence is unknown too
};

}  // namespace turnpike::storage

// The two ways to write a batch of settlements (engine differences are large here, and measured):
// SQLite binds vectors to kept statements inside a transaction; PostgreSQL gets the whole batch as
// JSON in one call of one function, which is a transaction of its own and a single round trip.
//
// Each stream owns its session and the chain of its facts, and is used by one committer Thread. The
// chain is moved on only when a batch is known to have committed: one that is refused is redone
// without what refused it, and hashed anew. Private to storage/.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ledger/chain.h"
#include "ledger/store.h"
#include "storage/leases.h"
#include "storage/stores.h"

namespace turnpike::storage {

// What a batch takes from each lease, ordered by lease.
struct LeaseTotal {
  std::int64_t lease_id = 0;
  std::int64_t epoch = 0;
  std::int64_t units = 0;
};
std::vector<LeaseTotal> lease_totals(std::span<const ledger::SettleEntry> entries);

// The rows that a batch becomes, one after the other.
class BatchRows {
 public:
  BatchRows(const ledger::FactChain& from, std::span<const ledger::SettleEntry> entries)
      : chain_(from), entries_(entries) {}

  bool next();  // false: there are no more
  [[nodiscard]] const ledger::FactRow& fact() const noexcept { return row_; }
  [[nodiscard]] std::span<const ledger::FactShare> shares() const noexcept { return shares_; }
  [[nodiscard]] const std::string& hash() const noexcept { return hash_; }
  // Where the stream stands after the rows so far; hash() is then its head.
  [[nodiscard]] const ledger::FactChain& chain() const noexcept { return chain_; }

 private:
  ledger::FactChain chain_;
  std::span<const ledger::SettleEntry> entries_;  // those still to come
  ledger::FactRow row_;
  std::vector<ledger::FactShare> shares_;
  std::string hash_;
  std::string buffer_;
};

// Entries that repeat the message of an earlier one of the same batch; `charged` is -1.
std::vector<ledger::RepeatedMessage> repeated_within(std::span<const ledger::SettleEntry> entries);

std::unique_ptr<ledger::SettlementStream> make_sqlite_stream(const Context& context,
                                                             std::int64_t incarnation,
                                                             std::int64_t stream);
std::unique_ptr<ledger::SettlementStream> make_postgres_stream(const Context& context,
                                                               std::int64_t incarnation,
                                                               std::int64_t stream);

}  // namespace turnpike::storage

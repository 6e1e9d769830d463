// The two ways to write a batch of settlements (engine differences are large here, and measured):
// SQLite binds vectors to kept statements inside a transaction; PostgreSQL gets the whole batch as
// JSON in one call of one function, which is a transaction of its own and a single round trip.
//
// Each stream owns its session and is used by one committer Thread. Private to storage/.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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

std::int64_t charged_units(const ledger::SettleEntry& entry) noexcept;
// The lease a fact names: 0 none, -1 several.
std::int64_t lease_of(const ledger::SettleEntry& entry) noexcept;

// Entries that repeat the message of an earlier one of the same batch; `charged` is -1.
std::vector<ledger::RepeatedMessage> repeated_within(std::span<const ledger::SettleEntry> entries);

std::unique_ptr<ledger::SettlementStream> make_sqlite_stream(const Context& context,
                                                             std::int64_t incarnation,
                                                             std::int64_t stream);
std::unique_ptr<ledger::SettlementStream> make_postgres_stream(const Context& context,
                                                               std::int64_t incarnation,
                                                               std::int64_t stream);

}  // namespace turnpike::storage

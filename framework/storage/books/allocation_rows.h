// Selects and reads allocations. Free functions over Rows; private to storage/.
#pragma once

#include <cstdint>

#include "ledger/books.h"
#include "storage/engine/connection.h"

namespace turnpike::storage {

// Columns of `allocation a`. Units that open leases have not settled still count as the account's.
#define ALLOCATION_COLUMNS                                                                        \
  "a.id, a.account_id, a.origin, a.units, a.remaining + (SELECT CAST(COALESCE(SUM(granted -"      \
  " settled), 0) AS BIGINT) FROM lease_now l WHERE l.allocation_id = a.id AND l.state = 'open') " \
  "AS"                                                                                            \
  " remaining, a.created_at, a.effective_at, a.expires_at, a.state, a.expired"
inline constexpr char allocation_kinds[] = "tttiiiiiti";

// The balance of the account that the SQL expression names: the remainders of its allocations plus
// the unsettled units of open leases.
#define BALANCE_OF(account)                                                                   \
  "CAST((SELECT COALESCE(SUM(remaining), 0) FROM allocation b WHERE b.account_id = " account  \
  ") + (SELECT COALESCE(SUM(granted - settled), 0) FROM lease_now b WHERE b.account_id = "    \
  account " AND b.state = 'open') AS BIGINT)"

// Reads the allocation whose columns begin at `column`. Throws StoreError for invalid values.
ledger::Allocation allocation_at(const Rows& rows, std::size_t row, std::size_t column,
                                 std::int64_t now_ms);

}  // namespace turnpike::storage

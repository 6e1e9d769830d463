// CounterStore: the durable side of NodeStore: one row of counts for each (account, bucket) that
// was granted anything and whose windows have not all ended. Implemented by storage/ in the node's
// database; safe for concurrent use from plain Threads and the blocking pool.
//
// One gateway counts at a time: a gateway that begins a term ends the term of its predecessor. Each
// write checks the term (a fencing token), so that a predecessor that has not noticed cannot
// overwrite the counts of its successor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"
#include "quota/limits.h"

namespace turnpike::quota {

struct CounterRow {
  std::string account_id;
  std::string_view bucket;
  Counts counts;
  std::int64_t ends_at_ms = 0;  // the row is obsolete from then on
};

inline constexpr std::int64_t never_ends_ms = 9'007'199'254'740'991;

class CounterStore {
 public:
  virtual ~CounterStore() = default;
  // Begins this gateway's term and returns the latest time ever written; 0: none. Call it first.
  virtual Result<std::int64_t, base::Error> begin_term() = 0;
  // Replaces all given rows and records the time: all or nothing, durable on return. Error if our
  // term is over.
  virtual Result<Unit, base::Error> write(std::span<const CounterRow> rows,
                                          std::int64_t now_ms) = 0;
  virtual Result<std::optional<Counts>, base::Error> find(std::string_view account_id,
                                                          std::string_view bucket) = 0;
  // Deletes at most `rows_max` ended rows, records the time, and returns the number of deleted
  // rows; 0 if our term is over.
  virtual Result<std::uint64_t, base::Error> drop_ended(std::int64_t now_ms,
                                                        std::uint32_t rows_max) = 0;
};

}  // namespace turnpike::quota

// CounterStore: the durable side of NodeStore: one row of counts for each (account, bucket) that
// was granted anything and whose windows have not all ended. Implemented by storage/ in the node's
// database; safe for concurrent use from plain Threads and the blocking pool.
//
// One gateway counts at a time: a gateway that begins a term ends the term of its predecessor. The
// write itself checks the term, so that a predecessor that does not know yet cannot undo the counts
// of its successor.
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
  std::int64_t ends_at_ms = 0;  // from then on the row says nothing
};

inline constexpr std::int64_t never_ends_ms = 9'007'199'254'740'991;

class CounterStore {
 public:
  virtual ~CounterStore() = default;
  // Begins a term of ours and gives the latest time that was ever written; 0: none. Before all
  // else.
  virtual Result<std::int64_t, base::Error> begin_term() = 0;
  // Puts all rows in place of the ones there, and remembers the time: all or nothing, durable when
  // it returns. An error when our term is over.
  virtual Result<Unit, base::Error> write(std::span<const CounterRow> rows,
                                          std::int64_t now_ms) = 0;
  virtual Result<std::optional<Counts>, base::Error> find(std::string_view account_id,
                                                          std::string_view bucket) = 0;
  // Removes at most `rows_max` rows that have ended, remembering the time, and tells how many; none
  // after our term.
  virtual Result<std::uint64_t, base::Error> drop_ended(std::int64_t now_ms,
                                                        std::uint32_t rows_max) = 0;
};

}  // namespace turnpike::quota

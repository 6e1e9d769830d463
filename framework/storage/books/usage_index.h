// Where the index of usage lives (ledger/usage.h says what it is). PostgreSQL: tables beside the
// books, made by a migration. SQLite: a second file beside the database, since an index in the same
// file would multiply the pages that every settlement dirties, and wait for its writer; the books
// are attached to it read-only, so both engines join them with it alike. That file may be deleted
// while nothing runs: it is made again, as it is when the books turn out to be others than those it
// was made from (a restored backup).
//
// Opened at first use, then safe for concurrent use by plain Threads and the blocking pool. Private
// to storage/.
#pragma once

#include <memory>
#include <mutex>

#include "storage/stores.h"

namespace turnpike::storage {

// Whoever changes the index holds its head until the transaction's end.
inline constexpr Query lock_head{"UPDATE usage_head SET position = position RETURNING position",
                                 "i"};

class UsageIndex {
 public:
  explicit UsageIndex(const Context& context) : context_(context) {}

  // The database with both the index and, for reading, the books. Throws StoreError.
  Database& open();
  // Empties the index; numbers that were given are not given again. Throws StoreError.
  void forget();

 private:
  [[nodiscard]] std::unique_ptr<Database> open_file() const;

  const Context& context_;
  std::mutex mutex_;
  std::unique_ptr<Database> file_;  // SQLite
};

}  // namespace turnpike::storage

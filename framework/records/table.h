// The ports under the stores of plugins (storage/ implements them, on SQLite and on PostgreSQL): a
// Table reads, for any Thread; a Writer writes, for one Thread. All block; none may be called from
// a loop Thread.
//
// A failure's kind is part of the contract: `unavailable` means that nothing was written and the
// same call may be repeated; `unknown` that the transaction may or may not have committed, which
// outcome() determines; `fatal` that the database can no longer be trusted and the process must end
// and recover.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>
#include <turnpike/store.h>

namespace turnpike::records {

struct TableFailure {
  enum class Kind : std::uint8_t { unavailable, unknown, fatal };
  Kind kind = Kind::unavailable;
  std::string text;  // for the operator's log
};
template <class T>
using Stored = Result<T, TableFailure>;

// One apply of a plugin, as part of a batch. Views.
struct Apply {
  std::string_view plugin;
  std::span<const StoreCheck> checks;
  std::span<const StoreWrite> writes;
  std::uint64_t version = 0;  // of the records that it writes; below 2^63
};

// Applies of a batch that were not done since a check failed: positions, ascending. All others were
// done, durably.
using Conflicts = std::vector<std::size_t>;

class Writer {
 public:
  virtual ~Writer() = default;
  // One transaction. REQUIRES: no key that one apply writes is named by another; not empty.
  virtual Stored<Conflicts> write(std::span<const Apply> batch) = 0;
  // Call after a write() that failed as `unknown`, before the next write(): the final outcome.
  // nullopt: it has not committed and never will.
  virtual Stored<std::optional<Conflicts>> outcome() = 0;
  // The database's clock; nullopt: it has no clock other than the process's.
  virtual Stored<std::optional<std::int64_t>> now_ms() = 0;
};

class Table {
 public:
  virtual ~Table() = default;
  virtual Stored<std::unique_ptr<Writer>> open_writer() = 0;
  virtual Stored<std::optional<StoreRecord>> get(std::string_view plugin, std::string_view key) = 0;
  // As Store::scan(). REQUIRES: a limit of 1 to limits::store_scan_records_max.
  virtual Stored<std::vector<StoreRecord>> scan(std::string_view plugin, std::string_view prefix,
                                                std::string_view after, std::uint32_t limit) = 0;
};

}  // namespace turnpike::records

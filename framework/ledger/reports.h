// Reports: what operators read of the books as a whole, and the record of their verifications: when
// somebody last added the books up, and when a checkpoint was last signed. The books of one account
// are usage.h's.
//
// ReportStore is a port (storage/ implements it). Safe for concurrent use from the blocking pool
// and plain Threads; blocks. Errors: billing.ledger_unavailable (try again), account.read_failed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "ledger/books.h"

namespace turnpike::ledger {

// Units that open leases carry, in the hands of nodes: what calls hold is a part of them.
struct LeasedUnits {
  Credits units = 0;
  std::int64_t leases = 0;
};

// Allocations of one origin that were issued on a UTC day.
struct IssuedUnits {
  std::int64_t day = 0;  // since 1970 UTC
  Origin origin = Origin::operator_grant;
  Credits units = 0;
};

// What expires on a UTC day, of what nobody has taken. Leased units count when they come back.
struct ExpiringUnits {
  std::int64_t day = 0;
  Credits units = 0;
  std::int64_t allocations = 0;
};

enum class BookCheckKind : std::uint8_t { verified, checkpoint };
std::string_view name_of(BookCheckKind kind) noexcept;

// The books were added up, or signed.
struct BookCheck {
  BookCheckKind kind = BookCheckKind::verified;
  std::int64_t at_ms = 0;  // ledger time of the books that were read
  std::int64_t facts = 0;
  std::int64_t accounts = 0;
  std::int64_t problems = 0;
  std::string first_problem = {};  // empty: the books were right
};

class ReportStore {
 public:
  virtual ~ReportStore() = default;
  [[nodiscard]] virtual Result<LeasedUnits, base::Error> leased() = 0;
  // From that day on, in order of days and origins.
  [[nodiscard]] virtual Result<std::vector<IssuedUnits>, base::Error> issued(
      std::int64_t first_day) = 0;
  // From `from_ms` to before `until_ms`, in order of days.
  [[nodiscard]] virtual Result<std::vector<ExpiringUnits>, base::Error> expiring(
      std::int64_t from_ms, std::int64_t until_ms) = 0;
  // Of the newest streams, newest first.
  [[nodiscard]] virtual Result<std::vector<StreamHead>, base::Error> heads(std::uint32_t most) = 0;
  [[nodiscard]] virtual Result<Unit, base::Error> record(const BookCheck& check) = 0;
  // Of that kind, newest first.
  [[nodiscard]] virtual Result<std::vector<BookCheck>, base::Error> checks(BookCheckKind kind,
                                                                          std::uint32_t most) = 0;
};

}  // namespace turnpike::ledger

// Reports: operators' queries over all books, and the log of verifications: when the books were
// last verified, and when a checkpoint was last signed. usage.h covers the books of one account.
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

// Units in open leases of nodes; they include the units held by calls.
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

// Unleased units that expire on a UTC day. Leased units are included when they are returned.
struct ExpiringUnits {
  std::int64_t day = 0;
  Credits units = 0;
  std::int64_t allocations = 0;
};

enum class BookCheckKind : std::uint8_t { verified, checkpoint };
std::string_view name_of(BookCheckKind kind) noexcept;

// One verification of the books, or one signing.
struct BookCheck {
  BookCheckKind kind = BookCheckKind::verified;
  std::int64_t at_ms = 0;  // ledger time of the verified books
  std::int64_t facts = 0;
  std::int64_t accounts = 0;
  std::int64_t problems = 0;
  std::string first_problem = {};  // empty: no fault
};

class ReportStore {
 public:
  virtual ~ReportStore() = default;
  [[nodiscard]] virtual Result<LeasedUnits, base::Error> leased() = 0;
  // From `first_day` on, ordered by day and origin.
  [[nodiscard]] virtual Result<std::vector<IssuedUnits>, base::Error> issued(
      std::int64_t first_day) = 0;
  // From `from_ms` to before `until_ms`, ordered by day.
  [[nodiscard]] virtual Result<std::vector<ExpiringUnits>, base::Error> expiring(
      std::int64_t from_ms, std::int64_t until_ms) = 0;
  // Heads of the newest streams, newest first.
  [[nodiscard]] virtual Result<std::vector<StreamHead>, base::Error> heads(std::uint32_t most) = 0;
  [[nodiscard]] virtual Result<Unit, base::Error> record(const BookCheck& check) = 0;
  // Checks of that kind, newest first.
  [[nodiscard]] virtual Result<std::vector<BookCheck>, base::Error> checks(BookCheckKind kind,
                                                                          std::uint32_t most) = 0;
};

}  // namespace turnpike::ledger

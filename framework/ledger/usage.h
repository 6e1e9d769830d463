// The reads of an account from the books: its usage facts and allocations page by page, and sums of
// its usage over a time. UsageStore is the port (storage/ implements it), statements.h the service
// that loops may call.
//
// THE ORDER OF USAGE. Facts are committed by several streams at once, so neither their times nor
// their (stream, seq) give an order in which nothing ever appears below what was read before.
// Therefore every fact is given a position, off the commit path: catch_up() takes facts that are
// committed and have none yet and numbers them, one such transaction at a time. A reader that sees
// a position has seen every smaller one; a fact that commits late stands above all that was read
// earlier, never among it. The same transaction adds the facts to sums per account and hour and per
// account and day, so that a summary does not read the facts one by one. Positions and sums can be
// made again from the facts.
//
// Values and a port. The port is called from the blocking pool or a plain Thread; it blocks.
// Errors: billing.ledger_unavailable (try again), account.read_failed (the books and their index
// do not agree, or cannot be read).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "ledger/books.h"
#include "ledger/caps.h"
#include "ledger/corrections.h"

namespace turnpike::ledger {

// The Credits that were given back for a call (corrections.h): of several corrections, the last
// one and their sum.
struct CreditsRestored {
  std::string correction_id;
  CorrectionKind kind = CorrectionKind::refund;
  Credits units = 0;
  std::int64_t recorded_at_ms = 0;
};

// One usage fact with its own bytes (ledger.h, UsageFact).
struct UsageRow {
  std::string message_id;
  std::string request_id;
  std::string client_request_id;  // empty: the caller sent none
  std::string account_id;
  std::string api_key_id;
  std::int64_t occurred_at_ms = 0;
  std::string route_id;
  std::int64_t route_revision = 0;
  std::string method;
  std::string lane;
  Credits credit_cost = 0;
  Credits credits_charged = 0;
  std::int64_t price_version = 0;
  std::string generation;
  std::string outcome_reason;
  std::int64_t upstream_status = 0;  // 0: the upstream answered nothing
  std::int64_t upstream_ms = 0;
  std::optional<CreditsRestored> restored = {};
};

// A fact and where in the books it stands.
struct CallRecord {
  std::int64_t stream = 0;
  std::int64_t seq = 0;
  UsageRow usage;
  std::string hash = {};  // in lower-case hex (chain.h)
};

// "charged", "released" or "replayed", as the reason tells.
std::string_view outcome_of(std::string_view outcome_reason) noexcept;

// Where a page ended: the last item's number in its order, and its id, which proves that the number
// still means the same item after the index was made again.
struct Place {
  std::int64_t number = 0;
  std::string id;
};

// Newest first.
template <class Item>
struct Page {
  std::vector<Item> items;
  std::optional<Place> next;  // nothing: this is the last page
  std::int64_t generated_at_ms = 0;
};

struct PageQuery {
  std::string account_id;
  std::optional<Place> after;
  std::uint32_t limit = 50;
};

// Which calls of an account are wanted; an empty text stands for any.
struct CallFilter {
  std::string route_id = {};
  std::string api_key_id = {};
  std::string outcome = {};  // as outcome_of()
  std::int64_t from_ms = 0;
  std::int64_t to_ms = std::numeric_limits<std::int64_t>::max();  // exclusive

  friend bool operator==(const CallFilter&, const CallFilter&) = default;
};

// What an account's units did beside being charged: the lines of its statement.
struct Movement {
  enum class Kind : std::uint8_t { granted, expired, voided };
  std::int64_t at_ms = 0;
  Kind kind = Kind::granted;
  std::string allocation_id;
  Origin origin = Origin::operator_grant;
  Credits units = 0;
};

// Of a span of time that begins with a whole hour.
struct AccountStatement {
  Credits opening = 0;              // the balance when it began
  std::vector<Movement> movements;  // oldest first
  bool is_whole = true;             // false: there are more of them than one statement lists
};

struct UsageSums {
  std::int64_t requests = 0;
  std::int64_t charged = 0;
  std::int64_t released = 0;
  Credits credits = 0;

  UsageSums& operator+=(const UsageSums& other) noexcept {
    requests += other.requests;
    charged += other.charged;
    released += other.released;
    credits += other.credits;
    return *this;
  }
};

// The account whose usage is summed, and which part of it; an empty route or key stands for any.
struct UsageFilter {
  std::string account_id;
  std::string route_id = {};
  std::string api_key_id = {};
};

// The units of time for which the index keeps sums: hours and days in UTC, counted since 1970.
enum class Slot : std::uint8_t { hour, day };

// The sums of one hour or day, operation and key.
struct SlotSums {
  std::int64_t slot = 0;  // the number of the hour or day since 1970
  std::string route_id;
  std::string method;
  std::string api_key_id;
  UsageSums sums;
};

struct HourSums {
  std::int64_t hour = 0;  // since 1970 UTC
  UsageSums sums;
};

// The sums of a UTC day.
struct DaySums {
  std::int64_t day = 0;  // since 1970 UTC
  UsageSums sums;
};

// The sums of some days from one snapshot, in two forms: by hour, and by day, operation and key.
struct DaysInHours {
  std::vector<HourSums> hours;
  std::vector<SlotSums> days;
};

// How many accounts called an operation.
struct RouteCallers {
  std::string route_id;
  std::int64_t accounts = 0;
};

struct PartOfHour {
  std::vector<SlotSums> sums;
  std::optional<std::int64_t> next;  // where to go on; nothing: that was all
};

// How much catch_up() bothers about: any fact, or only a whole step's worth of them, which cost the
// least each.
enum class Step : std::uint8_t { any, full };

class UsageStore {
 public:
  virtual ~UsageStore() = default;

  // Gives positions to facts that have none, a bounded number of them. True: there is another such
  // step to make. False with Step::any: every fact that was committed before the call has its
  // position.
  [[nodiscard]] virtual Result<bool, base::Error> catch_up(Step step = Step::any) = 0;
  // Forgets all positions and sums; catch_up() makes them again.
  [[nodiscard]] virtual Result<Unit, base::Error> forget_index() = 0;

  // Nothing: `after` names no place of this account. They see what has a position.
  [[nodiscard]] virtual Result<std::optional<Page<UsageRow>>, base::Error> usage(
      const PageQuery& query) = 0;
  [[nodiscard]] virtual Result<std::optional<Page<Allocation>>, base::Error> allocations(
      const PageQuery& query) = 0;
  // The calls of a page that the filter wants. It looks at a bounded number of calls, so a page may
  // have fewer items than its limit, even none, and a `next` where the search goes on.
  [[nodiscard]] virtual Result<std::optional<Page<UsageRow>>, base::Error> search(
      const PageQuery& query, const CallFilter& filter) = 0;
  // The calls that their caller gave this name, up to `limit`, newest first.
  [[nodiscard]] virtual Result<std::vector<UsageRow>, base::Error> calls_named(
      std::string_view account_id, std::string_view client_request_id, std::uint32_t limit) = 0;
  // Of what was credited and lost from `from_ms` to before `to_ms`; what was charged is in hours().
  // REQUIRES: `from_ms` begins an hour.
  [[nodiscard]] virtual Result<AccountStatement, base::Error> statement(std::string_view account_id,
                                                                        std::int64_t from_ms,
                                                                        std::int64_t to_ms) = 0;
  // The active allocation that expires first; nothing: there is none.
  [[nodiscard]] virtual Result<std::optional<Allocation>, base::Error> expiring_next(
      std::string_view account_id) = 0;

  // What the capped keys of the account may still spend, by the windows that leases are granted
  // from. Keys that are revoked have none.
  [[nodiscard]] virtual Result<std::vector<CapsOfKey>, base::Error> key_caps(
      std::string_view account_id) = 0;

  // The fact of one message, if that account made it; position or not.
  [[nodiscard]] virtual Result<std::optional<CallRecord>, base::Error> call(
      std::string_view account_id, std::string_view message_id) = 0;

  // Sums of the slots from `first` to before `end`, in order, a bounded number of them; `after` is
  // the last one of the answer before. Empty: that was all.
  [[nodiscard]] virtual Result<std::vector<SlotSums>, base::Error> slots(
      const UsageFilter& filter, Slot slot, std::int64_t first, std::int64_t end,
      const std::optional<SlotSums>& after) = 0;
  // Sums of the days from `first` to before `end`, in both forms, in no order. REQUIRES: at most
  // days_in_hours_max days.
  static constexpr std::int64_t days_in_hours_max = 8;
  [[nodiscard]] virtual Result<DaysInHours, base::Error> days_in_hours(const UsageFilter& filter,
                                                                       std::int64_t first,
                                                                       std::int64_t end) = 0;
  // Sums of the facts of one hour that occurred from `from_ms` to before `to_ms`, read one by one,
  // a bounded number of them behind position `after`. REQUIRES: both lie in that hour or at its
  // end.
  [[nodiscard]] virtual Result<PartOfHour, base::Error> part_of_hour(const UsageFilter& filter,
                                                                     std::int64_t from_ms,
                                                                     std::int64_t to_ms,
                                                                     std::int64_t after) = 0;

  // For operators: sums over all accounts of the days from `first_day` on, in order, and the
  // callers of each route since then, by id. Both read the sums of every account.
  [[nodiscard]] virtual Result<std::vector<DaySums>, base::Error> days(std::int64_t first_day) = 0;
  [[nodiscard]] virtual Result<std::vector<RouteCallers>, base::Error> callers(
      std::int64_t first_day) = 0;
};

}  // namespace turnpike::ledger

#include "storage/books/usage_sums.h"

namespace turnpike::storage {
namespace {

using ledger::DaysInHours;
using ledger::DaySums;
using ledger::RouteCallers;
using ledger::Slot;
using ledger::SlotSums;
using ledger::UsageFilter;
using ledger::UsageSums;

constexpr std::int64_t day_hours = 24;

// By Slot. select_next continues behind the last row of the answer before.
struct SlotQueries {
  Query select_first;
  Query select_next;
};
#define FILTER " AND ($4 = '' OR route_id = $4) AND ($5 = '' OR api_key_id = $5)"
#define SELECT_SLOTS(slot, more)                                                                \
  "SELECT " slot ", route_id, method, api_key_id, requests, charged, released, credits"         \
  " FROM usage_" slot " WHERE account_id = $1 AND " slot " >= $2 AND " slot " < $3" FILTER more \
  " ORDER BY " slot ", route_id, method, api_key_id LIMIT 4096"
#define BEHIND(slot) " AND (" slot ", route_id, method, api_key_id) > ($2, $6, $7, $8)"
constexpr char slot_kinds[] = "itttiiii";
constexpr SlotQueries slot_queries[] = {
    {{SELECT_SLOTS("hour", ""), slot_kinds}, {SELECT_SLOTS("hour", BEHIND("hour")), slot_kinds}},
    {{SELECT_SLOTS("day", ""), slot_kinds}, {SELECT_SLOTS("day", BEHIND("day")), slot_kinds}}};
#undef BEHIND
#undef SELECT_SLOTS

// One statement reads both halves from one snapshot. The first column is 0 for a day, 1 for an
// hour. Where nothing narrows it, an hour is one row.
#define SELECT_DAYS_IN_HOURS(hours)                                                   \
  "SELECT 0, day, route_id, method, api_key_id, requests, charged, released, credits" \
  " FROM usage_day WHERE account_id = $1 AND day >= $2 AND day < $3" FILTER           \
  " UNION ALL SELECT 1, hour, '', '', '', " hours " AND hour >= $2 * 24 AND hour < $3 * 24"
constexpr char days_in_hours_kinds[] = "iitttiiii";
constexpr Query select_days_in_hours{
    SELECT_DAYS_IN_HOURS("requests, charged, released, credits FROM usage_account_hour"
                         " WHERE account_id = $1"),
    days_in_hours_kinds};
constexpr Query select_some_of_days_in_hours{
    SELECT_DAYS_IN_HOURS("CAST(SUM(requests) AS BIGINT), CAST(SUM(charged) AS BIGINT),"
                         " CAST(SUM(released) AS BIGINT), CAST(SUM(credits) AS BIGINT)"
                         " FROM usage_hour WHERE account_id = $1" FILTER) " GROUP BY hour",
    days_in_hours_kinds};
#undef SELECT_DAYS_IN_HOURS
#undef FILTER

// Sums of days for all whole days, and sums of hours for the rest of the last day.
constexpr Query select_charged{
    "SELECT CAST(COALESCE((SELECT SUM(credits) FROM usage_day WHERE account_id = $1"
    " AND day < $2), 0) AS BIGINT) + CAST(COALESCE((SELECT SUM(credits) FROM usage_account_hour"
    " WHERE account_id = $1 AND hour >= $2 * 24 AND hour < $3), 0) AS BIGINT) AS n",
    "i"};

constexpr Query select_all_days{
    "SELECT day, CAST(SUM(requests) AS BIGINT) AS a, CAST(SUM(charged) AS BIGINT) AS b,"
    " CAST(SUM(released) AS BIGINT) AS c, CAST(SUM(credits) AS BIGINT) AS d"
    " FROM usage_day WHERE day >= $1 GROUP BY day ORDER BY day",
    "iiiii"};
constexpr Query select_callers{
    "SELECT route_id, COUNT(*) AS n FROM (SELECT DISTINCT route_id, account_id FROM usage_day"
    " WHERE day >= $1) AS c GROUP BY route_id ORDER BY route_id",
    "ti"};

UsageSums sums_at(const Rows& rows, std::size_t row, std::size_t column) {
  return {rows.number(row, column), rows.number(row, column + 1), rows.number(row, column + 2),
          rows.number(row, column + 3)};
}

SlotSums slot_at(const Rows& rows, std::size_t row, std::size_t column) {
  return {rows.number(row, column), rows.text(row, column + 1), rows.text(row, column + 2),
          rows.text(row, column + 3), sums_at(rows, row, column + 4)};
}

}  // namespace

std::vector<SlotSums> sum_slots(Connection& connection, const UsageFilter& filter, Slot slot,
                                std::int64_t first, std::int64_t end,
                                const std::optional<SlotSums>& after) {
  const SlotQueries& queries = slot_queries[static_cast<std::size_t>(slot)];
  const Rows rows =
      after ? connection.run(queries.select_next,
                             {filter.account_id, after->slot, end, filter.route_id,
                              filter.api_key_id, after->route_id, after->method, after->api_key_id})
            : connection.run(queries.select_first,
                             {filter.account_id, first, end, filter.route_id, filter.api_key_id});
  std::vector<SlotSums> sums;
  for (std::size_t row = 0; row < rows.size(); ++row) sums.push_back(slot_at(rows, row, 0));
  return sums;
}

DaysInHours sum_days_in_hours(Connection& connection, const UsageFilter& filter, std::int64_t first,
                              std::int64_t end) {
  const bool is_narrowed = !filter.route_id.empty() || !filter.api_key_id.empty();
  const Rows rows =
      connection.run(is_narrowed ? select_some_of_days_in_hours : select_days_in_hours,
                     {filter.account_id, first, end, filter.route_id, filter.api_key_id});
  DaysInHours sums;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows.number(row, 0) == 0) {
      sums.days.push_back(slot_at(rows, row, 1));
    } else {
      sums.hours.push_back({rows.number(row, 1), sums_at(rows, row, 5)});
    }
  }
  return sums;
}

ledger::Credits sum_charged(Connection& connection, std::string_view account_id,
                            std::int64_t end_hour) {
  return connection.run(select_charged, {account_id, end_hour / day_hours, end_hour}).number(0, 0);
}

std::vector<DaySums> sum_days(Connection& connection, std::int64_t first_day) {
  const Rows rows = connection.run(select_all_days, {first_day});
  std::vector<DaySums> days;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    days.push_back({rows.number(row, 0), sums_at(rows, row, 1)});
  }
  return days;
}

std::vector<RouteCallers> count_callers(Connection& connection, std::int64_t first_day) {
  const Rows rows = connection.run(select_callers, {first_day});
  std::vector<RouteCallers> callers;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    callers.push_back({rows.text(row, 0), rows.number(row, 1)});
  }
  return callers;
}

}  // namespace turnpike::storage

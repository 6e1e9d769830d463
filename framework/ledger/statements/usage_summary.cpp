#include "ledger/statements/usage_summary.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <tuple>

#include "base/limits.h"
#include "ledger/caps.h"

namespace turnpike::ledger {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::milliseconds;
using std::chrono::months;
using std::chrono::sys_days;
using std::chrono::sys_time;
using std::chrono::year_month_day;

constexpr std::int64_t hour_ms = 3'600'000;
constexpr std::int64_t day_ms = 24 * hour_ms;
constexpr std::array<std::string_view, 3> granularity_names{"hour", "day", "month"};

sys_days first_of_month(std::int64_t at_ms) noexcept {
  const year_month_day date(floor<days>(sys_time<milliseconds>(milliseconds(at_ms))));
  return sys_days(date.year() / date.month() / 1);
}

std::int64_t floor_to(std::int64_t value, std::int64_t step) noexcept {
  return value / step * step;  // times are never before 1970
}

// Adds up what the store gives, by every question the summary answers.
class Adding {
 public:
  Adding(Granularity by, const std::vector<std::int64_t>& starts) : granularity_(by) {
    for (const std::int64_t start : starts) series_[start] = {};
  }

  void add(const std::vector<SlotSums>& all, std::int64_t slot_ms) {
    for (const SlotSums& each : all) add_to_series(each.slot * slot_ms, each.sums);
    add_to_others(all);
  }
  void add(const DaysInHours& all) {
    for (const HourSums& each : all.hours) add_to_series(each.hour * hour_ms, each.sums);
    add_to_others(all.days);
  }

  [[nodiscard]] UsageSummary summary() const {
    UsageSummary summary;
    summary.totals = totals_;
    for (const auto& [start, sums] : series_) summary.series.push_back({start, sums});
    for (const auto& [operation, sums] : operations_) {
      summary.by_operation.push_back({operation.first, operation.second, sums});
    }
    for (const auto& [key, sums] : keys_) summary.by_key.push_back({key, sums});
    return summary;
  }

 private:
  void add_to_series(std::int64_t at_ms, const UsageSums& sums) {
    series_[bucket_start(at_ms, granularity_)] += sums;
  }
  void add_to_others(const std::vector<SlotSums>& all) {
    for (const SlotSums& each : all) {
      totals_ += each.sums;
      operations_[{each.route_id, each.method}] += each.sums;
      keys_[each.api_key_id] += each.sums;
    }
  }

  const Granularity granularity_;
  UsageSums totals_;
  std::map<std::int64_t, UsageSums> series_;
  std::map<std::pair<std::string, std::string>, UsageSums> operations_;
  std::map<std::string, UsageSums> keys_;
};

base::Error too_late() {
  return {base::ErrorCode::billing_ledger_unavailable,
          "The usage could not be summed in time; a shorter time may be.", 1};
}

std::optional<base::Error> add_slots(UsageStore& store, const UsageFilter& filter, Slot slot,
                                     std::int64_t first, std::int64_t end,
                                     runtime::Deadline deadline, Adding& adding) {
  std::optional<SlotSums> after;
  while (first < end) {
    if (deadline.passed()) return too_late();
    const auto slots = store.slots(filter, slot, first, end, after);
    if (!slots) return slots.error();
    if (slots->empty()) break;
    adding.add(*slots, slot == Slot::hour ? hour_ms : day_ms);
    after = slots->back();
  }
  return std::nullopt;
}

std::optional<base::Error> add_days_in_hours(UsageStore& store, const UsageFilter& filter,
                                             std::int64_t first, std::int64_t end,
                                             runtime::Deadline deadline, Adding& adding) {
  for (; first < end; first += UsageStore::days_in_hours_max) {
    if (deadline.passed()) return too_late();
    const auto sums =
        store.days_in_hours(filter, first, std::min(first + UsageStore::days_in_hours_max, end));
    if (!sums) return sums.error();
    adding.add(*sums);
  }
  return std::nullopt;
}

// Adds the whole hours from `first` to before `end`: whole days from sums of days, the hours before
// and after these days from sums of hours.
std::optional<base::Error> add_hours(UsageStore& store, const SummaryQuery& query,
                                     std::int64_t first, std::int64_t end,
                                     runtime::Deadline deadline, Adding& adding) {
  constexpr std::int64_t day_hours = 24;
  const std::int64_t first_day = (first + day_hours - 1) / day_hours;
  const std::int64_t end_day = std::max(end / day_hours, first_day);
  const std::tuple<std::int64_t, std::int64_t> edges[] = {
      {first, std::min(first_day * day_hours, end)}, {end_day * day_hours, end}};
  for (const auto& [from, to] : edges) {
    if (auto error = add_slots(store, query.filter, Slot::hour, from, to, deadline, adding)) {
      return error;
    }
  }
  if (query.granularity == Granularity::hour) {
    return add_days_in_hours(store, query.filter, first_day, end_day, deadline, adding);
  }
  return add_slots(store, query.filter, Slot::day, first_day, end_day, deadline, adding);
}

std::optional<base::Error> add_part(UsageStore& store, const UsageFilter& filter,
                                    std::int64_t from_ms, std::int64_t to_ms,
                                    runtime::Deadline deadline, Adding& adding) {
  std::optional<std::int64_t> after = 0;
  while (from_ms < to_ms && after) {
    if (deadline.passed()) return too_late();
    const auto part = store.part_of_hour(filter, from_ms, to_ms, *after);
    if (!part) return part.error();
    adding.add(part->sums, hour_ms);
    after = part->next;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Granularity granularity) noexcept {
  return granularity_names[static_cast<std::size_t>(granularity)];
}

std::optional<Granularity> granularity(std::string_view name) noexcept {
  const auto found = std::find(granularity_names.begin(), granularity_names.end(), name);
  if (found == granularity_names.end()) return std::nullopt;
  return static_cast<Granularity>(found - granularity_names.begin());
}

std::int64_t bucket_start(std::int64_t at_ms, Granularity granularity) noexcept {
  switch (granularity) {
    case Granularity::hour:
      return floor_to(at_ms, hour_ms);
    case Granularity::day:
      return floor_to(at_ms, day_ms);
    case Granularity::month:
      break;
  }
  return ms_of(first_of_month(at_ms));
}

std::int64_t bucket_end(std::int64_t at_ms, Granularity granularity) noexcept {
  const std::int64_t start = bucket_start(at_ms, granularity);
  if (granularity == Granularity::hour) return start + hour_ms;
  if (granularity == Granularity::day) return start + day_ms;
  const year_month_day month(first_of_month(at_ms));
  return ms_of(sys_days(month + months(1)));
}

std::optional<std::vector<std::int64_t>> bucket_starts(std::int64_t from_ms, std::int64_t to_ms,
                                                       Granularity granularity) {
  std::vector<std::int64_t> starts;
  for (std::int64_t at = bucket_start(from_ms, granularity); at < to_ms;
       at = bucket_end(at, granularity)) {
    if (starts.size() == base::limits::usage_buckets_max) return std::nullopt;
    starts.push_back(at);
  }
  return starts;
}

Result<UsageSummary, base::Error> summarize(UsageStore& store, const SummaryQuery& query,
                                            runtime::Deadline deadline) {
  Adding adding(query.granularity,
                bucket_starts(query.from_ms, query.to_ms, query.granularity).value());
  // Whole hours lie between these two; they cross when the time lies within one hour.
  const std::int64_t whole_from = floor_to(query.from_ms + hour_ms - 1, hour_ms);
  const std::int64_t whole_to = floor_to(query.to_ms, hour_ms);
  const std::tuple<std::int64_t, std::int64_t> parts[] = {
      {query.from_ms, std::min(whole_from, query.to_ms)},
      {std::max(whole_to, whole_from), query.to_ms}};
  for (const auto& [from_ms, to_ms] : parts) {
    if (auto error = add_part(store, query.filter, from_ms, to_ms, deadline, adding)) {
      return *std::move(error);
    }
  }
  if (auto error =
          add_hours(store, query, whole_from / hour_ms, whole_to / hour_ms, deadline, adding)) {
    return *std::move(error);
  }
  return adding.summary();
}

}  // namespace turnpike::ledger

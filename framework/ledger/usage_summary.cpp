#include "ledger/usage_summary.h"

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

  void add(const std::vector<HourSums>& all) {
    for (const HourSums& each : all) {
      totals_ += each.sums;
      series_[bucket_start(each.hour * hour_ms, granularity_)] += each.sums;
      operations_[{each.route_id, each.method}] += each.sums;
      keys_[each.api_key_id] += each.sums;
    }
  }

  void add(const SpanSums& span) {
    for (const auto& each : span.steps) {
      totals_ += each.sums;
      series_[bucket_start(each.first_hour * hour_ms, granularity_)] += each.sums;
    }
    for (const auto& each : span.operations) operations_[{each.route_id, each.method}] += each.sums;
    for (const auto& each : span.keys) keys_[each.api_key_id] += each.sums;
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

std::optional<base::Error> add_hours(UsageStore& store, const UsageFilter& filter,
                                     std::int64_t first, std::int64_t end,
                                     runtime::Deadline deadline, Adding& adding) {
  std::optional<HourSums> after;
  while (first < end) {
    if (deadline.passed()) return too_late();
    const auto hours = store.hours(filter, first, end, after);
    if (!hours) return hours.error();
    if (hours->empty()) break;
    adding.add(*hours);
    after = hours->back();
  }
  return std::nullopt;
}

std::optional<base::Error> add_spans(UsageStore& store, const SummaryQuery& query,
                                     std::int64_t first, std::int64_t end,
                                     runtime::Deadline deadline, Adding& adding) {
  const std::int64_t step_hours = query.granularity == Granularity::hour ? 1 : 24;
  constexpr std::int64_t hours_at_once = 31 * 24;
  for (; first < end; first += hours_at_once) {
    if (deadline.passed()) return too_late();
    const auto span =
        store.span(query.filter, first, std::min(first + hours_at_once, end), step_hours);
    if (!span) return span.error();
    if (!span->has_value()) return add_hours(store, query.filter, first, end, deadline, adding);
    adding.add(**span);
  }
  return std::nullopt;
}

std::optional<base::Error> add_part(UsageStore& store, const UsageFilter& filter,
                                    std::int64_t from_ms, std::int64_t to_ms,
                                    runtime::Deadline deadline, Adding& adding) {
  std::optional<std::int64_t> after = 0;
  while (from_ms < to_ms && after) {
    if (deadline.passed()) return too_late();
    const auto part = store.part_of_hour(filter, from_ms, to_ms, *after);
    if (!part) return part.error();
    adding.add(part->sums);
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
      return floor_to(at_ms, 24 * hour_ms);
    case Granularity::month:
      break;
  }
  return ms_of(first_of_month(at_ms));
}

std::int64_t bucket_end(std::int64_t at_ms, Granularity granularity) noexcept {
  const std::int64_t start = bucket_start(at_ms, granularity);
  if (granularity == Granularity::hour) return start + hour_ms;
  if (granularity == Granularity::day) return start + 24 * hour_ms;
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
  if (auto error = add_spans(store, query, whole_from / hour_ms, whole_to / hour_ms, deadline,
                             adding)) {
    return *std::move(error);
  }
  return adding.summary();
}

}  // namespace turnpike::ledger

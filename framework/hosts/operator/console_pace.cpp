#include "hosts/operator/console_pace.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace turnpike::hosts::operators {
namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t window_ns = 300'000 * ns_per_ms;
constexpr std::int64_t step_ns = 5'000 * ns_per_ms;  // between two kept samples

}  // namespace

std::optional<double> quantile_of(const std::vector<std::pair<double, double>>& buckets,
                                  double quantile) {
  if (buckets.empty() || buckets.back().second <= 0) return std::nullopt;
  const double rank = quantile * buckets.back().second;
  double lower = 0;
  double before = 0;
  for (const auto& [upper, count] : buckets) {
    if (count >= rank) {
      if (std::isinf(upper)) return lower;  // the bucket has no upper bound
      const double within = count > before ? (rank - before) / (count - before) : 1;
      return lower + (upper - lower) * within;
    }
    lower = upper;
    before = count;
  }
  return lower;
}

Pace::Pace(const base::Metrics& metrics, std::int64_t started_ns) : metrics_(metrics) {
  Counts start;
  start.at_ns = started_ns;
  looks_.push_back(std::move(start));
}

Pace::Counts Pace::count(std::int64_t now_ns) const {
  Counts counts;
  counts.at_ns = now_ns;
  for (const base::Reading& reading : metrics_.read("turnpike_call_seconds")) {
    counts.calls = reading.value;
    counts.buckets = reading.buckets;
  }
  for (const base::Reading& reading : metrics_.read("turnpike_route_calls_total")) {
    const auto outcome = reading.labels.find("outcome");
    if (outcome == reading.labels.end()) continue;
    if (outcome->second == "answered") counts.good += reading.value;
    const base::ErrorInfo* const error = base::find_error(outcome->second);
    if (error != nullptr && error->fault != base::Fault::caller) counts.bad += reading.value;
  }
  return counts;
}

PaceNow Pace::look(std::int64_t now_ns) {
  Counts now = count(now_ns);
  const std::lock_guard lock(mutex_);
  while (looks_.size() > 1 && now_ns - looks_.front().at_ns > window_ns) looks_.pop_front();
  const Counts& then = looks_.front();
  PaceNow pace;
  pace.span_ms = std::max<std::int64_t>((now_ns - then.at_ns) / ns_per_ms, 1);
  pace.calls_per_second = (now.calls - then.calls) * 1'000 / static_cast<double>(pace.span_ms);
  pace.good = now.good - then.good;
  pace.bad = now.bad - then.bad;
  auto buckets = now.buckets;
  for (std::size_t at = 0; at < buckets.size() && at < then.buckets.size(); ++at) {
    buckets[at].second -= then.buckets[at].second;
  }
  const auto in_ms = [&](double quantile) {
    auto value = quantile_of(buckets, quantile);
    if (value) *value *= 1'000;
    return value;
  };
  pace.p50_ms = in_ms(0.5);
  pace.p99_ms = in_ms(0.99);
  if (now_ns - looks_.back().at_ns >= step_ns) looks_.push_back(std::move(now));
  return pace;
}

}  // namespace turnpike::hosts::operators

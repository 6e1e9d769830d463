// Pace: the recent rate, success and latency of calls, from the metrics of this process. Each
// sample is compared with an earlier one, up to five minutes old, or with the start of the process,
// so that no counting is needed in between.
//
// Owned by Console; safe for concurrent use by all loop Threads.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/metrics.h"

namespace turnpike::hosts::operators {

struct PaceNow {
  std::int64_t span_ms = 0;  // the time that the figures cover
  double calls_per_second = 0;
  double good = 0;  // calls that their provider answered
  double bad = 0;   // failed, by the provider's or our fault
  std::optional<double> p50_ms;  // nothing: there was no call
  std::optional<double> p99_ms;
};

class Pace {
 public:
  Pace(const base::Metrics& metrics, std::int64_t started_ns);
  [[nodiscard]] PaceNow look(std::int64_t now_ns);

 private:
  struct Counts {
    std::int64_t at_ns = 0;
    double calls = 0;
    double good = 0;
    double bad = 0;
    std::vector<std::pair<double, double>> buckets;  // upper bound in seconds, cumulative count
  };
  [[nodiscard]] Counts count(std::int64_t now_ns) const;

  const base::Metrics& metrics_;
  std::mutex mutex_;
  std::deque<Counts> looks_;  // oldest first; initially the process start
};

// Returns the quantile of a histogram, interpolated linearly within a bucket; nothing: the
// histogram is empty.
std::optional<double> quantile_of(const std::vector<std::pair<double, double>>& buckets,
                                  double quantile);

}  // namespace turnpike::hosts::operators

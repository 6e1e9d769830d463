// Pace: how calls go of late, from the metrics of this process: how many a second, how many of them
// well, and how long they take. Each look is compared with an earlier one, of up to five minutes
// ago, or with the start of the process, so nothing has to count in between.
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
  std::int64_t span_ms = 0;  // that the figures are of
  double calls_per_second = 0;
  double good = 0;  // calls that their provider answered
  double bad = 0;   // that failed for the provider's or our own fault
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
    std::vector<std::pair<double, double>> buckets;  // seconds, and how many up to them
  };
  [[nodiscard]] Counts count(std::int64_t now_ns) const;

  const base::Metrics& metrics_;
  std::mutex mutex_;
  std::deque<Counts> looks_;  // oldest first; the first is the start until it is too old
};

// The quantile of a histogram, as if what is in a bucket were spread evenly; nothing: it is empty.
std::optional<double> quantile_of(const std::vector<std::pair<double, double>>& buckets,
                                  double quantile);

}  // namespace turnpike::hosts::operators

// Outage: decides when to log something that keeps failing: at its first failure, then at intervals
// with the number of failures since, and once when it works again. The log thus names every problem
// without being filled by it.
//
// Owned by the observer; lock-free, any Thread. A success while nothing fails costs one load.
#pragma once

#include <atomic>
#include <cstdint>

namespace turnpike::base {

class Outage {
 public:
  // One line per `line_interval_ns` at most. The outage ends with a success `quiet_ns` after the
  // last failure, so that intermittent failures are one outage, not many.
  Outage(std::int64_t line_interval_ns, std::int64_t quiet_ns) noexcept
      : line_interval_ns_(line_interval_ns), quiet_ns_(quiet_ns) {}

  // Returns the number of failures since the last line, if a line is due; else 0. `is_news`: a
  // failure of a kind that was not logged yet.
  std::uint64_t failed(std::int64_t now_ns, bool is_news = false) noexcept {
    last_failure_ns_.store(now_ns, std::memory_order_relaxed);
    failures_.fetch_add(1, std::memory_order_relaxed);
    untold_.fetch_add(1, std::memory_order_relaxed);
    is_news = !is_failing_.exchange(true, std::memory_order_acq_rel) || is_news;
    std::int64_t last_ns = last_line_ns_.load(std::memory_order_relaxed);
    if (!is_news && now_ns - last_ns < line_interval_ns_) return 0;
    // The Thread that advances the time writes the line.
    if (!last_line_ns_.compare_exchange_strong(last_ns, now_ns, std::memory_order_relaxed)) {
      return 0;
    }
    return untold_.exchange(0, std::memory_order_relaxed);
  }

  // Returns the total number of failures, if this success ends the outage; else 0.
  std::uint64_t worked(std::int64_t now_ns) noexcept {
    if (!is_failing_.load(std::memory_order_relaxed)) return 0;
    if (now_ns - last_failure_ns_.load(std::memory_order_relaxed) < quiet_ns_) return 0;
    if (!is_failing_.exchange(false, std::memory_order_acq_rel)) return 0;
    untold_.store(0, std::memory_order_relaxed);
    return failures_.exchange(0, std::memory_order_relaxed);
  }

 private:
  const std::int64_t line_interval_ns_;
  const std::int64_t quiet_ns_;
  std::atomic<bool> is_failing_{false};
  std::atomic<std::int64_t> last_failure_ns_{0};
  std::atomic<std::int64_t> last_line_ns_{0};
  std::atomic<std::uint64_t> untold_{0};
  std::atomic<std::uint64_t> failures_{0};
};

}  // namespace turnpike::base

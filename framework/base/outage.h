// Outage: when to write a line about something that keeps failing: at its first failure, then now
// and then with how often it failed since, and once when it works again. So a log says what is
// wrong however much of it there is, and is not filled by it.
//
// Owned by whoever watches; lock-free, any Thread. A success while nothing fails costs one load.
#pragma once

#include <atomic>
#include <cstdint>

namespace turnpike::base {

class Outage {
 public:
  // A line every `line_interval_ns` at most; it is over with a success `quiet_ns` after the last
  // failure, so that what fails now and then is one outage, not many.
  Outage(std::int64_t line_interval_ns, std::int64_t quiet_ns) noexcept
      : line_interval_ns_(line_interval_ns), quiet_ns_(quiet_ns) {}

  // How often it failed since the last line, when it is time for one; else 0. `is_news`: a failure
  // of a kind that was not told yet.
  std::uint64_t failed(std::int64_t now_ns, bool is_news = false) noexcept {
    last_failure_ns_.store(now_ns, std::memory_order_relaxed);
    failures_.fetch_add(1, std::memory_order_relaxed);
    untold_.fetch_add(1, std::memory_order_relaxed);
    is_news = !is_failing_.exchange(true, std::memory_order_acq_rel) || is_news;
    std::int64_t last_ns = last_line_ns_.load(std::memory_order_relaxed);
    if (!is_news && now_ns - last_ns < line_interval_ns_) return 0;
    // Whoever moves the time has the line.
    if (!last_line_ns_.compare_exchange_strong(last_ns, now_ns, std::memory_order_relaxed)) {
      return 0;
    }
    return untold_.exchange(0, std::memory_order_relaxed);
  }

  // How often it failed in all, when this success ends the outage; else 0.
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

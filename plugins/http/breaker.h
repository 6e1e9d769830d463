// Breaker: stops calling an upstream that fails. Closed: calls pass. After so many failures in a
// row it opens and calls are refused; after a pause it is half-open: one call is let through, and
// its outcome closes it or opens it again.
//
// Owned by the upstream; lock-free, any Thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace turnpike::http {

class Breaker {
 public:
  Breaker(std::uint32_t failures_max, std::int64_t open_ns) noexcept
      : failures_max_(failures_max), open_ns_(open_ns) {}

  enum class Pass : std::uint8_t { refused, normal, trial };
  enum class Outcome : std::uint8_t { success, failure, neither };

  // Whether a call may be tried now. Each pass that is not `refused` is followed by one report();
  // a trial that never reports only costs one more pause.
  Pass ask(std::int64_t now_ns) noexcept {
    std::int64_t open_until = open_until_ns_.load(std::memory_order_acquire);
    if (open_until == 0) return Pass::normal;
    if (now_ns < open_until) return Pass::refused;
    // Whoever moves the end of the pause has the trial.
    const bool is_first = open_until_ns_.compare_exchange_strong(open_until, now_ns + open_ns_,
                                                                 std::memory_order_acq_rel);
    return is_first ? Pass::trial : Pass::refused;
  }

  // True when this outcome opened it.
  bool report(Pass pass, Outcome outcome, std::int64_t now_ns) noexcept {
    if (outcome == Outcome::success) {
      if (pass == Pass::trial || !is_open()) close();
      return false;
    }
    if (outcome == Outcome::neither) {  // the next call may try at once
      if (pass == Pass::trial) open_until_ns_.store(now_ns, std::memory_order_release);
      return false;
    }
    const std::uint32_t failures = failures_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (pass == Pass::trial || (failures >= failures_max_ && !is_open())) {
      open_until_ns_.store(now_ns + open_ns_, std::memory_order_release);
      return true;
    }
    return false;
  }

  // Evidence from outside of a call, such as a probe that succeeded.
  void close() noexcept {
    if (failures_.load(std::memory_order_relaxed) != 0) {
      failures_.store(0, std::memory_order_relaxed);
    }
    if (is_open()) open_until_ns_.store(0, std::memory_order_release);
  }

  // Open and its pause not over.
  [[nodiscard]] bool refuses(std::int64_t now_ns) const noexcept {
    const std::int64_t open_until = open_until_ns_.load(std::memory_order_acquire);
    return open_until != 0 && now_ns < open_until;
  }
  // False spares the caller a look at the clock.
  [[nodiscard]] bool is_open() const noexcept {
    return open_until_ns_.load(std::memory_order_acquire) != 0;
  }

 private:
  const std::uint32_t failures_max_;
  const std::int64_t open_ns_;
  std::atomic<std::uint32_t> failures_{0};      // in a row
  std::atomic<std::int64_t> open_until_ns_{0};  // 0: closed
};

}  // namespace turnpike::http

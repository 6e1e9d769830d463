// RetryBudget: limits retries to a share of the calls, so that retries do not overload an upstream
// that already fails. Every call adds a fraction of a token, every retry takes a whole token, and
// at most `burst` tokens are saved.
//
// Owned by the upstream. Lock-free; any Thread may call it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace turnpike::http {

class RetryBudget {
 public:
  static constexpr std::int64_t burst = 10;

  explicit RetryBudget(std::int64_t percent) noexcept
      : gain_(percent), level_(percent == 0 ? 0 : burst * token) {}

  void note_call() noexcept {
    std::int64_t level = level_.load(std::memory_order_relaxed);
    if (level >= burst * token) return;  // the usual case writes nothing
    level_.compare_exchange_strong(level, std::min(level + gain_, burst * token),
                                   std::memory_order_relaxed);
  }
  bool take() noexcept {
    std::int64_t level = level_.load(std::memory_order_relaxed);
    while (level >= token) {
      if (level_.compare_exchange_weak(level, level - token, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

 private:
  static constexpr std::int64_t token = 100;
  const std::int64_t gain_;
  std::atomic<std::int64_t> level_;
};

}  // namespace turnpike::http

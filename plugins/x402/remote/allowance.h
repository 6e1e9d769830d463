// Allowance: limits how many fruitless questions anybody may cause per minute. A question takes one
// unit before it is asked and gives it back if it was worth asking, so callers in good faith are
// limited only by the questions that they have under way. The allowance refills evenly.
//
// Any Thread; a short lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

namespace turnpike::x402 {

inline constexpr std::uint32_t unproven_per_minute_default = 120;

class Allowance {
 public:
  explicit Allowance(std::uint32_t per_minute) noexcept : most_(per_minute), left_(per_minute) {}

  // Returns false if none is left now.
  bool take(std::int64_t now_ns) noexcept {
    const std::lock_guard lock(mutex_);
    constexpr double minute_ns = 60e9;
    left_ = std::min(most_, left_ + most_ * static_cast<double>(now_ns - filled_ns_) / minute_ns);
    filled_ns_ = now_ns;
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }
  void give_back() noexcept {
    const std::lock_guard lock(mutex_);
    left_ = std::min(most_, left_ + 1);
  }

 private:
  std::mutex mutex_;
  const double most_;
  double left_;
  std::int64_t filled_ns_ = 0;
};

}  // namespace turnpike::x402

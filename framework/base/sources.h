// The clock and the random source, as arguments: SystemClock and SystemRandom are the real ones,
// tests pass their own. Both are stateless and safe on any Thread; app/ owns one of each.
#pragma once

#include <turnpike/host.h>

namespace turnpike::base {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ms() const noexcept override;
  [[nodiscard]] std::int64_t monotonic_ns() const noexcept override;  // CLOCK_BOOTTIME
};

// getrandom(2); ends the process if the kernel does not support it.
class SystemRandom final : public Random {
 public:
  void fill(std::span<std::uint8_t> out) noexcept override;
};

}  // namespace turnpike::base

// Deadline: the time until which a wait may last, on CLOCK_BOOTTIME (it counts suspended time and
// never steps). Every wait in the program takes one. Plain value; safe on any Thread.
#pragma once

#include <cstdint>
#include <ctime>
#include <limits>

namespace turnpike::runtime {

inline std::int64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

struct Deadline {
  std::int64_t ns = std::numeric_limits<std::int64_t>::max();

  static constexpr Deadline never() noexcept { return {}; }
  static Deadline after_ms(std::int64_t duration_ms) noexcept {
    return {now_ns() + duration_ms * 1'000'000};
  }
  [[nodiscard]] bool passed() const noexcept { return now_ns() >= ns; }
  [[nodiscard]] Deadline earlier(Deadline other) const noexcept {
    return ns < other.ns ? *this : other;
  }
};

// The cause that ended a wait.
enum class Wake : std::uint8_t { ready, deadline, cancelled };

}  // namespace turnpike::runtime

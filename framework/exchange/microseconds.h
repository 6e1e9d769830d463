// Durations in the unit of replies and logs. Pure function.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace turnpike::exchange {

constexpr std::uint32_t microseconds(std::int64_t duration_ns) noexcept {
  constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(duration_ns / 1000, 0, most));
}

}  // namespace turnpike::exchange

// Level and Evidence: how a component does, and how good the proof of it is. Plain values; any
// Thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace turnpike::status {

// From best to worst: the worse of two signals decides, and nothing known is worse than well.
enum class Level : std::uint8_t { operational, unknown, degraded, major_outage };

constexpr Level worse(Level left, Level right) noexcept { return std::max(left, right); }

constexpr std::string_view name_of(Level level) noexcept {
  constexpr std::string_view names[] = {"operational", "unknown", "degraded", "major_outage"};
  return names[static_cast<std::size_t>(level)];
}

enum class Evidence : std::uint8_t {
  current,
  stale,             // all of it is older than three intervals
  missing_or_stale,  // some expected target has none that is fresh
  unverified,        // it is of another generation, or the chain does not check
};

constexpr std::string_view name_of(Evidence evidence) noexcept {
  constexpr std::string_view names[] = {"current", "stale", "missing_or_stale", "unverified"};
  return names[static_cast<std::size_t>(evidence)];
}

}  // namespace turnpike::status

// Level and Evidence: the health of a component, and the quality of the evidence for it. Plain
// values; any Thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace turnpike::status {

// From best to worst: the worse of two signals decides, and unknown is worse than operational.
enum class Level : std::uint8_t { operational, unknown, degraded, major_outage };

constexpr Level worse(Level left, Level right) noexcept { return std::max(left, right); }

constexpr std::string_view name_of(Level level) noexcept {
  constexpr std::string_view names[] = {"operational", "unknown", "degraded", "major_outage"};
  return names[static_cast<std::size_t>(level)];
}

enum class Evidence : std::uint8_t {
  current,
  stale,             // all evidence is older than three intervals
  missing_or_stale,  // some expected target has no fresh look
  unverified,        // of another generation, or the chain does not verify
};

constexpr std::string_view name_of(Evidence evidence) noexcept {
  constexpr std::string_view names[] = {"current", "stale", "missing_or_stale", "unverified"};
  return names[static_cast<std::size_t>(evidence)];
}

}  // namespace turnpike::status

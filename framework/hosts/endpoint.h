// Endpoint: what a request to one of the public hosts is for, as logs and metrics name it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace turnpike::hosts {

enum class Endpoint : std::uint8_t {
  none,
  health,
  readiness,
  version,
  openapi,
  reference,
  capabilities,
  capability,
  inventory,
  auth_context,
  credit_balance,
  billing,
  usage,
  call,
  free_quotas,
  well_known,
  gateway,
  mcp,
  mcp_x402,
};

inline constexpr std::size_t endpoint_count = 19;

constexpr std::string_view name_of(Endpoint endpoint) noexcept {
  constexpr std::array<std::string_view, endpoint_count> names = {
      "none",           "health",       "readiness",  "version",   "openapi",
      "reference",      "capabilities", "capability", "inventory", "auth_context",
      "credit_balance", "billing",      "usage",      "call",      "free_quotas",
      "well_known",     "gateway",      "mcp",        "mcp_x402"};
  return names[static_cast<std::size_t>(endpoint)];
}

}  // namespace turnpike::hosts

// Router: which endpoint a path names. The fixed routes are few and known; everything below
// /v1/gateway/ belongs to the registry. Pure functions over raw paths; any Thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike::hosts::api {

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
};

inline constexpr std::size_t endpoint_count = 17;

// For logs and metrics.
std::string_view name_of(Endpoint endpoint) noexcept;

struct Routed {
  Endpoint endpoint = Endpoint::none;
  std::string_view parameter;  // the one variable segment, raw; of reference the file's name
};

Routed route(std::string_view path) noexcept;

// Value of Allow: what the endpoint answers, for the fixed ones.
std::string_view allowed_methods(Endpoint endpoint) noexcept;

}  // namespace turnpike::hosts::api

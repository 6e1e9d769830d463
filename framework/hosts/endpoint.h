// Endpoint: the counters of a route's requests. Routes of several hosts with the same purpose share
// one Endpoint.
//
// Made by the AccessLog when a host is constructed, lives as long as the log; any Thread.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "base/metrics.h"

namespace turnpike::hosts {

inline constexpr std::size_t status_classes = 6;  // nothing sent, 1xx to 5xx

struct Endpoint {
  std::string name;  // as in metrics: "credit_balance"
  std::array<base::Counter*, status_classes> requests{};
};

}  // namespace turnpike::hosts

// Endpoint: the counters of a route's requests. Routes of several hosts with the same job share
// one.
//
// Made by the AccessLog when a host is made, as long-lived as the log; any Thread.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "base/metrics.h"

namespace turnpike::hosts {

inline constexpr std::size_t status_classes = 6;  // nothing sent, 1xx to 5xx

struct Endpoint {
  std::string name;  // as metrics show it: "credit_balance"
  std::array<base::Counter*, status_classes> requests{};
};

}  // namespace turnpike::hosts

// The names of monitoring classes in registries, evidence and documents. Pure functions; safe on
// any Thread.
#pragma once

#include <string_view>

#include "registry/program.h"

namespace turnpike::registry {

constexpr std::string_view name_of(MonitoringClass monitoring) noexcept {
  constexpr std::string_view names[] = {"unreviewed", "continuous", "manual", "not_applicable"};
  return names[static_cast<std::size_t>(monitoring)];
}

}  // namespace turnpike::registry

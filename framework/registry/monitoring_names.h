// The names of monitoring classes, as registries, evidence and documents write them. Any Thread.
#pragma once

#include <string_view>

#include "registry/program.h"

namespace turnpike::registry {

constexpr std::string_view name_of(MonitoringClass monitoring) noexcept {
  constexpr std::string_view names[] = {"unreviewed", "continuous", "manual", "not_applicable"};
  return names[static_cast<std::size_t>(monitoring)];
}

}  // namespace turnpike::registry

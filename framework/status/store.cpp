#include "status/store.h"

namespace turnpike::status {

std::string_view name_of(IncidentSource source) noexcept {
  constexpr std::string_view names[] = {"automatic", "operators"};
  return names[static_cast<std::size_t>(source)];
}

std::string_view name_of(SweepState state) noexcept {
  constexpr std::string_view names[] = {"running", "complete", "failed"};
  return names[static_cast<std::size_t>(state)];
}

}  // namespace turnpike::status

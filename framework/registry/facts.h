// Facts: what a program fixes for good once it is installed, with the key that an operator raises
// to change it. Internal to registry/. Pure functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "registry/compile.h"
#include "registry/program.h"

namespace turnpike::registry {

enum class FactKind : std::uint8_t { provider, upstream, route, price };

struct Fact {
  InstalledFact fact;
  FactKind kind = FactKind::provider;
  std::uint32_t index = 0;  // among the program's entries of that kind
};

std::vector<Fact> all_facts_of(const Program& program);

}  // namespace turnpike::registry

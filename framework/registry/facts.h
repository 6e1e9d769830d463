// Facts: the definitions that a program fixes permanently once it is installed, with the key that
// an operator raises to change one. Internal to registry/. Pure functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "registry/program.h"

namespace turnpike::registry {

enum class FactKind : std::uint8_t { provider, upstream, route, price };

struct Fact {
  FactKind kind = FactKind::provider;
  std::uint32_t index = 0;  // among the program's entries of that kind
  std::string key;          // key of the InstalledFact: kind and id, '@', revision or version
  std::string definition;   // canonical
};

// Visits one at a time: the definitions of 100,000 routes would take half of the program's memory.
void each_fact_of(const Program& program, const std::function<void(Fact)>& visit);

}  // namespace turnpike::registry

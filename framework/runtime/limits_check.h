// Compares the system's limits on descriptors and memory maps, at start, with the needs of the
// configured number of connections and calls. Plain functions; called by main() before the loops
// start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace turnpike::runtime {

struct SystemLimits {
  std::uint64_t descriptors_max = 0;
  std::uint64_t fibers_max = 0;  // a guarded stack takes two memory maps
};

struct SystemNeeds {
  std::uint64_t descriptors = 0;
  std::uint64_t fibers = 0;
};

// Raises the soft descriptor limit to the hard one and reads both.
SystemLimits raise_system_limits();
// One sentence per unmet need: the actual value, the needed one, and how to change it.
std::vector<std::string> unmet_needs(const SystemLimits& limits, const SystemNeeds& needs);

}  // namespace turnpike::runtime

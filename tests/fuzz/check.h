// The assertion of the harnesses: ends the process, in every build, if a property does not hold.
// Plain functions; any Thread.
#pragma once

#include <cstdlib>
#include <string_view>

namespace turnpike::fuzz {

inline void check(bool holds) {
  if (!holds) std::abort();
}

inline bool lies_in(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace turnpike::fuzz

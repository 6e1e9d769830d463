// Helpers for tests that inspect text.
#pragma once

#include <string_view>

namespace turnpike::support {

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

}  // namespace turnpike::support

// ASCII letters and header names, compared as HTTP does, without case. Pure functions.
#pragma once

#include <string_view>

namespace turnpike::exchange {

constexpr char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

// `lower` must be in lower case.
constexpr bool equals_ignoring_case(std::string_view text, std::string_view lower) noexcept {
  if (text.size() != lower.size()) return false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (to_lower(text[at]) != lower[at]) return false;
  }
  return true;
}

}  // namespace turnpike::exchange

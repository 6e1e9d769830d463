// What names and values of header fields may hold, for plugins that read them from the operator's
// files. Pure functions; safe on any thread.
#pragma once

#include <algorithm>
#include <string_view>

namespace turnpike {

// RFC 9110, section 5.6.2.
constexpr bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(letter) != std::string_view::npos;
  });
}

// Whether the text is without control characters other than the tab (RFC 9110, section 5.5).
constexpr bool is_field_value(std::string_view text) noexcept {
  return std::none_of(text.begin(), text.end(), [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return (byte < 0x20 && byte != '\t') || byte == 0x7f;
  });
}

}  // namespace turnpike

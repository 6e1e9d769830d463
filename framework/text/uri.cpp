#include "text/uri.h"

#include <array>
#include <cstdint>

#include "text/encoding.h"

namespace turnpike::text {
namespace {

enum CharacterClass : std::uint8_t { path_character = 1, query_character = 2, hex_digit = 4 };

// pchar / "/", without the '%' of an escape.
constexpr std::string_view path_characters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"  // unreserved
    "!$&'()*+,;="                                                         // sub-delims
    ":@/";
constexpr std::string_view hex_digits_of_both_cases = "0123456789ABCDEFabcdef";

constexpr std::array<std::uint8_t, 256> classes = [] {
  std::array<std::uint8_t, 256> table{};
  for (char c : path_characters) {
    table[static_cast<std::uint8_t>(c)] = path_character | query_character;
  }
  table['?'] = query_character;
  for (char c : hex_digits_of_both_cases) table[static_cast<std::uint8_t>(c)] |= hex_digit;
  return table;
}();

bool is(CharacterClass wanted, char c) noexcept {
  return (classes[static_cast<std::uint8_t>(c)] & wanted) != 0;
}

bool is_escape(std::string_view text, std::size_t at) noexcept {
  return text[at] == '%' && text.size() - at > 2 && is(hex_digit, text[at + 1]) &&
         is(hex_digit, text[at + 2]);
}

std::size_t fault(CharacterClass wanted, std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is(wanted, text[at])) continue;
    if (!is_escape(text, at)) return at;
    at += 2;
  }
  return std::string_view::npos;
}

}  // namespace

std::size_t query_fault(std::string_view query) noexcept { return fault(query_character, query); }

std::size_t path_fault(std::string_view path) noexcept { return fault(path_character, path); }

std::string_view unfilled_parameter(std::string_view path) noexcept {
  const std::size_t begin = path.find('{');
  const std::size_t end = begin == path.npos ? path.npos : path.find('}', begin);
  return end == path.npos ? std::string_view() : path.substr(begin, end + 1 - begin);
}

void append_percent_encoded(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : text) {
    const bool is_unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                               (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
                               c == '~';
    if (is_unreserved) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.append({'%', digits[byte >> 4], digits[byte & 15]});
    }
  }
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    if (!is_escape(text, at)) return std::nullopt;
    decoded += static_cast<char>(hex_value(text[at + 1]) << 4 | hex_value(text[at + 2]));
    at += 2;
  }
  return decoded;
}

}  // namespace turnpike::text

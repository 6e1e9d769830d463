#include "base/uri.h"

#include <array>
#include <cstdint>

namespace turnpike::base {
namespace {

enum CharacterClass : std::uint8_t { query_character = 1, hex_digit = 2 };

// pchar / "/" / "?", without the '%' of an escape.
constexpr std::string_view query_characters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"  // unreserved
    "!$&'()*+,;="                                                         // sub-delims
    ":@/?";
constexpr std::string_view hex_digits = "0123456789ABCDEFabcdef";

constexpr std::array<std::uint8_t, 256> classes = [] {
  std::array<std::uint8_t, 256> table{};
  for (char c : query_characters) table[static_cast<std::uint8_t>(c)] |= query_character;
  for (char c : hex_digits) table[static_cast<std::uint8_t>(c)] |= hex_digit;
  return table;
}();

bool is(CharacterClass wanted, char c) noexcept {
  return (classes[static_cast<std::uint8_t>(c)] & wanted) != 0;
}

}  // namespace

std::size_t query_fault(std::string_view query) noexcept {
  for (std::size_t at = 0; at < query.size(); ++at) {
    if (is(query_character, query[at])) continue;
    const bool is_escape = query[at] == '%' && query.size() - at > 2 &&
                           is(hex_digit, query[at + 1]) && is(hex_digit, query[at + 2]);
    if (!is_escape) return at;
    at += 2;
  }
  return std::string_view::npos;
}

}  // namespace turnpike::base

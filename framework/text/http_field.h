// Rules for the text of an HTTP header field (RFC 9110, sections 5.1 and 5.5) and of a URL. Pure
// functions; every message passes through them, so they examine eight bytes at a time, or branch
// only at the end.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace turnpike::text {

namespace http_field_detail {

constexpr std::array<std::uint8_t, 256> make_not_token_table() {
  std::array<std::uint8_t, 256> table{};
  table.fill(1);
  constexpr std::string_view characters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~";
  for (const char c : characters) table[static_cast<unsigned char>(c)] = 0;
  return table;
}

inline constexpr auto not_token_table = make_not_token_table();

inline constexpr std::uint64_t ones = 0x0101'0101'0101'0101;

// Nonzero exactly when a byte of the word is below `limit` or is DEL; the result does not locate
// that byte, since borrows propagate upwards.
template <std::uint64_t limit>
constexpr std::uint64_t suspects(std::uint64_t word) noexcept {
  const std::uint64_t low = (word - limit * ones) & ~word;
  const std::uint64_t flipped = word ^ (0x7F * ones);
  const std::uint64_t deletes = (flipped - ones) & ~flipped;
  return (low | deletes) & (0x80 * ones);
}

constexpr bool is_value_byte(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte != 0x7F) || byte == '\t';
}

}  // namespace http_field_detail

// True for a token.
constexpr bool is_field_name(std::string_view name) noexcept {
  std::uint8_t fault = name.empty() ? 1 : 0;
  for (const char c : name) {
    fault |= http_field_detail::not_token_table[static_cast<unsigned char>(c)];
  }
  return fault == 0;
}

// True for a text without control bytes other than the tab.
inline bool is_field_value(std::string_view value) noexcept {
  std::size_t at = 0;
  for (; value.size() - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, value.data() + at, 8);
    if (http_field_detail::suspects<0x20>(word) == 0) continue;
    for (std::size_t byte = at; byte < at + 8; ++byte) {
      if (!http_field_detail::is_value_byte(value[byte])) return false;
    }
  }
  for (; at < value.size(); ++at) {
    if (!http_field_detail::is_value_byte(value[at])) return false;
  }
  return true;
}

// The text without leading and trailing blanks and tabs (RFC 9110, section 5.6.3).
constexpr std::string_view trimmed(std::string_view text) noexcept {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// The media type in a Content-Type value: the value without its parameters.
constexpr std::string_view media_type_of(std::string_view content_type) noexcept {
  return trimmed(content_type.substr(0, content_type.find(';')));
}

// True for visible ASCII only: no blank, no control byte, nothing beyond ASCII. URLs may contain
// nothing else.
inline bool is_visible_ascii(std::string_view text) noexcept {
  const auto is_visible = [](char c) { return c > 0x20 && c < 0x7F; };
  std::size_t at = 0;
  for (; text.size() - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    const std::uint64_t beyond = word & (0x80 * http_field_detail::ones);
    if ((http_field_detail::suspects<0x21>(word) | beyond) == 0) continue;
    for (std::size_t byte = at; byte < at + 8; ++byte) {
      if (!is_visible(text[byte])) return false;
    }
  }
  for (; at < text.size(); ++at) {
    if (!is_visible(text[at])) return false;
  }
  return true;
}

}  // namespace turnpike::text

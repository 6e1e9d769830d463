// Bytes as text and back: hexadecimal, base62, base64 (RFC 4648). Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace turnpike::text {

// Lower-case hex, base62 (0-9A-Za-z, fixed width, most significant first), base64url without
// padding, base64 with padding. The decoders accept the canonical form only.
std::string hex(std::span<const std::uint8_t> bytes);
std::string base62(std::span<const std::uint8_t> bytes, std::size_t width);
std::string base64url(std::string_view bytes);
std::optional<std::string> from_base64url(std::string_view text);
std::string base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

// -1: not a hexadecimal digit.
constexpr int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace turnpike::text

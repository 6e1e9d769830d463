#include "text/encoding.h"

#include <algorithm>

namespace turnpike::text {
namespace {

constexpr char hex_digits[] = "0123456789abcdef";
constexpr char base62_digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr char base64url_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int base64url_value(char digit) noexcept {
  if (digit >= 'A' && digit <= 'Z') return digit - 'A';
  if (digit >= 'a' && digit <= 'z') return digit - 'a' + 26;
  if (digit >= '0' && digit <= '9') return digit - '0' + 52;
  if (digit == '-') return 62;
  if (digit == '_') return 63;
  return -1;
}

}  // namespace

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (std::uint8_t byte : bytes) {
    text += hex_digits[byte >> 4];
    text += hex_digits[byte & 15];
  }
  return text;
}

std::string base62(std::span<const std::uint8_t> bytes, std::size_t width) {
  // Schoolbook division of the big-endian number by 62, one digit at a time.
  std::string number(bytes.begin(), bytes.end());
  std::string text(width, '0');
  for (std::size_t at = width; at-- > 0;) {
    std::uint32_t remainder = 0;
    for (char& digit : number) {
      const std::uint32_t value = remainder << 8 | static_cast<std::uint8_t>(digit);
      digit = static_cast<char>(value / 62);
      remainder = value % 62;
    }
    text[at] = base62_digits[remainder];
  }
  return text;
}

std::string base64url(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  int count = 0;
  for (char byte : bytes) {
    bits = bits << 8 | static_cast<std::uint8_t>(byte);
    count += 8;
    for (; count >= 6; count -= 6) text += base64url_digits[bits >> (count - 6) & 63];
  }
  if (count > 0) text += base64url_digits[bits << (6 - count) & 63];
  return text;
}

std::optional<std::string> from_base64url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (char digit : text) {
    const int value = base64url_value(digit);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xFF);
    }
  }
  if ((bits & ((1u << count) - 1)) != 0) return std::nullopt;  // not the canonical form
  return bytes;
}

std::string base64(std::string_view bytes) {
  std::string text = base64url(bytes);
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0 || text.find_first_of("-_") != text.npos) return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  std::string digits(text);
  std::replace(digits.begin(), digits.end(), '+', '-');
  std::replace(digits.begin(), digits.end(), '/', '_');
  return from_base64url(digits);
}

}  // namespace turnpike::text

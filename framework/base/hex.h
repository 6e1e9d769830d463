// hex_value(): the value of a hexadecimal digit of either case. Any Thread.
#pragma once

namespace turnpike::base {

// -1: not a hexadecimal digit.
constexpr int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace turnpike::base

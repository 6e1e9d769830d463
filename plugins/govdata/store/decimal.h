// Decimal numbers of any size as text: voting power and quorums keep the digits of their source and
// never pass through a double. A canonical decimal has no sign when zero, no leading zeros, no
// trailing zeros after the point, no exponent. Pure functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike::govdata {

// The canonical form of "12", "0.5", "-3.10", "1.5e-7"; nullopt when `text` is no number or would
// need more than 512 digits.
std::optional<std::string> canonical_decimal(std::string_view text);

// REQUIRES of all below: canonical arguments.
int compare_decimals(std::string_view left, std::string_view right);
std::string add_decimals(std::string_view left, std::string_view right);
bool is_zero(std::string_view decimal);
// part / whole, cut after six places; nullopt when `whole` is not above zero or `part` is negative.
std::optional<std::string> share_of(std::string_view part, std::string_view whole);
// `units` with its point moved `places` to the left: ("1000", 6) is "0.001".
std::string scaled_down(std::string_view units, int places);

// Unsigned integers of up to 256 bits. "0x2a" -> "42"; nullopt when it is no hex number.
std::optional<std::string> decimal_of_hex(std::string_view hex);
std::string decimal_of_word(const std::uint8_t (&word)[32]);

}  // namespace turnpike::govdata

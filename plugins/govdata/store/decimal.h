// Decimal numbers of any size as text: voting power and quorums keep the digits of their source and
// are never converted to a double. A canonical decimal has no plus sign, no minus sign if it is
// zero, no superfluous zeros at either end, and no exponent. Pure functions; any Thread may call
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike::govdata {

// The canonical form of "12", "0.5", "-3.10" or "1.5e-7". Empty if `text` is not a number, has more
// than 512 digits, or has an exponent outside of -512 to 512.
std::optional<std::string> canonical_decimal(std::string_view text);

// All arguments of the functions below must be canonical.
int compare_decimals(std::string_view left, std::string_view right);
std::string add_decimals(std::string_view left, std::string_view right);
bool is_zero(std::string_view decimal);
// part / whole, truncated to six places. Empty if `whole` is not above zero or `part` is negative.
std::optional<std::string> share_of(std::string_view part, std::string_view whole);
// The integer `units` divided by 10^places: ("1000", 6) is "0.001".
std::string scaled_down(std::string_view units, int places);

// Unsigned integers of up to 256 bits. "0x2a" -> "42"; empty if `hex` is not a hex number.
std::optional<std::string> decimal_of_hex(std::string_view hex);
std::string decimal_of_word(const std::uint8_t (&word)[32]);

}  // namespace turnpike::govdata

#include "govdata/store/decimal.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace turnpike::govdata {
namespace {

constexpr std::size_t digits_max = 512;

__extension__ typedef unsigned __int128 Wide;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A sign, the digits of the absolute value, and the number of digits after the point.
struct Scaled {
  bool negative = false;
  std::string digits;
  std::size_t places = 0;
};

Scaled split(std::string_view decimal) {
  Scaled number;
  number.negative = !decimal.empty() && decimal[0] == '-';
  if (number.negative) decimal.remove_prefix(1);
  const std::size_t point = decimal.find('.');
  number.digits = decimal.substr(0, point);
  if (point != std::string_view::npos) {
    number.digits += decimal.substr(point + 1);
    number.places = decimal.size() - point - 1;
  }
  return number;
}

std::string join(bool negative, std::string digits, std::size_t places) {
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  std::string whole = digits.substr(0, digits.size() - places);
  std::string fraction = digits.substr(digits.size() - places);
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size() - 1));
  fraction.erase(fraction.find_last_not_of('0') + 1);
  if (whole == "0" && fraction.empty()) negative = false;
  return (negative ? "-" : "") + whole + (fraction.empty() ? "" : "." + fraction);
}

// Gives both the same number of places and the same length.
void align(Scaled& left, Scaled& right) {
  const std::size_t places = std::max(left.places, right.places);
  left.digits.append(places - left.places, '0');
  right.digits.append(places - right.places, '0');
  left.places = right.places = places;
  const std::size_t length = std::max(left.digits.size(), right.digits.size());
  left.digits.insert(0, length - left.digits.size(), '0');
  right.digits.insert(0, length - right.digits.size(), '0');
}

std::string add_digits(const std::string& left, const std::string& right) {
  std::string sum(left.size() + 1, '0');
  int carry = 0;
  for (std::size_t at = left.size(); at-- > 0;) {
    const int digit = left[at] - '0' + right[at] - '0' + carry;
    sum[at + 1] = static_cast<char>('0' + digit % 10);
    carry = digit / 10;
  }
  sum[0] = static_cast<char>('0' + carry);
  return sum;
}

// `left` must not be smaller than `right`, and both must have the same length.
std::string subtract_digits(const std::string& left, const std::string& right) {
  std::string rest = left;
  int borrow = 0;
  for (std::size_t at = left.size(); at-- > 0;) {
    int digit = left[at] - right[at] - borrow;
    borrow = digit < 0 ? 1 : 0;
    rest[at] = static_cast<char>('0' + digit + 10 * borrow);
  }
  return rest;
}

Wide wide_of(std::string_view digits) {
  Wide value = 0;
  for (const char digit : digits) value = value * 10 + static_cast<unsigned>(digit - '0');
  return value;
}

}  // namespace

std::optional<std::string> canonical_decimal(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  std::int64_t exponent = 0;
  if (const std::size_t mark = text.find_first_of("eE"); mark != std::string_view::npos) {
    std::string_view power = text.substr(mark + 1);
    if (!power.empty() && power[0] == '+') power.remove_prefix(1);
    const char* power_end = power.data() + power.size();
    const auto [end, problem] = std::from_chars(power.data(), power_end, exponent);
    if (problem != std::errc{} || end != power_end) return std::nullopt;
    text = text.substr(0, mark);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, point));
  if (point < text.size()) digits += text.substr(point + 1);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
  const auto places = point < text.size() ? static_cast<std::int64_t>(text.size() - point - 1) : 0;
  const auto limit = static_cast<std::int64_t>(digits_max);
  if (digits.size() > digits_max || exponent < -limit || exponent > limit) return std::nullopt;
  const std::int64_t moved = places - exponent;
  if (moved < 0) digits.append(static_cast<std::size_t>(-moved), '0');
  const auto places_left = static_cast<std::size_t>(std::max<std::int64_t>(moved, 0));
  return join(negative, std::move(digits), places_left);
}

int compare_decimals(std::string_view left, std::string_view right) {
  Scaled a = split(left);
  Scaled b = split(right);
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  align(a, b);
  const int order = a.digits.compare(b.digits);
  const int sign = order < 0 ? -1 : order > 0 ? 1 : 0;
  return a.negative ? -sign : sign;
}

std::string add_decimals(std::string_view left, std::string_view right) {
  Scaled a = split(left);
  Scaled b = split(right);
  align(a, b);
  if (a.negative == b.negative) return join(a.negative, add_digits(a.digits, b.digits), a.places);
  if (a.digits < b.digits) std::swap(a, b);
  return join(a.negative, subtract_digits(a.digits, b.digits), a.places);
}

bool is_zero(std::string_view decimal) { return decimal == "0"; }

std::optional<std::string> share_of(std::string_view part, std::string_view whole) {
  Scaled a = split(part);
  Scaled b = split(whole);
  if (a.negative || b.negative || is_zero(whole)) return std::nullopt;
  align(a, b);
  // The 30 leading digits are enough for six places. Multiplied by a million they have 36 digits,
  // which fit into 128 bits.
  constexpr std::size_t digits_kept = 30;
  const std::size_t lead =
      std::min(a.digits.find_first_not_of('0'), b.digits.find_first_not_of('0'));
  const Wide numerator = wide_of(std::string_view(a.digits).substr(lead, digits_kept));
  const Wide denominator = wide_of(std::string_view(b.digits).substr(lead, digits_kept));
  if (denominator == 0) return std::nullopt;
  const auto millionths = static_cast<std::uint64_t>(
      std::min<Wide>(numerator * 1'000'000 / denominator, Wide{1} << 62));
  return join(false, std::to_string(millionths), 6);
}

std::string scaled_down(std::string_view units, int places) {
  return join(false, std::string(units), static_cast<std::size_t>(places));
}

std::string decimal_of_word(const std::uint8_t (&word)[32]) {
  std::array<std::uint32_t, 8> limbs{};
  for (std::size_t at = 0; at < 32; ++at) limbs[at / 4] = limbs[at / 4] << 8 | word[at];
  std::string digits;
  while (std::any_of(limbs.begin(), limbs.end(), [](std::uint32_t limb) { return limb != 0; })) {
    std::uint64_t rest = 0;
    for (std::uint32_t& limb : limbs) {
      const std::uint64_t value = rest << 32 | limb;
      limb = static_cast<std::uint32_t>(value / 1'000'000'000);
      rest = value % 1'000'000'000;
    }
    for (int at = 0; at < 9; ++at, rest /= 10) digits += static_cast<char>('0' + rest % 10);
  }
  std::reverse(digits.begin(), digits.end());
  const std::size_t lead = digits.find_first_not_of('0');
  return lead == std::string::npos ? "0" : digits.substr(lead);
}

std::optional<std::string> decimal_of_hex(std::string_view hex) {
  if (hex.size() < 3 || hex.size() > 66 || hex[0] != '0' || (hex[1] != 'x' && hex[1] != 'X')) {
    return std::nullopt;
  }
  hex.remove_prefix(2);
  std::uint8_t word[32] = {};
  std::size_t nibble = 64 - hex.size();
  for (const char c : hex) {
    const int value = is_digit(c)            ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (value < 0) return std::nullopt;
    word[nibble / 2] = static_cast<std::uint8_t>(word[nibble / 2] << 4 | value);
    ++nibble;
  }
  return decimal_of_word(word);
}

}  // namespace turnpike::govdata

#include "x402/protocol/encoding.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "x402/protocol/digest.h"

namespace turnpike::x402 {
namespace {

constexpr std::string_view standard_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view url_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view base58_alphabet =
    "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
constexpr std::string_view hex_digits = "0123456789abcdef";

constexpr std::uint8_t no_digit = 0xFF;
using Digits = std::array<std::uint8_t, 256>;

constexpr Digits digits_of(std::string_view alphabet) {
  Digits digits{};
  for (std::uint8_t& digit : digits) digit = no_digit;
  for (std::size_t at = 0; at < alphabet.size(); ++at) {
    digits[static_cast<unsigned char>(alphabet[at])] = static_cast<std::uint8_t>(at);
  }
  return digits;
}

constexpr Digits hex_values() {
  Digits digits = digits_of(hex_digits);
  for (char c = 'A'; c <= 'F'; ++c) digits[static_cast<unsigned char>(c)] = digits[c + 32];
  return digits;
}

constexpr Digits standard_values = digits_of(standard_alphabet);
constexpr Digits url_values = digits_of(url_alphabet);
constexpr Digits base58_values = digits_of(base58_alphabet);
constexpr Digits hex = hex_values();

std::uint8_t value_of(const Digits& digits, char c) noexcept {
  return digits[static_cast<unsigned char>(c)];
}

// Without padding.
std::string encode64(std::string_view bytes, std::string_view alphabet) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (held += 8; held >= 6; held -= 6) text += alphabet[bits >> (held - 6) & 63];
  }
  if (held > 0) text += alphabet[bits << (6 - held) & 63];
  return text;
}

// Without padding.
std::optional<std::string> decode64(std::string_view text, const Digits& digits,
                                    std::size_t bytes_max) {
  const std::size_t bytes = text.size() / 4 * 3 + text.size() % 4 * 3 / 4;
  if (text.size() % 4 == 1 || bytes > bytes_max) return std::nullopt;
  std::string out(bytes, '\0');
  std::size_t at = 0;
  std::uint8_t seen = 0;  // collects the bits above 63, which only no_digit has
  for (; text.size() >= 4; text.remove_prefix(4)) {
    const std::uint32_t a = value_of(digits, text[0]), b = value_of(digits, text[1]),
                        c = value_of(digits, text[2]), d = value_of(digits, text[3]);
    seen |= static_cast<std::uint8_t>(a | b | c | d);
    const std::uint32_t bits = a << 18 | b << 12 | c << 6 | d;
    out[at++] = static_cast<char>(bits >> 16);
    out[at++] = static_cast<char>(bits >> 8);
    out[at++] = static_cast<char>(bits);
  }
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const std::uint8_t digit = value_of(digits, c);
    seen |= digit;
    bits = bits << 6 | digit;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out[at++] = static_cast<char>(bits >> held);
  }
  const bool unused_bits_are_zero = (bits & ((1U << held) - 1)) == 0;
  if (seen > 63 || !unused_bits_are_zero) return std::nullopt;
  return out;
}

// Sets `number`, an array of 32-bit limbs with the most significant first, to number * factor +
// carry. Returns the overflow.
std::uint32_t multiply_add(std::span<std::uint32_t> number, std::uint32_t factor,
                           std::uint32_t carry) noexcept {
  for (auto limb = number.rbegin(); limb != number.rend(); ++limb) {
    const std::uint64_t product = std::uint64_t{*limb} * factor + carry;
    *limb = static_cast<std::uint32_t>(product);
    carry = static_cast<std::uint32_t>(product >> 32);
  }
  return carry;
}

bool is_decimal(std::string_view text) noexcept {
  return !text.empty() && (text.size() == 1 || text[0] != '0') &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text = encode64(bytes, standard_alphabet);
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::optional<std::string> base64_decode(std::string_view text, std::size_t bytes_max) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  return decode64(text, standard_values, bytes_max);
}

std::string base64url_encode(std::string_view bytes) { return encode64(bytes, url_alphabet); }

std::optional<std::string> base64url_decode(std::string_view text, std::size_t bytes_max) {
  return decode64(text, url_values, bytes_max);
}

std::string hex_encode(std::string_view bytes) {
  std::string text = "0x";
  text.reserve(2 + 2 * bytes.size());
  for (const char byte : bytes) {
    text += hex_digits[static_cast<unsigned char>(byte) >> 4];
    text += hex_digits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

bool hex_decode_exactly(std::string_view text, std::span<std::uint8_t> out) noexcept {
  if (text.size() != 2 + 2 * out.size() || !text.starts_with("0x")) return false;
  std::uint8_t seen = 0;
  for (std::size_t at = 0; at < out.size(); ++at) {
    const std::uint8_t high = value_of(hex, text[2 + 2 * at]);
    const std::uint8_t low = value_of(hex, text[3 + 2 * at]);
    seen |= high | low;
    out[at] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return seen < 16;
}

std::optional<std::string> hex_decode(std::string_view text, std::size_t bytes_max) {
  if (text.size() < 2 || text.size() % 2 != 0 || text.size() / 2 - 1 > bytes_max) {
    return std::nullopt;
  }
  std::string bytes(text.size() / 2 - 1, '\0');
  const std::span out(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size());
  if (!hex_decode_exactly(text, out)) return std::nullopt;
  return bytes;
}

std::optional<Word> parse_uint256(std::string_view text) noexcept {
  if (text.size() > 78 || !is_decimal(text)) return std::nullopt;  // 2^256 has 78 digits
  std::array<std::uint32_t, 8> number{};
  while (!text.empty()) {
    std::uint32_t factor = 1, digits = 0;
    for (; !text.empty() && factor < 1'000'000'000; text.remove_prefix(1)) {
      digits = digits * 10 + static_cast<std::uint32_t>(text[0] - '0');
      factor *= 10;
    }
    if (multiply_add(number, factor, digits) != 0) return std::nullopt;
  }
  Word word;
  for (std::size_t at = 0; at < word.size(); ++at) {
    word[at] = static_cast<std::uint8_t>(number[at / 4] >> (24 - at % 4 * 8));
  }
  return word;
}

std::optional<std::uint64_t> parse_uint64(std::string_view text) noexcept {
  const auto word = parse_uint256(text);
  if (!word || std::any_of(word->begin(), word->end() - 8, [](auto byte) { return byte != 0; })) {
    return std::nullopt;
  }
  return saturated_uint64(*word);
}

Word word_of(std::uint64_t value) noexcept {
  Word word{};
  for (auto byte = word.rbegin(); value != 0; ++byte, value >>= 8) {
    *byte = static_cast<std::uint8_t>(value);
  }
  return word;
}

Word word_of(const Address& address) noexcept {
  Word word{};
  std::copy(address.begin(), address.end(), word.end() - address.size());
  return word;
}

std::uint64_t saturated_uint64(const Word& word) noexcept {
  std::uint64_t value = 0;
  for (std::size_t at = 0; at < word.size(); ++at) {
    if (value >> 56 != 0) return std::numeric_limits<std::uint64_t>::max();
    value = value << 8 | word[at];
  }
  return value;
}

std::string checksum_address(const Address& address) {
  std::string text = hex_encode(bytes_of(address));
  const Word hash = keccak256(std::string_view(text).substr(2));
  for (std::size_t at = 0; at < 2 * address.size(); ++at) {
    const int nibble = hash[at / 2] >> (at % 2 == 0 ? 4 : 0) & 15;
    char& digit = text[2 + at];
    if (nibble >= 8 && digit >= 'a') digit = static_cast<char>(digit - 32);
  }
  return text;
}

std::optional<Address> parse_address(std::string_view text) {
  Address address;
  if (!hex_decode_exactly(text, address)) return std::nullopt;
  const bool has_upper =
      std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'F'; });
  if (has_upper && checksum_address(address) != text) return std::nullopt;
  return address;
}

std::string base58_encode(std::string_view bytes) {
  const std::size_t zeros = std::min(bytes.find_first_not_of('\0'), bytes.size());
  std::vector<std::uint8_t> digits;  // least significant first
  for (const char byte : bytes.substr(zeros)) {
    std::uint32_t carry = static_cast<unsigned char>(byte);
    for (std::uint8_t& digit : digits) {
      carry += std::uint32_t{digit} << 8;
      digit = static_cast<std::uint8_t>(carry % 58);
      carry /= 58;
    }
    for (; carry > 0; carry /= 58) digits.push_back(static_cast<std::uint8_t>(carry % 58));
  }
  std::string text(zeros, base58_alphabet[0]);
  std::for_each(digits.rbegin(), digits.rend(),
                [&](auto digit) { text += base58_alphabet[digit]; });
  return text;
}

std::optional<std::string> base58_decode(std::string_view text, std::size_t bytes_max) {
  const std::size_t zeros = std::min(text.find_first_not_of(base58_alphabet[0]), text.size());
  if (zeros > bytes_max) return std::nullopt;
  std::string bytes;  // least significant first
  for (const char c : text.substr(zeros)) {
    std::uint32_t carry = value_of(base58_values, c);
    if (carry == no_digit) return std::nullopt;
    for (char& byte : bytes) {
      carry += static_cast<unsigned char>(byte) * 58U;
      byte = static_cast<char>(carry);
      carry >>= 8;
    }
    if (carry > 0) bytes += static_cast<char>(carry);
    if (zeros + bytes.size() > bytes_max) return std::nullopt;
  }
  bytes.append(zeros, '\0');
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

}  // namespace turnpike::x402

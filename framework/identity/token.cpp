#include "identity/token.h"

#include <array>

#include "text/encoding.h"

namespace turnpike::identity {
namespace {

constexpr std::array<std::string_view, 7> starts{
    "turnpike_sk_v1_", "turnpike_op_v1_", "turnpike_ss_v1_", "turnpike_ln_v1_",
    "turnpike_ac_v1_", "turnpike_at_v1_", "turnpike_rt_v1_"};
constexpr std::size_t random_digits = 43;          // 256 bits
constexpr std::size_t checksum_digits = 6;         // 32 bits
constexpr std::size_t part_at = starts[0].size();  // the same for all kinds
constexpr std::size_t random_at = part_at + 4;     // "dev_"
constexpr std::size_t checksum_at = random_at + random_digits;
static_assert(token_bytes == checksum_at + checksum_digits);

// CRC-32/ISO-HDLC (reflected polynomial 0x04C11DB7).
constexpr std::array<std::uint32_t, 256> crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0xEDB88320u : 0);
    table[byte] = value;
  }
  return table;
}();

std::array<char, checksum_digits> checksum_of(std::string_view text) noexcept {
  constexpr char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char c : text) crc = crc >> 8 ^ crc_table[(crc ^ static_cast<std::uint8_t>(c)) & 0xFF];
  crc = ~crc;
  std::array<char, checksum_digits> checksum{};
  for (std::size_t at = checksum_digits; at-- > 0; crc /= 62) checksum[at] = digits[crc % 62];
  return checksum;
}

bool is_base62(std::string_view text) noexcept {
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    const bool is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (!is_digit && !is_letter) return false;
  }
  return true;
}

}  // namespace

std::string make_token(Environment environment, Random& random, TokenKind kind) {
  std::array<std::uint8_t, 32> bytes{};
  random.fill(bytes);
  std::string token(starts[static_cast<std::size_t>(kind)]);
  token += token_part(environment);
  token += '_';
  token += text::base62(bytes, random_digits);
  const auto checksum = checksum_of(token);
  token.append(checksum.data(), checksum.size());
  return token;
}

bool starts_as(std::string_view token, TokenKind kind) noexcept {
  return token.starts_with(starts[static_cast<std::size_t>(kind)]);
}

std::optional<Environment> token_environment(std::string_view token, TokenKind kind) noexcept {
  if (token.size() != token_bytes || !starts_as(token, kind)) return std::nullopt;
  if (token[random_at - 1] != '_' || !is_base62(token.substr(random_at))) return std::nullopt;
  const auto checksum = checksum_of(token.substr(0, checksum_at));
  if (token.substr(checksum_at) != std::string_view(checksum.data(), checksum.size())) {
    return std::nullopt;
  }
  for (const Environment each :
       {Environment::development, Environment::staging, Environment::production}) {
    if (token.substr(part_at, 3) == token_part(each)) return each;
  }
  return std::nullopt;
}

}  // namespace turnpike::identity

#include "substrate/codec/bytes.h"

#include <sodium/utils.h>

#include <algorithm>

namespace turnpike::substrate {
namespace {

std::string_view without_prefix(std::string_view text) noexcept {
  const bool has_prefix = text.starts_with("0x") || text.starts_with("0X");
  return has_prefix ? text.substr(2) : text;
}

}  // namespace

std::string hex_of(ByteView bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "0x";
  text.reserve(2 + 2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 0x0F];
  }
  return text;
}

std::optional<Bytes> bytes_of_hex(std::string_view text) {
  text = without_prefix(text);
  if (text.size() % 2 != 0) return std::nullopt;
  Bytes bytes(text.size() / 2);
  if (text.empty()) return bytes;
  std::size_t length = 0;
  const char* end = nullptr;
  const int problem = sodium_hex2bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr,
                                     &length, &end);
  if (problem != 0 || end != text.data() + text.size()) return std::nullopt;
  return bytes;
}

std::optional<Hash> hash_of_hex(std::string_view text) {
  Hash hash{};
  if (without_prefix(text).size() != 2 * hash.size()) return std::nullopt;
  const auto bytes = bytes_of_hex(text);
  if (!bytes) return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), hash.begin());
  return hash;
}

std::optional<Bytes> bytes_of_base64(std::string_view text) {
  if (text.ends_with('=')) {
    if (text.size() % 4 != 0) return std::nullopt;
    text.remove_suffix(text.ends_with("==") ? 2 : 1);
  }
  Bytes bytes(text.size() / 4 * 3 + 3);
  std::size_t length = 0;
  const char* end = nullptr;
  const int problem =
      sodium_base642bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &length,
                        &end, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
  if (problem != 0 || end != text.data() + text.size()) return std::nullopt;
  bytes.resize(length);
  return bytes;
}

}  // namespace turnpike::substrate

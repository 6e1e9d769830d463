// Bytes and 32-byte hashes, and their texts in hex and base64. Plain values and pure functions; any
// Thread may use them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace turnpike::substrate {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;
using Hash = std::array<std::uint8_t, 32>;

// Lower-case hex with 0x.
std::string hex_of(ByteView bytes);

// Reads hex in any case, with or without 0x. Empty if the text is not hex of whole bytes.
std::optional<Bytes> bytes_of_hex(std::string_view text);
std::optional<Hash> hash_of_hex(std::string_view text);

// Reads base64 of the standard alphabet, with or without padding, without line breaks.
std::optional<Bytes> bytes_of_base64(std::string_view text);

inline std::string_view text_of(ByteView bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline ByteView bytes_of_text(std::string_view text) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace turnpike::substrate

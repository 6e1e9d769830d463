// Bytes, 32-byte hashes and their texts: hex as nodes and callers write it, base64 as callers send
// it. Plain values and pure functions; any Thread.
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

// With 0x, in lower case.
std::string hex_of(ByteView bytes);

// With or without 0x, in any case; nothing when it is no hex of whole bytes.
std::optional<Bytes> bytes_of_hex(std::string_view text);
std::optional<Hash> hash_of_hex(std::string_view text);

// The standard alphabet, with or without padding, without line ends.
std::optional<Bytes> bytes_of_base64(std::string_view text);

inline std::string_view text_of(ByteView bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline ByteView bytes_of_text(std::string_view text) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace turnpike::substrate

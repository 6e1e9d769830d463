// How this lane passes bytes: as views of chars, and in two fixed sizes that chains and digests
// use. Value types, pure functions; safe on any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace turnpike::x402 {

using Word = std::array<std::uint8_t, 32>;     // a digest, or a uint256, big-endian
using Address = std::array<std::uint8_t, 20>;  // an account or contract of an EVM chain

template <std::size_t N>
std::string_view bytes_of(const std::array<std::uint8_t, N>& array) noexcept {
  return {reinterpret_cast<const char*>(array.data()), N};
}

}  // namespace turnpike::x402

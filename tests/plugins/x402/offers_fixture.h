// Shared by the tests of offers/: keys and randomness that a test controls. One Thread.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "support/sdk_fakes.h"
#include "support/temporary.h"
#include "x402/offers/jws.h"
#include "x402/protocol/encoding.h"

namespace turnpike::x402 {

using support::SeededRandom;
using support::TemporaryDirectory;

inline constexpr std::int64_t start_ms = 1'795'300'000'000;  // 2026-11-21T22:26:40Z

inline std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// REQUIRES: `hex` is a valid key.
inline PrivateKey key_of_hex(Algorithm algorithm, std::string_view hex) {
  SeededRandom random;
  PrivateKey::Secret secret{};
  if (!hex_decode_exactly(hex, secret)) std::abort();
  return std::move(*PrivateKey::from_secret(algorithm, secret, random));
}

inline PrivateKey any_key(Algorithm algorithm, std::uint64_t seed = 1) {
  SeededRandom random(seed);
  return *PrivateKey::make(algorithm, random);
}

}  // namespace turnpike::x402

// Shared by the tests of offers/: a clock and randomness that a test controls, and a temporary
// folder. One Thread.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/sdk_fakes.h"
#include "x402/offers/jws.h"
#include "x402/protocol/encoding.h"

namespace turnpike::x402 {

using support::SeededRandom;

inline constexpr std::int64_t start_ms = 1'795'300'000'000;  // 2026-11-21T22:26:40Z

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "x402-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

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

// The digests that Substrate uses: BLAKE2b with 32 bytes (blake2_256), SHA-256 and twox64, from
// libsodium and xxHash. The streams hash input that comes in pieces. A stream is used by one Thread
// at a time; the functions are pure.
#pragma once

#include <initializer_list>

#include <sodium/crypto_generichash.h>
#include <sodium/crypto_hash_sha256.h>

#include "substrate/codec/bytes.h"

namespace turnpike::substrate {

class Blake2Stream {
 public:
  Blake2Stream() noexcept;
  void add(ByteView bytes) noexcept;
  [[nodiscard]] Hash finish() noexcept;

 private:
  crypto_generichash_state state_;
};

class Sha256Stream {
 public:
  Sha256Stream() noexcept;
  void add(ByteView bytes) noexcept;
  [[nodiscard]] Hash finish() noexcept;

 private:
  crypto_hash_sha256_state state_;
};

// The digest of the concatenated parts.
Hash blake2_256(std::initializer_list<ByteView> parts) noexcept;
inline Hash blake2_256(ByteView bytes) noexcept { return blake2_256({bytes}); }
Hash sha256(ByteView bytes) noexcept;

// xxHash64 with seed 0, in little-endian order as in storage keys.
std::array<std::uint8_t, 8> twox64(ByteView bytes) noexcept;

}  // namespace turnpike::substrate

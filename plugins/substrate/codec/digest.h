// The digests of Substrate: BLAKE2b with 32 bytes (blake2_256), SHA-256 and twox64, by libsodium
// and xxHash. The streams take what is too long to be kept. One Thread at a time; the functions are
// pure.
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

// Of the parts, one after the other.
Hash blake2_256(std::initializer_list<ByteView> parts) noexcept;
inline Hash blake2_256(ByteView bytes) noexcept { return blake2_256({bytes}); }
Hash sha256(ByteView bytes) noexcept;

// xxHash64 without a seed, in the order of bytes of storage keys.
std::array<std::uint8_t, 8> twox64(ByteView bytes) noexcept;

}  // namespace turnpike::substrate

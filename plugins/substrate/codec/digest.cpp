#include "substrate/codec/digest.h"

#include <xxhash.h>

namespace turnpike::substrate {

Blake2Stream::Blake2Stream() noexcept {
  crypto_generichash_init(&state_, nullptr, 0, Hash().size());
}

void Blake2Stream::add(ByteView bytes) noexcept {
  crypto_generichash_update(&state_, bytes.data(), bytes.size());
}

Hash Blake2Stream::finish() noexcept {
  Hash hash{};
  crypto_generichash_final(&state_, hash.data(), hash.size());
  return hash;
}

Sha256Stream::Sha256Stream() noexcept { crypto_hash_sha256_init(&state_); }

void Sha256Stream::add(ByteView bytes) noexcept {
  crypto_hash_sha256_update(&state_, bytes.data(), bytes.size());
}

Hash Sha256Stream::finish() noexcept {
  Hash hash{};
  crypto_hash_sha256_final(&state_, hash.data());
  return hash;
}

Hash blake2_256(std::initializer_list<ByteView> parts) noexcept {
  Blake2Stream stream;
  for (const ByteView part : parts) stream.add(part);
  return stream.finish();
}

Hash sha256(ByteView bytes) noexcept {
  Sha256Stream stream;
  stream.add(bytes);
  return stream.finish();
}

std::array<std::uint8_t, 8> twox64(ByteView bytes) noexcept {
  std::uint64_t value = XXH64(bytes.data(), bytes.size(), 0);
  std::array<std::uint8_t, 8> key{};
  for (std::uint8_t& byte : key) {
    byte = static_cast<std::uint8_t>(value);
    value >>= 8;
  }
  return key;
}

}  // namespace turnpike::substrate

// Ed25519 signatures (RFC 8032) over OpenSSL. A private key is its 32 byte seed; signatures are
// deterministic. Pure functions; safe on any Thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike::crypto {

using Ed25519Seed = std::array<std::uint8_t, 32>;
using Ed25519PublicKey = std::array<std::uint8_t, 32>;
using Ed25519Signature = std::array<std::uint8_t, 64>;

Ed25519PublicKey ed25519_public_key(const Ed25519Seed& seed) noexcept;
Ed25519Signature ed25519_sign(const Ed25519Seed& seed, std::string_view bytes) noexcept;
bool ed25519_verify(const Ed25519PublicKey& key, std::string_view bytes,
                    const Ed25519Signature& signature) noexcept;

// The key as PEM (RFC 8410), the form that other tools read.
std::string ed25519_pem(const Ed25519PublicKey& key);

}  // namespace turnpike::crypto

// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104) over OpenSSL, and constant-time comparison of
// secrets. Pure functions; safe on any Thread.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace turnpike::crypto {

using Sha256 = std::array<std::uint8_t, 32>;

// One-shot; allocates on a Thread's first call only.
Sha256 sha256(std::string_view bytes) noexcept;

// The SHA-256 of the concatenation of `parts`.
Sha256 sha256(std::initializer_list<std::string_view> parts) noexcept;

Sha256 hmac_sha256(std::string_view key, std::string_view bytes) noexcept;

// 64 lower-case hex digits of sha256(bytes).
std::string sha256_hex(std::string_view bytes);

bool equal_in_constant_time(std::string_view left, std::string_view right) noexcept;

}  // namespace turnpike::crypto

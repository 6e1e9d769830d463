// The hash functions of the protocol, computed by Botan: SHA-256 (FIPS 180-4), HMAC-SHA-256 (RFC
// 2104) and Ethereum's Keccak-256. Keccak-256 is not SHA3-256: the padding differs (Yellow Paper,
// appendix on Keccak). Each thread keeps its hash objects, since making one costs more than hashing
// with it. Safe on any thread and fiber: nothing suspends during a computation.
#pragma once

#include <initializer_list>
#include <string_view>

#include "x402/protocol/bytes.h"

namespace turnpike::x402 {

// Hash the concatenation of the parts.
Word sha256(std::initializer_list<std::string_view> parts);
Word keccak256(std::initializer_list<std::string_view> parts);
Word hmac_sha256(std::string_view key, std::initializer_list<std::string_view> parts);

inline Word sha256(std::string_view text) { return sha256({text}); }
inline Word keccak256(std::string_view text) { return keccak256({text}); }

// The running time depends on the lengths alone.
bool equal_in_constant_time(std::string_view left, std::string_view right) noexcept;

}  // namespace turnpike::x402

// Recovers the signer of a digest from a secp256k1 signature r || s || v, as Ethereum's ecrecover
// does (Yellow Paper, appendix F). Uses libsecp256k1. Pure; safe on any thread: recovery needs no
// context of its own, since the library's static context is constant.
#pragma once

#include <optional>
#include <string_view>

#include "x402/protocol/bytes.h"

namespace turnpike::x402 {

inline constexpr std::size_t plain_signature_bytes = 65;

struct Signer {
  Address address;
  // Tokens accept one spelling of a signature: s in the lower half of the order (EIP-2) and v as 27
  // or 28. Another spelling names the same signer but cannot be settled.
  bool is_canonical;
};

// Returns nullopt if the signature is not 65 bytes or no key can be recovered from it.
std::optional<Signer> recover_signer(const Word& digest, std::string_view signature);

}  // namespace turnpike::x402

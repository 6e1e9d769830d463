// KeySet: the public keys of an issuer of signed tokens (JWK Set, RFC 7517), and the verification
// of its tokens: a JWS in compact form (RFC 7515) with RS256, PS256 or ES256 (RFC 7518). The caller
// states the allowed algorithms; the token's header only selects among those, so neither "none" nor
// an HMAC under a public key is ever tried.
//
// Values, immutable once made; safe on any Thread. Nothing is left in OpenSSL's error queue, which
// the TLS connections of the same Thread read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

namespace turnpike::crypto {

enum class JwsAlgorithm : std::uint8_t { rs256, ps256, es256 };
inline constexpr JwsAlgorithm all_jws_algorithms[] = {JwsAlgorithm::rs256, JwsAlgorithm::ps256,
                                                      JwsAlgorithm::es256};
std::string_view name_of(JwsAlgorithm algorithm) noexcept;  // "RS256"

// Why a token is refused.
enum class JwsFault : std::uint8_t {
  malformed,  // not a compact JWS, or it requires unknown features ("crit")
  algorithm,  // its algorithm is not allowed
  key,        // no key of the set fits; a newer set may have one
  signature,  // no key of the set verifies the signature
};

class KeySet {
 public:
  static constexpr std::size_t keys_max = 64;
  static constexpr std::size_t token_bytes_max = 32 * 1024;

  struct Key {
    std::string id;         // "kid"; empty: none
    std::string algorithm;  // the only algorithm of the key; empty: any of its type
    bool is_rsa = false;    // otherwise a point on P-256
    std::size_t signature_bytes = 0;
    std::string json;       // the public members only
  };

  KeySet() = default;  // no keys: verifies nothing

  // Unusable keys are skipped: other types and curves, encryption keys, RSA keys of fewer than 2048
  // or more than 8192 bits, points that are not on the curve. nullopt: the text is not a key set,
  // or has too many keys.
  static std::optional<KeySet> parse(std::string_view json);

  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

  // The payload, if one of these keys signed it; if the token has a `kid`, only that key is tried.
  [[nodiscard]] Result<std::string, JwsFault> verify(std::string_view token,
                                                     std::span<const JwsAlgorithm> allowed) const;

 private:
  std::vector<Key> keys_;
};

}  // namespace turnpike::crypto

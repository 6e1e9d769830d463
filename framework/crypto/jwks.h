// KeySet: the public keys of an issuer of signed tokens, as it publishes them (JWK Set, RFC 7517),
// and the check of what it signed: a JWS in its compact form (RFC 7515) under RS256, PS256 or ES256
// (RFC 7518). Which of them is allowed, the caller says: what a token says of itself only chooses
// among those, so neither "none" nor an HMAC under a public key is ever tried.
//
// Values, immutable once made; safe on any Thread. Nothing is left in OpenSSL's queue of errors,
// which the TLS connections of the same Thread read.
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

// Why a token is not taken.
enum class JwsFault : std::uint8_t {
  malformed,  // it is no compact JWS, or asks for what is not understood here ("crit")
  algorithm,  // it names one that is not allowed
  key,        // the set has no key that it could be signed with; a newer set may
  signature,  // it was not signed with any of those
};

class KeySet {
 public:
  static constexpr std::size_t keys_max = 64;
  static constexpr std::size_t token_bytes_max = 32 * 1024;

  struct Key {
    std::string id;         // "kid"; empty: it has none
    std::string algorithm;  // that it is for; empty: any of its type
    bool is_rsa = false;    // else a point of P-256
    std::size_t signature_bytes = 0;
    std::string json;       // its public members alone
  };

  KeySet() = default;  // no keys: nothing that is signed fits it

  // Keys that are of no use here are left out: other types and curves, keys for encryption, RSA of
  // fewer than 2048 bits or more than 8192, points that are not on the curve. Nothing: the text is
  // no key set, or has more keys than the most.
  static std::optional<KeySet> parse(std::string_view json);

  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

  // What was signed, if it was with one of these keys: with that of the token's `kid`, where it has
  // one.
  [[nodiscard]] Result<std::string, JwsFault> verify(std::string_view token,
                                                     std::span<const JwsAlgorithm> allowed) const;

 private:
  std::vector<Key> keys_;
};

}  // namespace turnpike::crypto

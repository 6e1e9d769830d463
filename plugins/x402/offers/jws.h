// Compact JWS (RFC 7515) as in the offer-receipt extension (docs/protocols.md, "Offers and
// receipts"): the header is exactly {"alg","kid"}, the payload is canonical JSON. Two algorithms,
// both deterministic: ES256K (RFC 8812: SHA-256, secp256k1, r || s with the low s, nonce by RFC
// 6979) and EdDSA (RFC 8037, Ed25519).
//
// Values; safe on any Thread. A PrivateKey is wiped when it is destroyed and is never printed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "x402/protocol/json.h"

namespace turnpike::x402 {

enum class Algorithm : std::uint8_t { es256k, eddsa };
// The names in the header's `alg`.
[[nodiscard]] std::string_view name_of(Algorithm algorithm) noexcept;
[[nodiscard]] std::optional<Algorithm> algorithm_named(std::string_view name) noexcept;

using Signature = std::array<std::uint8_t, 64>;

struct PublicKey {
  Algorithm algorithm = Algorithm::es256k;
  std::array<std::uint8_t, 64> bytes{};  // ES256K: x || y; EdDSA: 32 bytes, then zeros

  [[nodiscard]] bool verifies(std::string_view message, const Signature& signature) const;
  bool operator==(const PublicKey&) const = default;
};

// The members of a JWK (RFC 7517 with RFC 8812 or RFC 8037) without the braces, so that others can
// be added.
[[nodiscard]] std::string jwk_members(const PublicKey& key);
// The error is a sentence. A point of secp256k1 must lie on the curve.
[[nodiscard]] Result<PublicKey, std::string> public_key_of_jwk(JsonValue jwk);

class PrivateKey {
 public:
  using Secret = std::array<std::uint8_t, 32>;  // EdDSA: the seed of RFC 8032

  // `random` also blinds the computations on secp256k1. Returns nullopt if several draws give no
  // key, because then `random` is not random.
  static std::optional<PrivateKey> make(Algorithm algorithm, Random& random);
  // Returns nullopt if `secret` is not a key of the curve: zero, or not below its order.
  static std::optional<PrivateKey> from_secret(Algorithm algorithm, const Secret& secret,
                                               Random& random);
  PrivateKey(PrivateKey&&) noexcept;
  PrivateKey& operator=(PrivateKey&&) noexcept;
  ~PrivateKey();

  [[nodiscard]] const PublicKey& public_key() const noexcept;
  // May be written only to the key's file.
  [[nodiscard]] const Secret& secret() const noexcept;
  [[nodiscard]] Signature sign(std::string_view message) const;

 private:
  struct Parts;
  explicit PrivateKey(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

inline constexpr std::size_t jws_bytes_max = 32 * 1024;

struct Jws {
  Algorithm algorithm = Algorithm::es256k;
  std::string kid;
  std::string payload;
  std::string signing_input;  // what the signature covers
  Signature signature{};
};

[[nodiscard]] std::string sign_jws(const PrivateKey& key, std::string_view kid,
                                   std::string_view payload);
// Reads but verifies nothing. Ignores unknown members of the header, but refuses `crit`.
[[nodiscard]] Result<Jws, std::string> parse_jws(std::string_view text);
// Refuses a signature with the high s, so that one payload has one signature.
[[nodiscard]] bool verify_jws(const Jws& jws, const PublicKey& key);

}  // namespace turnpike::x402

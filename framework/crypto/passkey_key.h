// PasskeyKey: the public key of a passkey, in one of the three algorithms that Turnpike requests,
// and the verification of its owner's signatures, over OpenSSL. ES256 is ECDSA on P-256 with
// SHA-256, its signatures in DER; EdDSA is Ed25519; RS256 is RSASSA-PKCS1-v1_5 with SHA-256, a
// 2048-bit modulus and the exponent 65537 (the algorithms of RFC 9053 and RFC 8812, as WebAuthn
// section 5.8.5 restricts them).
//
// Values and pure functions; safe on any Thread. Nothing is left in OpenSSL's error queue, which
// the TLS connections of the same Thread read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike::crypto {

enum class PasskeyAlgorithm : std::uint8_t { es256, eddsa, rs256 };
// In order of preference.
inline constexpr PasskeyAlgorithm all_passkey_algorithms[] = {
    PasskeyAlgorithm::eddsa, PasskeyAlgorithm::es256, PasskeyAlgorithm::rs256};
std::string_view name_of(PasskeyAlgorithm algorithm) noexcept;     // "ES256"
std::int32_t cose_number_of(PasskeyAlgorithm algorithm) noexcept;  // -7

class PasskeyKey {
 public:
  PasskeyKey() = default;  // no key: verifies nothing

  // From raw parts, big-endian. nullopt for parts of another length, a point that is not on the
  // curve, an Ed25519 point of small order (for which forged signatures verify), and a modulus that
  // is even or has fewer bits than its length.
  static std::optional<PasskeyKey> es256(std::string_view x, std::string_view y);
  static std::optional<PasskeyKey> eddsa(std::string_view x);
  static std::optional<PasskeyKey> rs256(std::string_view modulus);

  // "ES256:" and the parts in base64url, x before y. Equal keys have equal texts.
  [[nodiscard]] std::string text() const;
  static std::optional<PasskeyKey> parse(std::string_view text);

  [[nodiscard]] PasskeyAlgorithm algorithm() const noexcept { return algorithm_; }
  [[nodiscard]] const std::string& parts() const noexcept { return parts_; }

  friend bool operator==(const PasskeyKey&, const PasskeyKey&) = default;

 private:
  PasskeyKey(PasskeyAlgorithm algorithm, std::string parts)
      : algorithm_(algorithm), parts_(std::move(parts)) {}
  // `parts`: the raw parts, concatenated.
  static std::optional<PasskeyKey> make(PasskeyAlgorithm algorithm, std::string_view parts);

  PasskeyAlgorithm algorithm_ = PasskeyAlgorithm::es256;
  std::string parts_;
};

bool verify(const PasskeyKey& key, std::string_view bytes, std::string_view signature) noexcept;

}  // namespace turnpike::crypto

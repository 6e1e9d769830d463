// SoftAuthenticator: a browser and an authenticator in one, built on OpenSSL. It makes passkeys and
// proves them, and a test can falsify any of its claims. One per Thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "crypto/passkey_key.h"
#include "identity/webauthn.h"

typedef struct evp_pkey_st EVP_PKEY;

namespace turnpike::support {

// Flags of authenticator data (WebAuthn section 6.1).
inline constexpr std::uint8_t flag_up = 0x01, flag_uv = 0x04, flag_be = 0x08, flag_bs = 0x10,
                              flag_at = 0x40, flag_ed = 0x80;

// The claims of one ceremony; the defaults are those of an honest browser and authenticator.
struct Claims {
  std::string challenge = std::string(32, 'c');
  std::optional<std::string> type = {};  // of the client data; default: the ceremony's
  std::string origin = "http://localhost:8404";
  std::string more_client_data = R"(,"crossOrigin":false)";  // after its other members
  std::string party_id = "localhost";
  std::uint8_t flags = flag_up | flag_uv;  // a registration adds AT
  std::uint8_t flags_taken = 0;            // cleared from the flags above
  std::uint32_t sign_count = 0;
  std::optional<std::string> key_bytes = {};  // replaces the COSE key
  std::string more_data = {};                 // after all other authenticator data
};

class SoftAuthenticator {
 public:
  explicit SoftAuthenticator(crypto::PasskeyAlgorithm algorithm);

  [[nodiscard]] const crypto::PasskeyKey& key() const noexcept { return key_; }
  [[nodiscard]] std::string cose_key() const;
  [[nodiscard]] std::string sign(std::string_view bytes) const;

  [[nodiscard]] identity::PasskeyRegistration enrol(const Claims& claims = {}) const;
  [[nodiscard]] identity::PasskeyAssertion prove(const Claims& claims = {}) const;
  // What a server stores after enrol().
  [[nodiscard]] identity::KnownPasskey known(std::uint32_t sign_count = 0,
                                             bool is_backup_eligible = false) const;

  std::string credential_id = "a passkey of a test";
  std::string user_handle = std::string(32, 'u');
  std::string aaguid = "sixteen of these";

 private:
  std::shared_ptr<EVP_PKEY> private_key_;
  crypto::PasskeyKey key_;
};

// Wraps authenticator data in an attestation object of format "none".
std::string attestation_object(std::string_view authenticator_data);

// The result of PublicKeyCredential.toJSON() in a browser.
std::string json_of(const identity::PasskeyRegistration& registration);
std::string json_of(const identity::PasskeyAssertion& assertion);

}  // namespace turnpike::support

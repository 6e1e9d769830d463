// SoftAuthenticator: a browser and an authenticator in one, on OpenSSL, which make passkeys and
// prove them, and lie about whatever a test tells them to. One per Thread.
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

// What they say in one ceremony; the defaults are what honest ones say.
struct Claims {
  std::string challenge = std::string(32, 'c');
  std::optional<std::string> type = {};  // of the client data; nothing: that of the ceremony
  std::string origin = "http://localhost:8404";
  std::string more_client_data = R"(,"crossOrigin":false)";  // behind its other members
  std::string party_id = "localhost";
  std::uint8_t flags = flag_up | flag_uv;  // a registration adds AT
  std::uint8_t flags_taken = 0;            // of those
  std::uint32_t sign_count = 0;
  std::optional<std::string> key_bytes = {};  // instead of the COSE key
  std::string more_data = {};                 // behind all other authenticator data
};

class SoftAuthenticator {
 public:
  explicit SoftAuthenticator(crypto::PasskeyAlgorithm algorithm);

  [[nodiscard]] const crypto::PasskeyKey& key() const noexcept { return key_; }
  [[nodiscard]] std::string cose_key() const;
  [[nodiscard]] std::string sign(std::string_view bytes) const;

  [[nodiscard]] identity::PasskeyRegistration enrol(const Claims& claims = {}) const;
  [[nodiscard]] identity::PasskeyAssertion prove(const Claims& claims = {}) const;
  // What a server keeps of enrol().
  [[nodiscard]] identity::KnownPasskey known(std::uint32_t sign_count = 0,
                                             bool is_backup_eligible = false) const;

  std::string credential_id = "a passkey of a test";
  std::string user_handle = std::string(32, 'u');
  std::string aaguid = "sixteen of these";

 private:
  std::shared_ptr<EVP_PKEY> private_key_;
  crypto::PasskeyKey key_;
};

// A registration's data in the attestation object of the format "none".
std::string attestation_object(std::string_view authenticator_data);

// What PublicKeyCredential.toJSON() of a browser gives.
std::string json_of(const identity::PasskeyRegistration& registration);
std::string json_of(const identity::PasskeyAssertion& assertion);

}  // namespace turnpike::support

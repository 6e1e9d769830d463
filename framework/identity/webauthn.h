// Passkeys (Web Authentication Level 3) as a relying party sees them: the options that a page
// gives to its browser, what the browser answers, and the checks of both ceremonies.
//
// Nothing here reads CBOR, which is where such code breaks. Of a registration it takes the
// authenticator data that browsers give apart from the attestation object
// (getAuthenticatorData()); its layout is fixed, and keys come in CTAP2's canonical form, so that
// each of the three algorithms has one sequence of bytes around its raw parts. Attestations are
// neither asked for nor read. Extensions that an authenticator adds unasked are passed over.
//
// A passkey proves presence and verification of its owner (UP and UV), so it is two factors. Not
// checked here, since it needs the database: that a challenge is used once and in time, that no two
// people have one credential id, and whose passkey it is.
//
// Values and pure functions; safe on any Thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "crypto/passkey_key.h"

namespace turnpike::identity {

// Who asks for passkeys: the domain they are bound to, and the one origin that may use them.
struct RelyingParty {
  std::string id;      // "localhost"; never an IP address, which browsers refuse
  std::string origin;  // "http://localhost:8404", as browsers write it
};

// What a registration proved. That its author holds the private key is not part of it: without an
// attestation only the first assertion shows that.
struct NewPasskey {
  std::string credential_id;  // bytes
  crypto::PasskeyKey key;
  std::uint32_t sign_count = 0;
  bool is_backup_eligible = false;  // may be copied to other devices
  bool is_backed_up = false;
  std::array<std::uint8_t, 16> aaguid{};  // the authenticator's model, as it says
  // How the browser reaches it: words of WebAuthn section 5.8.4, each once, unknown ones left out.
  std::vector<std::string> transports;
};

// A browser's answers, decoded: all texts are bytes.
struct PasskeyRegistration {
  std::string credential_id;
  std::string client_data;  // JSON, as the browser wrote it
  std::string authenticator_data;
  std::vector<std::string> transports;
};
struct PasskeyAssertion {
  std::string credential_id;
  std::string client_data;
  std::string authenticator_data;
  std::string signature;
  std::string user_handle;  // empty: the authenticator told none
};

// Read the text of a JSON object as PublicKeyCredential.toJSON() gives it: RegistrationResponseJSON
// and AuthenticationResponseJSON, within limits::passkey_credential_bytes_max. Unknown members are
// ignored. What is wrong is request.body_rejected with all problems, each at its JSON pointer
// below "/credential".
Result<PasskeyRegistration, base::Error> read_passkey_registration(
    std::string_view credential_json);
Result<PasskeyAssertion, base::Error> read_passkey_assertion(std::string_view credential_json);

// Refusals of the checks are auth.passkey_rejected, with a sentence that says what did not fit.
// `challenge`: the raw bytes that were given out for this ceremony; no bytes never fit.
Result<NewPasskey, base::Error> check_registration(const PasskeyRegistration& registration,
                                                   const RelyingParty& party,
                                                   std::string_view challenge);

// What is stored of the passkey with the assertion's credential id.
struct KnownPasskey {
  crypto::PasskeyKey key;
  std::uint32_t sign_count = 0;
  bool is_backup_eligible = false;
  std::string user_handle = {};  // of its owner; bytes
  // The person was known before, as in a step-up: then an authenticator need not tell the handle
  // (WebAuthn section 7.2, step 6). One that it tells is compared all the same.
  bool may_omit_user_handle = false;
};
struct AssertionFacts {
  std::uint32_t sign_count = 0;  // to be stored
  bool is_backed_up = false;
  // The counter was not 0 and did not grow: the passkey may have been cloned. Those that can be
  // backed up have no common counter and are not refused for it.
  bool has_count_fallen = false;
};
Result<AssertionFacts, base::Error> check_assertion(const PasskeyAssertion& assertion,
                                                    const KnownPasskey& passkey,
                                                    const RelyingParty& party,
                                                    std::string_view challenge);

// A passkey as options name it.
struct PasskeyDescriptor {
  std::string credential_id;  // bytes
  std::vector<std::string> transports;
};
struct PasskeyUser {
  std::string handle;  // 32 random bytes; never an id or an e-mail address
  std::string login;
  std::string name;
};

// The member `publicKey` for navigator.credentials.create() and .get() in its JSON form
// (PublicKeyCredentialCreationOptionsJSON, PublicKeyCredentialRequestOptionsJSON). What is no UTF-8
// in names is replaced.
std::string creation_options(const RelyingParty& party, std::string_view party_name,
                             std::string_view challenge, const PasskeyUser& user,
                             std::span<const PasskeyDescriptor> excluded);
// Without `allowed`, the person picks one of the passkeys that the browser finds.
std::string request_options(const RelyingParty& party, std::string_view challenge,
                            std::span<const PasskeyDescriptor> allowed = {});

}  // namespace turnpike::identity

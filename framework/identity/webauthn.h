// Passkeys (Web Authentication Level 3) as a relying party sees them: the options that a page gives
// to its browser, the browser's answers, and the checks of both ceremonies.
//
// There is no CBOR parser here, since such parsers are a common source of faults. A registration is
// read from the authenticator data that browsers give apart from the attestation object
// (getAuthenticatorData()); its layout is fixed, and keys come in CTAP2's canonical form, so that
// each of the three algorithms has one fixed sequence of bytes around its raw parts. Attestations
// are neither requested nor read. Unrequested extensions of an authenticator are skipped.
//
// A passkey proves presence and verification of its user (UP and UV), so it counts as two factors.
// The caller checks what needs the database: that a challenge is used once and in time, that a
// credential id is unique, and which person a passkey belongs to.
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

// The site that requests passkeys: the domain they are bound to, and the one origin that may use
// them.
struct RelyingParty {
  std::string id;      // never an IP address, which browsers refuse
  std::string origin;  // as browsers write it, "http://localhost:8404"
};

// A verified registration. It does not prove possession of the private key: without an attestation,
// only the first assertion does.
struct NewPasskey {
  std::string credential_id;  // bytes
  crypto::PasskeyKey key;
  std::uint32_t sign_count = 0;
  bool is_backup_eligible = false;  // may be copied to other devices
  bool is_backed_up = false;
  std::array<std::uint8_t, 16> aaguid{};  // the authenticator's model, unverified
  // Ways to reach the authenticator: values of WebAuthn section 5.8.4, without duplicates or
  // unknown ones.
  std::vector<std::string> transports;
};

// A browser's decoded answers: all strings hold raw bytes.
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
  std::string user_handle;  // empty: not given by the authenticator
};

// Read a JSON object in the form of PublicKeyCredential.toJSON(): RegistrationResponseJSON and
// AuthenticationResponseJSON, within limits::passkey_credential_bytes_max. Unknown members are
// ignored. Faults are returned as request.body_rejected with all problems, each at its JSON pointer
// below "/credential".
Result<PasskeyRegistration, base::Error> read_passkey_registration(
    std::string_view credential_json);
Result<PasskeyAssertion, base::Error> read_passkey_assertion(std::string_view credential_json);

// A failed check is auth.passkey_rejected, with a sentence that says what did not match.
// `challenge`: the raw bytes that were issued for this ceremony; an empty challenge never matches.
Result<NewPasskey, base::Error> check_registration(const PasskeyRegistration& registration,
                                                   const RelyingParty& party,
                                                   std::string_view challenge);

// The stored data of the passkey with the assertion's credential id.
struct KnownPasskey {
  crypto::PasskeyKey key;
  std::uint32_t sign_count = 0;
  bool is_backup_eligible = false;
  std::string user_handle = {};  // of the passkey's owner; bytes
  // Set if the person was identified before, as in a step-up: the authenticator may then omit the
  // user handle (WebAuthn section 7.2, step 6). A handle that it does give is still compared.
  bool may_omit_user_handle = false;
};
struct AssertionFacts {
  std::uint32_t sign_count = 0;  // to be stored
  bool is_backed_up = false;
  // The counter was not 0 and did not grow: the passkey may have been cloned. Passkeys that can be
  // backed up share no counter between devices and are not refused for it.
  bool has_count_fallen = false;
};
Result<AssertionFacts, base::Error> check_assertion(const PasskeyAssertion& assertion,
                                                    const KnownPasskey& passkey,
                                                    const RelyingParty& party,
                                                    std::string_view challenge);

// A passkey as named in options.
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
// (PublicKeyCredentialCreationOptionsJSON, PublicKeyCredentialRequestOptionsJSON). Invalid UTF-8 in
// names is replaced.
std::string creation_options(const RelyingParty& party, std::string_view party_name,
                             std::string_view challenge, const PasskeyUser& user,
                             std::span<const PasskeyDescriptor> excluded);
// With an empty `allowed`, the person picks one of the passkeys that the browser finds.
std::string request_options(const RelyingParty& party, std::string_view challenge,
                            std::span<const PasskeyDescriptor> allowed = {});

}  // namespace turnpike::identity

// Arbitrary bytes as passkey data: as input from a page, as client data, as authenticator data, as
// a signature and as a stored key. Accepted values match a simpler reading of the bytes. A
// signature fits only the bytes for which it was made.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "crypto/digest.h"
#include "fuzz/check.h"
#include "identity/webauthn.h"
#include "identity/webauthn_vectors.h"
#include "text/encoding.h"

using turnpike::fuzz::check;

namespace {

using namespace turnpike;
using nlohmann::json;

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16));
  }
  return bytes;
}

const identity::RelyingParty party{"localhost", "http://localhost:8404"};
const std::string challenge(32, 'c');
const std::string client_data = R"({"type":"webauthn.create","challenge":")" +
                                text::base64url(challenge) + R"(","origin":")" + party.origin +
                                R"(","crossOrigin":false})";

void check_rejected(const base::Error& error) {
  check(error.code == base::ErrorCode::auth_passkey_rejected && !error.message.empty());
}

template <class T>
void check_refusal(const Result<T, base::Error>& result) {
  check(result.error().code == base::ErrorCode::request_body_rejected);
  check(!result.error().fields.empty());
  for (const base::FieldProblem& field : result.error().fields) {
    check(field.location.starts_with("/credential"));
  }
}

void check_webauthn_readers(std::string_view text) {
  const auto registration = identity::read_passkey_registration(text);
  if (!registration.ok()) {
    check_refusal(registration);
  } else {
    const json whole = json::parse(text);
    check(whole["id"] == text::base64url(registration->credential_id));
    const json& response = whole["response"];
    check(response["clientDataJSON"] == text::base64url(registration->client_data));
    check(response["authenticatorData"] == text::base64url(registration->authenticator_data));
    check(registration->transports.size() <= 8);
  }
  const auto assertion = identity::read_passkey_assertion(text);
  if (!assertion.ok()) return check_refusal(assertion);
  const json whole = json::parse(text);
  check(whole["id"] == text::base64url(assertion->credential_id));
  check(whole["response"]["signature"] == text::base64url(assertion->signature));
  const json handle = whole["response"].value("userHandle", json());
  check(handle == (handle.is_null() ? json() : json(text::base64url(assertion->user_handle))));
}

// The expected id is taken from its place in the layout, so it is right whenever there is one.
void check_authenticator_data(const std::string& data) {
  const auto at = [&](std::size_t place) { return static_cast<std::uint8_t>(data[place]); };
  const std::size_t id_bytes = data.size() < 55 ? 0u : at(53) * 256u + at(54);
  const std::string id = id_bytes == 0 ? "" : data.substr(55, id_bytes);
  const auto passkey = identity::check_registration({.credential_id = id,
                                                     .client_data = client_data,
                                                     .authenticator_data = data,
                                                     .transports = {}},
                                                    party, challenge);
  if (!passkey.ok()) return check_rejected(passkey.error());
  const crypto::Sha256 hash = crypto::sha256(party.id);
  check(data.starts_with(std::string_view(reinterpret_cast<const char*>(hash.data()), 32)));
  check((at(32) & 0x45) == 0x45);
  check(passkey->is_backup_eligible == ((at(32) & 0x08) != 0));
  check(passkey->is_backed_up == ((at(32) & 0x10) != 0));
  check(passkey->is_backup_eligible || !passkey->is_backed_up);
  check(passkey->credential_id.size() == id_bytes && id_bytes >= 1 && id_bytes <= 1023);
  check(data.find(passkey->key.parts().substr(0, 32), 55 + id_bytes) != data.npos);
  check(crypto::PasskeyKey::parse(passkey->key.text()) == passkey->key);
  check(!crypto::verify(passkey->key, data, data));
}

void check_client_data(const std::string& data) {
  static const std::string made = from_hex(identity::es256_vector.authenticator_data);
  static const std::string id = from_hex(identity::es256_vector.credential_id);
  const auto passkey = identity::check_registration(
      {.credential_id = id, .client_data = data, .authenticator_data = made, .transports = {}},
      {"example.org", party.origin}, challenge);
  if (!passkey.ok()) return check_rejected(passkey.error());
  const json whole = json::parse(data);
  check(whole["type"] == "webauthn.create");
  check(whole["challenge"] == text::base64url(challenge));
  check(whole["origin"] == party.origin);
  check(whole.value("crossOrigin", json(false)) == false && !whole.contains("topOrigin"));
}

// A valid assertion with one part replaced.
void check_signature(const std::string& bytes) {
  static const identity::RelyingParty example{"example.org", "https://example.org"};
  static const auto made = identity::check_registration(
      {.credential_id = from_hex(identity::es256_vector.credential_id),
       .client_data = from_hex(identity::es256_vector.client_data),
       .authenticator_data = from_hex(identity::es256_vector.authenticator_data),
       .transports = {}},
      example, from_hex(identity::es256_vector.challenge));
  static const identity::KnownPasskey known{.key = made->key, .may_omit_user_handle = true};
  static const std::string given = from_hex(identity::es256_vector.assertion_challenge);
  static const identity::PasskeyAssertion whole{
      .credential_id = "",
      .client_data = from_hex(identity::es256_vector.assertion_client_data),
      .authenticator_data = from_hex(identity::es256_vector.assertion_authenticator_data),
      .signature = from_hex(identity::es256_vector.signature),
      .user_handle = ""};
  static const bool is_taken = identity::check_assertion(whole, known, example, given).ok();
  check(is_taken);
  for (std::string identity::PasskeyAssertion::*member :
       {&identity::PasskeyAssertion::client_data, &identity::PasskeyAssertion::authenticator_data,
        &identity::PasskeyAssertion::signature, &identity::PasskeyAssertion::user_handle}) {
    // Verification is slow, and all longer signatures are handled alike.
    if (member == &identity::PasskeyAssertion::signature && bytes.size() > 80) continue;
    identity::PasskeyAssertion other = whole;
    other.*member = bytes;
    const auto facts = identity::check_assertion(other, known, example, given);
    check(facts.ok() == (bytes == whole.*member));
    if (!facts.ok()) check_rejected(facts.error());
  }
}

void check_key(std::string_view text) {
  const auto key = crypto::PasskeyKey::parse(text);
  if (!key) return;
  check(key->text() == text);
  check(!crypto::verify(*key, text, text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  check_webauthn_readers(bytes);
  check_authenticator_data(bytes);
  check_client_data(bytes);
  check_signature(bytes);
  check_key(bytes);
  return 0;
}

#include "support/soft_authenticator.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>

#include <stdexcept>

#include <nlohmann/json.hpp>

#include "crypto/digest.h"
#include "text/encoding.h"

namespace turnpike::support {
namespace {

using crypto::PasskeyAlgorithm;
using crypto::PasskeyKey;
using nlohmann::json;
using std::string_literals::operator""s;

void require(bool done) {
  if (!done) throw std::runtime_error("OpenSSL refused");
}

EVP_PKEY* generate(PasskeyAlgorithm algorithm) {
  switch (algorithm) {
    case PasskeyAlgorithm::es256:
      return EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
    case PasskeyAlgorithm::rs256:
      return EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{2048});
    case PasskeyAlgorithm::eddsa:
      break;
  }
  return EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
}

std::string number_of(const EVP_PKEY* key, const char* name, int bytes) {
  BIGNUM* number = nullptr;
  require(EVP_PKEY_get_bn_param(key, name, &number) == 1);
  std::string text(static_cast<std::size_t>(bytes), '\0');
  const int written = BN_bn2binpad(number, reinterpret_cast<unsigned char*>(text.data()), bytes);
  BN_free(number);
  require(written == bytes);
  return text;
}

PasskeyKey public_key(const EVP_PKEY* key, PasskeyAlgorithm algorithm) {
  switch (algorithm) {
    case PasskeyAlgorithm::es256:
      return PasskeyKey::es256(number_of(key, OSSL_PKEY_PARAM_EC_PUB_X, 32),
                               number_of(key, OSSL_PKEY_PARAM_EC_PUB_Y, 32))
          .value();
    case PasskeyAlgorithm::rs256:
      return PasskeyKey::rs256(number_of(key, OSSL_PKEY_PARAM_RSA_N, 256)).value();
    case PasskeyAlgorithm::eddsa:
      break;
  }
  std::string raw(32, '\0');
  std::size_t size = raw.size();
  require(EVP_PKEY_get_raw_public_key(key, reinterpret_cast<unsigned char*>(raw.data()), &size));
  return PasskeyKey::eddsa(raw).value();
}

std::string hash_of(std::string_view bytes) {
  const crypto::Sha256 hash = crypto::sha256(bytes);
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

// Big-endian.
std::string number_bytes(std::uint32_t number, int bytes) {
  std::string text;
  while (bytes-- > 0) text += static_cast<char>(number >> (8 * bytes) & 0xFF);
  return text;
}

std::string client_data(const Claims& claims, const std::string& type) {
  return R"({"type":")" + claims.type.value_or(type) + R"(","challenge":")" +
         text::base64url(claims.challenge) + R"(","origin":")" + claims.origin + "\"" +
         claims.more_client_data + "}";
}

std::string authenticator_data(const Claims& claims, std::uint8_t more_flags) {
  const auto flags = static_cast<std::uint8_t>((claims.flags | more_flags) & ~claims.flags_taken);
  return hash_of(claims.party_id) + static_cast<char>(flags) + number_bytes(claims.sign_count, 4);
}

}  // namespace

SoftAuthenticator::SoftAuthenticator(PasskeyAlgorithm algorithm)
    : private_key_(generate(algorithm), &EVP_PKEY_free),
      key_(public_key(private_key_.get(), algorithm)) {}

std::string SoftAuthenticator::cose_key() const {
  const std::string& parts = key_.parts();
  switch (key_.algorithm()) {
    case PasskeyAlgorithm::es256:  // 1: 2 (EC2), 3: -7, -1: 1 (P-256), -2: x, -3: y
      return "\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20" + parts.substr(0, 32) + "\x22\x58\x20" +
             parts.substr(32);
    case PasskeyAlgorithm::rs256:  // 1: 3 (RSA), 3: -257, -1: n, -2: e
      return "\xa4\x01\x03\x03\x39\x01\x00\x20\x59\x01\x00"s + parts + "\x21\x43\x01\x00\x01"s;
    case PasskeyAlgorithm::eddsa:
      break;
  }
  // 1: 1 (OKP), 3: -8, -1: 6 (Ed25519), -2: x
  return "\xa4\x01\x01\x03\x27\x20\x06\x21\x58\x20" + parts;
}

std::string SoftAuthenticator::sign(std::string_view bytes) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  const char* const digest = key_.algorithm() == PasskeyAlgorithm::eddsa ? nullptr : "SHA256";
  require(EVP_DigestSignInit_ex(context.get(), nullptr, digest, nullptr, nullptr,
                                private_key_.get(), nullptr) == 1);
  std::string signature(512, '\0');
  std::size_t size = signature.size();
  require(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                         reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) == 1);
  signature.resize(size);
  return signature;
}

identity::PasskeyRegistration SoftAuthenticator::enrol(const Claims& claims) const {
  const auto id_bytes = static_cast<std::uint32_t>(credential_id.size());
  return {.credential_id = credential_id,
          .client_data = client_data(claims, "webauthn.create"),
          .authenticator_data = authenticator_data(claims, flag_at) + aaguid +
                                number_bytes(id_bytes, 2) + credential_id +
                                claims.key_bytes.value_or(cose_key()) + claims.more_data,
          .transports = {"internal", "hybrid"}};
}

identity::PasskeyAssertion SoftAuthenticator::prove(const Claims& claims) const {
  identity::PasskeyAssertion assertion{
      .credential_id = credential_id,
      .client_data = client_data(claims, "webauthn.get"),
      .authenticator_data = authenticator_data(claims, 0) + claims.more_data,
      .signature = {},
      .user_handle = user_handle};
  assertion.signature = sign(assertion.authenticator_data + hash_of(assertion.client_data));
  return assertion;
}

identity::KnownPasskey SoftAuthenticator::known(std::uint32_t sign_count,
                                                bool is_backup_eligible) const {
  return {.key = key_,
          .sign_count = sign_count,
          .is_backup_eligible = is_backup_eligible,
          .user_handle = user_handle};
}

std::string attestation_object(std::string_view authenticator_data) {
  // {"fmt": "none", "attStmt": {}, "authData": bytes with a 16-bit length}
  return "\xa3\x63"
         "fmt\x64none\x67"
         "attStmt\xa0\x68"
         "authData\x59"s +
         number_bytes(static_cast<std::uint32_t>(authenticator_data.size()), 2) +
         std::string(authenticator_data);
}

std::string json_of(const identity::PasskeyRegistration& registration) {
  const std::string id = text::base64url(registration.credential_id);
  return json{{"id", id},
              {"rawId", id},
              {"type", "public-key"},
              {"authenticatorAttachment", "platform"},
              {"clientExtensionResults", json::object()},
              {"response",
               {{"clientDataJSON", text::base64url(registration.client_data)},
                {"authenticatorData", text::base64url(registration.authenticator_data)},
                {"transports", registration.transports},
                {"attestationObject",
                 text::base64url(attestation_object(registration.authenticator_data))}}}}
      .dump();
}

std::string json_of(const identity::PasskeyAssertion& assertion) {
  const std::string id = text::base64url(assertion.credential_id);
  return json{{"id", id},
              {"rawId", id},
              {"type", "public-key"},
              {"authenticatorAttachment", "platform"},
              {"clientExtensionResults", json::object()},
              {"response",
               {{"clientDataJSON", text::base64url(assertion.client_data)},
                {"authenticatorData", text::base64url(assertion.authenticator_data)},
                {"signature", text::base64url(assertion.signature)},
                {"userHandle", text::base64url(assertion.user_handle)}}}}
      .dump();
}

}  // namespace turnpike::support

// The options that pages give to the browser before a ceremony.
#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "identity/webauthn.h"
#include "text/encoding.h"

namespace turnpike::identity {
namespace {

using nlohmann::json;

json descriptors(std::span<const PasskeyDescriptor> passkeys) {
  json list = json::array();
  for (const PasskeyDescriptor& passkey : passkeys) {
    json entry{{"type", "public-key"}, {"id", text::base64url(passkey.credential_id)}};
    if (!passkey.transports.empty()) entry["transports"] = passkey.transports;
    list.push_back(std::move(entry));
  }
  return list;
}

json algorithms() {
  json list = json::array();
  for (const crypto::PasskeyAlgorithm each : crypto::all_passkey_algorithms) {
    list.push_back({{"type", "public-key"}, {"alg", crypto::cose_number_of(each)}});
  }
  return list;
}

std::string text_of(const json& options) {
  return options.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string creation_options(const RelyingParty& party, std::string_view party_name,
                             std::string_view challenge, const PasskeyUser& user,
                             std::span<const PasskeyDescriptor> excluded) {
  return text_of({
      {"rp", {{"id", party.id}, {"name", party_name}}},
      {"user",
       {{"id", text::base64url(user.handle)}, {"name", user.login}, {"displayName", user.name}}},
      {"challenge", text::base64url(challenge)},
      {"pubKeyCredParams", algorithms()},
      {"timeout", base::limits::passkey_ceremony_ms},
      {"excludeCredentials", descriptors(excluded)},
      {"authenticatorSelection",
       {{"residentKey", "required"},
        {"requireResidentKey", true},  // for browsers without residentKey
        {"userVerification", "required"}}},
      {"attestation", "none"},
  });
}

std::string request_options(const RelyingParty& party, std::string_view challenge,
                            std::span<const PasskeyDescriptor> allowed) {
  return text_of({
      {"rpId", party.id},
      {"challenge", text::base64url(challenge)},
      {"timeout", base::limits::passkey_ceremony_ms},
      {"allowCredentials", descriptors(allowed)},
      {"userVerification", "required"},
  });
}

}  // namespace turnpike::identity

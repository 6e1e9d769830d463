// Arbitrary bytes from another identity provider: as its metadata, as its key set, as a token, and
// as a token's header and claims. Accepted values match a simpler reading of the bytes. A token
// verifies only with the key that signed it and only with the signed bytes.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "crypto/jwks.h"
#include "fuzz/check.h"
#include "identity/id_token.h"
#include "identity/oidc_provider.h"
#include "support/jws_signer.h"
#include "text/encoding.h"

using turnpike::fuzz::check;

namespace {

using namespace turnpike;
using nlohmann::json;

constexpr std::int64_t signed_in_ms = 1'800'000'000'000;
constexpr char issuer[] = "https://idp.example";

void check_claims(std::string_view text) {
  for (const bool is_fresh : {false, true}) {
    identity::IdTokenRules rules{.issuer = issuer,
                                 .client_id = "us",
                                 .nonce = "n",
                                 .now_ms = signed_in_ms,
                                 .authenticated_since_ms = {}};
    if (is_fresh) rules.authenticated_since_ms = signed_in_ms - 60'000;
    const auto claims = identity::judge_id_token(text, rules);
    if (!claims.ok()) {
      check(!claims.error().empty());
      continue;
    }
    const json whole = json::parse(text);
    check(whole["iss"] == issuer && whole["nonce"] == "n");
    check(whole["sub"] == claims->subject && !claims->subject.empty());
    check(claims->subject.size() <= 255);
    const json& audience = whole["aud"];
    check(audience == "us" || (audience.is_array() && whole.value("azp", json("us")) == "us"));
    check(whole["exp"].get<double>() * 1'000 > signed_in_ms - identity::id_token_leeway_ms - 1);
    check(whole["iat"].get<double>() * 1'000 < signed_in_ms + identity::id_token_leeway_ms + 1);
    check(!is_fresh || whole["auth_time"].get<double>() * 1'000 >= signed_in_ms - 90'000);
    check(claims->email.empty() || whole["email"] == claims->email);
    check(!claims->is_email_verified || whole["email_verified"] == true);
  }
}

void check_metadata(std::string_view text) {
  const identity::ProviderSettings settings{.key = "a", .name = "A", .issuer = issuer,
                                            .client_id = "us", .client_secret = "s"};
  const auto metadata = identity::read_provider_metadata(text, settings);
  if (!metadata.ok()) return check(!metadata.error().empty());
  const json whole = json::parse(text);
  check(whole["issuer"] == issuer);
  check(whole["token_endpoint"] == metadata->token_endpoint);
  for (const std::string& url :
       {metadata->authorization_endpoint, metadata->token_endpoint, metadata->jwks_uri}) {
    check(url.starts_with("https://") && url.find_first_of("# \r\n") == url.npos);
  }
  check(metadata->takes_basic || metadata->takes_post);
  check(!metadata->algorithms.empty());
}

void check_key_set(std::string_view text) {
  static const support::JwsSigner stranger(crypto::JwsAlgorithm::es256, "stranger");
  static const std::string token = stranger.sign("{}");
  const auto keys = crypto::KeySet::parse(text);
  if (!keys) return;
  check(json::parse(text)["keys"].size() >= keys->size());
  check(keys->size() <= crypto::KeySet::keys_max);
  check(!keys->verify(token, crypto::all_jws_algorithms).ok());
}

// A signed token with parts of it replaced.
void check_token(const std::string& bytes) {
  static const support::JwsSigner signer(crypto::JwsAlgorithm::es256);
  static const crypto::KeySet keys = crypto::KeySet::parse(signer.key_set()).value();
  static const std::string whole = signer.sign("{}");
  static const std::size_t first = whole.find('.');
  static const std::size_t second = whole.find('.', first + 1);
  static const bool is_taken = keys.verify(whole, crypto::all_jws_algorithms).ok();
  check(is_taken);
  const std::string encoded = text::base64url(bytes);
  for (const std::string& other :
       {bytes, encoded + whole.substr(first),
        whole.substr(0, first + 1) + encoded + whole.substr(second),
        whole.substr(0, second + 1) + encoded}) {
    check(keys.verify(other, crypto::all_jws_algorithms).ok() == (other == whole));
  }
  // A header of an attacker's choice with a valid signature: it must name the algorithm that was
  // used.
  const auto own = keys.verify(signer.sign(bytes, "{}"), crypto::all_jws_algorithms);
  if (!own.ok()) return;
  check(*own == "{}" && json::parse(bytes)["alg"] == "ES256");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  check_claims(bytes);
  check_metadata(bytes);
  check_key_set(bytes);
  check_token(bytes);
  return 0;
}

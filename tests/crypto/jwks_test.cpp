// Key sets and signed tokens: tokens of an independent signer on OpenSSL, and tokens that must be
// refused (S21).
#include "crypto/jwks.h"

#include <gtest/gtest.h>
#include <openssl/err.h>

#include <string>

#include "crypto/digest.h"
#include "support/jws_signer.h"
#include "text/encoding.h"

namespace turnpike::crypto {
namespace {

using support::JwsSigner;

const JwsSigner& rsa() {
  static const JwsSigner one(JwsAlgorithm::rs256, "rsa");
  return one;
}
const JwsSigner& point() {
  static const JwsSigner one(JwsAlgorithm::es256, "ec");
  return one;
}
KeySet set_of(const std::string& keys) {
  return KeySet::parse(R"({"keys":[)" + keys + "]}").value();
}
const KeySet& both() {
  static const KeySet keys = set_of(rsa().jwk() + "," + point().jwk());
  return keys;
}
// The fault of a token, or nothing if it is valid.
std::optional<JwsFault> fault_in(const KeySet& keys, std::string_view token,
                                 std::span<const JwsAlgorithm> allowed = all_jws_algorithms) {
  const auto payload = keys.verify(token, allowed);
  EXPECT_EQ(ERR_peek_error(), 0u);
  if (payload.ok()) return std::nullopt;
  return payload.error();
}

TEST(Jwks, TakesWhatItsKeysSigned) {
  for (const JwsAlgorithm algorithm : all_jws_algorithms) {
    const JwsSigner signer(algorithm);
    const auto payload = set_of(signer.jwk()).verify(signer.sign("{}\n"), all_jws_algorithms);
    ASSERT_TRUE(payload.ok()) << name_of(algorithm);
    EXPECT_EQ(*payload, "{}\n");
    const auto other = JwsSigner(algorithm).sign("{}");
    EXPECT_EQ(fault_in(set_of(signer.jwk()), other), JwsFault::signature);
  }
}

TEST(Jwks, RefusesEveryChangeOfAToken) {
  for (const JwsSigner* signer : {&rsa(), &point()}) {
    const std::string token = signer->sign(R"({"sub":"s"})");
    ASSERT_FALSE(fault_in(both(), token));
    for (std::size_t at = 0; at < token.size(); at += 5) {
      std::string changed = token;
      changed[at] = changed[at] == 'A' ? 'B' : 'A';
      EXPECT_TRUE(fault_in(both(), changed)) << at;
      EXPECT_TRUE(fault_in(both(), token.substr(0, at))) << at;
    }
    EXPECT_TRUE(fault_in(both(), token + "A"));
    EXPECT_TRUE(fault_in(both(), token + ".e30"));
  }
}

TEST(Jwks, TriesNoAlgorithmThatIsNotAllowed) {
  const std::string none = text::base64url(R"({"alg":"none"})") + ".e30.";
  EXPECT_EQ(fault_in(both(), none), JwsFault::algorithm);
  // An HMAC under the public key, in the forms that libraries have accepted.
  const std::string signed_part = text::base64url(R"({"alg":"HS256","kid":"rsa"})") + ".e30";
  for (const std::string& secret : {rsa().jwk(), rsa().key_set()}) {
    const Sha256 mac = hmac_sha256(secret, signed_part);
    const std::string text(mac.begin(), mac.end());
    EXPECT_EQ(fault_in(both(), signed_part + "." + text::base64url(text)), JwsFault::algorithm);
  }
  const JwsAlgorithm points[] = {JwsAlgorithm::es256};
  EXPECT_EQ(fault_in(both(), rsa().sign("{}"), points), JwsFault::algorithm);
  EXPECT_FALSE(fault_in(both(), point().sign("{}"), points));
  // A key has one type, whatever a token claims.
  EXPECT_EQ(fault_in(both(), rsa().sign(R"({"alg":"ES256","kid":"rsa"})", "{}")), JwsFault::key);
  EXPECT_EQ(fault_in(both(), rsa().sign(R"({"alg":"PS256","kid":"rsa"})", "{}")),
            JwsFault::signature);
}

TEST(Jwks, FindsTheKeyByItsId) {
  EXPECT_EQ(fault_in(both(), rsa().sign(R"({"alg":"RS256","kid":"other"})", "{}")), JwsFault::key);
  EXPECT_EQ(fault_in(KeySet(), rsa().sign("{}")), JwsFault::key);
  EXPECT_FALSE(fault_in(both(), rsa().sign(R"({"alg":"RS256"})", "{}")));  // names no key
  const JwsSigner first(JwsAlgorithm::es256, "same");
  const JwsSigner second(JwsAlgorithm::es256, "same");
  const KeySet keys = set_of(first.jwk() + "," + second.jwk());
  EXPECT_FALSE(fault_in(keys, first.sign("{}")));
  EXPECT_FALSE(fault_in(keys, second.sign("{}")));
}

TEST(Jwks, RefusesHeadersThatItDoesNotUnderstand) {
  const std::string deep =
      R"({"alg":"RS256","x":)" + std::string(600, '[') + std::string(600, ']') + "}";
  for (const std::string& header :
       {std::string(R"({"alg":"RS256","crit":["exp"],"exp":1})"), std::string(R"({"alg":7})"),
        std::string(R"({"alg":"RS256","kid":7})"), std::string("[]"), std::string("{}"),
        std::string(R"({"alg":"RS256"} )") + "x", deep}) {
    EXPECT_EQ(fault_in(both(), rsa().sign(header, "{}")), JwsFault::malformed) << header;
  }
  for (const char* token : {"", ".", "..", "a.b.c", "e30.e30.e30", "e30.e30"}) {
    EXPECT_EQ(fault_in(both(), token), JwsFault::malformed) << token;
  }
  // Of two members with one name, the last one counts.
  EXPECT_EQ(fault_in(both(), rsa().sign(R"({"alg":"RS256","alg":"none"})", "{}")),
            JwsFault::algorithm);
}

TEST(Jwks, LeavesOutKeysThatAreOfNoUse) {
  const std::string x = text::base64url(std::string(32, '\1'));
  const std::string useless[] = {
      R"({"kty":"oct","k":"AAAA"})",
      R"({"kty":"OKP","crv":"Ed25519","x":")" + x + R"("})",
      R"({"kty":"EC","crv":"P-256","x":")" + x + R"(","y":")" + x + R"("})",  // not on the curve
      R"({"kty":"EC","crv":"P-384","x":")" + x + R"(","y":")" + x + R"("})",
      R"({"kty":"RSA","n":"AQAB","e":"AQAB"})",
      R"({"kty":"RSA"})",
      R"({"kty":7})",
      "7",
      rsa().jwk(R"(,"use":"enc")"),
      rsa().jwk(R"(,"alg":7)"),
      JwsSigner(JwsAlgorithm::rs256, "short", 1'024).jwk(),
  };
  for (const std::string& key : useless) EXPECT_EQ(set_of(key).size(), 0u) << key;
  const KeySet full =
      set_of(rsa().jwk(R"(,"use":"sig","alg":"RS256","x5c":["AA"],"key_ops":["verify"])"));
  EXPECT_EQ(full.size(), 1u);
  const KeySet of_another = set_of(rsa().jwk(R"(,"alg":"PS256")"));
  EXPECT_EQ(fault_in(of_another, rsa().sign("{}")), JwsFault::key);
}

TEST(Jwks, ReadsKeySetsAlone) {
  for (const char* text :
       {"", "7", "[]", "{}", R"({"keys":7})", R"({"keys":{}})", R"({"keys":[])"}) {
    EXPECT_FALSE(KeySet::parse(text)) << text;
  }
  EXPECT_EQ(KeySet::parse(R"({"keys":[]})")->size(), 0u);
  std::string many = "7";
  for (std::size_t at = 1; at < KeySet::keys_max; ++at) many += ",7";
  EXPECT_TRUE(KeySet::parse(R"({"keys":[)" + many + "]}"));
  EXPECT_FALSE(KeySet::parse(R"({"keys":[)" + many + ",7]}"));
}

TEST(Jwks, RefusesATokenPastItsLimit) {
  const std::string sound = point().sign(std::string(20'000, ' '));
  ASSERT_LT(sound.size(), KeySet::token_bytes_max);
  EXPECT_FALSE(fault_in(both(), sound));
  EXPECT_EQ(fault_in(both(), point().sign(std::string(25'000, ' '))), JwsFault::malformed);
}

}  // namespace
}  // namespace turnpike::crypto

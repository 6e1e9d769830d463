// The claims of ID tokens: each rule at its limit and past it (S21, S22).
#include "identity/id_token.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace turnpike::identity {
namespace {

using nlohmann::json;

constexpr std::int64_t now_s = 1'800'000'000;
constexpr std::int64_t leeway_s = id_token_leeway_ms / 1'000;

json claims() {
  return {{"iss", "https://idp.example"}, {"aud", "us"},        {"sub", "s"}, {"nonce", "n"},
          {"iat", now_s},                 {"exp", now_s + 300}, {"email", "Ann@Acme.example"},
          {"email_verified", true},       {"name", "Ann"}};
}
IdTokenRules rules() {
  return {.issuer = "https://idp.example",
          .client_id = "us",
          .nonce = "n",
          .now_ms = now_s * 1'000,
          .authenticated_since_ms = {}};
}
bool is_taken(const json& value, const IdTokenRules& with = rules()) {
  const auto judged = judge_id_token(value.dump(), with);
  EXPECT_TRUE(judged.ok() || !judged.error().empty());
  return judged.ok();
}
bool is_taken_with(const char* name, const json& value, const IdTokenRules& with = rules()) {
  json changed = claims();
  changed[name] = value;
  return is_taken(changed, with);
}

TEST(IdToken, SaysWhoItIs) {
  const auto judged = judge_id_token(claims().dump(), rules());
  ASSERT_TRUE(judged.ok()) << judged.error();
  EXPECT_EQ(judged->subject, "s");
  EXPECT_EQ(judged->email, "Ann@Acme.example");
  EXPECT_TRUE(judged->is_email_verified);
  EXPECT_EQ(judged->name, "Ann");
}

TEST(IdToken, NeedsEachOfItsClaims) {
  for (const char* name : {"iss", "aud", "sub", "nonce", "iat", "exp"}) {
    json lacking = claims();
    lacking.erase(name);
    EXPECT_FALSE(is_taken(lacking)) << name;
    for (const json& wrong : {json(), json(true), json::array(), json::object(), json("")}) {
      EXPECT_FALSE(is_taken_with(name, wrong)) << name << wrong;
    }
  }
  for (const char* text : {"", "7", "[]", "{", "{}"}) {
    EXPECT_FALSE(judge_id_token(text, rules()).ok()) << text;
  }
}

TEST(IdToken, IsOfTheIssuerByteForByte) {
  EXPECT_FALSE(is_taken_with("iss", "https://idp.example/"));
  EXPECT_FALSE(is_taken_with("iss", "https://IDP.example"));
  EXPECT_FALSE(is_taken_with("iss", ""));
  IdTokenRules none = rules();
  none.issuer = "";
  EXPECT_FALSE(is_taken_with("iss", "", none));
}

TEST(IdToken, IsForUs) {
  EXPECT_FALSE(is_taken_with("aud", "them"));
  EXPECT_TRUE(is_taken_with("aud", json::array({"us"})));
  EXPECT_FALSE(is_taken_with("aud", json::array()));
  EXPECT_FALSE(is_taken_with("aud", json::array({"us", 7})));
  json several = claims();
  several["aud"] = {"them", "us"};
  EXPECT_FALSE(is_taken(several));
  several["azp"] = "them";
  EXPECT_FALSE(is_taken(several));
  several["azp"] = "us";
  EXPECT_TRUE(is_taken(several));
  EXPECT_FALSE(is_taken_with("azp", "them"));
  EXPECT_FALSE(is_taken_with("azp", nullptr));
}

TEST(IdToken, HoldsForItsTimeAndALittleMore) {
  EXPECT_TRUE(is_taken_with("exp", now_s - leeway_s + 1));
  EXPECT_FALSE(is_taken_with("exp", now_s - leeway_s));
  EXPECT_TRUE(is_taken_with("iat", now_s + leeway_s));
  EXPECT_FALSE(is_taken_with("iat", now_s + leeway_s + 1));
  EXPECT_TRUE(is_taken_with("nbf", now_s + leeway_s));
  EXPECT_FALSE(is_taken_with("nbf", now_s + leeway_s + 1));
  EXPECT_FALSE(is_taken_with("nbf", "now"));
  EXPECT_TRUE(is_taken_with("exp", static_cast<double>(now_s) + 0.5));
  for (const json& wrong : {json(-1), json(1e300), json("1800000300"), json(1e12)}) {
    EXPECT_FALSE(is_taken_with("exp", wrong)) << wrong;
  }
}

TEST(IdToken, ANoncelessRequestTakesNothing) {
  EXPECT_FALSE(is_taken_with("nonce", "m"));
  IdTokenRules none = rules();
  none.nonce = "";
  EXPECT_FALSE(is_taken_with("nonce", "", none));
}

TEST(IdToken, NamesSomebodyInPrintableCharacters) {
  EXPECT_TRUE(is_taken_with("sub", std::string(255, 's')));
  EXPECT_FALSE(is_taken_with("sub", std::string(256, 's')));
  EXPECT_TRUE(is_taken_with("sub", "a b|c"));
  for (const char* text : {"", "a\nb", "\x7F", "\xC3\xA4"}) {
    EXPECT_FALSE(is_taken_with("sub", text));
  }
}

TEST(IdToken, AFreshProofSaysWhenItWas) {
  IdTokenRules fresh = rules();
  fresh.authenticated_since_ms = (now_s - 60) * 1'000;
  EXPECT_FALSE(is_taken(claims(), fresh));
  EXPECT_TRUE(is_taken_with("auth_time", now_s, fresh));
  EXPECT_TRUE(is_taken_with("auth_time", now_s - 60 - leeway_s, fresh));
  EXPECT_FALSE(is_taken_with("auth_time", now_s - 61 - leeway_s, fresh));
  EXPECT_FALSE(is_taken_with("auth_time", now_s + leeway_s + 1, fresh));
  EXPECT_FALSE(is_taken_with("auth_time", std::to_string(now_s), fresh));
  EXPECT_TRUE(is_taken_with("auth_time", 1));  // not requested
}

TEST(IdToken, AnAddressIsVerifiedByTrueAlone) {
  for (const json& value : {json("true"), json(1), json(false), json()}) {
    json changed = claims();
    changed["email_verified"] = value;
    EXPECT_FALSE(judge_id_token(changed.dump(), rules())->is_email_verified) << value;
  }
  json changed = claims();
  changed["email"] = "ann@acme.example\nBcc: x@x";
  const auto judged = judge_id_token(changed.dump(), rules());
  EXPECT_EQ(judged->email, "");
  EXPECT_FALSE(judged->is_email_verified);
}

TEST(IdToken, ADomainIsTheWholeDomain) {
  const auto is_of = [](const std::string& email, const std::string& domain) {
    return is_of_domains({.subject = "s", .email = email, .is_email_verified = true, .name = ""},
                         {"x.example", domain});
  };
  EXPECT_TRUE(is_of("ann@ACME.example", "acme.Example"));
  EXPECT_FALSE(is_of("ann@sub.acme.example", "acme.example"));
  EXPECT_FALSE(is_of("ann@evilacme.example", "acme.example"));
  EXPECT_FALSE(is_of("ann@acme.example.evil", "acme.example"));
  EXPECT_FALSE(is_of_domains(
      {.subject = "s", .email = "ann@acme.example", .is_email_verified = false, .name = ""},
      {"acme.example"}));
}

}  // namespace
}  // namespace turnpike::identity

// The JSON that pages send for a passkey's ceremony, and the JSON that they receive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/limits.h"
#include "identity/webauthn.h"
#include "support/soft_authenticator.h"

namespace turnpike::identity {
namespace {

using nlohmann::json;
using support::SoftAuthenticator;
using testing::ElementsAre;

const SoftAuthenticator& authenticator() {
  static const SoftAuthenticator one(crypto::PasskeyAlgorithm::eddsa);
  return one;
}
json registration() { return json::parse(support::json_of(authenticator().enrol())); }
json assertion() { return json::parse(support::json_of(authenticator().prove())); }

template <class T>
std::vector<std::string> places(const Result<T, base::Error>& result) {
  if (result.ok()) return {};
  EXPECT_EQ(result.error().code, base::ErrorCode::request_body_rejected);
  std::vector<std::string> found;
  for (const base::FieldProblem& field : result.error().fields) {
    EXPECT_FALSE(field.problem.empty());
    EXPECT_FALSE(field.fix.empty());
    found.push_back(field.location);
  }
  return found;
}
std::vector<std::string> registration_places(const json& value) {
  return places(read_passkey_registration(value.dump()));
}
std::vector<std::string> assertion_places(const json& value) {
  return places(read_passkey_assertion(value.dump()));
}

TEST(WebauthnJson, ReadsWhatBrowsersSendOfARegistration) {
  const PasskeyRegistration expected = authenticator().enrol();
  const auto read = read_passkey_registration(registration().dump());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->credential_id, expected.credential_id);
  EXPECT_EQ(read->client_data, expected.client_data);
  EXPECT_EQ(read->authenticator_data, expected.authenticator_data);
  EXPECT_EQ(read->transports, expected.transports);
}

TEST(WebauthnJson, ReadsWhatBrowsersSendOfAnAssertion) {
  PasskeyAssertion expected = authenticator().prove();
  const auto read = read_passkey_assertion(support::json_of(expected));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->credential_id, expected.credential_id);
  EXPECT_EQ(read->client_data, expected.client_data);
  EXPECT_EQ(read->authenticator_data, expected.authenticator_data);
  EXPECT_EQ(read->signature, expected.signature);
  EXPECT_EQ(read->user_handle, expected.user_handle);
}

TEST(WebauthnJson, EveryMemberThatIsNeededIsAskedFor) {
  for (const char* pointer : {"/type", "/id", "/response/clientDataJSON",
                              "/response/authenticatorData", "/response/signature"}) {
    const std::string place = std::string("/credential") + pointer;
    json value = assertion();
    const json::json_pointer at(pointer);
    for (const json& wrong : {json(1), json(true), json::array(), json::object()}) {
      value[at] = wrong;
      EXPECT_THAT(assertion_places(value), ElementsAre(place)) << wrong;
    }
    value[at] = nullptr;
    EXPECT_THAT(assertion_places(value), ElementsAre(place));
    value[at.parent_pointer()].erase(at.back());
    EXPECT_THAT(assertion_places(value), ElementsAre(place));
  }
  for (const char* pointer :
       {"/type", "/id", "/response/clientDataJSON", "/response/authenticatorData"}) {
    json value = registration();
    const json::json_pointer at(pointer);
    value[at.parent_pointer()].erase(at.back());
    EXPECT_THAT(registration_places(value), ElementsAre(std::string("/credential") + pointer));
  }
}

TEST(WebauthnJson, AllProblemsAreToldAtOnce) {
  EXPECT_THAT(
      places(read_passkey_assertion("{}")),
      ElementsAre("/credential/type", "/credential/id", "/credential/response/clientDataJSON",
                  "/credential/response/authenticatorData", "/credential/response/signature"));
  json value = registration();
  value["response"] = json::array({1, 2});
  EXPECT_THAT(registration_places(value), ElementsAre("/credential/response/clientDataJSON",
                                                      "/credential/response/authenticatorData"));
}

TEST(WebauthnJson, Base64urlIsCanonicalAndWithoutPadding) {
  for (const char* member : {"clientDataJSON", "authenticatorData", "signature", "userHandle"}) {
    const std::string place = std::string("/credential/response/") + member;
    json value = assertion();
    for (const char* wrong : {"AA==", "A", "A+/A", "AB", " AAA", "AA\nA", "\xc3\xa9"}) {
      value["response"][member] = wrong;
      EXPECT_THAT(assertion_places(value), ElementsAre(place)) << wrong;
    }
  }
}

TEST(WebauthnJson, TheIdHasOneValueUnderBothNames) {
  json value = assertion();
  value["rawId"] = "AAAA";
  EXPECT_THAT(assertion_places(value), ElementsAre("/credential/rawId"));
  value["rawId"] = "A+==";
  EXPECT_THAT(assertion_places(value), ElementsAre("/credential/rawId"));
  value["rawId"] = 1;
  EXPECT_THAT(assertion_places(value), ElementsAre("/credential/rawId"));
  value.erase("rawId");
  EXPECT_THAT(assertion_places(value), ElementsAre());
  value["id"] = "A";
  EXPECT_THAT(assertion_places(value), ElementsAre("/credential/id"));
}

TEST(WebauthnJson, OtherTypesOfCredentialsAreRefused) {
  json value = registration();
  value["type"] = "password";
  EXPECT_THAT(registration_places(value), ElementsAre("/credential/type"));
}

TEST(WebauthnJson, AUserHandleMayBeMissing) {
  json value = assertion();
  value["response"]["userHandle"] = nullptr;
  EXPECT_EQ(read_passkey_assertion(value.dump())->user_handle, "");
  value["response"].erase("userHandle");
  EXPECT_EQ(read_passkey_assertion(value.dump())->user_handle, "");
  value["response"]["userHandle"] = json::array();
  EXPECT_THAT(assertion_places(value), ElementsAre("/credential/response/userHandle"));
}

TEST(WebauthnJson, TransportsAreKnownWordsEachOnce) {
  json value = registration();
  const auto read = [&](const json& list) {
    value["response"]["transports"] = list;
    return read_passkey_registration(value.dump())->transports;
  };
  EXPECT_THAT(read({"usb", "nfc", "ble", "smart-card", "hybrid", "internal"}),
              ElementsAre("usb", "nfc", "ble", "smart-card", "hybrid", "internal"));
  EXPECT_THAT(read({"usb", "telepathy", "usb", "", "USB", "nfc"}), ElementsAre("usb", "nfc"));
  EXPECT_THAT(read(json::array()), ElementsAre());
  EXPECT_THAT(read(nullptr), ElementsAre());
  EXPECT_THAT(read(std::vector<std::string>(1'000, "usb")), ElementsAre("usb"));
  value["response"].erase("transports");
  EXPECT_THAT(read_passkey_registration(value.dump())->transports, ElementsAre());
}

TEST(WebauthnJson, TransportsOfOtherTypesAreRefused) {
  json value = registration();
  value["response"]["transports"] = "usb";
  EXPECT_THAT(registration_places(value), ElementsAre("/credential/response/transports"));
  value["response"]["transports"] = {"usb", 1, {"nfc"}};
  EXPECT_THAT(registration_places(value), ElementsAre("/credential/response/transports/1",
                                                      "/credential/response/transports/2"));
}

TEST(WebauthnJson, UnknownMembersAreIgnoredHoweverDeep) {
  json value = assertion();
  value["clientExtensionResults"] = {{"prf", {{"enabled", true}}}};
  value["response"]["signature2"] = {1, 2};
  EXPECT_THAT(assertion_places(value), ElementsAre());
  std::string text = value.dump();
  text.back() = ',';
  const auto with = [&](int levels) {
    return text + "\"deep\":" + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  EXPECT_TRUE(read_passkey_assertion(with(500)).ok());
  EXPECT_THAT(places(read_passkey_assertion(with(6'000))), ElementsAre("/credential"));
}

TEST(WebauthnJson, WhatIsNoObjectIsRefused) {
  for (const std::string text : {"", "{", "[]", "null", "\"{}\"", "{} {}", "{\"a\":}", "nan"}) {
    EXPECT_THAT(places(read_passkey_registration(text)), ElementsAre("/credential")) << text;
    EXPECT_THAT(places(read_passkey_assertion(text)), ElementsAre("/credential")) << text;
  }
  std::string text = assertion().dump();
  EXPECT_THAT(places(read_passkey_assertion(text + '\0' + "more")), ElementsAre("/credential"));
  text[text.find("public")] = '\xff';
  EXPECT_THAT(places(read_passkey_assertion(text)), ElementsAre("/credential"));
}

TEST(WebauthnJson, HoldsItsBoundAndOnePast) {
  std::string text = assertion().dump();
  text.append(base::limits::passkey_credential_bytes_max - text.size(), ' ');
  EXPECT_TRUE(read_passkey_assertion(text).ok());
  text += ' ';
  EXPECT_THAT(places(read_passkey_assertion(text)), ElementsAre("/credential"));
}

TEST(WebauthnJson, MembersThatAreEscapedAreRead) {
  std::string text = assertion().dump();
  text.replace(text.find("\"type\""), 6, R"("\u0074ype")");
  text.replace(text.find("public-key"), 10, R"(\u0070ublic-key)");
  EXPECT_TRUE(read_passkey_assertion(text).ok());
}

const RelyingParty site{"localhost", "http://localhost:8404"};

TEST(WebauthnOptions, OfARegistrationAskForAPasskey) {
  const std::vector<PasskeyDescriptor> excluded = {{"one", {"usb", "nfc"}}, {"\xff\xfe", {}}};
  const std::string text =
      creation_options(site, "Turnpike", std::string(32, '\xfb'),
                       {std::string(32, '\x01'), "ada", "Ada \"Countess\" L\xc3\xb6vel"}, excluded);
  EXPECT_EQ(json::parse(text), json::parse(R"({
    "rp": {"id": "localhost", "name": "Turnpike"},
    "user": {"id": "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE", "name": "ada",
             "displayName": "Ada \"Countess\" Lövel"},
    "challenge": "-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_s",
    "pubKeyCredParams": [{"type": "public-key", "alg": -8}, {"type": "public-key", "alg": -7},
                         {"type": "public-key", "alg": -257}],
    "timeout": 300000,
    "excludeCredentials": [{"type": "public-key", "id": "b25l", "transports": ["usb", "nfc"]},
                           {"type": "public-key", "id": "__4"}],
    "authenticatorSelection": {"residentKey": "required", "requireResidentKey": true,
                               "userVerification": "required"},
    "attestation": "none"})"));
}

TEST(WebauthnOptions, OfASignInLetThePersonPick) {
  EXPECT_EQ(json::parse(request_options(site, "abc")), json::parse(R"({
    "rpId": "localhost", "challenge": "YWJj", "timeout": 300000, "allowCredentials": [],
    "userVerification": "required"})"));
}

TEST(WebauthnOptions, OfAStepUpNameThePersonsPasskeys) {
  const std::vector<PasskeyDescriptor> allowed = {{"one", {"internal"}}};
  EXPECT_EQ(json::parse(request_options(site, "abc", allowed))["allowCredentials"],
            json::parse(R"([{"type": "public-key", "id": "b25l", "transports": ["internal"]}])"));
}

TEST(WebauthnOptions, NamesThatAreNoUtf8AreMended) {
  const json options =
      json::parse(creation_options(site, "a\xff", "abc", {"handle", "\xc3", "</script>"}, {}));
  EXPECT_EQ(options["rp"]["name"], "a\xef\xbf\xbd");
  EXPECT_EQ(options["user"]["name"], "\xef\xbf\xbd");
}

}  // namespace
}  // namespace turnpike::identity

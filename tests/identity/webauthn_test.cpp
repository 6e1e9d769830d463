// The checks of passkeys. For each there is a test that fails without it.
#include "identity/webauthn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "identity/webauthn_vectors.h"
#include "support/soft_authenticator.h"

namespace turnpike::identity {
namespace {

using crypto::PasskeyAlgorithm;
using support::Claims;
using support::flag_at;
using support::flag_be;
using support::flag_bs;
using support::flag_ed;
using support::flag_up;
using support::flag_uv;
using support::SoftAuthenticator;
using testing::HasSubstr;

const RelyingParty party{"localhost", "http://localhost:8404"};
const std::string challenge = Claims().challenge;

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16));
  }
  return bytes;
}

// The message of the refusal, or "taken".
template <class T>
std::string verdict(const Result<T, base::Error>& result) {
  if (result.ok()) return "taken";
  EXPECT_EQ(result.error().code, base::ErrorCode::auth_passkey_rejected);
  return result.error().message;
}

// Shared by all tests, since an RSA key takes long to generate.
const SoftAuthenticator& shared(PasskeyAlgorithm algorithm) {
  static const SoftAuthenticator all[] = {SoftAuthenticator(PasskeyAlgorithm::es256),
                                          SoftAuthenticator(PasskeyAlgorithm::eddsa),
                                          SoftAuthenticator(PasskeyAlgorithm::rs256)};
  return all[static_cast<std::size_t>(algorithm)];
}

class EachAlgorithm : public testing::TestWithParam<PasskeyAlgorithm> {
 protected:
  std::string enrol(const Claims& claims) const {
    return verdict(check_registration(authenticator_.enrol(claims), party, challenge));
  }
  std::string prove(const Claims& claims) const {
    return verdict(
        check_assertion(authenticator_.prove(claims), authenticator_.known(), party, challenge));
  }
  // Expects both ceremonies to refuse the claims for the same reason.
  void expect_refused(const Claims& claims, const std::string& why) const {
    EXPECT_THAT(enrol(claims), HasSubstr(why));
    EXPECT_THAT(prove(claims), HasSubstr(why));
  }

  SoftAuthenticator authenticator_{shared(GetParam())};
};

INSTANTIATE_TEST_SUITE_P(Webauthn, EachAlgorithm, testing::ValuesIn(crypto::all_passkey_algorithms),
                         [](const auto& parameter) {
                           return std::string(crypto::name_of(parameter.param));
                         });

TEST_P(EachAlgorithm, RegistrationTellsWhatWasMade) {
  const auto passkey =
      check_registration(authenticator_.enrol({.flags = flag_up | flag_uv | flag_be | flag_bs,
                                               .sign_count = 0x01020304}),
                         party, challenge);
  ASSERT_TRUE(passkey.ok()) << passkey.error().message;
  EXPECT_EQ(passkey->credential_id, authenticator_.credential_id);
  EXPECT_EQ(passkey->key, authenticator_.key());
  EXPECT_EQ(passkey->sign_count, 0x01020304u);
  EXPECT_TRUE(passkey->is_backup_eligible);
  EXPECT_TRUE(passkey->is_backed_up);
  EXPECT_EQ(std::string(passkey->aaguid.begin(), passkey->aaguid.end()), authenticator_.aaguid);
  EXPECT_THAT(passkey->transports, testing::ElementsAre("internal", "hybrid"));
}

TEST_P(EachAlgorithm, AssertionOfARegisteredPasskeyIsTaken) {
  const auto made = check_registration(authenticator_.enrol(), party, challenge);
  ASSERT_TRUE(made.ok());
  EXPECT_FALSE(made->is_backup_eligible);
  EXPECT_FALSE(made->is_backed_up);
  const auto facts = check_assertion(
      authenticator_.prove({.sign_count = 7}),
      {.key = made->key, .sign_count = made->sign_count, .user_handle = authenticator_.user_handle},
      party, challenge);
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_EQ(facts->sign_count, 7u);
  EXPECT_FALSE(facts->is_backed_up);
  EXPECT_FALSE(facts->has_count_fallen);
}

TEST_P(EachAlgorithm, ClientDataOfAnotherCeremonyIsRefused) {
  EXPECT_THAT(enrol({.type = "webauthn.get"}), HasSubstr("webauthn.create"));
  EXPECT_THAT(prove({.type = "webauthn.create"}), HasSubstr("webauthn.get"));
  EXPECT_THAT(prove({.type = "payment.get"}), HasSubstr("webauthn.get"));
  EXPECT_THAT(prove({.type = ""}), HasSubstr("webauthn.get"));
}

TEST_P(EachAlgorithm, AnotherChallengeIsRefused) {
  expect_refused({.challenge = std::string(32, 'd')}, "challenge");
  expect_refused({.challenge = challenge.substr(1)}, "challenge");
  expect_refused({.challenge = challenge + "c"}, "challenge");
  expect_refused({.challenge = ""}, "challenge");
}

TEST_P(EachAlgorithm, NoChallengeFitsNothing) {
  const Claims claims{.challenge = ""};
  EXPECT_THAT(verdict(check_registration(authenticator_.enrol(claims), party, "")),
              HasSubstr("challenge"));
  EXPECT_THAT(
      verdict(check_assertion(authenticator_.prove(claims), authenticator_.known(), party, "")),
      HasSubstr("challenge"));
}

TEST_P(EachAlgorithm, AnotherOriginIsRefused) {
  for (const std::string origin :
       {"", "https://localhost:8404", "http://localhost", "http://localhost:8404/",
        "http://localhost:84040", "http://evil.localhost:8404", "HTTP://localhost:8404"}) {
    expect_refused({.origin = origin}, "another origin than http://localhost:8404");
  }
}

TEST_P(EachAlgorithm, PagesInsideOthersAreRefused) {
  for (const std::string more :
       {R"(,"crossOrigin":true)", R"(,"crossOrigin":"false")", R"(,"crossOrigin":0)",
        R"(,"crossOrigin":null)", R"(,"crossOrigin":false,"topOrigin":"https://a.example")",
        R"(,"crossOrigin":false,"crossOrigin":true)"}) {
    expect_refused({.more_client_data = more}, "inside a page of another origin");
  }
}

TEST_P(EachAlgorithm, UnknownMembersOfClientDataAreIgnored) {
  for (const std::string more :
       {"", R"(,"crossOrigin":false)", R"(,"extraData":"may be added","nested":[{"type":1}])",
        R"(,"tokenBinding":{"status":"supported"})"}) {
    EXPECT_EQ(enrol({.more_client_data = more}), "taken");
    EXPECT_EQ(prove({.more_client_data = more}), "taken");
  }
}

TEST_P(EachAlgorithm, ClientDataThatIsNoJsonIsRefused) {
  expect_refused({.more_client_data = ","}, "client data");
  expect_refused({.more_client_data = "}{"}, "client data");
  expect_refused({.more_client_data = ",\"a\":" + std::string(10'000, '[')}, "client data");
  expect_refused({.more_client_data = std::string(1, '\0')}, "client data");
  expect_refused({.more_client_data = ",\"\xff\":1"}, "client data");
}

TEST_P(EachAlgorithm, PasskeysOfOtherSitesAreRefused) {
  expect_refused({.party_id = "evil.localhost"}, "another site than localhost");
  expect_refused({.party_id = ""}, "another site");
}

TEST_P(EachAlgorithm, PresenceAndVerificationAreRequired) {
  expect_refused({.flags = flag_uv}, "presence");
  expect_refused({.flags = flag_up}, "did not verify the person");
}

TEST_P(EachAlgorithm, BackupWithoutEligibilityIsRefused) {
  expect_refused({.flags = flag_up | flag_uv | flag_bs}, "contradicts itself");
  EXPECT_EQ(enrol({.flags = flag_up | flag_uv | flag_be}), "taken");
  EXPECT_EQ(prove({.flags = flag_up | flag_uv | flag_be}), "taken");
}

TEST_P(EachAlgorithm, ReservedFlagsAreIgnored) {
  EXPECT_EQ(enrol({.flags = flag_up | flag_uv | 0x02 | 0x20}), "taken");
  EXPECT_EQ(prove({.flags = flag_up | flag_uv | 0x02 | 0x20}), "taken");
}

TEST_P(EachAlgorithm, RegistrationWithoutACredentialIsRefused) {
  EXPECT_THAT(enrol({.flags_taken = flag_at}), HasSubstr("made no passkey"));
}

TEST_P(EachAlgorithm, IdsHaveOneTo1023Bytes) {
  for (const std::size_t bytes : {1, 1023}) {
    authenticator_.credential_id = std::string(bytes, 'i');
    EXPECT_EQ(enrol({}), "taken") << bytes;
  }
  for (const std::size_t bytes : {0, 1024, 65'535}) {
    authenticator_.credential_id = std::string(bytes, 'i');
    EXPECT_THAT(enrol({}), HasSubstr("has " + std::to_string(bytes) + " bytes"));
  }
}

TEST_P(EachAlgorithm, TheIdIsTheOneThatTheAuthenticatorMade) {
  PasskeyRegistration registration = authenticator_.enrol();
  registration.credential_id += "s";
  EXPECT_THAT(verdict(check_registration(registration, party, challenge)),
              HasSubstr("not the one that the authenticator made"));
}

// An extension that was not requested: {"credProtect": 2}.
const std::string cred_protect =
    "\xa1\x6b"
    "credProtect\x02";

TEST_P(EachAlgorithm, ExtensionsArePassedOverWhereTheirFlagSaysSo) {
  const std::uint8_t flags = flag_up | flag_uv | flag_ed;
  EXPECT_EQ(enrol({.flags = flags, .more_data = cred_protect}), "taken");
  EXPECT_EQ(prove({.flags = flags, .more_data = cred_protect}), "taken");
  // Any extension data is ignored: here an array of 2^32 items, for which a CBOR reader could
  // allocate memory.
  EXPECT_EQ(enrol({.flags = flags, .more_data = "\x9a\xff\xff\xff\xff"}), "taken");
  expect_refused({.flags = flags}, "not of its fixed form");
}

TEST_P(EachAlgorithm, BytesThatNoFlagAnnouncesAreRefused) {
  expect_refused({.more_data = cred_protect}, "not of its fixed form");
  expect_refused({.more_data = std::string(1, '\0')}, "not of its fixed form");
}

TEST_P(EachAlgorithm, AssertionsHoldNoCredential) {
  EXPECT_THAT(prove({.flags = flag_up | flag_uv | flag_at}), HasSubstr("not of its fixed form"));
  EXPECT_THAT(prove({.flags = flag_up | flag_uv | flag_at, .more_data = "and its data"}),
              HasSubstr("not of its fixed form"));
}

TEST_P(EachAlgorithm, DataCutAnywhereAreRefused) {
  const PasskeyRegistration whole = authenticator_.enrol();
  for (std::size_t size = 0; size < whole.authenticator_data.size(); ++size) {
    PasskeyRegistration cut = whole;
    cut.authenticator_data.resize(size);
    ASSERT_NE(verdict(check_registration(cut, party, challenge)), "taken") << size;
  }
  // The signature is valid; only the form is refused.
  for (std::size_t size = 0; size < 37; ++size) {
    PasskeyAssertion cut = authenticator_.prove();
    cut.authenticator_data.resize(size);
    ASSERT_THAT(verdict(check_assertion(cut, authenticator_.known(), party, challenge)),
                HasSubstr("not of its fixed form"))
        << size;
  }
}

TEST_P(EachAlgorithm, EveryFlippedBitOfARegistrationIsRefusedOrTold) {
  const PasskeyRegistration whole = authenticator_.enrol();
  const auto made = check_registration(whole, party, challenge);
  ASSERT_TRUE(made.ok());
  const std::size_t key_at = whole.authenticator_data.size() - authenticator_.cose_key().size();
  for (std::size_t bit = 0; bit < 8 * whole.authenticator_data.size(); ++bit) {
    PasskeyRegistration flipped = whole;
    char& byte = flipped.authenticator_data[bit / 8];
    byte = static_cast<char>(byte ^ 1 << bit % 8);
    const auto result = check_registration(flipped, party, challenge);
    if (!result.ok()) continue;
    // A registration is unsigned, so some bits may change, but never the site, the id or the form.
    const std::size_t at = bit / 8;
    ASSERT_TRUE((at >= 32 && at < 53) || at > key_at) << at;
    if (at > key_at) {
      ASSERT_NE(result->key, made->key) << at;
    }
    if (at >= 33 && at < 37) {
      ASSERT_NE(result->sign_count, made->sign_count) << at;
    }
    if (at >= 37 && at < 53) {
      ASSERT_NE(result->aaguid, made->aaguid) << at;
    }
  }
}

TEST_P(EachAlgorithm, EveryFlippedBitOfAnAssertionIsRefused) {
  const PasskeyAssertion whole = authenticator_.prove({.sign_count = 7});
  const auto check = [&](const PasskeyAssertion& assertion) {
    return check_assertion(assertion, authenticator_.known(), party, challenge);
  };
  ASSERT_TRUE(check(whole).ok());
  for (std::string PasskeyAssertion::*member :
       {&PasskeyAssertion::client_data, &PasskeyAssertion::authenticator_data,
        &PasskeyAssertion::signature, &PasskeyAssertion::user_handle}) {
    for (std::size_t bit = 0; bit < 8 * (whole.*member).size(); ++bit) {
      PasskeyAssertion flipped = whole;
      char& byte = (flipped.*member)[bit / 8];
      byte = static_cast<char>(byte ^ 1 << bit % 8);
      ASSERT_FALSE(check(flipped).ok()) << bit;
    }
  }
}

// The signature covers parts that no other check examines.
TEST_P(EachAlgorithm, TheSignatureIsChecked) {
  const std::string why = "The signature is not that of the passkey.";
  PasskeyAssertion assertion = authenticator_.prove({.sign_count = 7});
  assertion.authenticator_data.back() = 8;  // a byte of the counter
  EXPECT_EQ(verdict(check_assertion(assertion, authenticator_.known(), party, challenge)), why);
  assertion = authenticator_.prove();
  assertion.client_data.insert(assertion.client_data.size() - 1, R"(,"more":1)");
  EXPECT_EQ(verdict(check_assertion(assertion, authenticator_.known(), party, challenge)), why);
  assertion = authenticator_.prove();
  assertion.signature.clear();
  EXPECT_EQ(verdict(check_assertion(assertion, authenticator_.known(), party, challenge)), why);
}

TEST_P(EachAlgorithm, KeysOfOtherPasskeysAndAlgorithmsDoNotFit) {
  for (const PasskeyAlgorithm each : crypto::all_passkey_algorithms) {
    KnownPasskey other = authenticator_.known();
    other.key = SoftAuthenticator(each).key();
    EXPECT_EQ(verdict(check_assertion(authenticator_.prove(), other, party, challenge)),
              "The signature is not that of the passkey.");
  }
  KnownPasskey none = authenticator_.known();
  none.key = crypto::PasskeyKey();
  EXPECT_EQ(verdict(check_assertion(authenticator_.prove(), none, party, challenge)),
            "The signature is not that of the passkey.");
}

TEST_P(EachAlgorithm, ThePersonIsThePasskeysOwner) {
  const std::string why = "another person";
  KnownPasskey known = authenticator_.known();
  const auto check = [&](const std::string& handle) {
    PasskeyAssertion assertion = authenticator_.prove();
    assertion.user_handle = handle;
    return verdict(check_assertion(assertion, known, party, challenge));
  };
  EXPECT_THAT(check(std::string(32, 'v')), HasSubstr(why));
  EXPECT_THAT(check(""), HasSubstr(why));
  known.may_omit_user_handle = true;
  EXPECT_EQ(check(""), "taken");
  EXPECT_EQ(check(known.user_handle), "taken");
  EXPECT_THAT(check(std::string(32, 'v')), HasSubstr(why));
  known.may_omit_user_handle = false;
  known.user_handle.clear();  // no owner, so no handle matches
  EXPECT_THAT(check(""), HasSubstr(why));
}

struct Counts {
  std::uint32_t stored, told;
  bool has_fallen;
};
constexpr Counts counts[] = {{0, 0, false},
                             {0, 1, false},
                             {1, 2, false},
                             {5, 5, true},
                             {5, 4, true},
                             {5, 0, true},
                             {4'294'967'294u, 4'294'967'295u, false},
                             {4'294'967'295u, 0, true}};

TEST_P(EachAlgorithm, CountersThatDoNotGrowAreToldAndRefusedForPasskeysOfOneDevice) {
  for (const Counts& each : counts) {
    const PasskeyAssertion assertion = authenticator_.prove({.sign_count = each.told});
    const auto synced =
        check_assertion(assertion, authenticator_.known(each.stored, true), party, challenge);
    ASSERT_TRUE(synced.ok()) << each.stored;
    EXPECT_EQ(synced->has_count_fallen, each.has_fallen) << each.stored;
    EXPECT_EQ(synced->sign_count, each.told);
    const std::string single = verdict(
        check_assertion(assertion, authenticator_.known(each.stored, false), party, challenge));
    EXPECT_THAT(single, HasSubstr(each.has_fallen ? "counter did not grow" : "taken"));
  }
}

TEST_P(EachAlgorithm, BackupIsToldAnew) {
  const auto facts =
      check_assertion(authenticator_.prove({.flags = flag_up | flag_uv | flag_be | flag_bs}),
                      authenticator_.known(0, true), party, challenge);
  ASSERT_TRUE(facts.ok());
  EXPECT_TRUE(facts->is_backed_up);
}

// Invalid keys that each differ in one place from a valid one.
TEST_P(EachAlgorithm, OtherFormsOfKeysAreRefused) {
  const std::string key = authenticator_.cose_key();
  const std::string why = "none of EdDSA, ES256 and RS256";
  const std::size_t head = GetParam() == PasskeyAlgorithm::rs256 ? 11 : 10;
  for (std::size_t bit = 0; bit < 8 * head; ++bit) {
    std::string changed = key;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    ASSERT_THAT(enrol({.key_bytes = changed}), HasSubstr(why)) << bit;
  }
  EXPECT_THAT(enrol({.key_bytes = ""}), HasSubstr(why));
  EXPECT_THAT(enrol({.key_bytes = std::string(key.size(), '\0')}), HasSubstr(why));
}

TEST(Webauthn, WhatStandsBetweenTheCoordinatesIsLookedAt) {
  const SoftAuthenticator& authenticator = shared(PasskeyAlgorithm::es256);
  std::string key = authenticator.cose_key();
  key.erase(42, 3);  // the label and the length of y
  EXPECT_THAT(
      verdict(check_registration(authenticator.enrol({.key_bytes = key}), party, challenge)),
      HasSubstr("none of EdDSA, ES256 and RS256"));
}

TEST(Webauthn, KeysOfOtherSizesAndPointsOffTheCurveAreRefused) {
  const auto verdict_on = [](PasskeyAlgorithm algorithm, std::size_t at, const std::string& bytes) {
    const SoftAuthenticator& authenticator = shared(algorithm);
    std::string key = authenticator.cose_key();
    key.replace(at, bytes.size(), bytes);
    return verdict(check_registration(authenticator.enrol({.key_bytes = key}), party, challenge));
  };
  const std::string why = "none of EdDSA, ES256 and RS256";
  // No y; a compressed y; an exponent of 3; a point of another curve; a point of small order.
  EXPECT_THAT(verdict_on(PasskeyAlgorithm::es256, 42, "\x23"), HasSubstr(why));
  EXPECT_THAT(verdict_on(PasskeyAlgorithm::es256, 43, "\xf5"), HasSubstr(why));
  EXPECT_THAT(verdict_on(PasskeyAlgorithm::rs256, 271, "\x03"), HasSubstr(why));
  EXPECT_THAT(verdict_on(PasskeyAlgorithm::es256, 10, std::string(32, 'x')), HasSubstr(why));
  EXPECT_THAT(verdict_on(PasskeyAlgorithm::eddsa, 10, std::string(32, '\0')), HasSubstr(why));
}

const RelyingParty example{"example.org", "https://example.org"};

PasskeyRegistration registration_of(const Vector& vector) {
  return {.credential_id = from_hex(vector.credential_id),
          .client_data = from_hex(vector.client_data),
          .authenticator_data = from_hex(vector.authenticator_data),
          .transports = {}};
}

PasskeyAssertion assertion_of(const Vector& vector) {
  return {.credential_id = from_hex(vector.credential_id),
          .client_data = from_hex(vector.assertion_client_data),
          .authenticator_data = from_hex(vector.assertion_authenticator_data),
          .signature = from_hex(vector.signature),
          .user_handle = ""};
}

TEST(WebauthnVectors, Es256IsTaken) {
  const auto passkey =
      check_registration(registration_of(es256_vector), example, from_hex(es256_vector.challenge));
  ASSERT_TRUE(passkey.ok()) << passkey.error().message;
  EXPECT_EQ(passkey->credential_id, from_hex(es256_vector.credential_id));
  EXPECT_TRUE(passkey->is_backup_eligible);
  EXPECT_FALSE(passkey->is_backed_up);
  const auto facts = check_assertion(assertion_of(es256_vector),
                                     {.key = passkey->key, .may_omit_user_handle = true}, example,
                                     from_hex(es256_vector.assertion_challenge));
  EXPECT_TRUE(facts.ok()) << facts.error().message;
}

// The vector's authenticator did not verify the person. Its key and signature are right.
TEST(WebauthnVectors, Ed25519WithoutVerificationIsRefused) {
  EXPECT_THAT(verdict(check_registration(registration_of(ed25519_vector), example,
                                         from_hex(ed25519_vector.challenge))),
              HasSubstr("did not verify the person"));
  PasskeyRegistration claimed = registration_of(ed25519_vector);
  claimed.authenticator_data[32] = static_cast<char>(claimed.authenticator_data[32] | flag_uv);
  const auto passkey = check_registration(claimed, example, from_hex(ed25519_vector.challenge));
  ASSERT_TRUE(passkey.ok()) << passkey.error().message;
  EXPECT_THAT(verdict(check_assertion(assertion_of(ed25519_vector),
                                      {.key = passkey->key, .may_omit_user_handle = true}, example,
                                      from_hex(ed25519_vector.assertion_challenge))),
              HasSubstr("did not verify the person"));
}

TEST(WebauthnVectors, RsaOfAnotherSizeIsRefused) {
  EXPECT_THAT(verdict(check_registration(registration_of(rs256_vector), example,
                                         from_hex(rs256_vector.challenge))),
              HasSubstr("none of EdDSA, ES256 and RS256 of 2048 bits"));
}

TEST(WebauthnVectors, CrossOriginIsRefused) {
  EXPECT_THAT(verdict(check_registration(registration_of(cross_origin_vector), example,
                                         from_hex(cross_origin_vector.challenge))),
              HasSubstr("inside a page of another origin"));
}

}  // namespace
}  // namespace turnpike::identity

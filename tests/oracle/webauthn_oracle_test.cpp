// Assertions compared with libfido2, which reads and verifies them independently. It is given no
// data with the extension flag: for that it parses CBOR and allocates as much memory as the data
// demands.
#include <fido.h>
#include <fido/eddsa.h>
#include <fido/es256.h>
#include <fido/rs256.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "crypto/digest.h"
#include "identity/webauthn.h"
#include "support/soft_authenticator.h"

namespace turnpike::identity {
namespace {

using crypto::PasskeyAlgorithm;
using support::Claims;
using support::flag_at;
using support::flag_be;
using support::flag_bs;
using support::flag_ed;
using support::SoftAuthenticator;

const RelyingParty party{"localhost", "http://localhost:8404"};
const std::string challenge = Claims().challenge;

const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// A key in the library's form, with its algorithm number.
struct FidoKey {
  std::shared_ptr<void> key;
  int algorithm = 0;
};

template <class Key>
std::shared_ptr<void> made(Key* (*make)(), void (*free)(Key**),
                           int (*fill)(Key*, const void*, std::size_t), const std::string& parts) {
  std::shared_ptr<Key> key(make(), [free](Key* each) { free(&each); });
  EXPECT_EQ(fill(key.get(), parts.data(), parts.size()), FIDO_OK);
  return key;
}

FidoKey fido_key(const crypto::PasskeyKey& key) {
  switch (key.algorithm()) {
    case PasskeyAlgorithm::es256:
      return {made(es256_pk_new, es256_pk_free, es256_pk_from_ptr, key.parts()), COSE_ES256};
    case PasskeyAlgorithm::rs256:  // the modulus, then the exponent
      return {made(rs256_pk_new, rs256_pk_free, rs256_pk_from_ptr,
                   key.parts() + std::string("\x01\x00\x01", 3)),
              COSE_RS256};
    case PasskeyAlgorithm::eddsa:
      break;
  }
  return {made(eddsa_pk_new, eddsa_pk_free, eddsa_pk_from_ptr, key.parts()), COSE_EDDSA};
}

bool is_taken_by_fido(const PasskeyAssertion& given, const FidoKey& key) {
  const std::unique_ptr<fido_assert_t, void (*)(fido_assert_t*)> assertion(
      fido_assert_new(), [](fido_assert_t* each) { fido_assert_free(&each); });
  const crypto::Sha256 hash = crypto::sha256(given.client_data);
  return fido_assert_set_rp(assertion.get(), party.id.c_str()) == FIDO_OK &&
         fido_assert_set_clientdata_hash(assertion.get(), hash.data(), hash.size()) == FIDO_OK &&
         fido_assert_set_up(assertion.get(), FIDO_OPT_TRUE) == FIDO_OK &&
         fido_assert_set_uv(assertion.get(), FIDO_OPT_TRUE) == FIDO_OK &&
         fido_assert_set_count(assertion.get(), 1) == FIDO_OK &&
         fido_assert_set_authdata_raw(assertion.get(), 0, bytes_of(given.authenticator_data),
                                      given.authenticator_data.size()) == FIDO_OK &&
         fido_assert_set_sig(assertion.get(), 0, bytes_of(given.signature),
                             given.signature.size()) == FIDO_OK &&
         fido_assert_verify(assertion.get(), 0, key.algorithm, key.key.get()) == FIDO_OK;
}

class WebauthnOracle : public testing::TestWithParam<PasskeyAlgorithm> {
 protected:
  void SetUp() override { fido_init(0); }

  [[nodiscard]] bool is_taken(const PasskeyAssertion& given) const {
    return check_assertion(given, authenticator_.known(), party, challenge).ok();
  }
  [[nodiscard]] bool is_taken_by_fido(const PasskeyAssertion& given) const {
    return identity::is_taken_by_fido(given, key_);
  }

  SoftAuthenticator authenticator_{GetParam()};
  FidoKey key_ = fido_key(authenticator_.key());
};

INSTANTIATE_TEST_SUITE_P(Webauthn, WebauthnOracle,
                         testing::ValuesIn(crypto::all_passkey_algorithms),
                         [](const auto& parameter) {
                           return std::string(crypto::name_of(parameter.param));
                         });

TEST_P(WebauthnOracle, AgreesOnAllFlags) {
  int taken = 0;
  for (int flags = 0; flags < 256; ++flags) {
    if ((flags & (flag_ed | flag_at)) != 0) continue;
    const PasskeyAssertion given =
        authenticator_.prove({.flags = static_cast<std::uint8_t>(flags)});
    // libfido2 does not check whether the backup flags contradict each other.
    const bool contradicts = (flags & (flag_be | flag_bs)) == flag_bs;
    EXPECT_EQ(is_taken(given), is_taken_by_fido(given) && !contradicts) << flags;
    taken += is_taken(given) ? 1 : 0;
  }
  EXPECT_EQ(taken, 4 * 3);  // reserved bits times backup states
}

TEST_P(WebauthnOracle, AgreesOnSitesAndCounters) {
  for (const std::string id : {"localhost", "localhos", "example.org", ""}) {
    for (const std::uint32_t count : {0u, 1u, 0xFFFFFFFFu}) {
      const PasskeyAssertion given = authenticator_.prove({.party_id = id, .sign_count = count});
      EXPECT_EQ(is_taken(given), id == party.id);
      EXPECT_EQ(is_taken_by_fido(given), id == party.id);
    }
  }
}

TEST_P(WebauthnOracle, AgreesOnEveryFlippedBit) {
  const PasskeyAssertion whole = authenticator_.prove({.sign_count = 7});
  ASSERT_TRUE(is_taken(whole) && is_taken_by_fido(whole));
  for (std::string PasskeyAssertion::*member :
       {&PasskeyAssertion::client_data, &PasskeyAssertion::authenticator_data,
        &PasskeyAssertion::signature}) {
    for (std::size_t bit = 0; bit < 8 * (whole.*member).size(); ++bit) {
      PasskeyAssertion flipped = whole;
      char& byte = (flipped.*member)[bit / 8];
      byte = static_cast<char>(byte ^ 1 << bit % 8);
      ASSERT_FALSE(is_taken(flipped)) << bit;
      ASSERT_FALSE(is_taken_by_fido(flipped)) << bit;
    }
  }
}

// One or two bytes changed, removed or inserted, sometimes signed again.
TEST_P(WebauthnOracle, AgreesOnDamagedDataAndSignatures) {
  std::mt19937 engine(20'261'123);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(engine);
  };
  const auto damage = [&](std::string& text) {
    const std::size_t at = below(text.size());
    const char byte = static_cast<char>(below(256));
    switch (below(3)) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.erase(at, 1);
        break;
      default:
        text.insert(at, 1, byte);
    }
  };
  int taken = 0;
  for (int round = 0; round < 2'000; ++round) {
    PasskeyAssertion given = authenticator_.prove({.sign_count = 7});
    damage(below(2) == 0 ? given.authenticator_data : given.signature);
    if (below(2) == 0) {
      const crypto::Sha256 hash = crypto::sha256(given.client_data);
      given.signature =
          authenticator_.sign(given.authenticator_data +
                              std::string(reinterpret_cast<const char*>(hash.data()), hash.size()));
    }
    const std::string& data = given.authenticator_data;
    if (data.size() > 32 && (data[32] & (flag_ed | flag_at | flag_bs)) != 0) continue;
    // libfido2 ignores bytes that no flag announces.
    const bool is_too_long = data.size() > 37;
    ASSERT_EQ(is_taken(given), is_taken_by_fido(given) && !is_too_long) << round;
    taken += is_taken(given) ? 1 : 0;
  }
  EXPECT_GT(taken, 100);
}

TEST_P(WebauthnOracle, AgreesThatOtherKeysDoNotFit) {
  for (const PasskeyAlgorithm each : crypto::all_passkey_algorithms) {
    const SoftAuthenticator other(each);
    PasskeyAssertion given = authenticator_.prove();
    given.signature = other.prove().signature;
    EXPECT_FALSE(is_taken(given));
    EXPECT_FALSE(is_taken_by_fido(given));
  }
}

}  // namespace
}  // namespace turnpike::identity

// Passkey keys: published examples where suitable ones exist, otherwise signatures by OpenSSL, and
// keys that must be refused.
#include "crypto/passkey_key.h"

#include <gtest/gtest.h>
#include <openssl/err.h>

#include <string>
#include <vector>

#include "support/soft_authenticator.h"

namespace turnpike::crypto {
namespace {

using support::SoftAuthenticator;

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16));
  }
  return bytes;
}

// RFC 6979 section A.2.5, SHA-256, the message "sample".
const std::string x = from_hex("60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6");
const std::string y = from_hex("7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299");
const std::string r = from_hex("EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716");
const std::string s = from_hex("F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8");
// A SEQUENCE of two INTEGERs, each with a zero byte before its high first bit.
const std::string der = from_hex("3046022100") + r + from_hex("022100") + s;

// RFC 8032 section 7.1, test 2.
const std::string edwards =
    from_hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
const std::string edwards_signature = from_hex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");

TEST(PasskeyKey, VerifiesPublishedExamples) {
  const auto es256 = PasskeyKey::es256(x, y);
  ASSERT_TRUE(es256.has_value());
  EXPECT_TRUE(verify(*es256, "sample", der));
  EXPECT_FALSE(verify(*es256, "simple", der));
  const auto eddsa = PasskeyKey::eddsa(edwards);
  ASSERT_TRUE(eddsa.has_value());
  EXPECT_TRUE(verify(*eddsa, "\x72", edwards_signature));
  EXPECT_FALSE(verify(*eddsa, "\x73", edwards_signature));
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
  const SoftAuthenticator& signer_ = shared(GetParam());
};

TEST_P(EachAlgorithm, RefusesEveryFlippedBitOfASignature) {
  const std::string signature = signer_.sign("bytes");
  ASSERT_TRUE(verify(signer_.key(), "bytes", signature));
  for (std::size_t bit = 0; bit < 8 * signature.size(); ++bit) {
    std::string flipped = signature;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    ASSERT_FALSE(verify(signer_.key(), "bytes", flipped)) << bit;
  }
}

TEST_P(EachAlgorithm, RefusesSignaturesThatAreCutOrContinued) {
  const std::string signature = signer_.sign("bytes");
  for (std::size_t size = 0; size < signature.size(); ++size) {
    ASSERT_FALSE(verify(signer_.key(), "bytes", signature.substr(0, size))) << size;
  }
  EXPECT_FALSE(verify(signer_.key(), "bytes", signature + '\0'));
  EXPECT_FALSE(verify(signer_.key(), "bytes", std::string(20'000, '\x30')));
}

TEST_P(EachAlgorithm, RefusesWhatAnotherKeySigned) {
  for (const PasskeyAlgorithm each : all_passkey_algorithms) {
    EXPECT_FALSE(verify(signer_.key(), "bytes", SoftAuthenticator(each).sign("bytes")));
  }
}

TEST_P(EachAlgorithm, HasOneTextThatIsReadBack) {
  const std::string text = signer_.key().text();
  EXPECT_TRUE(text.starts_with(std::string(name_of(GetParam())) + ":")) << text;
  const auto again = PasskeyKey::parse(text);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, signer_.key());
  EXPECT_EQ(again->text(), text);
  EXPECT_TRUE(verify(*again, "bytes", signer_.sign("bytes")));
  for (std::size_t size = 0; size < text.size(); ++size) {
    ASSERT_FALSE(PasskeyKey::parse(text.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(PasskeyKey::parse(text + "A").has_value());
  EXPECT_FALSE(PasskeyKey::parse(" " + text).has_value());
}

// The TLS connections of a Thread would treat errors in the queue as their own.
TEST_P(EachAlgorithm, LeavesNoErrorsToOpenSsl) {
  ERR_clear_error();
  EXPECT_FALSE(verify(signer_.key(), "bytes", "no signature"));
  EXPECT_FALSE(verify(PasskeyKey(), "bytes", signer_.sign("bytes")));
  EXPECT_FALSE(PasskeyKey::es256(x, x).has_value());
  EXPECT_EQ(ERR_peek_error(), 0u);
}

INSTANTIATE_TEST_SUITE_P(PasskeyKey, EachAlgorithm, testing::ValuesIn(all_passkey_algorithms),
                         [](const auto& parameter) {
                           return std::string(name_of(parameter.param));
                         });

TEST(PasskeyKey, NamesAndNumbersAreThoseOfCose) {
  EXPECT_EQ(name_of(PasskeyAlgorithm::es256), "ES256");
  EXPECT_EQ(cose_number_of(PasskeyAlgorithm::es256), -7);
  EXPECT_EQ(name_of(PasskeyAlgorithm::eddsa), "EdDSA");
  EXPECT_EQ(cose_number_of(PasskeyAlgorithm::eddsa), -8);
  EXPECT_EQ(name_of(PasskeyAlgorithm::rs256), "RS256");
  EXPECT_EQ(cose_number_of(PasskeyAlgorithm::rs256), -257);
}

TEST(PasskeyKey, TextIsWhatDatabasesHold) {
  EXPECT_EQ(PasskeyKey::eddsa(edwards)->text(),
            "EdDSA:PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw");
  EXPECT_FALSE(PasskeyKey::parse("").has_value());
  EXPECT_FALSE(PasskeyKey::parse("EdDSA").has_value());
  EXPECT_FALSE(PasskeyKey::parse("EdDSA:").has_value());
  EXPECT_FALSE(PasskeyKey::parse("ES256:PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw").has_value());
  EXPECT_FALSE(PasskeyKey::parse("eddsa:PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw").has_value());
}

TEST(PasskeyKey, RefusesPointsOffTheCurveOfEs256) {
  EXPECT_FALSE(PasskeyKey::es256(y, x).has_value());
  std::string beside = y;
  beside.back() = static_cast<char>(beside.back() ^ 1);
  EXPECT_FALSE(PasskeyKey::es256(x, beside).has_value());
  EXPECT_FALSE(PasskeyKey::es256(std::string(32, '\0'), std::string(32, '\0')).has_value());
  EXPECT_FALSE(PasskeyKey::es256(std::string(32, '\xff'), y).has_value());  // beyond the field
}

TEST(PasskeyKey, RefusesPartsOfAnotherLength) {
  EXPECT_FALSE(PasskeyKey::es256("", "").has_value());
  EXPECT_FALSE(PasskeyKey::es256(x.substr(1), y).has_value());
  EXPECT_FALSE(PasskeyKey::es256(x, y + "a").has_value());
  EXPECT_FALSE(PasskeyKey::es256(x + y.substr(0, 1), y.substr(1)).has_value());
  EXPECT_FALSE(PasskeyKey::eddsa(edwards.substr(1)).has_value());
  EXPECT_FALSE(PasskeyKey::eddsa(edwards + "a").has_value());
  const std::string modulus = shared(PasskeyAlgorithm::rs256).key().parts();
  EXPECT_FALSE(PasskeyKey::rs256(modulus.substr(1)).has_value());
  EXPECT_FALSE(PasskeyKey::rs256('\0' + modulus).has_value());
}

TEST(PasskeyKey, RefusesModuliThatAreEvenOrShort) {
  std::string modulus = shared(PasskeyAlgorithm::rs256).key().parts();
  modulus.front() = '\x7f';
  EXPECT_FALSE(PasskeyKey::rs256(modulus).has_value());
  modulus.front() = '\xff';
  EXPECT_TRUE(PasskeyKey::rs256(modulus).has_value());
  modulus.back() = static_cast<char>(modulus.back() & 0xFE);
  EXPECT_FALSE(PasskeyKey::rs256(modulus).has_value());
}

// Little-endian, with either sign of x: the points whose order divides 8, and their non-canonical
// encodings. Under the first one, one signature is valid for all messages.
TEST(PasskeyKey, RefusesEd25519PointsOfSmallOrder) {
  const std::vector<std::string> points = {
      "0100000000000000000000000000000000000000000000000000000000000000",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "0000000000000000000000000000000000000000000000000000000000000000",
      "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
      "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
      "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  };
  for (const std::string& hex : points) {
    std::string point = from_hex(hex);
    EXPECT_FALSE(PasskeyKey::eddsa(point).has_value()) << hex;
    point.back() = static_cast<char>(point.back() ^ '\x80');
    EXPECT_FALSE(PasskeyKey::eddsa(point).has_value()) << hex;
  }
}

// Half of all y have no x. Tested with the generator of RFC 8032 section 5.1 and its neighbours: y
// = 4/5 is on the curve.
TEST(PasskeyKey, RefusesPointsOffTheCurveOfEd25519) {
  std::string point = from_hex("58") + std::string(31, '\x66');
  EXPECT_TRUE(PasskeyKey::eddsa(point).has_value());
  int on_curve = 0;
  for (int at = 0; at < 256; ++at) {
    point.front() = static_cast<char>(at);
    on_curve += PasskeyKey::eddsa(point).has_value() ? 1 : 0;
  }
  EXPECT_EQ(on_curve, 140);  // counted separately, by Euler's criterion
  point = from_hex("02") + std::string(31, '\0');
  EXPECT_FALSE(PasskeyKey::eddsa(point).has_value());  // 3 / (4d + 1) is not a square
}

}  // namespace
}  // namespace turnpike::crypto

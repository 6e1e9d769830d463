#include "crypto/digest.h"

#include <gtest/gtest.h>

#include "text/encoding.h"

namespace turnpike::crypto {
namespace {

TEST(Sha256, AgreesWithFips180Examples) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, OfPartsIsThatOfTheirConcatenation) {
  EXPECT_EQ(sha256({"a", "", "bc"}), sha256("abc"));
  EXPECT_EQ(sha256({}), sha256(""));
}

// RFC 4231, test cases 1, 2 and 6 (a key longer than the block).
TEST(HmacSha256, AgreesWithRfc4231) {
  EXPECT_EQ(text::hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(text::hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(text::hex(hmac_sha256(std::string(131, '\xaa'),
                                  "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(ConstantTimeComparison, ComparesWholeTexts) {
  EXPECT_TRUE(equal_in_constant_time("secret", "secret"));
  EXPECT_FALSE(equal_in_constant_time("secret", "secreT"));
  EXPECT_FALSE(equal_in_constant_time("secret", "secret1"));
  EXPECT_TRUE(equal_in_constant_time("", ""));
}

}  // namespace
}  // namespace turnpike::crypto

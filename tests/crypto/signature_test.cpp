// Ed25519 compared with RFC 8032 section 7.1, and signatures that must be refused.
#include "crypto/signature.h"

#include <gtest/gtest.h>

namespace turnpike::crypto {
namespace {

template <class Bytes>
Bytes bytes(const std::string& hex) {
  Bytes out{};
  for (std::size_t at = 0; at < out.size(); ++at) {
    out[at] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * at, 2), nullptr, 16));
  }
  return out;
}

// Test 2 of the RFC: a message of one byte.
const auto seed =
    bytes<Ed25519Seed>("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
const auto key =
    bytes<Ed25519PublicKey>("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
const auto signature = bytes<Ed25519Signature>(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
constexpr std::string_view message = "\x72";

TEST(Ed25519, SignsAsTheRfcSays) {
  EXPECT_EQ(ed25519_public_key(seed), key);
  EXPECT_EQ(ed25519_sign(seed, message), signature);
  EXPECT_TRUE(ed25519_verify(key, message, signature));
}

TEST(Ed25519, RefusesOtherBytesKeysAndSignatures) {
  EXPECT_FALSE(ed25519_verify(key, "\x73", signature));
  EXPECT_FALSE(ed25519_verify(key, "", signature));
  Ed25519PublicKey other_key = key;
  other_key[0] ^= 1;
  EXPECT_FALSE(ed25519_verify(other_key, message, signature));
  Ed25519Signature other = signature;
  other[63] ^= 1;
  EXPECT_FALSE(ed25519_verify(key, message, other));
}

TEST(Ed25519, KeysAreWrittenAsTheRfcOfTheirPemSays) {  // RFC 8410 section 10.1
  const auto example =
      bytes<Ed25519PublicKey>("19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1");
  EXPECT_EQ(ed25519_pem(example),
            "-----BEGIN PUBLIC KEY-----\n"
            "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
            "-----END PUBLIC KEY-----\n");
}

}  // namespace
}  // namespace turnpike::crypto

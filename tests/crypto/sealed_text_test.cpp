#include "crypto/sealed_text.h"

#include <gtest/gtest.h>

#include <string>

#include "base/sources.h"
#include "support/sdk_fakes.h"
#include "text/encoding.h"

namespace turnpike::crypto {
namespace {

TEST(SealedTextTest, OnlyTheSecretAndItsContextOpenIt) {
  base::SystemRandom random;
  const std::string sealed = seal("a token", "secret", "use", random);
  EXPECT_EQ(unseal(sealed, "secret", "use"), "a token");
  EXPECT_EQ(unseal(sealed, "Secret", "use"), std::nullopt);
  EXPECT_EQ(unseal(sealed, "secret", "use2"), std::nullopt);
  EXPECT_NE(seal("a token", "secret", "use", random), sealed) << "each has a nonce of its own";
  EXPECT_EQ(unseal(seal("", "secret", "use", random), "secret", "use"), "");
}

// Computed by another implementation (hkdfSync and aes-256-gcm of Node's crypto).
TEST(SealedTextTest, IsWhatItsStandardsSay) {
  support::CountingRandom random(0);
  EXPECT_EQ(seal("a token", "secret", "use", random),
            "AAECAwQFBgcICQoLgm1zGEgskC9cG5WzJQw4utBOAk7JjN4");
}

TEST(SealedTextTest, NoChangedBitIsRead) {
  base::SystemRandom random;
  const std::string bytes = *text::from_base64url(seal("a token", "secret", "use", random));
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    ASSERT_EQ(unseal(text::base64url(changed), "secret", "use"), std::nullopt) << bit;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(unseal(text::base64url(bytes.substr(0, size)), "secret", "use"), std::nullopt);
  }
  EXPECT_EQ(unseal("no base64url!", "secret", "use"), std::nullopt);
}

}  // namespace
}  // namespace turnpike::crypto

#include "text/encoding.h"

#include <gtest/gtest.h>

namespace turnpike::text {
namespace {

TEST(Base62, HasFixedWidthAndKeepsTheNumber) {
  const std::uint8_t zero[4] = {};
  const std::uint8_t sixty_one[] = {0, 61};
  const std::uint8_t sixty_two[] = {0, 62};
  EXPECT_EQ(base62(zero, 6), "000000");
  EXPECT_EQ(base62(sixty_one, 3), "00z");
  EXPECT_EQ(base62(sixty_two, 3), "010");
  const std::uint8_t most[] = {0xFF, 0xFF, 0xFF, 0xFF};
  EXPECT_EQ(base62(most, 6), "4gfFC3");  // 4294967295
}

TEST(Base64Url, AgreesWithRfc4648AndRefusesOtherForms) {
  EXPECT_EQ(base64url("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64url("fooba"), "Zm9vYmE");
  EXPECT_EQ(base64url("\xFB\xFF"), "-_8");
  for (const char* text : {"", "f", "fo", "foo", "foob"}) {
    EXPECT_EQ(from_base64url(base64url(text)), text);
  }
  EXPECT_EQ(from_base64url("Zg=="), std::nullopt);
  EXPECT_EQ(from_base64url("Z"), std::nullopt);
  EXPECT_EQ(from_base64url("Zh"), std::nullopt);  // leftover bits are not zero
  EXPECT_EQ(from_base64url("Zm9+"), std::nullopt);
}

}  // namespace
}  // namespace turnpike::text

#include "base/ids.h"

#include <gtest/gtest.h>

#include <set>

namespace turnpike::base {
namespace {

class ManualClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ms() const noexcept override { return now; }
  [[nodiscard]] std::int64_t monotonic_ns() const noexcept override { return now * 1'000'000; }
  std::int64_t now = 1'700'000'000'000;
};

// The worst random source: all bytes are equal, so only the counter keeps ids distinct.
class ConstantRandom final : public Random {
 public:
  explicit ConstantRandom(std::uint8_t byte) : byte_(byte) {}
  void fill(std::span<std::uint8_t> out) noexcept override {
    for (auto& byte : out) byte = byte_;
  }

 private:
  std::uint8_t byte_;
};

TEST(UuidSource, HasVersionSevenTheVariantAndTheTime) {
  ManualClock clock;
  clock.now = 0x0123456789ABLL;
  ConstantRandom random(0xFF);
  UuidSource source(clock, random);
  const UuidText uuid = source.next();
  EXPECT_EQ(view(uuid).substr(0, 13), "01234567-89ab");
  EXPECT_EQ(uuid[14], '7');
  EXPECT_TRUE(uuid[19] == '8' || uuid[19] == '9' || uuid[19] == 'a' || uuid[19] == 'b');
  EXPECT_TRUE(is_uuid(view(uuid)));
  EXPECT_EQ(unix_ms_of(view(uuid)), clock.now);
}

TEST(UuidSource, GrowsStrictlyWithinOneMillisecondAndWhenTheClockStepsBack) {
  ManualClock clock;
  ConstantRandom random(0);
  UuidSource source(clock, random);
  std::string previous(view(source.next()));
  for (int round = 0; round < 100'000; ++round) {
    if (round == 50'000) clock.now -= 10'000;
    const std::string next(view(source.next()));
    ASSERT_LT(previous, next) << "round " << round;
    previous = next;
  }
}

TEST(IsUuid, RefusesOtherTexts) {
  EXPECT_TRUE(is_uuid("0190b5e4-7d0a-7c3e-8f00-0123456789ab"));
  EXPECT_FALSE(is_uuid("0190B5E4-7D0A-7C3E-8F00-0123456789AB"));
  EXPECT_FALSE(is_uuid("0190b5e4-7d0a-7c3e-8f00-0123456789a"));
  EXPECT_FALSE(is_uuid("0190b5e4_7d0a-7c3e-8f00-0123456789ab"));
  EXPECT_FALSE(is_uuid(""));
}

TEST(Rfc3339, WritesAndReadsMilliseconds) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(1'700'000'000'007), "2023-11-14T22:13:20.007Z");
  EXPECT_EQ(rfc3339(-1), "1969-12-31T23:59:59.999Z");
  for (std::int64_t time : {std::int64_t{0}, std::int64_t{1'700'000'000'007}, std::int64_t{-1}}) {
    EXPECT_EQ(parse_rfc3339(rfc3339(time)), time);
  }
  EXPECT_EQ(parse_rfc3339("2024-02-29T00:00:00Z"), 1'709'164'800'000);
}

TEST(Rfc3339, RefusesWhatIsNotATime) {
  for (const char* text :
       {"", "2024-02-30T00:00:00Z", "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z",
        "2024-01-01 00:00:00Z", "2024-01-01T00:00:00+01:00", "2024-01-01T24:00:00Z",
        "2024-01-01T00:00:00.1Z"}) {
    EXPECT_EQ(parse_rfc3339(text), std::nullopt) << text;
  }
}

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
}  // namespace turnpike::base

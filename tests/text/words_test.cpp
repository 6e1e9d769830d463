#include "text/words.h"

#include <gtest/gtest.h>

namespace turnpike::text {
namespace {

TEST(Words, TimesAreInUtc) {
  constexpr std::int64_t at_ms = 1'800'000'009'999;
  EXPECT_EQ(day_text(at_ms), "2027-01-15");
  EXPECT_EQ(minute_text(at_ms), "2027-01-15 08:00 UTC");
  EXPECT_EQ(second_text(at_ms), "2027-01-15 08:00:09 UTC");
  EXPECT_EQ(day_text(1'800'057'599'999), "2027-01-15");
  EXPECT_EQ(day_text(1'800'057'600'000), "2027-01-16");
}

TEST(Words, NumbersAreGroupedByThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'000), "1,000");
  EXPECT_EQ(grouped(-100), "-100");
  EXPECT_EQ(grouped(-1'234'567), "-1,234,567");
}

TEST(Words, OneOfAnythingIsSingular) {
  EXPECT_EQ(counted(1, "call"), "1 call");
  EXPECT_EQ(counted(0, "call"), "0 calls");
  EXPECT_EQ(counted(12'000, "lease"), "12,000 leases");
}

TEST(Words, OneCreditIsSingular) {
  EXPECT_EQ(credits_text(1), "1 Credit");
  for (const std::int64_t several : {0, -1, 2, 11, 21, 1'001}) {
    EXPECT_EQ(credits_word(several), "Credits") << several;
  }
  EXPECT_EQ(credits_text(12'000), "12,000 Credits");
}

}  // namespace
}  // namespace turnpike::text

#include "base/ids.h"

#include <gtest/gtest.h>

#include <string>

#include "support/sdk_fakes.h"

namespace turnpike::base {
namespace {

using support::ConstantRandom;
using support::ManualClock;

TEST(UuidSource, HasVersionSevenTheVariantAndTheTime) {
  ManualClock clock(0x0123456789ABLL);
  ConstantRandom random(0xFF);
  UuidSource source(clock, random);
  const UuidText uuid = source.next();
  EXPECT_EQ(view(uuid).substr(0, 13), "01234567-89ab");
  EXPECT_EQ(uuid[14], '7');
  EXPECT_TRUE(uuid[19] == '8' || uuid[19] == '9' || uuid[19] == 'a' || uuid[19] == 'b');
  EXPECT_TRUE(is_uuid(view(uuid)));
  EXPECT_EQ(unix_ms_of(view(uuid)), clock.now_ms());
}

TEST(UuidSource, GrowsStrictlyWithinOneMillisecondAndWhenTheClockStepsBack) {
  ManualClock clock;
  ConstantRandom random(0);
  UuidSource source(clock, random);
  std::string previous(view(source.next()));
  for (int round = 0; round < 100'000; ++round) {
    if (round == 50'000) clock.step_ms(-10'000);
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

}  // namespace
}  // namespace turnpike::base

#include "ledger/escrow/draw.h"

#include <gtest/gtest.h>

namespace turnpike::ledger {
namespace {

TEST(Draw, CallsArePaidWholeInTheirOrder) {
  const Credits calls[] = {5, 9, 3, 1};
  EXPECT_EQ(whole_calls(calls, 18), 18);
  EXPECT_EQ(whole_calls(calls, 17), 17);
  EXPECT_EQ(whole_calls(calls, 9), 9);
  EXPECT_EQ(whole_calls(calls, 4), 4);
  EXPECT_EQ(whole_calls(calls, 0), 0);
  EXPECT_EQ(whole_calls({}, 10), 0);
}

TEST(Draw, OrderIsExpiryThenAgeThenId) {
  const Drawable base{"b", "a", 1, 10, 100};
  Drawable other = base;
  other.expires_at_ms = 99;
  other.created_at_ms = 50;
  EXPECT_TRUE(drawn_before(other, base));
  other = base;
  other.created_at_ms = 9;
  other.allocation_id = "z";
  EXPECT_TRUE(drawn_before(other, base));
  other = base;
  other.allocation_id = "a";
  EXPECT_TRUE(drawn_before(other, base));
  EXPECT_FALSE(drawn_before(base, base));
}

TEST(Draw, LeaseIsNeverMoreThanThereIsNorLessThanIsNeeded) {
  for (Credits remaining = 0; remaining < 50; ++remaining) {
    for (Credits needed = 0; needed < 50; ++needed) {
      for (const Credits wanted : {Credits{0}, Credits{10}, Credits{1'000}}) {
        const Credits units = lease_units(needed, wanted, remaining);
        EXPECT_LE(units, remaining);
        EXPECT_GE(units, std::min(needed, remaining));
        EXPECT_LE(units, std::max(needed, remaining / 4));
      }
    }
  }
}

TEST(Draw, PlanTakesInOrderAndNoMore) {
  const Drawable drawables[] = {{"a", "", 3, 0, 0}, {"b", "", 0, 0, 0}, {"c", "", 5, 0, 0}};
  const auto draws = plan_draws(drawables, 6);
  ASSERT_EQ(draws.size(), 2u);
  EXPECT_EQ(draws[0].index, 0u);
  EXPECT_EQ(draws[0].units, 3);
  EXPECT_EQ(draws[1].index, 2u);
  EXPECT_EQ(draws[1].units, 3);
  EXPECT_TRUE(plan_draws(drawables, 0).empty());
}

TEST(Draw, WantedFollowsTheRate) {
  EXPECT_EQ(wanted_units(2, 0, 0, 1'000), 16);
  EXPECT_EQ(wanted_units(1, 1'000, 1'000, 5'000), 5'000);
  EXPECT_EQ(wanted_units(1, 1, 1'000, 5'000), 8);
  EXPECT_LE(wanted_units(1'000'000'000'000, 1, 1, 1), 8'000'000'000);
}

}  // namespace
}  // namespace turnpike::ledger

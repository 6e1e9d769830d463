#include "hosts/byte_budget.h"

#include <vector>

#include <gtest/gtest.h>

namespace turnpike::hosts {
namespace {

constexpr std::uint64_t short_max = ByteBudget::short_bytes_max;

TEST(ByteBudgetTest, LongMessagesLeaveAQuarterForShortOnes) {
  ByteBudget budget(16 * short_max);
  EXPECT_FALSE(budget.take(12 * short_max + 1));
  const auto all_of_the_long = budget.take(12 * short_max);
  ASSERT_TRUE(all_of_the_long);
  EXPECT_FALSE(budget.take(short_max + 1));
  std::vector<ByteBudget::Share> shares;
  for (int at = 0; at < 4; ++at) {
    auto share = budget.take(short_max);
    ASSERT_TRUE(share) << at;
    shares.push_back(*std::move(share));
  }
  EXPECT_FALSE(budget.take(1)) << "it is spent";
  EXPECT_TRUE(budget.take(0));
}

TEST(ByteBudgetTest, WhatWasTakenComesBackOnce) {
  ByteBudget budget(4 * short_max);
  for (int round = 0; round < 3; ++round) {
    auto share = budget.take(3 * short_max);
    ASSERT_TRUE(share) << round;
    EXPECT_FALSE(budget.take(3 * short_max)) << "what is refused takes nothing";
    const auto moved = *std::move(share);
    EXPECT_FALSE(budget.take(3 * short_max)) << "a share that was moved is one share";
  }
}

}  // namespace
}  // namespace turnpike::hosts

#include "hosts/byte_budget.h"

#include <deque>

#include <gtest/gtest.h>

namespace turnpike::hosts {
namespace {

constexpr std::uint64_t short_max = ByteBudget::short_bytes_max;
constexpr std::uint64_t one_max = 32 * short_max;
// In units of short_max: the open part is 96, of which 24 are for short requests; the reserved part
// is 32.
constexpr std::uint64_t bytes_max = 128 * short_max;

TEST(ByteBudgetTest, WhatWasTakenComesBackOnce) {
  ByteBudget budget(bytes_max, one_max);
  for (int round = 0; round < 3; ++round) {
    ByteBudget::Share share(budget, 1);
    EXPECT_TRUE(share.grow(short_max)) << round;
    EXPECT_TRUE(share.grow(one_max - short_max)) << round;
    EXPECT_FALSE(share.grow(1)) << "what is refused takes nothing";
  }
}

// One peer must not lock out the others.
TEST(ByteBudgetTest, ANetworkHoldsNoMoreThanAnEighthOrTheLongestRequest) {
  ByteBudget budget(bytes_max, one_max);
  std::deque<ByteBudget::Share> shares;
  for (std::uint64_t at = 0; at < one_max / short_max; ++at) {
    EXPECT_TRUE(shares.emplace_back(budget, 1).grow(short_max)) << at;
  }
  EXPECT_FALSE(shares.emplace_back(budget, 1).grow(1));
  EXPECT_TRUE(shares.emplace_back(budget, 2).grow(short_max));
  ByteBudget large(1024 * one_max, one_max);
  ByteBudget::Share eighth(large, 1);
  EXPECT_TRUE(eighth.grow(96 * one_max));
  EXPECT_FALSE(eighth.grow(1));
}

TEST(ByteBudgetTest, TheLastQuarterOfTheOpenPartIsForTheFirstBytesOfARequest) {
  ByteBudget budget(bytes_max, one_max);
  std::deque<ByteBudget::Share> longs;
  for (std::uint64_t network = 1; network <= 2; ++network) {
    EXPECT_TRUE(longs.emplace_back(budget, network).grow(one_max));
  }
  EXPECT_TRUE(longs.emplace_back(budget, 3).grow(8 * short_max));
  EXPECT_FALSE(longs.emplace_back(budget, 4).grow(short_max + 1));
  std::deque<ByteBudget::Share> shorts;
  for (int at = 0; at < 24; ++at) {
    ASSERT_TRUE(shorts.emplace_back(budget, 5).grow(short_max)) << at;
  }
  EXPECT_FALSE(shorts.emplace_back(budget, 6).grow(1)) << "it is spent";
}

TEST(ByteBudgetTest, APartIsKeptForCallersWhoAreKnown) {
  ByteBudget budget(4 * one_max, one_max);  // the open part is 3, the reserved one 1
  std::deque<ByteBudget::Share> anybody;
  for (std::uint64_t network = 1; network <= 3; ++network) {
    ASSERT_TRUE(anybody.emplace_back(budget, network).grow(short_max));
    while (anybody.back().grow(short_max)) {
    }
  }
  std::deque<ByteBudget::Share> shorts;
  while (shorts.emplace_back(budget, 9).grow(short_max)) {
  }
  ByteBudget::Share known(budget, 4);
  EXPECT_FALSE(known.grow(1));
  EXPECT_TRUE(known.grow_kept(77, short_max));
  EXPECT_TRUE(known.grow_kept(77, 20 * short_max));
  EXPECT_FALSE(known.grow_kept(77, 4 * short_max)) << "the last quarter is for short ones";
  ByteBudget::Share other(budget, 5);
  EXPECT_TRUE(other.grow_kept(78, short_max));
}

TEST(ByteBudgetTest, AnAccountHoldsNoMoreOfTheKeptPartThanAnEighth) {
  ByteBudget budget(1024 * one_max, one_max);
  ByteBudget::Share first(budget, 1), second(budget, 2), other(budget, 3);
  EXPECT_TRUE(first.grow_kept(7, 32 * one_max));
  EXPECT_FALSE(second.grow_kept(7, 1));
  EXPECT_TRUE(other.grow_kept(8, 1));
}

}  // namespace
}  // namespace turnpike::hosts

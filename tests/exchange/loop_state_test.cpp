#include "exchange/loop_state.h"

#include <map>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace turnpike::exchange {
namespace {

TEST(AccountCounts, AgreesWithAMap) {
  std::mt19937_64 random(7);
  AccountCounts counts;
  std::map<std::uint64_t, std::uint32_t> model;
  // Few home cells, so that cells collide and gaps are closed, and enough keys for the table to
  // grow.
  const auto account = [&] { return random() % 700 * 64 + random() % 3; };
  for (int step = 0; step < 200'000; ++step) {
    const std::uint64_t key = account();
    if (random() % 2 == 0) {
      const bool entered = counts.enter(key, 3);
      ASSERT_EQ(entered, model[key] < 3);
      if (entered) ++model[key];
    } else if (model[key] > 0) {
      counts.leave(key);
      --model[key];
    }
    if (model[key] == 0) model.erase(key);
    ASSERT_EQ(counts.accounts(), model.size());
  }
  for (const auto& [key, calls] : model) {
    for (std::uint32_t call = 0; call < calls; ++call) counts.leave(key);
  }
  EXPECT_EQ(counts.accounts(), 0u);
}

TEST(LoopState, TurnsAwayTheCallPastItsCap) {
  LoopState loop({.calls = 2, .calls_per_account = 1});
  LoopState::Seat first;
  EXPECT_TRUE(first.enter(loop));
  {
    LoopState::Seat second;
    LoopState::Seat third;
    EXPECT_TRUE(second.enter(loop));
    EXPECT_FALSE(third.enter(loop));
    EXPECT_EQ(loop.calls(), 2u);
  }
  EXPECT_EQ(loop.calls(), 1u);
  LoopState::Seat fourth;
  EXPECT_TRUE(fourth.enter(loop));
}

TEST(LoopState, CountsEachAccountApart) {
  LoopState loop({.calls = 10, .calls_per_account = 1});
  LoopState::Seat other;
  ASSERT_TRUE(other.enter(loop));
  EXPECT_TRUE(other.enter_account("acct_b"));
  for (int round = 0; round < 2; ++round) {
    LoopState::Seat first;
    LoopState::Seat second;
    ASSERT_TRUE(first.enter(loop));
    ASSERT_TRUE(second.enter(loop));
    EXPECT_TRUE(first.enter_account("acct_a"));
    EXPECT_FALSE(second.enter_account("acct_a"));
  }
}

TEST(LoopState, HandsBuffersOnButNotHugeOnes) {
  LoopState loop({});
  const char* kept = nullptr;
  {
    LoopState::Seat seat;
    ASSERT_TRUE(seat.enter(loop));
    seat.scratch().body.assign(4096, 'x');
    kept = seat.scratch().body.data();
  }
  {
    LoopState::Seat seat;
    ASSERT_TRUE(seat.enter(loop));
    EXPECT_TRUE(seat.scratch().body.empty());
    seat.scratch().body.assign(4096, 'y');
    EXPECT_EQ(seat.scratch().body.data(), kept);
    seat.scratch().body.assign(1'000'000, 'z');
  }
  LoopState::Seat seat;
  ASSERT_TRUE(seat.enter(loop));
  EXPECT_LT(seat.scratch().body.capacity(), 100u);
}

}  // namespace
}  // namespace turnpike::exchange

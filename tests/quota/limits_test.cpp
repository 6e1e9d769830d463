#include "quota/limits.h"

#include <gtest/gtest.h>

#include "quota/permits.h"

namespace turnpike::quota {
namespace {

constexpr std::int64_t t0_ms = 1'800'000'000'000;  // the start of a window of 60 s

Limits all_limits() {
  Limits limits;
  limits.window = {3, 60};
  limits.quota = Window{5, 3'600};
  limits.cumulative_limit = 7;
  limits.concurrency = 2;
  limits.permit_ttl_seconds = 30;
  return limits;
}

TEST(Limits, RefuseInTheDocumentedOrder) {
  const Limits limits = all_limits();
  Counts counts;
  counts.cumulative = 7;
  counts.quota = 5;
  counts.window = 3;
  EXPECT_EQ(refused_by(limits, counts, 2), Limit::cumulative);
  counts.cumulative = 6;
  EXPECT_EQ(refused_by(limits, counts, 2), Limit::quota);
  counts.quota = 4;
  EXPECT_EQ(refused_by(limits, counts, 2), Limit::window);
  counts.window = 2;
  EXPECT_EQ(refused_by(limits, counts, 2), Limit::concurrency);
  EXPECT_EQ(refused_by(limits, counts, 1), std::nullopt);
}

TEST(Limits, WindowsAreAlignedToTheEpoch) {
  const Limits limits = all_limits();
  Counts counts;
  EXPECT_TRUE(counts.turn_to(limits, t0_ms + 59'999));
  EXPECT_EQ(counts.window_start_s, t0_ms / 1000);
  EXPECT_EQ(counts.quota_start_s, t0_ms / 1000);
  counts.add_one();
  EXPECT_FALSE(counts.turn_to(limits, t0_ms + 59'999));
  EXPECT_TRUE(counts.turn_to(limits, t0_ms + 60'000));
  EXPECT_EQ(counts.window, 0u);
  EXPECT_EQ(counts.quota, 1u);
  EXPECT_EQ(counts.cumulative, 1u);
}

TEST(Limits, AClockThatStepsBackBeginsNoWindowAnew) {
  const Limits limits = all_limits();
  Counts counts;
  counts.turn_to(limits, t0_ms);
  counts.add_one();
  EXPECT_FALSE(counts.turn_to(limits, t0_ms - 7'200'000));
  EXPECT_EQ(counts.window, 1u);
  EXPECT_EQ(counts.window_start_s, t0_ms / 1000);
}

TEST(Limits, RetryAfterIsWholeSecondsToTheEndAndNeverZero) {
  const Limits limits = all_limits();
  Standing standing;
  standing.counts.turn_to(limits, t0_ms);
  standing.counts.window = 3;
  standing.now_ms = t0_ms;
  EXPECT_EQ(retry_after_seconds(limits, standing, Limit::window), 60u);
  standing.now_ms = t0_ms + 1;
  EXPECT_EQ(retry_after_seconds(limits, standing, Limit::window), 60u);
  standing.now_ms = t0_ms + 59'999;
  EXPECT_EQ(retry_after_seconds(limits, standing, Limit::window), 1u);
  standing.now_ms = t0_ms + 60'000;
  EXPECT_EQ(retry_after_seconds(limits, standing, Limit::window), 1u) << "never 0";
  standing.now_ms = t0_ms - 10'000;
  EXPECT_EQ(retry_after_seconds(limits, standing, Limit::window), 70u) << "the clock stepped back";
}

TEST(Limits, RetryAfterLooksAtEveryExhaustedWindow) {
  Limits limits = all_limits();
  limits.quota = Window{5, 20};  // shorter than the window
  Standing standing;
  standing.now_ms = t0_ms;
  standing.counts.turn_to(limits, t0_ms);
  standing.counts.quota = 5;
  EXPECT_EQ(retry_after_seconds(limits, standing, Limit::quota), 20u);
  standing.counts.window = 3;
  EXPECT_EQ(retry_after_seconds(limits, standing, Limit::quota), 60u);
  EXPECT_EQ(retry_after_seconds(limits, standing, Limit::cumulative), 0u);
}

TEST(Limits, RetryAfterOfConcurrencyIsTheFirstPermitsEnd) {
  const Limits limits = all_limits();
  Standing standing;
  standing.now_ms = t0_ms;
  standing.counts.turn_to(limits, t0_ms);
  standing.in_use = 2;
  standing.permit_end_ms = t0_ms + 1'500;
  EXPECT_EQ(retry_after_seconds(limits, standing, Limit::concurrency), 2u);
}

TEST(Limits, SharesOfNodesNeverExceedTheWhole) {
  const auto share = share_of(all_limits(), 2);
  ASSERT_TRUE(share.has_value());
  EXPECT_EQ(share->window.limit, 1u);
  EXPECT_EQ(share->quota->limit, 2u);
  EXPECT_EQ(*share->cumulative_limit, 3u);
  EXPECT_EQ(share->concurrency, 1u);
  EXPECT_FALSE(share_of(all_limits(), 3).has_value()) << "2 permits cannot be shared by 3";
}

TEST(Permits, ComeBackOnceAndEndByThemselves) {
  Permits permits;
  const auto first = permits.add(100);
  const auto second = permits.add(200);
  permits.add(150);  // ends no earlier than the one before
  EXPECT_EQ(permits.in_use(), 3u);
  permits.give_back(second);
  permits.give_back(second);
  EXPECT_EQ(permits.in_use(), 2u);
  permits.expire(99);
  EXPECT_EQ(permits.first_end_ns(), 100);
  permits.expire(100);
  EXPECT_EQ(permits.in_use(), 1u);
  permits.give_back(first);
  EXPECT_EQ(permits.in_use(), 1u) << "its time was over";
  EXPECT_EQ(permits.first_end_ns(), 200);
  permits.expire(200);
  EXPECT_EQ(permits.in_use(), 0u);
}

TEST(Permits, MatchASlowModel) {
  Permits permits;
  std::vector<std::pair<std::uint64_t, std::int64_t>> model;
  std::uint32_t chance = 1;
  for (std::int64_t now = 0; now < 20'000; ++now) {
    chance = chance * 1'664'525u + 1'013'904'223u;
    permits.expire(now);
    std::erase_if(model, [&](const auto& one) { return one.second <= now; });
    ASSERT_EQ(permits.in_use(), model.size());
    if (!model.empty()) {
      ASSERT_EQ(permits.first_end_ns(), model.front().second);
    }
    if (chance >> 31 == 0) {
      const std::int64_t end = std::max<std::int64_t>(now + 1 + (chance >> 8) % 300,
                                                      model.empty() ? 0 : model.back().second);
      model.emplace_back(permits.add(end), end);
    } else if (!model.empty()) {
      const auto at = model.begin() + (chance >> 8) % model.size();
      permits.give_back(at->first);
      model.erase(at);
    }
  }
}

}  // namespace
}  // namespace turnpike::quota

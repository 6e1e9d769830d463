// What is counted of calls, and what of that is published.
#include "status/traffic.h"

#include <gtest/gtest.h>

#include <thread>

namespace turnpike::status {
namespace {

using base::ErrorCode;

TrafficSum sum_of(std::uint64_t good, std::uint64_t theirs, std::uint64_t ours,
                  std::size_t accounts = traffic_accounts_min) {
  TrafficSum sum;
  sum.counts = {good, theirs, ours, 0};
  for (std::size_t at = 0; at < accounts; ++at) sum.add_account(at + 1);
  return sum;
}

TEST(TrafficClass, FollowsFromTheFaultOfTheCode) {
  const auto of = [](ErrorCode code) { return class_of(code, false); };
  EXPECT_EQ(of(ErrorCode::gateway_upstream_timeout), TrafficClass::provider_fault);
  EXPECT_EQ(of(ErrorCode::gateway_upstream_rate_limited), TrafficClass::provider_fault);
  EXPECT_EQ(of(ErrorCode::gateway_evidence_stale), TrafficClass::provider_fault);
  EXPECT_EQ(of(ErrorCode::billing_ledger_unavailable), TrafficClass::gateway_fault);
  EXPECT_EQ(of(ErrorCode::gateway_upstream_credential), TrafficClass::gateway_fault);
  EXPECT_EQ(of(ErrorCode::billing_credits_exhausted), TrafficClass::not_counted);
  EXPECT_EQ(of(ErrorCode::gateway_free_rate_limited), TrafficClass::not_counted);
  EXPECT_EQ(of(ErrorCode::request_query_rejected), TrafficClass::not_counted);
  EXPECT_EQ(of(ErrorCode::gateway_stopping), TrafficClass::not_counted);
  EXPECT_EQ(of(ErrorCode::billing_pricing_unavailable), TrafficClass::not_counted);
}

TEST(TrafficClass, ALiveBlockIsTheProvidersAndAProgrammedOneNobodys) {
  EXPECT_EQ(class_of(ErrorCode::gateway_route_blocked, false), TrafficClass::provider_fault);
  EXPECT_EQ(class_of(ErrorCode::gateway_route_blocked, true), TrafficClass::not_counted);
}

TEST(Published, IsThinBelowAHundredCallsOrThreeAccounts) {
  const auto ratio = TrafficPublishing::ratio;
  EXPECT_TRUE(published(sum_of(99, 0, 0), ratio).is_thin);
  EXPECT_FALSE(published(sum_of(100, 0, 0), ratio).is_thin);
  EXPECT_TRUE(published(sum_of(1'000, 0, 0, traffic_accounts_min - 1), ratio).is_thin);
  EXPECT_TRUE(published(sum_of(1'000, 0, 0), TrafficPublishing::none).is_thin);
  EXPECT_EQ(published(sum_of(99, 0, 0), ratio), Traffic());  // thin traffic publishes nothing
}

TEST(Published, PartsAddUpAndAreWholeOnlyWhenNoneFailed) {
  for (std::uint64_t calls = 100; calls < 700; calls += 13) {
    for (std::uint64_t theirs = 0; theirs <= 20; ++theirs) {
      for (std::uint64_t ours = 0; ours <= 20; ++ours) {
        const Traffic traffic =
            published(sum_of(calls - theirs - ours, theirs, ours), TrafficPublishing::ratio);
        ASSERT_EQ(traffic.good + traffic.provider_fault + traffic.gateway_fault, 10'000u);
        EXPECT_EQ(traffic.good == 10'000, theirs + ours == 0);
        EXPECT_EQ(traffic.good, (calls - theirs - ours) * 10'000 / calls);
        EXPECT_EQ(traffic.provider_fault == 0, theirs == 0);
        EXPECT_EQ(traffic.gateway_fault == 0, ours == 0);
        EXPECT_FALSE(traffic.counts);
      }
    }
  }
  const Traffic rare = published(sum_of(999'999, 0, 1), TrafficPublishing::counts);
  EXPECT_EQ(rare.good, 9'999u);
  EXPECT_EQ(rare.gateway_fault, 1u);
  EXPECT_EQ(rare.counts->good, 999'999u);
}

TEST(TrafficCells, TellsWhatWasCountedSinceTheLastTime) {
  TrafficCells cells({"route-a:GET", "route-b:GET"}, 2);
  for (int at = 0; at < 10; ++at) cells.count(0, 0, TrafficClass::good, 1, "acct_1");
  cells.count(1, 0, TrafficClass::provider_fault, 0, "acct_2");
  cells.count(1, 1, TrafficClass::gateway_fault, 3, "acct_2");
  cells.count(1, 1, TrafficClass::not_counted, 0, "acct_3");
  TrafficSums sums;
  cells.collect(sums);
  EXPECT_EQ(sums["route-a:GET"].counts, (TrafficCounts{10, 1, 0, 0}));
  EXPECT_EQ(sums["route-a:GET"].accounts.size(), 2u);
  EXPECT_EQ(sums["route-b:GET"].counts, (TrafficCounts{0, 0, 1, 3}));
  sums.clear();
  cells.collect(sums);
  EXPECT_TRUE(sums.empty());
  cells.count(0, 0, TrafficClass::good, 1, "acct_9");
  cells.collect(sums);
  EXPECT_EQ(sums["route-a:GET"].counts.good, 1u);
  EXPECT_EQ(sums["route-a:GET"].accounts,
            std::vector<std::uint64_t>{account_hash("acct_9")});  // of this period only
}

TEST(TrafficCells, CountsOnEveryLoopWhileItIsCollected) {
  constexpr int loops = 4;
  constexpr int calls = 20'000;
  TrafficCells cells({"route-a:GET"}, loops);
  std::vector<std::thread> threads;
  for (int loop = 0; loop < loops; ++loop) {
    threads.emplace_back([&cells, loop] {
      for (int at = 0; at < calls; ++at) {
        cells.count(static_cast<std::size_t>(loop), 0, TrafficClass::good, 1,
                    "acct_" + std::to_string(at % 7));
      }
    });
  }
  TrafficSums sums;
  for (int at = 0; at < 100; ++at) cells.collect(sums);
  for (std::thread& thread : threads) thread.join();
  cells.collect(sums);
  EXPECT_EQ(sums["route-a:GET"].counts.good, std::uint64_t{loops} * calls);
  EXPECT_EQ(sums["route-a:GET"].accounts.size(), traffic_accounts_min);
}

}  // namespace
}  // namespace turnpike::status

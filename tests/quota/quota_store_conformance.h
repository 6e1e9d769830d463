// The requirements on every QuotaStore: one suite that runs on each implementation. The fixture
// gives a store and an unused account. Used by the test's Thread.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "quota/store.h"

namespace turnpike::quota {

struct StoreUnderTest {
  virtual ~StoreUnderTest() = default;
  virtual QuotaStore& store() = 0;
  // A second access: another node if possible, else the same one.
  virtual QuotaStore& other() { return store(); }
};

using MakeStore = std::function<std::unique_ptr<StoreUnderTest>()>;

class QuotaStoreConformance : public testing::TestWithParam<std::pair<std::string, MakeStore>> {
 protected:
  void SetUp() override {
    made_ = GetParam().second();
    if (made_ == nullptr) GTEST_SKIP() << "the server of this store is not installed";
  }

  static Limits limits(std::uint32_t window, std::uint32_t concurrency) {
    Limits limits;
    limits.window = {window, 86'400 * 366};  // outlasts the test
    limits.concurrency = concurrency;
    limits.permit_ttl_seconds = 60;
    return limits;
  }
  Decision take(const std::string& account, const std::string& bucket, const Limits& of) {
    return take(made_->store(), account, bucket, of);
  }
  static Decision take(QuotaStore& store, const std::string& account, const std::string& bucket,
                       const Limits& of) {
    auto decided = store.take(account, store.bucket(bucket), of, soon());
    EXPECT_TRUE(decided.ok()) << (decided.ok() ? "" : decided.error().message);
    return decided.ok() ? *std::move(decided) : Decision{};
  }
  Standing read(const std::string& account, const std::string& bucket, const Limits& of) {
    auto standing = made_->store().read(account, made_->store().bucket(bucket), of, soon());
    EXPECT_TRUE(standing.ok());
    return standing.ok() ? *standing : Standing{};
  }
  static runtime::Deadline soon() { return runtime::Deadline::after_ms(60'000); }

  std::unique_ptr<StoreUnderTest> made_;
};

inline void expect_refused(const Decision& decision, Limit limit) {
  EXPECT_EQ(decision.permit, nullptr);
  ASSERT_TRUE(decision.refused_by.has_value());
  EXPECT_EQ(*decision.refused_by, limit);
}

TEST_P(QuotaStoreConformance, GrantsExactlyTheLimitOfAWindow) {
  const Limits of = limits(3, 10);
  for (std::uint32_t at = 1; at <= 3; ++at) {
    const Decision granted = take("acc_1", "b", of);
    ASSERT_NE(granted.permit, nullptr);
    EXPECT_TRUE(granted.permit->confirm(soon()).ok());
    EXPECT_EQ(granted.standing.counts.window, at);
    EXPECT_EQ(granted.standing.in_use, 1u) << "the permit before it has come back";
  }
  const Decision refused = take("acc_1", "b", of);
  expect_refused(refused, Limit::window);
  EXPECT_EQ(refused.standing.counts.window, 3u);
  EXPECT_GT(retry_after_seconds(of, refused.standing, Limit::window), 0u);
}

TEST_P(QuotaStoreConformance, ARefusalAdvancesNothing) {
  Limits of = limits(10, 1);
  of.quota = Window{10, 86'400 * 366};
  of.cumulative_limit = 10;
  const Decision first = take("acc_1", "b", of);
  for (int at = 0; at < 5; ++at) expect_refused(take("acc_1", "b", of), Limit::concurrency);
  const Standing standing = read("acc_1", "b", of);
  EXPECT_EQ(standing.counts.window, 1u);
  EXPECT_EQ(standing.counts.quota, 1u);
  EXPECT_EQ(standing.counts.cumulative, 1u);
  EXPECT_EQ(standing.in_use, 1u);
}

TEST_P(QuotaStoreConformance, EachLimitRefusesByItsName) {
  Limits of = limits(2, 10);
  of.quota = Window{3, 86'400 * 366};
  of.cumulative_limit = 4;
  Limits wide_window = of;
  wide_window.window.limit = 100;
  Limits wide_quota = wide_window;
  wide_quota.quota->limit = 100;
  take("acc_1", "b", of);
  take("acc_1", "b", of);
  expect_refused(take("acc_1", "b", of), Limit::window);
  take("acc_1", "b", wide_window);
  expect_refused(take("acc_1", "b", wide_window), Limit::quota);
  take("acc_1", "b", wide_quota);
  expect_refused(take("acc_1", "b", wide_quota), Limit::cumulative);
}

TEST_P(QuotaStoreConformance, RoutesThatShareABucketShareItsCounts) {
  const Limits of = limits(2, 10);
  take("acc_1", "shared", of);
  take("acc_1", "shared", of);
  expect_refused(take("acc_1", "shared", of), Limit::window);
  EXPECT_NE(take("acc_1", "own", of).permit, nullptr);
  EXPECT_NE(take("acc_2", "shared", of).permit, nullptr);
}

TEST_P(QuotaStoreConformance, PermitsComeBackWhenTheyEnd) {
  const Limits of = limits(100, 2);
  auto first = take("acc_1", "b", of);
  auto second = take("acc_1", "b", of);
  const Decision refused = take("acc_1", "b", of);
  expect_refused(refused, Limit::concurrency);
  const auto wait = retry_after_seconds(of, refused.standing, Limit::concurrency);
  EXPECT_GE(wait, 1u);
  EXPECT_LE(wait, 60u);
  first.permit.reset();
  EXPECT_NE(take("acc_1", "b", of).permit, nullptr);
}

TEST_P(QuotaStoreConformance, ConcurrentCallersGetExactlyTheLimit) {
  const Limits of = limits(500, 1'000);
  std::atomic<int> granted{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&, caller] {
      QuotaStore& store = caller % 2 == 0 ? made_->store() : made_->other();
      for (int at = 0; at < 100; ++at) {
        if (take(store, "acc_1", "b", of).permit != nullptr) ++granted;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(granted.load(), 500);
  EXPECT_EQ(read("acc_1", "b", of).counts.window, 500u);
}

TEST_P(QuotaStoreConformance, ReadingChangesNothing) {
  const Limits of = limits(2, 10);
  EXPECT_EQ(read("acc_1", "b", of).counts.window, 0u);
  for (int at = 0; at < 5; ++at) read("acc_1", "b", of);
  EXPECT_NE(take("acc_1", "b", of).permit, nullptr);
  EXPECT_NE(take("acc_1", "b", of).permit, nullptr);
  EXPECT_EQ(read("acc_1", "b", of).counts.window, 2u);
}

}  // namespace turnpike::quota

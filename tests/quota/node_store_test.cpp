// NodeStore beyond the port: counts outlive the process, however it ends, and entries without
// information are forgotten. The database is real; the test moves the clock.
#include "quota/node_store.h"

#include <thread>

#include "conformance/engines.h"
#include "storage/stores.h"
#include "support/victim.h"

namespace turnpike::quota {
namespace {

Limits limits(std::uint32_t window, std::optional<std::uint64_t> cumulative = {}) {
  Limits limits;
  limits.window = {window, 60};
  limits.quota = Window{window, 3'600};
  limits.cumulative_limit = cumulative;
  limits.concurrency = 1'000'000;
  limits.permit_ttl_seconds = 60;
  return limits;
}

class NodeStoreTest : public OnEveryEngine {
 protected:
  void SetUp() override {
    OnEveryEngine::SetUp();
    if (!IsSkipped()) start();
  }
  void TearDown() override { free_.reset(); }

  void start() {
    free_ = std::make_unique<NodeStore>(store_->clock,
                                        NodeStore::Durable{node_->free_counts(), pool_, *log_});
    ASSERT_TRUE(free_->start().ok());
  }
  // An orderly stop and a start.
  void restart() {
    free_.reset();
    start();
  }

  Decision take(const Limits& of) {
    auto decided = free_->take("acc_1", free_->bucket("b"), of, soon());
    EXPECT_TRUE(decided.ok());
    return decided.ok() ? *std::move(decided) : Decision{};
  }
  // Takes and returns `count` permits, each confirmed. Returns how many were granted.
  int granted(const Limits& of, int count) {
    int result = 0;
    for (int at = 0; at < count; ++at) {
      const Decision decision = take(of);
      if (decision.permit == nullptr) continue;
      EXPECT_TRUE(decision.permit->confirm(soon()).ok());
      ++result;
    }
    return result;
  }
  std::uint64_t stored(const Limits&) {
    const auto counts = node_->free_counts().find("acc_1", "b");
    EXPECT_TRUE(counts.ok());
    return counts.ok() && *counts ? (*counts)->cumulative : 0;
  }
  static runtime::Deadline soon() { return runtime::Deadline::after_ms(60'000); }

  runtime::BlockingPool pool_{2, 64};
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  std::unique_ptr<NodeStore> free_;
};
TURNPIKE_ON_EVERY_ENGINE(NodeStoreTest);

TEST_P(NodeStoreTest, ARestartGivesNothingBackAndTakesNothing) {
  const Limits of = limits(100, 1'000);
  EXPECT_EQ(granted(of, 40), 40);
  restart();
  EXPECT_EQ(stored(of), 40u) << "an orderly stop writes exactly";
  EXPECT_EQ(granted(of, 100), 60);
  restart();
  EXPECT_EQ(granted(of, 10), 0);
  store_->clock.move_ms(3'600'000);
  EXPECT_EQ(granted(of, 101), 100) << "the next window";
  restart();
  store_->clock.move_ms(3'600'000);
  EXPECT_EQ(take(of).standing.counts.cumulative, 201u) << "the total outlives the windows";
}

TEST_P(NodeStoreTest, WhatWasConfirmedIsStoredAlready) {
  const Limits of = limits(100'000);
  for (std::uint64_t at = 1; at <= 200; ++at) {
    const Decision decision = take(of);
    ASSERT_TRUE(decision.permit->confirm(soon()).ok());
    ASSERT_GE(stored(of), at);
    ASSERT_LE(stored(of), at + 1'024);
  }
}

TEST_P(NodeStoreTest, RowsAreAheadByNoMoreThanASixteenthOfALimit) {
  const Limits of = limits(320);
  for (std::uint64_t at = 1; at <= 300; ++at) {
    const Decision decision = take(of);
    ASSERT_TRUE(decision.permit->confirm(soon()).ok());
    ASSERT_LE(stored(of), at + 20);
  }
}

TEST_P(NodeStoreTest, AClockThatStepsBackGrantsNothingTwice) {
  const Limits of = limits(5);
  EXPECT_EQ(granted(of, 6), 5);
  store_->clock.step_ms(-3'700'000);
  EXPECT_EQ(granted(of, 6), 0);
  free_->reclaim(1'000'000);
  restart();
  EXPECT_EQ(granted(of, 6), 0) << "nor after a restart";
  free_.reset();
  ASSERT_TRUE(node_->free_counts().drop_ended(store_->clock.now_ms() + 100'000'000, 100).ok());
  start();
  store_->clock.step_ms(-86'400'000);
  EXPECT_EQ(granted(of, 6), 5) << "the row is gone, so this counts in the latest window";
  EXPECT_EQ(granted(of, 6), 0);
}

TEST_P(NodeStoreTest, ForgetsWhatSaysNothingAndKeepsTotals) {
  free_.reset();  // otherwise its keeper would also reclaim
  NodeStore memory(store_->clock, std::nullopt);
  const auto take_in = [&](const char* bucket, const Limits& of) {
    return *memory.take("acc_1", memory.bucket(bucket), of, soon());
  };
  auto out = take_in("held", limits(5));
  take_in("ended", limits(5));
  take_in("total", limits(5, 10));
  EXPECT_EQ(memory.entries(), 3u);
  memory.reclaim(1'000'000);
  EXPECT_EQ(memory.entries(), 3u) << "their windows go on";
  store_->clock.move_ms(3'600'000);
  memory.reclaim(1'000'000);
  EXPECT_EQ(memory.entries(), 2u) << "a permit is out; a total has nowhere else to be";
  out.permit.reset();
  memory.reclaim(1'000'000);
  EXPECT_EQ(memory.entries(), 1u);
}

TEST_P(NodeStoreTest, ATotalComesBackFromItsRow) {
  const Limits of = limits(100, 50);
  EXPECT_EQ(granted(of, 30), 30);
  store_->clock.move_ms(3'600'000);
  while (free_->entries() > 0) free_->reclaim(1'000'000);
  EXPECT_EQ(granted(of, 100), 20);
}

TEST_P(NodeStoreTest, RowsThatHaveEndedAreDropped) {
  EXPECT_EQ(granted(limits(5), 1), 1);
  restart();
  auto& rows = node_->free_counts();
  EXPECT_EQ(*rows.drop_ended(store_->clock.now_ms(), 100), 0u);
  EXPECT_EQ(*rows.drop_ended(store_->clock.now_ms() + 3'600'000, 100), 1u);
}

TEST_P(NodeStoreTest, TheKeeperWritesThoughAllSessionsAreInUse) {
  free_.reset();
  storage::Database database(one_session());
  const storage::Context context{database, store_->clock, store_->random};
  const auto counts = storage::make_free_counts(context);
  ASSERT_TRUE(counts->begin_term().ok());
  database.with([&](storage::Connection&) {
    EXPECT_FALSE(counts->find("acc_1", "b").ok()) << "the session is in use";
    const CounterRow rows[] = {{"acc_1", "b", {}, 0}};
    EXPECT_TRUE(counts->write(rows, store_->clock.now_ms()).ok());
    EXPECT_EQ(*counts->drop_ended(store_->clock.now_ms(), 100), 1u);
  });
}

// Only the time shows that a dropped row had ended, so that time must be stored, too.
TEST_P(NodeStoreTest, AClockThatStepsBackFindsNoDroppedRowsWindowAgain) {
  const Limits of = limits(5);
  const std::int64_t first = take(of).standing.counts.quota_start_s;
  free_.reset();
  const std::int64_t later_ms = store_->clock.now_ms() + 3'600'000;
  CounterStore& counts = node_->free_counts();
  ASSERT_TRUE(counts.begin_term().ok());
  ASSERT_EQ(*counts.drop_ended(later_ms, 100), 1u);
  start();  // an hour behind the time at which the row was dropped
  EXPECT_GT(take(of).standing.counts.quota_start_s, first);
}

TEST_P(NodeStoreTest, AnotherGatewayTakesTheCountingOverAndNothingIsGrantedTwice) {
  const Limits of = limits(100, 1'000);
  EXPECT_EQ(granted(of, 30), 30);
  const auto other_node = store_->open(storage::Role::tool);
  NodeStore other(store_->clock, NodeStore::Durable{other_node->free_counts(), pool_, *log_});
  ASSERT_TRUE(other.start().ok());
  const auto take_in = [&](NodeStore& store) {
    const auto decided = store.take("acc_1", store.bucket("b"), of, soon());
    return decided.ok() && (*decided).permit != nullptr && (*decided).permit->confirm(soon()).ok();
  };
  std::uint64_t by_other = 0;
  std::uint64_t by_former = 0;
  for (int at = 0; at < 200; ++at) {
    by_other += take_in(other) ? 1 : 0;
    by_former += take_in(*free_) ? 1 : 0;
  }
  EXPECT_LE(by_former, 6u) << "what its row was ahead";
  EXPECT_LE(30 + by_former + by_other, 100u);
  EXPECT_GE(30 + 6 + by_other, 100u);
  EXPECT_FALSE(take_in(*free_));
  EXPECT_FALSE(free_->read("acc_1", free_->bucket("b"), of, soon()).ok()) << "the other's count";
}

// Fails if the test says so.
class FailingCounts final : public CounterStore {
 public:
  Result<Unit, base::Error> write(std::span<const CounterRow>, std::int64_t) override {
    if (is_failing.load()) return failure();
    return Unit{};
  }
  Result<std::optional<Counts>, base::Error> find(std::string_view, std::string_view) override {
    if (is_failing.load()) return failure();
    return std::optional<Counts>();
  }
  Result<std::int64_t, base::Error> begin_term() override { return std::int64_t{0}; }
  Result<std::uint64_t, base::Error> drop_ended(std::int64_t, std::uint32_t) override {
    return std::uint64_t{0};
  }
  static base::Error failure() { return {base::ErrorCode::gateway_free_unavailable, "down"}; }
  std::atomic<bool> is_failing{false};
};

TEST(NodeStoreFailing, GrantsNothingThatCannotBeCounted) {
  const support::ManualClock clock;
  FailingCounts counts;
  runtime::BlockingPool pool(2, 64);
  const auto log = base::make_silent_log();
  NodeStore store(clock, NodeStore::Durable{counts, pool, *log});
  ASSERT_TRUE(store.start().ok());
  const Limits of = limits(1'000);
  const auto take = [&] {
    return store.take("acc_1", store.bucket("b"), of, runtime::Deadline::after_ms(60'000));
  };
  auto first = take();
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE((*first).permit->confirm(runtime::Deadline::after_ms(60'000)).ok());
  counts.is_failing = true;
  auto second = take();
  ASSERT_TRUE(second.ok());
  const auto confirmed = (*second).permit->confirm(runtime::Deadline::after_ms(60'000));
  ASSERT_FALSE(confirmed.ok()) << "its reply must not be shown";
  EXPECT_EQ(confirmed.error().code, base::ErrorCode::gateway_free_unavailable);
  EXPECT_FALSE(take().ok());
  counts.is_failing = false;
  const auto until = runtime::Deadline::after_ms(60'000);
  while (!take().ok() && !until.passed()) std::this_thread::yield();
  auto third = take();
  ASSERT_TRUE(third.ok()) << "it is written again by itself";
  EXPECT_TRUE((*third).permit->confirm(runtime::Deadline::after_ms(60'000)).ok());
}

// ---- kill -9 ------------------------------------------------------------------------------------

constexpr int child_threads = 8;  // as in kill_child.cpp

TEST_P(NodeStoreTest, AKillGivesNothingBackAndForgetsAtMostWhatWasInFlight) {
  free_.reset();
  node_.reset();
  constexpr std::uint64_t limit = 1'000'000;
  std::uint64_t seen = 0;
  for (int kill = 0; kill < 3; ++kill) {
    support::Victim victim("quota_kill_child", store_->settings());
    const int wanted = 500 + 700 * kill;
    EXPECT_GE(victim.wait_for(wanted), wanted);
    const int promises = victim.kill();
    ASSERT_GE(promises, wanted) << "the child ended by itself";
    seen += static_cast<std::uint64_t>(promises);

    const auto node = store_->open(storage::Role::tool);
    const auto counts = node->free_counts().find("acc_1", "b");
    ASSERT_TRUE(counts.ok() && counts->has_value());
    EXPECT_GE((*counts)->cumulative, seen) << "nothing a caller has seen is given back";
    EXPECT_LE((*counts)->cumulative, seen + child_threads + 1'024) << "nor is much taken";
    EXPECT_LT((*counts)->cumulative, limit);
    seen = (*counts)->cumulative;
  }
}

}  // namespace
}  // namespace turnpike::quota

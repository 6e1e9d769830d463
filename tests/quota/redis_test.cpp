// The Redis store beyond the port: an unreachable server gives an answer, and a configured share of
// the limits stays available. The server is real.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "base/sources.h"
#include "quota/with_fallback.h"
#include "storage/redis_quota.h"
#include "support/redis.h"

namespace turnpike::quota {
namespace {

class RedisTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = support::redis_missing(); !why.empty()) GTEST_SKIP() << why;
    server_ = std::make_unique<support::Redis>();
    store_ = open();
  }
  std::unique_ptr<QuotaStore> open() {
    auto made = storage::make_redis_quota({.url = server_->url(), .retry_ms = 1}, random_, *log_);
    EXPECT_TRUE(made.ok());
    return *std::move(made);
  }
  static Limits limits(std::uint32_t window, std::uint32_t ttl_seconds = 60) {
    Limits limits;
    limits.window = {window, 366 * 86'400};
    limits.concurrency = window;
    limits.permit_ttl_seconds = ttl_seconds;
    return limits;
  }
  static Result<Decision, base::Error> take(QuotaStore& store, const Limits& of) {
    return store.take("acc_1", store.bucket("b"), of, runtime::Deadline::after_ms(60'000));
  }

  base::SystemRandom random_;
  base::SystemClock clock_;
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  std::unique_ptr<support::Redis> server_;
  std::unique_ptr<QuotaStore> store_;
};

TEST_F(RedisTest, RefusesWhileTheServerIsAwayAndComesBackByItself) {
  EXPECT_TRUE(take(*store_, limits(5)).ok());
  server_->stop();
  const auto refused = take(*store_, limits(5));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::ErrorCode::gateway_free_unavailable);
  EXPECT_FALSE(
      store_->read("acc_1", store_->bucket("b"), limits(5), runtime::Deadline::after_ms(60'000))
          .ok());
  server_->start();
  const auto until = runtime::Deadline::after_ms(60'000);
  while (!take(*store_, limits(5)).ok() && !until.passed()) std::this_thread::yield();
  EXPECT_TRUE(take(*store_, limits(5)).ok());
}

TEST_F(RedisTest, StartsWithoutItsServer) {
  server_->stop();
  const auto store = open();
  EXPECT_FALSE(take(*store, limits(5)).ok());
  server_->start();
  const auto until = runtime::Deadline::after_ms(60'000);
  while (!take(*store, limits(5)).ok() && !until.passed()) std::this_thread::yield();
  EXPECT_TRUE(take(*store, limits(5)).ok());
}

TEST_F(RedisTest, APermitOfADeadProcessEndsByItsTime) {
  const Limits of = limits(1'000'000, 1);
  Limits one = of;
  one.concurrency = 1;
  auto* lost = (*take(*store_, one)).permit.release();  // as if its process had been killed
  const auto refused = take(*store_, one);
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ((*refused).refused_by, Limit::concurrency);
  EXPECT_EQ(retry_after_seconds(one, (*refused).standing, Limit::concurrency), 1u);
  const auto until = runtime::Deadline::after_ms(60'000);
  while ((*take(*store_, one)).refused_by && !until.passed()) std::this_thread::yield();
  EXPECT_FALSE(until.passed());
  delete lost;
}

// A key holds the latest time that the server has seen; compared with it, its clock has gone back.
TEST_F(RedisTest, AClockThatStepsBackGrantsNothingTwice) {
  Limits of = limits(3);
  of.window.seconds = 60;
  const std::int64_t ahead_ms = clock_.now_ms() + 7'200'000;
  ASSERT_EQ(server_->run("SET turnpike:free:clock " + std::to_string(ahead_ms)), "+OK");
  for (int at = 0; at < 3; ++at) {
    const auto granted = take(*store_, of);
    ASSERT_TRUE(granted.ok());
    EXPECT_NE((*granted).permit, nullptr);
    EXPECT_EQ((*granted).standing.counts.window_start_s, ahead_ms / 60'000 * 60)
        << "counted in the latest window";
  }
  const auto refused = take(*store_, of);
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ((*refused).refused_by, Limit::window);
  EXPECT_GT(retry_after_seconds(of, (*refused).standing, Limit::window), 7'100u)
      << "until the server's clock has come there again";
  // The same holds if only the account's counts know the later time.
  ASSERT_EQ(server_->run("DEL turnpike:free:clock"), ":1");
  EXPECT_EQ((*take(*store_, of)).refused_by, Limit::window);
}

TEST_F(RedisTest, TheServersClockCounts) {
  const auto granted = take(*store_, limits(3));
  ASSERT_TRUE(granted.ok());
  EXPECT_LE(std::abs((*granted).standing.now_ms - clock_.now_ms()), 10'000);
  EXPECT_NE(server_->run("GET turnpike:free:clock"), "$-1") << "and is remembered";
}

// Otherwise counts whose windows have ended would be forgotten, and a clock that then goes back
// would find the windows unused.
TEST_F(RedisTest, TheServersClockIsRememberedWhileNobodyAsks) {
  ASSERT_TRUE(take(*store_, limits(3)).ok());
  const auto seen = [&] { return server_->run("INCRBY turnpike:free:clock 0"); };
  const std::string then = seen();
  const auto until = runtime::Deadline::after_ms(60'000);
  while (seen() == then && !until.passed()) std::this_thread::yield();
  EXPECT_FALSE(until.passed());
}

TEST_F(RedisTest, PermitsOutliveAReloadThatShortensTheirTime) {
  const auto old = take(*store_, limits(2, 60));
  const auto next = take(*store_, limits(2, 1));
  ASSERT_NE((*next).permit, nullptr);
  EXPECT_GT(std::stoll(server_->run("PTTL turnpike:free:acc_1:b:permits").substr(1)), 50'000);
}

TEST_F(RedisTest, AServerThatForgetsItsScriptsRefusesNobody) {
  const auto first = take(*store_, limits(3));
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(server_->run("SCRIPT FLUSH"), "+OK");
  const auto second = take(*store_, limits(3));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*second).standing.counts.window, 2u) << "and counts once";
}

// When the server continues, it executes what was sent meanwhile, including requests whose callers
// were already refused.
TEST_F(RedisTest, PermitsComeBackFromAServerThatWasSilent) {
  Limits of = limits(1'000'000, 3'600);
  of.concurrency = 2;
  auto held = take(*store_, of);
  ASSERT_TRUE(held.ok());
  server_->pause();
  const std::int64_t began_ns = runtime::now_ns();
  EXPECT_FALSE(take(*store_, of).ok());
  EXPECT_LT(runtime::now_ns() - began_ns, 20'000'000'000) << "of a deadline of 60 s";
  (*held).permit.reset();
  EXPECT_FALSE(take(*store_, of).ok());
  server_->resume();
  const auto until = runtime::Deadline::after_ms(60'000);
  const auto in_use = [&] {
    const auto seen = store_->read("acc_1", store_->bucket("b"), of, until);
    return seen.ok() ? (*seen).in_use : 9;
  };
  while (in_use() > 0 && !until.passed()) std::this_thread::yield();
  EXPECT_FALSE(until.passed());
}

TEST_F(RedisTest, ForgetsWhatSaysNothingAndKeepsTotals) {
  Limits of = limits(3);
  of.window.seconds = 60;
  (*take(*store_, of)).permit.reset();
  const auto ttl_ms = [&] {
    return std::stoll(server_->run("PTTL turnpike:free:acc_1:b:counts").substr(1));
  };
  EXPECT_GT(ttl_ms(), 9'000) << "longer than the remembered time may be late";
  EXPECT_LE(ttl_ms(), 70'000);
  of.cumulative_limit = 5;
  (*take(*store_, of)).permit.reset();
  EXPECT_EQ(ttl_ms(), -1) << "a total never ends";
}

// Three nodes and 64 callers together grant exactly the limit.
TEST_F(RedisTest, ThreeNodesTogetherGrantExactlyTheLimit) {
  const std::unique_ptr<QuotaStore> others[] = {open(), open()};
  QuotaStore* const nodes[] = {store_.get(), others[0].get(), others[1].get()};
  constexpr int callers = 64;
  const Limits of = limits(500);
  std::atomic<int> granted{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int caller = 0; caller < callers; ++caller) {
    threads.emplace_back([&, caller] {
      for (int at = 0; at < 20; ++at) {
        const auto decided = take(*nodes[(caller + at) % 3], of);
        ASSERT_TRUE(decided.ok());
        ++((*decided).permit != nullptr ? granted : refused);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted.load(), 500);
  EXPECT_EQ(refused.load(), callers * 20 - 500);
}

TEST_F(RedisTest, EachNodeEnforcesItsShareWhileTheServerIsAway) {
  NodeStore local(clock_, std::nullopt);
  WithFallback store(*store_, local, 3);
  EXPECT_TRUE(take(store, limits(9)).ok());
  server_->stop();
  std::vector<std::unique_ptr<Permit>> permits;
  for (int at = 0; at < 3; ++at) {
    auto granted = take(store, limits(9));
    ASSERT_TRUE(granted.ok());
    ASSERT_NE((*granted).permit, nullptr);
    EXPECT_EQ(left(9, (*granted).standing.counts.window), 2u - static_cast<unsigned>(at));
    permits.push_back(std::move((*granted).permit));
  }
  EXPECT_EQ((*take(store, limits(9))).refused_by, Limit::window);
  EXPECT_FALSE(take(store, limits(2)).ok()) << "2 cannot be shared by 3";
}

TEST_F(RedisTest, RefusesUrlsItCannotRead) {
  for (const char* url : {"", "127.0.0.1:6379", "http://h", "redis://", "redis://h/x",
                          "redis://user@h", "redis://user:@h"}) {
    EXPECT_FALSE(storage::make_redis_quota({.url = url}, random_, *log_).ok()) << url;
  }
}

}  // namespace
}  // namespace turnpike::quota

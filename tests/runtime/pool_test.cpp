#include "runtime/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/on_both.h"

namespace turnpike::runtime {
namespace {

struct FunctionWork final : PoolWork {
  explicit FunctionWork(std::function<void()> given) : function(std::move(given)) {}
  void run() noexcept override { function(); }
  std::function<void()> function;
};

class Pool : public testing::TestWithParam<bool> {
 protected:
  Lines lines_{GetParam()};
  BlockingPool pool_{4, 64};
  PoolUser ours_ = pool_.add_user("ours", 4, 64);
};

INSTANTIATE_TEST_SUITE_P(OnFibersAndThreads, Pool, testing::Bool(),
                         [](const auto& it) { return it.param ? "Fibers" : "Threads"; });

TEST_P(Pool, RunsWorkOnItsThreadsAndBringsTheValue) {
  std::atomic<int> done = 0;
  for (int count = 0; count < 60; ++count) {
    lines_.start([&, count] {
      const auto caller = std::this_thread::get_id();
      auto reply = pool_.call(
          ours_,
          [count, caller] {
            EXPECT_NE(std::this_thread::get_id(), caller);
            EXPECT_EQ(Loop::current(), nullptr);
            return std::make_unique<int>(count);
          },
          Deadline::never());
      ASSERT_EQ(reply.outcome, PoolOutcome::done);
      EXPECT_EQ(**reply.value, count);
      int on_stack = 0;
      EXPECT_TRUE(pool_.run_to_end(ours_, [&] { on_stack = count; }));
      EXPECT_EQ(on_stack, count);
      ++done;
    });
  }
  lines_.join();
  EXPECT_EQ(done, 60);
  EXPECT_EQ(pool_.running(), 0u);
  EXPECT_EQ(pool_.queued(), 0u);
}

// A stuck provider blocks only its own threads and queue; others continue.
TEST_P(Pool, AStuckUserTakesItsShareOnly) {
  const PoolUser stuck = pool_.add_user("stuck", 2, 3);
  EXPECT_EQ(stuck.name(), "stuck");
  const auto unblock = std::make_shared<Event>();
  Semaphore begun{0};
  std::atomic<int> done = 0;
  for (int count = 0; count < 5; ++count) {
    lines_.start([&, unblock] {
      const auto reply = pool_.call(
          stuck,
          [unblock, &begun] {
            begun.release();
            return unblock->wait(Deadline::never());
          },
          Deadline::never());
      if (reply.outcome == PoolOutcome::done) ++done;
    });
  }
  ASSERT_EQ(begun.acquire(Deadline::never()), Wake::ready);
  ASSERT_EQ(begun.acquire(Deadline::never()), Wake::ready);
  while (stuck.counts().queued < 3) std::this_thread::yield();
  EXPECT_EQ(stuck.counts().running, 2u);
  const auto refused = pool_.call(
      stuck, [] { return 1; }, Deadline::never());
  EXPECT_EQ(refused.outcome, PoolOutcome::refused);
  EXPECT_FALSE(refused.value.has_value());
  const auto served = pool_.call(
      ours_, [] { return 1; }, Deadline::never());
  EXPECT_EQ(served.outcome, PoolOutcome::done);
  unblock->set();
  lines_.join();
  EXPECT_EQ(done, 5);
}

// The caller leaves at its deadline. The work and everything it uses live until it returns.
TEST_P(Pool, AnAbandonedWorkKeepsItsStateUntilItReturns) {
  struct State {
    Event unblock;
    Event seen_abandoned;
  };
  struct Work final : PoolWork {
    explicit Work(std::shared_ptr<State> given) : state(std::move(given)) {}
    void run() noexcept override {
      EXPECT_EQ(state->unblock.wait(Deadline::never()), Wake::ready);
      EXPECT_TRUE(abandoned());
      state->seen_abandoned.set();
    }
    std::shared_ptr<State> state;
  };
  const auto state = std::make_shared<State>();
  lines_.start([&] {
    // On a busy machine the work may not have begun by the deadline; then it never begins.
    for (int wait_ms = 2; ours_.counts().abandoned == 0; wait_ms *= 2) {
      EXPECT_EQ(pool_.run(ours_, std::make_shared<Work>(state), Deadline::after_ms(wait_ms)),
                PoolOutcome::deadline);
    }
  });
  lines_.join();
  EXPECT_GT(state.use_count(), 1);
  state->unblock.set();
  EXPECT_EQ(state->seen_abandoned.wait(Deadline::never()), Wake::ready);
  EXPECT_TRUE(pool_.stop(Deadline::never()));
  EXPECT_EQ(ours_.counts().abandoned, 0u);
}

TEST_P(Pool, WorkThatDidNotBeginInTimeNeverDoes) {
  const PoolUser narrow = pool_.add_user("narrow", 1, 1);
  const auto unblock = std::make_shared<Event>();
  Event begun;
  lines_.start([&, unblock] {
    static_cast<void>(pool_.call(
        narrow,
        [unblock, &begun] {
          begun.set();
          return unblock->wait(Deadline::never());
        },
        Deadline::never()));
  });
  ASSERT_EQ(begun.wait(Deadline::never()), Wake::ready);
  const auto ran = std::make_shared<std::atomic<bool>>(false);
  const auto late = pool_.call(
      narrow, [ran] { return ran->exchange(true); }, Deadline::after_ms(2));
  EXPECT_EQ(late.outcome, PoolOutcome::deadline);
  EXPECT_EQ(narrow.counts().queued, 0u);
  unblock->set();
  lines_.join();
  EXPECT_TRUE(pool_.run_to_end(narrow, [] {}));
  EXPECT_FALSE(*ran);
}

TEST_P(Pool, StopRefusesWhatHasNotBegunAndWaitsForTheRest) {
  const PoolUser narrow = pool_.add_user("narrow", 1, 8);
  const auto unblock = std::make_shared<Event>();
  std::atomic<int> done = 0;
  std::atomic<int> refused = 0;
  for (int count = 0; count < 5; ++count) {
    lines_.start([&, unblock] {
      const auto reply = pool_.call(
          narrow, [unblock] { return unblock->wait(Deadline::never()); }, Deadline::never());
      ++(reply.outcome == PoolOutcome::done ? done : refused);
    });
  }
  while (narrow.counts().running + narrow.counts().queued < 5) std::this_thread::yield();
  while (narrow.counts().running < 1) std::this_thread::yield();
  EXPECT_FALSE(pool_.stop(Deadline{0}));
  EXPECT_FALSE(pool_.run_to_end(ours_, [] {}));
  unblock->set();
  EXPECT_TRUE(pool_.stop(Deadline::never()));
  lines_.join();
  EXPECT_EQ(done, 1);
  EXPECT_EQ(refused, 4);
}

// Posted work is accepted however full the pool is, begins first, and is not dropped by stop().
TEST_P(Pool, PostedWorkIsNeitherRefusedNorDropped) {
  BlockingPool pool(1, 1);
  const PoolUser narrow = pool.add_user("narrow", 1, 1);
  Event begun;
  Event unblock;
  std::vector<int> order;  // by the pool's only thread
  ASSERT_TRUE(pool.begin(narrow, std::make_shared<FunctionWork>([&] {
                           begun.set();
                           unblock.wait(Deadline::never());
                         })));
  begun.wait(Deadline::never());
  const auto queued = std::make_shared<FunctionWork>([&] { order.push_back(-1); });
  ASSERT_TRUE(pool.begin(narrow, queued));
  EXPECT_FALSE(pool.begin(narrow, queued));
  for (int count = 0; count < 9; ++count) {
    EXPECT_TRUE(
        pool.post(narrow, std::make_shared<FunctionWork>([&, count] { order.push_back(count); })));
  }
  EXPECT_EQ(narrow.counts().queued, 10u);
  EXPECT_FALSE(pool.stop(Deadline{0}));
  EXPECT_EQ(pool.end(narrow, queued, Deadline::never()), PoolOutcome::refused);
  EXPECT_TRUE(pool.post(narrow, std::make_shared<FunctionWork>([&] { order.push_back(9); })));
  unblock.set();
  EXPECT_TRUE(pool.stop(Deadline::never()));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_FALSE(pool.post(narrow, queued));
}

// Work may hold the last reference to an object, whose destructor then runs in the pool.
TEST_P(Pool, StopWaitsUntilWhatWorkKeptIsGone) {
  struct Kept {
    Event ending;
    Event unblock;
  } kept;
  std::shared_ptr<void> last(nullptr, [&kept](std::nullptr_t) {
    kept.ending.set();
    kept.unblock.wait(Deadline::never());
  });
  ASSERT_TRUE(pool_.post(ours_, std::make_shared<FunctionWork>([last = std::move(last)] {})));
  kept.ending.wait(Deadline::never());
  EXPECT_FALSE(pool_.stop(Deadline{0}));
  kept.unblock.set();
  EXPECT_TRUE(pool_.stop(Deadline::never()));
}

TEST_P(Pool, PostedWorkBeginsBeforeTheUsersOtherWork) {
  const PoolUser narrow = pool_.add_user("narrow", 1, 8);
  Event begun;
  Event unblock;
  std::string order;
  const auto first = std::make_shared<FunctionWork>([&] {
    begun.set();
    unblock.wait(Deadline::never());
  });
  const auto other = std::make_shared<FunctionWork>([&] { order += "other"; });
  ASSERT_TRUE(pool_.begin(narrow, first));
  begun.wait(Deadline::never());
  ASSERT_TRUE(pool_.begin(narrow, other));
  ASSERT_TRUE(pool_.post(narrow, std::make_shared<FunctionWork>([&] { order += "owed "; })));
  unblock.set();
  EXPECT_EQ(pool_.end(narrow, first, Deadline::never()), PoolOutcome::done);
  EXPECT_EQ(pool_.end(narrow, other, Deadline::never()), PoolOutcome::done);
  EXPECT_EQ(order, "owed other");
}

TEST(PoolOnFibers, CancellationLeavesTheWorkBehindButNotRunToEnd) {
  Runtime runtime({});
  BlockingPool pool(2, 8);  // must end before the runtime: its threads wake fibers
  const PoolUser user = pool.add_user("user", 2, 8);
  const auto unblock = std::make_shared<Event>();
  on_fiber(runtime, [&] {
    Fiber::current()->handle().cancel();
    const auto reply = pool.call(
        user, [unblock] { return unblock->wait(Deadline::never()); }, Deadline::never());
    EXPECT_EQ(reply.outcome, PoolOutcome::cancelled);
    bool ran = false;
    EXPECT_TRUE(pool.run_to_end(user, [&] { ran = true; }));
    EXPECT_TRUE(ran);
  });
  unblock->set();
}

}  // namespace
}  // namespace turnpike::runtime

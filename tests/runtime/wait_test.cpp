#include "runtime/wait.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/on_both.h"

namespace turnpike::runtime {
namespace {

class Waits : public testing::TestWithParam<bool> {
 protected:
  Lines lines_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(OnFibersAndThreads, Waits, testing::Bool(),
                         [](const auto& it) { return it.param ? "Fibers" : "Threads"; });

TEST_P(Waits, SleepEndsAtTheDeadlineNeverBefore) {
  lines_.start([] {
    const Deadline deadline = Deadline::after_ms(3);
    EXPECT_EQ(sleep_until(deadline), Wake::deadline);
    EXPECT_TRUE(deadline.passed());
    EXPECT_EQ(sleep_until(Deadline{0}), Wake::deadline);
  });
}

TEST_P(Waits, AnEventWakesAllItsWaiters) {
  Event event;
  std::atomic<int> woken = 0;
  for (int count = 0; count < 100; ++count) {
    lines_.start([&] {
      EXPECT_EQ(event.wait(Deadline::never()), Wake::ready);
      ++woken;
    });
  }
  event.set();
  lines_.join();
  EXPECT_EQ(woken, 100);
  EXPECT_EQ(event.wait(Deadline{0}), Wake::ready);
  event.reset();
  EXPECT_EQ(event.wait(Deadline{0}), Wake::deadline);
}

TEST_P(Waits, AOneShotBringsAMoveOnlyValueAndMayDieAtOnce) {
  for (int round = 0; round < 200; ++round) {
    auto shot = std::make_unique<OneShot<std::unique_ptr<int>>>();
    lines_.start([&shot, round] { shot->set(std::make_unique<int>(round)); });
    lines_.start([&shot, round] {
      ASSERT_EQ(shot->wait(Deadline::never()), Wake::ready);
      EXPECT_EQ(*shot->take(), round);
      shot.reset();
    });
    lines_.join();
    EXPECT_EQ(shot, nullptr);
  }
}

// A result that is present wins over the deadline, and no unit is lost to a waiter that has left.
TEST_P(Waits, DeadlineAgainstReady) {
  Semaphore units{0};
  std::atomic<int> taken = 0;
  std::atomic<int> timed_out = 0;
  constexpr int waiters = 300;
  for (int count = 0; count < waiters; ++count) {
    lines_.start([&, count] {
      const Wake wake = units.acquire(Deadline{now_ns() + count * 20'000});
      ++(wake == Wake::ready ? taken : timed_out);
    });
    if (count % 3 == 0) lines_.start([&] { units.release(2); });
  }
  lines_.join();
  int left = 0;
  while (units.try_acquire()) ++left;
  EXPECT_EQ(taken + timed_out, waiters);
  EXPECT_EQ(taken + left, 200);
}

TEST_P(Waits, ASemaphoreServesInOrder) {
  Semaphore units{0};
  Semaphore queued{0};
  Semaphore served{0};
  std::vector<int> order;
  for (int count = 0; count < 20; ++count) {
    // They start one at a time: the next one starts when this one is about to wait.
    lines_.start([&, count] {
      queued.release();
      EXPECT_EQ(units.acquire(Deadline::never()), Wake::ready);
      order.push_back(count);
      served.release();
    });
    ASSERT_EQ(queued.acquire(Deadline::never()), Wake::ready);
    while (units.waiting() <= static_cast<std::size_t>(count)) std::this_thread::yield();
  }
  for (int count = 0; count < 20; ++count) {
    units.release();
    ASSERT_EQ(served.acquire(Deadline::never()), Wake::ready);
  }
  lines_.join();
  for (int count = 0; count < 20; ++count) EXPECT_EQ(order[static_cast<std::size_t>(count)], count);
}

TEST_P(Waits, AMutexExcludesAcrossWaits) {
  Mutex mutex;
  int inside = 0;  // guarded by the mutex
  int total = 0;
  for (int count = 0; count < 50; ++count) {
    lines_.start([&] {
      const MutexLock lock(mutex, Deadline::never());
      ASSERT_TRUE(lock.owns());
      EXPECT_EQ(++inside, 1);
      EXPECT_EQ(sleep_until(Deadline{now_ns() + 10'000}), Wake::deadline);
      --inside;
      ++total;
    });
  }
  lines_.join();
  EXPECT_EQ(total, 50);
  const MutexLock held(mutex, Deadline{0});
  EXPECT_TRUE(held.owns());
  lines_.start([&] {
    const MutexLock late(mutex, Deadline::after_ms(1));
    EXPECT_EQ(late.wake(), Wake::deadline);
  });
  lines_.join();
}

// The pattern of a group commit: many enqueue and wait, one Thread takes batches and answers.
TEST_P(Waits, ABatchQueueFeedsACommitter) {
  struct Settlement {
    int number = 0;
    OneShot<int> outcome;
  };
  BatchQueue<std::shared_ptr<Settlement>> queue(100'000);
  std::atomic<int> answered = 0;
  std::thread committer([&] {
    std::vector<std::shared_ptr<Settlement>> batch;
    while (true) {
      batch.clear();
      static_cast<void>(queue.take(batch, 16, Deadline::after_ms(1)));
      if (batch.empty() && queue.closed()) return;
      WakeBatch wakes;
      for (const auto& settlement : batch) settlement->outcome.set(settlement->number * 2, wakes);
    }
  });
  for (int line = 0; line < 40; ++line) {
    lines_.start([&, line] {
      for (int round = 0; round < 20; ++round) {
        const auto settlement = std::make_shared<Settlement>();
        settlement->number = line * 100 + round;
        ASSERT_TRUE(queue.push(settlement));
        ASSERT_EQ(settlement->outcome.wait(Deadline::never()), Wake::ready);
        EXPECT_EQ(settlement->outcome.take(), settlement->number * 2);
        ++answered;
      }
    });
  }
  lines_.join();
  queue.close();
  committer.join();
  EXPECT_EQ(answered, 800);
  EXPECT_FALSE(queue.push(std::make_shared<Settlement>()));
}

TEST(BatchQueue, RefusesWhenFullAndGivesWhatIsThereAtTheDeadline) {
  BatchQueue<int> queue(2);
  EXPECT_TRUE(queue.push(1));
  EXPECT_TRUE(queue.push(2));
  EXPECT_FALSE(queue.push(3));
  std::vector<int> taken;
  EXPECT_EQ(queue.take(taken, 3, Deadline{0}), Wake::deadline);
  EXPECT_EQ(taken, (std::vector{1, 2}));
  EXPECT_TRUE(queue.push(4));
  queue.close();
  taken.clear();
  EXPECT_EQ(queue.take(taken, 3, Deadline::never()), Wake::ready);
  EXPECT_EQ(taken, std::vector{4});
}

}  // namespace
}  // namespace turnpike::runtime

#include "runtime/fiber.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/on_both.h"

namespace turnpike::runtime {
namespace {

std::uint32_t calls_of(Runtime& runtime) {
  std::uint32_t calls = 0;
  for (const auto& loop : runtime.loops()) calls += loop->calls();
  return calls;
}

TEST(Fiber, StaysOnItsLoopWhereverItIsWokenFrom) {
  Semaphore turns{0};
  Lines lines(true, 3);
  for (int count = 0; count < 60; ++count) {
    lines.start([&] {
      const auto home = std::this_thread::get_id();
      Loop* const loop = Loop::current();
      for (int round = 0; round < 20; ++round) {
        turns.release();
        EXPECT_EQ(turns.acquire(Deadline::never()), Wake::ready);
        EXPECT_EQ(std::this_thread::get_id(), home);
        EXPECT_EQ(Loop::current(), loop);
      }
    });
  }
}

TEST(Fiber, IsUnknownOnAPlainThreadWhereNothingIsCancelled) {
  EXPECT_EQ(Fiber::current(), nullptr);
  EXPECT_EQ(Loop::current(), nullptr);
  EXPECT_FALSE(cancelled());
  const CancelMask mask;
  yield();
  FiberHandle().cancel();
  EXPECT_TRUE(FiberHandle().ended());
}

TEST(Fiber, StartsInTheOrderOfTheSpawns) {
  Lines lines(true, 1);
  std::vector<int> order;
  for (int count = 0; count < 1'000; ++count) {
    lines.start([&order, count] { order.push_back(count); });
  }
  lines.join();
  for (int count = 0; count < 1'000; ++count) {
    ASSERT_EQ(order[static_cast<std::size_t>(count)], count);
  }
}

TEST(Fiber, CapturesMayWaitWhileTheyAreDestroyed) {
  struct WaitsAtItsEnd {
    ~WaitsAtItsEnd() { EXPECT_EQ(sleep_until(Deadline::after_ms(1)), Wake::deadline); }
  };
  Runtime runtime({});
  Event ended;
  runtime.loops()[0]->spawn([held = std::make_unique<WaitsAtItsEnd>(), &ended]() mutable {
    held.reset();
    ended.set();
  });
  EXPECT_EQ(ended.wait(Deadline::never()), Wake::ready);
}

// If the runtime did not switch the current exception with the fiber, a wait in a catch block would
// make fibers rethrow each other's exceptions. 3,000 cases.
TEST(Fiber, AWaitInsideACatchBlockRethrowsItsOwnException) {
  Lines lines(true, 2);
  std::atomic<int> right = 0;
  for (int count = 0; count < 300; ++count) {
    lines.start([&right, count] {
      for (int round = 0; round < 10; ++round) {
        const std::string mine = std::to_string(count) + "/" + std::to_string(round);
        try {
          try {
            throw std::runtime_error(mine);
          } catch (const std::runtime_error&) {
            if (round % 2 == 0) {
              yield();
            } else {
              EXPECT_EQ(sleep_until(Deadline{now_ns() + count % 7 * 300'000}), Wake::deadline);
            }
            throw;
          }
        } catch (const std::exception& caught) {
          EXPECT_EQ(std::uncaught_exceptions(), 0);
          if (caught.what() == mine) ++right;
        }
      }
    });
  }
  lines.join();
  EXPECT_EQ(right, 3'000);
}

struct YieldsWhenUnwound {
  ~YieldsWhenUnwound() {
    EXPECT_EQ(std::uncaught_exceptions(), 1);
    yield();
    EXPECT_EQ(std::uncaught_exceptions(), 1);
  }
};

TEST(Fiber, AWaitWhileAnExceptionFliesKeepsTheCount) {
  Lines lines(true, 1);
  std::atomic<int> caught = 0;
  for (int count = 0; count < 100; ++count) {
    lines.start([&caught, count] {
      EXPECT_EQ(std::uncaught_exceptions(), 0);
      try {
        const YieldsWhenUnwound unwound;
        throw count;
      } catch (const int thrown) {
        if (thrown == count) ++caught;
      }
    });
  }
  lines.join();
  EXPECT_EQ(caught, 100);
}

int initialise_slowly() {
  static const int value = [] { return 42; }();
  return value;
}

// Rule (f): the initialisation of a function-local static must not wait. A complete one may be used
// by fibers that wait before and after.
TEST(Fiber, FunctionLocalStaticsMayBeUsedBetweenWaits) {
  Lines lines(true, 2);
  for (int count = 0; count < 50; ++count) {
    lines.start([] {
      yield();
      EXPECT_EQ(initialise_slowly(), 42);
      yield();
      EXPECT_EQ(initialise_slowly(), 42);
    });
  }
}

// Rule (f), the other half: the SDK's replacement for std::mutex may be held across waits by many
// fibers of one loop. With a std::mutex, the loop would deadlock.
TEST(Fiber, AFiberMutexHeldAcrossAWaitDoesNotLockTheLoopOut) {
  Lines lines(true, 1);
  Mutex mutex;
  int entered = 0;
  for (int count = 0; count < 20; ++count) {
    lines.start([&] {
      const MutexLock lock(mutex, Deadline::never());
      yield();
      ++entered;
    });
  }
  lines.join();
  EXPECT_EQ(entered, 20);
}

TEST(Fiber, ThousandsAreInFlightAtOnce) {
  constexpr std::uint32_t fibers = 4'000;  // TSan ends the process at 8,128
  Lines lines(true, 2);
  Event go;
  std::atomic<std::uint32_t> arrived = 0;
  for (std::uint32_t count = 0; count < fibers; ++count) {
    lines.start([&] {
      volatile char used[4'096] = {};
      used[0] = 1;
      ++arrived;
      EXPECT_EQ(go.wait(Deadline::never()), Wake::ready);
      EXPECT_EQ(used[0], 1);
    });
  }
  while (arrived < fibers) std::this_thread::yield();
  EXPECT_EQ(calls_of(lines.runtime()), fibers);
  go.set();
  lines.join();
}

// Rule (c): a late wake belongs to an earlier wait and is dropped.
TEST(Fiber, AStaleWakeIsDropped) {
  Runtime runtime({});
  on_fiber(runtime, [] {
    Waiter& self = Waiter::current();
    WakeBatch batch;
    const std::uint64_t first = self.begin("test");
    EXPECT_EQ(self.park(Deadline::after_ms(1)), Wake::deadline);
    EXPECT_FALSE(self.wake(first, Wake::ready, batch));
    const std::uint64_t second = self.begin("test");
    EXPECT_FALSE(self.wake(first, Wake::ready, batch));
    EXPECT_TRUE(self.wake(second, Wake::ready, batch));
    EXPECT_FALSE(self.wake(second, Wake::cancelled, batch));
    batch.flush();
    EXPECT_EQ(self.park(Deadline::after_ms(10'000)), Wake::ready);
  });
}

// Rule (d): a fiber that is always ready must not starve the loop's timers and posts.
TEST(Fiber, ReadyFibersShareTheLoopWithTimersAndPosts) {
  std::atomic<bool> stop = false;
  Lines lines(true, 1);
  for (int count = 0; count < 200; ++count) {
    lines.start([&] {
      while (!stop) yield();
    });
  }
  Event posted;
  lines.runtime().loops()[0]->post([&] { posted.set(); });
  EXPECT_EQ(posted.wait(Deadline::never()), Wake::ready);
  lines.start([&] {
    EXPECT_EQ(sleep_until(Deadline::after_ms(2)), Wake::deadline);
    stop = true;
  });
}

// Rule (d): at most 64 resumes, then the loop polls.
TEST(Fiber, AtMostSixtyFourResumesComeBetweenTwoPolls) {
  Runtime runtime({});
  on_fiber(runtime, [] {
    Loop& loop = *Loop::current();
    int resumes_of_turn = 0;
    int most = 0;
    std::int64_t turn = 0;
    Semaphore ended{0};
    for (int count = 0; count < 500; ++count) {
      loop.spawn([&] {
        for (int round = 0; round < 10; ++round) {
          if (loop.turn_ns() != turn) resumes_of_turn = 0;
          turn = loop.turn_ns();
          most = std::max(most, ++resumes_of_turn);
          yield();
        }
        ended.release();
      });
    }
    for (int count = 0; count < 500; ++count) {
      ASSERT_EQ(ended.acquire(Deadline::never()), Wake::ready);
    }
    EXPECT_GT(most, 1);
    EXPECT_LE(most, 64);
  });
}

TEST(Cancel, EndsThePresentAndEveryLaterWait) {
  Runtime runtime({});
  OneShot<FiberHandle> handle;
  Event ended;
  std::atomic<bool> saw_cancelled = false;
  runtime.loops()[0]->spawn([&] {
    handle.set(Fiber::current()->handle());
    Event never;
    EXPECT_EQ(never.wait(Deadline::never()), Wake::cancelled);
    EXPECT_EQ(sleep_until(Deadline::after_ms(10'000)), Wake::cancelled);
    saw_cancelled = cancelled();
    ended.set();
  });
  ASSERT_EQ(handle.wait(Deadline::never()), Wake::ready);
  const FiberHandle fiber = handle.take();
  fiber.cancel();
  fiber.cancel();
  EXPECT_EQ(ended.wait(Deadline::never()), Wake::ready);
  EXPECT_TRUE(saw_cancelled);
}

TEST(Cancel, AMaskedWaitGoesOnAndTheCancellationIsNotLost) {
  Runtime runtime({});
  on_fiber(runtime, [] {
    Fiber::current()->handle().cancel();
    {
      const CancelMask outer;
      {
        const CancelMask inner;
        EXPECT_EQ(sleep_until(Deadline::after_ms(2)), Wake::deadline);
      }
      EXPECT_EQ(sleep_until(Deadline::after_ms(2)), Wake::deadline);
      EXPECT_TRUE(cancelled());
    }
    EXPECT_EQ(sleep_until(Deadline::after_ms(10'000)), Wake::cancelled);
  });
}

TEST(Cancel, AHandleOfAnEndedFiberCancelsNobodyElse) {
  Runtime runtime({});
  std::vector<FiberHandle> handles;
  on_fiber(runtime, [&] {
    for (int count = 0; count < 100; ++count) {
      handles.push_back(Loop::current()->spawn([] {}));
      yield();
      yield();
      EXPECT_TRUE(handles.back().ended());
    }
    // This fiber reuses the memory of those that ended.
    Event go_on;
    Event ended;
    const FiberHandle alive = Loop::current()->spawn([&] {
      EXPECT_EQ(go_on.wait(Deadline::never()), Wake::ready);
      ended.set();
    });
    yield();
    for (const FiberHandle& handle : handles) handle.cancel();
    EXPECT_FALSE(alive.ended());
    go_on.set();
    EXPECT_EQ(ended.wait(Deadline::never()), Wake::ready);
  });
}

// Cancellation, result and deadline arrive at the same moment from three sides. Each wait ends
// once, with one of the three, and nothing is lost or woken twice.
TEST(Cancel, RacesWithReadyAndDeadline) {
  Lines lines(true, 2);
  std::array<std::atomic<int>, 3> ends{};
  for (int round = 0; round < 400; ++round) {
    const auto event = std::make_shared<Event>();
    const auto handle = std::make_shared<OneShot<FiberHandle>>();
    lines.start([&ends, event, handle, round] {
      handle->set(Fiber::current()->handle());
      const Wake wake = event->wait(Deadline{now_ns() + round % 5 * 500'000});
      ++ends[static_cast<std::size_t>(wake)];
      EXPECT_TRUE(wake != Wake::ready || event->is_set());
    });
    lines.start([event] { event->set(); });
    if (round % 2 == 0) {
      ASSERT_EQ(handle->wait(Deadline::never()), Wake::ready);
      handle->take().cancel();
    }
  }
  lines.join();
  EXPECT_EQ(ends[0] + ends[1] + ends[2], 400);
  EXPECT_GT(ends[0], 0);
}

TEST(FiberName, IsCutAtFortyBytes) {
  FiberName name;
  EXPECT_STREQ(name.text().data(), "");
  name.set("01936b2e-4f00-7000-8000-000000000001");
  EXPECT_STREQ(name.text().data(), "01936b2e-4f00-7000-8000-000000000001");
  name.set(std::string(50, 'x'));
  EXPECT_EQ(std::string(name.text().data()), std::string(40, 'x'));
}

TEST(WaitDeathTest, AWaitOnALoopOutsideOfAFiberEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Runtime runtime({});
        Event never;
        runtime.loops()[0]->post([&] { static_cast<void>(never.wait(Deadline::never())); });
        static_cast<void>(never.wait(Deadline::never()));
      },
      "a wait on a loop thread outside of a fiber");
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
int overflow(int depth) {
  volatile char frame[1'024] = {};
  frame[depth % 1'024] = 1;
  return depth > 1'000'000 ? 0 : overflow(depth + 1) + frame[0];
}

TEST(WaitDeathTest, AStackOverflowEndsTheProcessAtTheGuardPage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Runtime runtime({});
        on_fiber(runtime, [] { static_cast<void>(overflow(0)); });
      },
      testing::KilledBySignal(SIGSEGV), "");
}
#endif

}  // namespace
}  // namespace turnpike::runtime

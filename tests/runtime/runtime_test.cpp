#include "runtime/runtime.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/in_flight.h"
#include "runtime/limits_check.h"
#include "runtime/on_both.h"

namespace turnpike::runtime {
namespace {

RuntimeOptions with_loops(std::uint32_t loops) {
  RuntimeOptions options;
  options.loops = loops;
  return options;
}

TEST(Runtime, StopLetsCallsEndAndThenCancelsTheBackground) {
  Runtime runtime(with_loops(2));
  const auto background_saw = std::make_shared<std::atomic<int>>(0);
  const auto calls_done = std::make_shared<std::atomic<int>>(0);
  for (const auto& loop : runtime.loops()) {
    loop->spawn(
        [background_saw, calls_done] {
          Event never;
          EXPECT_EQ(never.wait(Deadline::never()), Wake::cancelled);
          background_saw->store(calls_done->load());
        },
        FiberKind::background);
    for (int count = 0; count < 50; ++count) {
      loop->spawn([calls_done] {
        EXPECT_EQ(sleep_until(Deadline::after_ms(3)), Wake::deadline);
        ++*calls_done;
      });
    }
  }
  const StopReport report = runtime.stop(Deadline::after_ms(60'000), Deadline::never());
  EXPECT_TRUE(report.drained);
  EXPECT_TRUE(report.pool_stopped);
  EXPECT_EQ(report.fibers_left, 0u);
  EXPECT_EQ(calls_done->load(), 100);
  EXPECT_EQ(background_saw->load(), 100);
}

// Rule (e): at a stop, a waiting fiber is woken and runs to its end, including its destructors.
TEST(Runtime, StopCancelsWaitingFibersAndEachRunsToItsEnd) {
  struct Ends {
    std::atomic<int>& count;
    ~Ends() { ++count; }
  };
  std::atomic<int> ended = 0;
  std::atomic<int> settled = 0;
  {
    Runtime runtime(with_loops(2));
    for (int count = 0; count < 1'000; ++count) {
      runtime.loops()[static_cast<std::size_t>(count % 2)]->spawn([&] {
        const Ends ends{ended};
        Event never;
        EXPECT_EQ(never.wait(Deadline::never()), Wake::cancelled);
        const CancelMask mask;
        if (sleep_until(Deadline::after_ms(1)) == Wake::deadline) ++settled;
      });
    }
    const StopReport report = runtime.stop(Deadline{0}, Deadline::never());
    EXPECT_FALSE(report.drained);
    EXPECT_EQ(report.fibers_left, 0u);
  }
  EXPECT_EQ(ended, 1'000);
  EXPECT_EQ(settled, 1'000);
}

TEST(Runtime, StopGivesUpOnAFiberThatDoesNotEnd) {
  Event unblock;
  Runtime runtime(with_loops(1));
  Event begun;
  runtime.loops()[0]->spawn([&] {
    const CancelMask mask;
    begun.set();
    static_cast<void>(unblock.wait(Deadline::never()));
  });
  ASSERT_EQ(begun.wait(Deadline::never()), Wake::ready);
  const StopReport report = runtime.stop(Deadline{0}, Deadline::after_ms(5));
  EXPECT_FALSE(report.drained);
  EXPECT_EQ(report.fibers_left, 1u);
  unblock.set();
}

TEST(Runtime, WhatIsGivenAfterTheStopIsDroppedNotLost) {
  const auto held = std::make_shared<int>(1);
  {
    Runtime runtime(with_loops(1));
    runtime.stop(Deadline::never(), Deadline::never());
    runtime.loops()[0]->spawn([held] { FAIL(); });
    runtime.loops()[0]->post([held] { FAIL(); });
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Runtime, APostReachesEveryLoop) {
  Runtime runtime(with_loops(3));
  std::vector<std::atomic<int>> program(3);
  Semaphore swapped{0};
  for (const auto& loop : runtime.loops()) {
    loop->post([&] {
      EXPECT_EQ(Fiber::current(), nullptr);
      ++program[Loop::current()->index()];
      swapped.release();
    });
  }
  for (int count = 0; count < 3; ++count) {
    ASSERT_EQ(swapped.acquire(Deadline::never()), Wake::ready);
  }
  for (const auto& one : program) EXPECT_EQ(one, 1);
}

TEST(Runtime, SeatsSpreadOverTheLoops) {
  Runtime runtime(with_loops(3));
  std::vector<LoopSeat> seats;
  for (int count = 0; count < 9; ++count) seats.push_back(runtime.take_seat());
  for (const auto& loop : runtime.loops()) EXPECT_EQ(loop->seats(), 3);
  Loop& freed = seats.front().loop();
  seats.front() = LoopSeat();
  const LoopSeat next = runtime.take_seat();
  EXPECT_EQ(&next.loop(), &freed);
}

TEST(Runtime, ListsWhatEveryFiberWaitsFor) {
  Event release;
  Semaphore begun{0};
  Runtime runtime(with_loops(2));
  for (const auto& loop : runtime.loops()) {
    loop->spawn([&] {
      Fiber::current()->set_name("request-" + std::to_string(Loop::current()->index()));
      begun.release();
      static_cast<void>(release.wait(Deadline::never()));
    });
  }
  ASSERT_EQ(begun.acquire(Deadline::never()), Wake::ready);
  ASSERT_EQ(begun.acquire(Deadline::never()), Wake::ready);
  const auto fibers = runtime.list_fibers(Deadline::never());
  ASSERT_EQ(fibers.size(), 2u);
  for (const FiberInfo& fiber : fibers) {
    EXPECT_EQ(fiber.name.data(), "request-" + std::to_string(fiber.loop));
    EXPECT_STREQ(fiber.waits_for, "event");
    EXPECT_EQ(fiber.kind, FiberKind::call);
    EXPECT_FALSE(fiber.cancelled);
    EXPECT_GE(fiber.age_ms, 0);
  }
  release.set();
}

TEST(Runtime, CountsItsFibersAndStacks) {
  Runtime runtime(with_loops(1));
  Loop& loop = *runtime.loops()[0];
  Event release;
  Semaphore begun{0};
  for (int count = 0; count < 10; ++count) {
    loop.spawn([&] {
      begun.release();
      static_cast<void>(release.wait(Deadline::never()));
    });
  }
  for (int count = 0; count < 10; ++count) {
    ASSERT_EQ(begun.acquire(Deadline::never()), Wake::ready);
  }
  EXPECT_EQ(loop.fibers(), 10u);
  EXPECT_EQ(loop.calls(), 10u);
  release.set();
  runtime.stop(Deadline::never(), Deadline::never());
  EXPECT_EQ(loop.fibers(), 0u);
  EXPECT_EQ(loop.ready(), 0u);
  EXPECT_EQ(loop.idle_stacks(), 10u);
}

class Stalls : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Watchdog, Stalls, testing::Bool(),
                         [](const auto& it) { return it.param ? "Blocking" : "Computing"; });

TEST_P(Stalls, AreReportedWithTheFiberAtFault) {
  constexpr int stall_ms = 60;
  OneShot<Stall> reported;
  std::atomic<std::uint64_t> told = 0;
  RuntimeOptions options;
  options.stall_threshold_ms = 20;
  // On a busy machine a turn may stall before the fiber has its tag; such a report is ignored.
  options.on_stall = [&](const Stall& stall) {
    if (stall.tag == 7 && told++ == 0) reported.set(stall);
  };
  Runtime runtime(options);
  runtime.loops()[0]->spawn([&] {
    Fiber::current()->set_name("01936b2e-4f00-7000-8000-00000000beef");
    Fiber::current()->set_tag(7);
    while (!reported.is_set()) {
      const Deadline end = Deadline::after_ms(stall_ms);
      if (GetParam()) ::poll(nullptr, 0, stall_ms);
      while (!reported.is_set() && !end.passed()) {
      }
      sleep_until(Deadline::after_ms(1));  // another turn
    }
  });
  ASSERT_EQ(reported.wait(Deadline::never()), Wake::ready);
  const Stall stall = reported.take();
  EXPECT_EQ(stall.loop, 0u);
  EXPECT_GE(stall.duration_ms, 20);
  EXPECT_STREQ(stall.fiber.data(), "01936b2e-4f00-7000-8000-00000000beef");
  EXPECT_EQ(stall.tag, 7u);
  runtime.stop(Deadline::never(), Deadline::never());
  EXPECT_EQ(runtime.watchdog().stalls(7), told);
  EXPECT_EQ(runtime.watchdog().stalls(8), 0u);
}

// This happens on a busy machine and is no fiber's fault.
TEST(Watchdog, BlamesNoFiberForATurnOfManyShortOnes) {
  OneShot<Stall> reported;
  RuntimeOptions options;
  options.stall_threshold_ms = 100;
  options.on_stall = [&](const Stall& stall) {
    if (!reported.is_set()) reported.set(stall);
  };
  Runtime runtime(options);
  runtime.loops()[0]->spawn([&] {
    for (int at = 0; at < 60; ++at) {
      Loop::current()->spawn([] {
        Fiber::current()->set_tag(7);
        const Deadline end = Deadline::after_ms(5);
        while (!end.passed()) {
        }
      });
    }
  });
  ASSERT_EQ(reported.wait(Deadline::never()), Wake::ready);
  EXPECT_EQ(reported.take().tag, 0u);
  runtime.stop(Deadline::never(), Deadline::never());
  EXPECT_EQ(runtime.watchdog().stalls(7), 0u);
}

TEST(Timer, CallsBackOnTheLoopUnlessDisarmed) {
  Runtime runtime(with_loops(1));
  struct Called {
    Event event;
    int count = 0;
  } called;
  const auto callback = [](void* context) noexcept {
    auto& one = *static_cast<Called*>(context);
    EXPECT_EQ(Fiber::current(), nullptr);
    ++one.count;
    one.event.set();
  };
  on_fiber(runtime, [&] {
    Timer fires(*Loop::current(), callback, &called);
    Timer never(*Loop::current(), callback, &called);
    never.arm(Deadline::after_ms(1));
    never.disarm();
    fires.arm(Deadline::after_ms(10'000));
    fires.arm(Deadline::after_ms(2));
    EXPECT_TRUE(fires.armed());
    EXPECT_EQ(called.event.wait(Deadline::never()), Wake::ready);
    EXPECT_EQ(sleep_until(Deadline::after_ms(2)), Wake::deadline);
    EXPECT_EQ(called.count, 1);
    EXPECT_FALSE(fires.armed());
    never.arm(Deadline::after_ms(10'000));  // disarmed by its destructor
  });
}

TEST(InFlight, LeavesPlacesToWhatIsMoreUrgent) {
  InFlight calls(2);
  const InFlight::Seat first = calls.try_enter_leaving(1);
  EXPECT_TRUE(first);
  EXPECT_FALSE(calls.try_enter_leaving(1)) << "the last place";
  EXPECT_EQ(calls.count(), 1u);
  EXPECT_TRUE(calls.try_enter());
  InFlight one(1);
  EXPECT_FALSE(one.try_enter_leaving(1));
  EXPECT_TRUE(one.try_enter_leaving(0));
}

TEST(InFlight, TurnsAwayAtTheCap) {
  InFlight calls(2);
  InFlight::Seat first = calls.try_enter();
  InFlight::Seat second = calls.try_enter();
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
  EXPECT_FALSE(calls.try_enter());
  EXPECT_EQ(calls.count(), 2u);
  {
    const InFlight::Seat moved = std::move(second);
    EXPECT_TRUE(moved);
    EXPECT_FALSE(second);  // NOLINT: what a moved-from seat is, is promised
  }
  EXPECT_EQ(calls.count(), 1u);
  EXPECT_TRUE(calls.try_enter());
}

TEST(LimitsCheck, SaysWhatIsMissing) {
  const SystemLimits limits = raise_system_limits();
  EXPECT_GT(limits.descriptors_max, 0u);
  EXPECT_GT(limits.fibers_max, 0u);
  EXPECT_TRUE(unmet_needs(limits, {limits.descriptors_max, limits.fibers_max}).empty());
  const auto unmet = unmet_needs({1'024, 32'000}, {20'100, 40'000});
  ASSERT_EQ(unmet.size(), 2u);
  EXPECT_EQ(unmet[0],
            "the configured limits need 20100 file descriptors, the system grants 1024; raise it "
            "(ulimit -n, LimitNOFILE= of the service)");
  EXPECT_EQ(unmet[1],
            "the configured limits need 40000 calls in flight, the system's memory maps suffice "
            "for 32000; raise the sysctl vm.max_map_count to 88192");
}

}  // namespace
}  // namespace turnpike::runtime

#include "base/thread_turn.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

namespace turnpike::base {
namespace {

// Runs each test in its own Thread, since the setting persists.
template <class F>
void in_a_thread(F&& work) {
  std::thread(work).join();
}

TEST(ThreadTurn, IsShortAfterItIsAskedForWhereTheKernelHasThem) {
  in_a_thread([] {
    if (scheduling_of_this_thread().turn_ns == 0) GTEST_SKIP() << "this kernel has no such turns";
    EXPECT_GT(scheduling_of_this_thread().turn_ns, short_turn_ns);
    take_short_turns();
    EXPECT_EQ(scheduling_of_this_thread().turn_ns, short_turn_ns);
  });
}

TEST(ThreadTurn, KeepsThePriorityThatTheThreadHas) {
  in_a_thread([] {
    const int nice = std::min(getpriority(PRIO_PROCESS, 0) + 3, 19);  // lower needs a right
    ASSERT_EQ(setpriority(PRIO_PROCESS, 0, nice), 0);
    take_short_turns();
    EXPECT_EQ(scheduling_of_this_thread().nice, nice);
  });
}

TEST(ThreadTurn, LeavesAloneWhoIsScheduledOtherwise) {
  in_a_thread([] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_IDLE, &none), 0);
    const Scheduling before = scheduling_of_this_thread();
    take_short_turns();
    EXPECT_EQ(scheduling_of_this_thread().policy, before.policy);
    EXPECT_EQ(scheduling_of_this_thread().turn_ns, before.turn_ns);
  });
}

}  // namespace
}  // namespace turnpike::base

#include "runtime/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "runtime/on_both.h"

namespace turnpike::runtime {
namespace {

// Rule (i): signals are input for a fiber or a thread, not interruptions. The source is created
// before any thread, so that all threads inherit its mask.
class Signals : public testing::TestWithParam<bool> {
 protected:
  SignalSource source_{SIGHUP, SIGTERM};
  Lines lines_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(OnFibersAndThreads, Signals, testing::Bool(),
                         [](const auto& it) { return it.param ? "Fibers" : "Threads"; });

TEST_P(Signals, AreReadByASignalDescriptor) {
  EXPECT_FALSE(source_.read().has_value());
  Event nothing_came;
  lines_.start([&] {
    EXPECT_FALSE(source_.wait(Deadline::after_ms(1)).has_value());
    nothing_came.set();
    EXPECT_EQ(source_.wait(Deadline::never()), SIGHUP);
    ASSERT_EQ(::kill(::getpid(), SIGTERM), 0);
    EXPECT_EQ(source_.wait(Deadline::never()), SIGTERM);
  });
  ASSERT_EQ(nothing_came.wait(Deadline::never()), Wake::ready);
  ASSERT_EQ(::kill(::getpid(), SIGHUP), 0);
  lines_.join();
}

}  // namespace
}  // namespace turnpike::runtime

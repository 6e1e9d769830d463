#include "base/outage.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace turnpike::base {
namespace {

TEST(Outage, IsToldAtItsFirstFailureThenNowAndThenAndAtItsEnd) {
  Outage outage(100, 50);
  EXPECT_EQ(outage.worked(1), 0u) << "nothing failed";
  EXPECT_EQ(outage.failed(10), 1u);
  EXPECT_EQ(outage.failed(11), 0u);
  EXPECT_EQ(outage.failed(109), 0u);
  EXPECT_EQ(outage.failed(110), 3u) << "those since the first line, this one included";
  EXPECT_EQ(outage.worked(159), 0u) << "one success between failures is no end";
  EXPECT_EQ(outage.failed(159), 0u);
  EXPECT_EQ(outage.worked(209), 5u);
  EXPECT_EQ(outage.worked(210), 0u) << "told once";
  EXPECT_EQ(outage.failed(211), 1u) << "a new one, though the last line is not long ago";
  EXPECT_EQ(outage.worked(261), 1u);
}

TEST(Outage, TellsAFailureOfANewKindAtOnce) {
  Outage outage(100, 50);
  EXPECT_EQ(outage.failed(10), 1u);
  EXPECT_EQ(outage.failed(11), 0u);
  EXPECT_EQ(outage.failed(12, true), 2u);
  EXPECT_EQ(outage.failed(13), 0u);
}

TEST(Outage, IsToldOnceHoweverManyThreadsSeeIt) {
  Outage outage(1'000'000, 50);
  std::atomic<std::uint64_t> lines{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int at = 0; at < 10'000; ++at) lines += outage.failed(10) != 0 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines.load(), 1u);
  EXPECT_EQ(outage.worked(100), 40'000u);
}

}  // namespace
}  // namespace turnpike::base

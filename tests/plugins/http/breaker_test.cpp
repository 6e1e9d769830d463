#include "http/breaker.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace turnpike::http {
namespace {

using Pass = Breaker::Pass;
using Outcome = Breaker::Outcome;
using Change = Breaker::Change;

constexpr std::int64_t ms = 1'000'000;

// Reports `outcome` that many times at `now_ns`; returns the last change.
Change report(Breaker& breaker, Outcome outcome, int times, std::int64_t now_ns) {
  Change change = Change::none;
  for (int at = 0; at < times; ++at) change = breaker.report(Pass::normal, outcome, now_ns);
  return change;
}

TEST(Breaker, OpensAtSoManyFailuresThatAreTheShareOfTheCalls) {
  Breaker breaker({.failures_min = 3, .percent = 50, .window_ms = 1'000, .open_ms = 100});
  EXPECT_EQ(report(breaker, Outcome::failure, 2, 1), Change::none) << "too few";
  EXPECT_EQ(report(breaker, Outcome::success, 4, 1), Change::none);
  EXPECT_EQ(report(breaker, Outcome::neither, 9, 1), Change::none) << "not counted";
  EXPECT_EQ(report(breaker, Outcome::failure, 1, 1), Change::none) << "3 of 7";
  EXPECT_FALSE(breaker.is_open());
  EXPECT_EQ(report(breaker, Outcome::failure, 1, 1), Change::opened) << "4 of 8";
  EXPECT_EQ(breaker.counts(1).calls, 8u);
  EXPECT_EQ(breaker.counts(1).failures, 4u);
  EXPECT_TRUE(breaker.refuses(1));
  EXPECT_EQ(breaker.ask(100 * ms), Pass::refused);
  // Reports of calls that began earlier change nothing.
  EXPECT_EQ(report(breaker, Outcome::failure, 5, 50 * ms), Change::none);
  EXPECT_EQ(report(breaker, Outcome::success, 5, 50 * ms), Change::none);
  EXPECT_TRUE(breaker.refuses(100 * ms));
  EXPECT_FALSE(breaker.refuses(100 * ms + 1));
}

TEST(Breaker, ForgetsWhatIsOlderThanItsWindow) {
  Breaker breaker({.failures_min = 2, .percent = 100, .window_ms = 800, .open_ms = 100});
  EXPECT_EQ(report(breaker, Outcome::failure, 1, 0), Change::none);
  EXPECT_EQ(report(breaker, Outcome::failure, 1, 800 * ms), Change::none);
  EXPECT_EQ(report(breaker, Outcome::success, 1, 1'500 * ms), Change::none);
  EXPECT_EQ(report(breaker, Outcome::failure, 1, 1'599 * ms), Change::none) << "2 of 3";
  EXPECT_EQ(report(breaker, Outcome::failure, 1, 2'300 * ms), Change::none) << "1 of 1";
  EXPECT_EQ(report(breaker, Outcome::failure, 1, 2'399 * ms), Change::opened) << "2 of 2";
}

TEST(Breaker, LetsOneTrialThroughAfterThePause) {
  Breaker breaker({.failures_min = 1, .percent = 1, .window_ms = 1'000, .open_ms = 100});
  ASSERT_EQ(report(breaker, Outcome::failure, 1, 0), Change::opened);
  EXPECT_EQ(breaker.ask(100 * ms), Pass::trial);
  EXPECT_EQ(breaker.ask(100 * ms), Pass::refused);
  EXPECT_EQ(breaker.report(Pass::trial, Outcome::failure, 110 * ms), Change::opened_again);
  EXPECT_EQ(breaker.ask(209 * ms), Pass::refused);
  EXPECT_EQ(breaker.ask(210 * ms), Pass::trial);
  EXPECT_EQ(breaker.report(Pass::trial, Outcome::success, 220 * ms), Change::closed);
  EXPECT_FALSE(breaker.is_open());
  EXPECT_EQ(breaker.ask(221 * ms), Pass::normal);
}

TEST(Breaker, BeginsToCountAnewWhenItCloses) {
  Breaker breaker({.failures_min = 2, .percent = 100, .window_ms = 1'000, .open_ms = 100});
  ASSERT_EQ(report(breaker, Outcome::failure, 2, 0), Change::opened);
  EXPECT_TRUE(breaker.close());
  EXPECT_FALSE(breaker.close());
  EXPECT_EQ(report(breaker, Outcome::failure, 1, 1), Change::none);
  EXPECT_EQ(report(breaker, Outcome::failure, 1, 1), Change::opened);
}

TEST(Breaker, ATrialThatSaysNothingIsRepeatedAndOneThatNeverReportsCostsAPause) {
  Breaker breaker({.failures_min = 1, .percent = 1, .window_ms = 1'000, .open_ms = 100});
  ASSERT_EQ(report(breaker, Outcome::failure, 1, 0), Change::opened);
  ASSERT_EQ(breaker.ask(100 * ms), Pass::trial);
  EXPECT_EQ(breaker.report(Pass::trial, Outcome::neither, 120 * ms), Change::none);
  EXPECT_EQ(breaker.ask(120 * ms), Pass::trial);  // this trial never reports
  EXPECT_EQ(breaker.ask(219 * ms), Pass::refused);
  EXPECT_EQ(breaker.ask(220 * ms), Pass::trial);
}

TEST(CallWindow, CountsWhatManyThreadsAddInOneCell) {
  CallWindow window(1'000 * ms);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int call = 0; call < 10'000; ++call) window.add(call % 4 == 0, 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(window.counts(1).calls, 40'000u);
  EXPECT_EQ(window.counts(1).failures, 10'000u);
}

TEST(CallWindow, KeepsItsShareWhenACellIsFull) {
  CallWindow window(1'000 * ms);
  for (int call = 0; call < 2'000'000; ++call) window.add(call % 2 == 0, 1);
  const CallWindow::Counts seen = window.counts(1);
  EXPECT_GT(seen.calls, 500'000u);
  EXPECT_NEAR(static_cast<double>(seen.failures), static_cast<double>(seen.calls) / 2, 2);
}

}  // namespace
}  // namespace turnpike::http

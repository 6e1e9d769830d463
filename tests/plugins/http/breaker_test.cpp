#include "http/breaker.h"

#include <gtest/gtest.h>

#include "http/retry_budget.h"

namespace turnpike::http {
namespace {

using Pass = Breaker::Pass;
using Outcome = Breaker::Outcome;

TEST(Breaker, OpensAfterFailuresInARowOnly) {
  Breaker breaker(3, 100);
  EXPECT_FALSE(breaker.report(Pass::normal, Outcome::failure, 1));
  EXPECT_FALSE(breaker.report(Pass::normal, Outcome::failure, 1));
  EXPECT_FALSE(breaker.report(Pass::normal, Outcome::success, 1));
  EXPECT_FALSE(breaker.report(Pass::normal, Outcome::failure, 1));
  EXPECT_FALSE(breaker.report(Pass::normal, Outcome::failure, 1));
  EXPECT_FALSE(breaker.report(Pass::normal, Outcome::neither, 1));
  EXPECT_FALSE(breaker.is_open());
  EXPECT_TRUE(breaker.report(Pass::normal, Outcome::failure, 1));
  EXPECT_TRUE(breaker.refuses(1));
  EXPECT_EQ(breaker.ask(100), Pass::refused);
  // Calls that began before it opened do not open it anew or close it.
  EXPECT_FALSE(breaker.report(Pass::normal, Outcome::failure, 50));
  EXPECT_FALSE(breaker.report(Pass::normal, Outcome::success, 50));
  EXPECT_TRUE(breaker.refuses(100));
  EXPECT_FALSE(breaker.refuses(101));
}

TEST(Breaker, LetsOneTrialThroughAfterThePause) {
  Breaker breaker(1, 100);
  ASSERT_TRUE(breaker.report(Pass::normal, Outcome::failure, 0));
  EXPECT_EQ(breaker.ask(100), Pass::trial);
  EXPECT_EQ(breaker.ask(100), Pass::refused);
  EXPECT_TRUE(breaker.report(Pass::trial, Outcome::failure, 110));
  EXPECT_EQ(breaker.ask(209), Pass::refused);
  EXPECT_EQ(breaker.ask(210), Pass::trial);
  EXPECT_FALSE(breaker.report(Pass::trial, Outcome::success, 220));
  EXPECT_FALSE(breaker.is_open());
  EXPECT_EQ(breaker.ask(221), Pass::normal);
}

TEST(Breaker, ATrialThatSaysNothingIsRepeatedAndOneThatNeverReportsCostsAPause) {
  Breaker breaker(1, 100);
  ASSERT_TRUE(breaker.report(Pass::normal, Outcome::failure, 0));
  ASSERT_EQ(breaker.ask(100), Pass::trial);
  breaker.report(Pass::trial, Outcome::neither, 120);
  EXPECT_EQ(breaker.ask(120), Pass::trial);  // never reported
  EXPECT_EQ(breaker.ask(219), Pass::refused);
  EXPECT_EQ(breaker.ask(220), Pass::trial);
}

TEST(RetryBudget, AllowsABurstAndThenAShareOfTheCalls) {
  RetryBudget budget(10);
  for (int retry = 0; retry < RetryBudget::burst; ++retry) EXPECT_TRUE(budget.take());
  EXPECT_FALSE(budget.take());
  int taken = 0;
  for (int call = 0; call < 1000; ++call) {
    budget.note_call();
    taken += budget.take() ? 1 : 0;
  }
  EXPECT_EQ(taken, 100);
  EXPECT_FALSE(RetryBudget(0).take());
}

}  // namespace
}  // namespace turnpike::http

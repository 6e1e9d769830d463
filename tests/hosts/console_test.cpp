// The parts of the operator console that need no server: sessions, the pace of calls, and number
// formats. Its pages are tested in tests/e2e/test_console.py.
#include <gtest/gtest.h>

#include <limits>

#include "base/metrics.h"
#include "hosts/operator/console_pace.h"
#include "hosts/operator/console_sessions.h"
#include "hosts/operator/console_text.h"
#include "support/stores.h"

namespace turnpike::hosts::operators {
namespace {

constexpr std::int64_t minute_ms = 60'000;

class Sessions : public testing::Test {
 protected:
  support::ManualClock clock_;
  support::SeededRandom random_{7};
  const crypto::Sha256 credential_ = crypto::sha256("credential");
};

TEST_F(Sessions, OneIsFoundByItsTokenAlone) {
  ConsoleSessions sessions(clock_, random_);
  const std::string token = sessions.begin(credential_);
  const std::string other = sessions.begin(crypto::sha256("another"));
  ASSERT_TRUE(sessions.find(token));
  EXPECT_EQ(sessions.find(token)->credential, credential_);
  EXPECT_NE(sessions.find(token)->page_token, sessions.find(other)->page_token);
  EXPECT_NE(sessions.find(token)->page_token, token);
  EXPECT_GE(token.size(), 43u);  // 256 bits
  EXPECT_FALSE(sessions.find(""));
  EXPECT_FALSE(sessions.find(token + "x"));
  sessions.end(token);
  EXPECT_FALSE(sessions.find(token));
  EXPECT_TRUE(sessions.find(other));
}

TEST_F(Sessions, AnIdleOneEndsAndOneInUseDoesNot) {
  ConsoleSessions sessions(clock_, random_);
  const std::string idle = sessions.begin(credential_);
  const std::string used = sessions.begin(credential_);
  clock_.move_ms(29 * minute_ms);
  EXPECT_TRUE(sessions.find(used));
  clock_.move_ms(minute_ms);
  EXPECT_FALSE(sessions.find(idle));
  EXPECT_TRUE(sessions.find(used));
}

TEST_F(Sessions, EvenOneInUseEndsAfterTwelveHours) {
  ConsoleSessions sessions(clock_, random_);
  const std::string token = sessions.begin(credential_);
  for (int step = 0; step < 12 * 60 / 20 - 1; ++step) {
    clock_.move_ms(20 * minute_ms);
    ASSERT_TRUE(sessions.find(token)) << step;
  }
  clock_.move_ms(20 * minute_ms);
  EXPECT_FALSE(sessions.find(token));
  EXPECT_EQ(sessions.count(), 0u);
}

TEST_F(Sessions, AWallClockThatIsSetEndsNone) {
  ConsoleSessions sessions(clock_, random_);
  const std::string token = sessions.begin(credential_);
  clock_.step_ms(24 * 60 * minute_ms);
  EXPECT_TRUE(sessions.find(token));
}

TEST_F(Sessions, BeyondTheBoundTheOneThatWasIdleLongestEnds) {
  ConsoleSessions sessions(clock_, random_, {.sessions_max = 2});
  const std::string first = sessions.begin(credential_);
  clock_.move_ms(1);
  const std::string second = sessions.begin(credential_);
  clock_.move_ms(1);
  EXPECT_TRUE(sessions.find(first));
  const std::string third = sessions.begin(credential_);
  EXPECT_EQ(sessions.count(), 2u);
  EXPECT_TRUE(sessions.find(first));
  EXPECT_FALSE(sessions.find(second));
  EXPECT_TRUE(sessions.find(third));
}

TEST(Quantiles, LieWithinTheirBucket) {
  const std::vector<std::pair<double, double>> buckets = {
      {0.01, 50}, {0.1, 90}, {1, 100}, {std::numeric_limits<double>::infinity(), 100}};
  EXPECT_DOUBLE_EQ(*quantile_of(buckets, 0.5), 0.01);
  EXPECT_DOUBLE_EQ(*quantile_of(buckets, 0.25), 0.005);
  EXPECT_NEAR(*quantile_of(buckets, 0.99), 0.91, 1e-9);
  EXPECT_FALSE(quantile_of({}, 0.5));
  EXPECT_FALSE(quantile_of({{1, 0}}, 0.5));
  // For values above every bound, only the largest bound is known.
  EXPECT_DOUBLE_EQ(
      *quantile_of({{1, 0}, {std::numeric_limits<double>::infinity(), 4}}, 0.5), 1);
}

class PaceOfCalls : public testing::Test {
 protected:
  void call(const char* outcome, double seconds) {
    seconds_.observe(seconds);
    metrics_->counter("turnpike_route_calls_total", "", {{"outcome", outcome}}).add();
  }
  static constexpr std::int64_t second_ns = 1'000'000'000;
  std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  base::Histogram& seconds_ = metrics_->histogram("turnpike_call_seconds", "", {}, {0.1, 1});
};

TEST_F(PaceOfCalls, IsThatSinceTheStartAndThenOfTheLastMinutes) {
  Pace pace(*metrics_, 0);
  EXPECT_FALSE(pace.look(second_ns).p50_ms);
  for (int at = 0; at < 98; ++at) call("answered", 0.05);
  call("gateway.upstream_timeout", 0.5);
  call("request.query_rejected", 0.05);
  call("caller_gone", 0.05);
  const PaceNow now = pace.look(10 * second_ns);
  EXPECT_EQ(now.span_ms, 10'000);
  EXPECT_DOUBLE_EQ(now.calls_per_second, 10.1);
  EXPECT_DOUBLE_EQ(now.good, 98);
  EXPECT_DOUBLE_EQ(now.bad, 1);  // the caller's faults count as neither
  ASSERT_TRUE(now.p50_ms);
  EXPECT_LT(*now.p50_ms, 100);
  const PaceNow later = pace.look(400 * second_ns);
  EXPECT_EQ(later.span_ms, 390'000) << "compared with the look before, since the start is too old";
  EXPECT_DOUBLE_EQ(later.calls_per_second, 0);
  EXPECT_DOUBLE_EQ(later.good, 0);
  EXPECT_FALSE(later.p50_ms);
}

TEST(ConsoleText, SaysTimesAgesAndNumbers) {
  EXPECT_EQ(time_text(0), "never");
  EXPECT_EQ(time_text(1'800'000'000'000), "2027-01-15 08:00 UTC");
  EXPECT_EQ(day_text(20'000), "2024-10-04");
  EXPECT_EQ(age_text(-1), "0 s");
  EXPECT_EQ(age_text(119'999), "119 s");
  EXPECT_EQ(age_text(120'000), "2 min");
  EXPECT_EQ(age_text(7'200'000), "2 h");
  EXPECT_EQ(age_text(3 * 86'400'000), "3 days");
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1'000), "1,000");
  EXPECT_EQ(count_text(-123), "-123");
  EXPECT_EQ(count_text(-1'234'567), "-1,234,567");
  EXPECT_EQ(share_text(99'999, 100'000), "99.99 %") << "100 is all of them and no less";
  EXPECT_EQ(share_text(0, 0), "-");
}

TEST(ConsoleText, BarsHoldNothingThatRuns) {
  const std::pair<std::string, std::int64_t> values[] = {{"<script>", 2}, {"b", 0}};
  const std::string svg = bars(values, "\"><script>").text;
  EXPECT_EQ(svg.find("<script"), svg.npos);
  EXPECT_EQ(svg.find("style"), svg.npos);
}

}  // namespace
}  // namespace turnpike::hosts::operators

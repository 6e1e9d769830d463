// The schedule of looks, with a clock that the test moves: the grid, the daily budget, extra looks.
#include "status/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "support/stores.h"

namespace turnpike::status {
namespace {

constexpr std::int64_t a_minute_ms = 60'000;
constexpr std::int64_t an_hour_ms = 60 * a_minute_ms;
constexpr std::int64_t a_day_ms = 24 * an_hour_ms;
constexpr std::int64_t a_midnight_ms = 20'833 * a_day_ms;
constexpr std::int64_t tick_ms = 200;

Target upstream_target(std::string id, std::int64_t interval_ms, std::uint32_t per_day_max) {
  Target target;
  target.name = "upstream:" + id;
  target.kind = TargetKind::reachability;
  target.interval_ms = interval_ms;
  target.per_day_max = per_day_max;
  target.upstream = std::move(id);
  return target;
}

Target contract_target(std::string operation, std::string upstream, std::int64_t interval_ms) {
  Target target;
  target.name = "operation:" + operation;
  target.kind = TargetKind::contract;
  target.interval_ms = interval_ms;
  target.per_day_max = 1'000;
  target.operation = std::move(operation);
  target.upstream = std::move(upstream);
  return target;
}

// A leader whose looks take `look_ms_` and fail where `fails_` says so.
class ScheduleTest : public testing::Test {
 protected:
  struct Made {
    DueLook due;
    std::int64_t begun_at_ms = 0;
  };

  void install(std::vector<Target> targets, std::optional<std::uint32_t> looks_today = 0) {
    std::sort(targets.begin(), targets.end(), [](const Target& left, const Target& right) {
      return left.name < right.name;
    });
    set_.targets = std::move(targets);
    schedule_.install(set_, now_ms_, [&](const std::string&) { return looks_today; });
  }

  void run_until(std::int64_t until_ms) {
    for (; now_ms_ < until_ms; now_ms_ += tick_ms) {
      for (auto one = running_.begin(); one != running_.end();) {
        if (one->second > now_ms_) {
          ++one;
          continue;
        }
        schedule_.ended(one->first, true, !fails_(one->first, now_ms_), now_ms_);
        one = running_.erase(one);
      }
      for (const DueLook& due : schedule_.take(now_ms_)) {
        made_[due.target.name].push_back({due, now_ms_});
        if (!due.is_over_budget) running_[due.target.name] = now_ms_ + look_ms_;
      }
      most_at_once_ = std::max(most_at_once_, running_.size());
    }
  }

  [[nodiscard]] std::size_t executed(const std::string& name) const {
    const auto found = made_.find(name);
    if (found == made_.end()) return 0;
    return static_cast<std::size_t>(
        std::count_if(found->second.begin(), found->second.end(),
                      [](const Made& one) { return !one.due.is_over_budget; }));
  }

  TargetSet set_;
  support::SeededRandom random_{7};
  Schedule schedule_{random_};
  std::int64_t now_ms_ = a_midnight_ms;
  std::int64_t look_ms_ = 50;
  std::function<bool(const std::string&, std::int64_t)> fails_ =
      [](const std::string&, std::int64_t) { return false; };
  std::map<std::string, std::int64_t> running_;  // the end of each running look
  std::map<std::string, std::vector<Made>> made_;
  std::size_t most_at_once_ = 0;
};

TEST_F(ScheduleTest, LooksAreDueOnTheGridAndBeginALittleLater) {
  install({upstream_target("a", a_minute_ms, 0), upstream_target("b", 5 * a_minute_ms, 0)});
  run_until(a_midnight_ms + a_day_ms);
  EXPECT_EQ(executed("upstream:a"), 1'440u);
  EXPECT_EQ(executed("upstream:b"), 288u);
  std::set<std::int64_t> delays;
  for (const auto& [name, looks] : made_) {
    for (const Made& one : looks) {
      EXPECT_TRUE(is_on_grid(one.due.target, one.due.due_at_ms)) << name;
      const std::int64_t delay_ms = one.begun_at_ms - one.due.due_at_ms;
      EXPECT_GE(delay_ms, 0);
      EXPECT_LE(delay_ms, a_minute_ms / Schedule::delay_parts + tick_ms);
      delays.insert(delay_ms);
    }
  }
  EXPECT_GT(delays.size(), 20u);  // random, not always the same
}

// 14: the budget of a UTC day is kept, whatever fails.
TEST_F(ScheduleTest, TheBudgetOfADayHoldsAndIsKeptForRegularLooks) {
  fails_ = [](const std::string&, std::int64_t at_ms) {
    return at_ms / (7 * a_minute_ms) % 2 == 0;
  };
  install({upstream_target("exact", a_minute_ms, 1'440), upstream_target("tight", a_minute_ms, 100),
           upstream_target("ample", a_minute_ms, 2'000)});
  run_until(a_midnight_ms + a_day_ms);
  // The regular looks use up the budget, so there are no extra looks. The last may begin after
  // midnight.
  EXPECT_GE(executed("upstream:exact"), 1'439u);
  EXPECT_LE(made_["upstream:exact"].size(), 1'440u);
  // Looks that are due after the budget is used up are reported as skipped.
  EXPECT_EQ(executed("upstream:tight"), 100u);
  EXPECT_GE(made_["upstream:tight"].size(), 1'439u);
  EXPECT_GT(executed("upstream:ample"), 1'440u);
  EXPECT_LE(executed("upstream:ample"), 2'000u);
  run_until(a_midnight_ms + 2 * a_day_ms);
  EXPECT_EQ(executed("upstream:tight"), 200u);
}

TEST_F(ScheduleTest, ANewLeaderKnowsWhatTheDayHasCost) {
  now_ms_ = a_midnight_ms + 12 * an_hour_ms;
  install({upstream_target("a", a_minute_ms, 100)}, 90);
  run_until(a_midnight_ms + a_day_ms);
  EXPECT_EQ(executed("upstream:a"), 10u);
}

TEST_F(ScheduleTest, WhatWasNeverLookedAtIsLookedAtSoon) {
  now_ms_ = a_midnight_ms + an_hour_ms;
  install({upstream_target("a", an_hour_ms, 24), upstream_target("b", an_hour_ms, 24)},
          std::nullopt);
  run_until(now_ms_ + a_minute_ms);
  for (const char* name : {"upstream:a", "upstream:b"}) {
    ASSERT_EQ(executed(name), 1u) << name;
    EXPECT_FALSE(is_on_grid(made_[name][0].due.target, made_[name][0].due.due_at_ms));
  }
}

TEST_F(ScheduleTest, TwoExtraLooksFollowAFirstFailureAtAQuarterOfTheInterval) {
  fails_ = [](const std::string&, std::int64_t at_ms) {
    return at_ms > a_midnight_ms + an_hour_ms && at_ms < a_midnight_ms + 2 * an_hour_ms;
  };
  install({upstream_target("a", 4 * a_minute_ms, 1'000)});
  run_until(a_midnight_ms + 2 * an_hour_ms);
  std::vector<std::int64_t> extras;
  std::int64_t first_failure_ms = 0;
  for (const Made& one : made_["upstream:a"]) {
    if (one.begun_at_ms > a_midnight_ms + an_hour_ms && first_failure_ms == 0) {
      first_failure_ms = one.begun_at_ms + look_ms_;
    }
    if (!is_on_grid(one.due.target, one.due.due_at_ms)) extras.push_back(one.begun_at_ms);
  }
  ASSERT_EQ(extras.size(), 2u);  // two for the whole outage, not for each failure
  EXPECT_NEAR(static_cast<double>(extras[0] - first_failure_ms), a_minute_ms, 2 * tick_ms);
  EXPECT_NEAR(static_cast<double>(extras[1] - first_failure_ms), 2 * a_minute_ms, 2 * tick_ms);
}

TEST_F(ScheduleTest, FourRunAtOnceAndOneAtEachUpstream) {
  look_ms_ = 2'000;
  std::vector<Target> targets;
  for (int at = 0; at < 40; ++at) {
    targets.push_back(contract_target("route-" + std::to_string(at) + ":GET",
                               "upstream-" + std::to_string(at % 8), a_minute_ms));
  }
  install(targets);
  std::size_t most_at_one = 0;
  for (int step = 0; step < 2'000; ++step) {
    run_until(now_ms_ + tick_ms);
    std::map<std::string, std::size_t> at_one;
    for (const auto& [name, until_ms] : running_) ++at_one[set_.find(name)->upstream];
    for (const auto& [id, count] : at_one) most_at_one = std::max(most_at_one, count);
  }
  EXPECT_EQ(most_at_once_, Schedule::looks_at_once_max);
  EXPECT_EQ(most_at_one, 1u);
}

TEST_F(ScheduleTest, WhatWasMissedIsNotMadeUpFor) {
  install({upstream_target("a", a_minute_ms, 0)});
  run_until(a_midnight_ms + 10 * a_minute_ms);
  const std::size_t before = executed("upstream:a");
  now_ms_ += an_hour_ms;  // as if the machine had slept
  run_until(now_ms_ + a_minute_ms + a_minute_ms / 4);
  EXPECT_GE(executed("upstream:a"), before + 1);
  EXPECT_LE(executed("upstream:a"), before + 2);
}

TEST_F(ScheduleTest, OnlyWhatIsContinuousIsLookedAt) {
  Target manual = contract_target("route-1:GET", "a", a_minute_ms);
  manual.monitoring = MonitoringClass::manual;
  Target unreviewed = contract_target("route-2:GET", "a", 0);
  unreviewed.monitoring = MonitoringClass::unreviewed;
  Target sentinel;
  sentinel.name = "gateway:healthz";
  sentinel.interval_ms = a_minute_ms;
  install({manual, unreviewed, sentinel});
  run_until(a_midnight_ms + an_hour_ms);
  EXPECT_TRUE(made_.empty());
}

TEST_F(ScheduleTest, AReloadKeepsWhatIsKnownOfTargetsThatStay) {
  install({upstream_target("a", a_minute_ms, 60)});
  run_until(a_midnight_ms + 30 * a_minute_ms);
  const std::size_t before = executed("upstream:a");
  install({upstream_target("a", a_minute_ms, 60), upstream_target("b", a_minute_ms, 60)});
  run_until(a_midnight_ms + 3 * an_hour_ms);
  EXPECT_EQ(executed("upstream:a"), 60u) << before << " of them before the reload";
  EXPECT_EQ(executed("upstream:b"), 60u);
}

}  // namespace
}  // namespace turnpike::status

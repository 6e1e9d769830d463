// The numbers of the rules: at each limit and one past it, and their effect over a month.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include <nlohmann/json.hpp>

#include "status/rules.h"
#include "text/canonical_json.h"

namespace turnpike::status {
namespace {

LookWindow looks(std::string_view text) {
  LookWindow window;
  for (const char c : text) window.push(c == '1');
  return window;
}

Level level(std::string_view text) {
  const LookWindow window = looks(text);
  return level_of({&window, true, false});
}

std::string times(std::size_t count, char look) { return std::string(count, look); }

TEST(StatusRules, FailuresInARow) {
  EXPECT_EQ(level("111110"), Level::operational);
  EXPECT_EQ(level("1111100"), Level::degraded);
  EXPECT_EQ(level("11111000"), Level::major_outage);
  EXPECT_EQ(level("1111100011"), Level::operational);
}

TEST(StatusRules, NothingIsKnownOfWhatNeverPassed) {
  EXPECT_EQ(level(""), Level::unknown);
  EXPECT_EQ(level("0"), Level::unknown);
  EXPECT_EQ(level("01"), Level::operational);
}

TEST(StatusRules, TheShareIsJudgedFromTwentyLooks) {
  EXPECT_EQ(level("01" + times(17, '1')), Level::operational);   // 19, one failed
  EXPECT_EQ(level("0101" + times(15, '1')), Level::operational);  // 19, two failed
  EXPECT_EQ(level("0101" + times(16, '1')), Level::degraded);     // 20: 90 %
  EXPECT_EQ(level("01" + times(18, '1')), Level::operational);    // 20: 95 %
}

TEST(StatusRules, TheWindowHoldsSixty) {
  EXPECT_EQ(level("0101010" + times(53, '1')), Level::degraded);     // 60, four failed: 93.3 %
  EXPECT_EQ(level("0101010" + times(54, '1')), Level::operational);  // the first is out: 95 %
  EXPECT_EQ(looks(times(100, '1')).size(), 60u);
  EXPECT_EQ(looks(times(100, '1')).passes_in_row(), 100u);
}

TEST(StatusRules, BelowHalfIsAnOutage) {
  const std::string half = "0101010101010101010101";
  EXPECT_EQ(level("0" + half), Level::major_outage);
  EXPECT_EQ(level(half), Level::degraded);
}

TEST(StatusRules, AnOutageIsOfAllTargetsOrOfMostLooks) {
  const LookWindow bad = looks("1000");
  const LookWindow good = looks("1111");
  const std::vector<Seen> both = {{&bad, true, false}, {&good, true, false}};
  EXPECT_EQ(active_level(both), Level::degraded);
  const std::vector<Seen> all = {{&bad, true, false}, {&bad, true, false}};
  EXPECT_EQ(active_level(all), Level::major_outage);
  const std::vector<Seen> one_is_missing = {{&bad, true, false}, {&bad, false, false}};
  EXPECT_EQ(active_level(one_is_missing), Level::degraded);
  const LookWindow worst = looks(times(20, '0'));
  const std::vector<Seen> most = {{&worst, true, false}, {&good, true, false}};
  EXPECT_EQ(active_level(most), Level::major_outage);
}

TEST(StatusRules, MissingIsWorseThanWellAndBetterThanDegraded) {
  const LookWindow good = looks("1111");
  const LookWindow bad = looks("1100");
  const std::vector<Seen> missing = {{&good, true, false}, {&good, false, false}};
  EXPECT_EQ(active_level(missing), Level::unknown);
  EXPECT_EQ(evidence_of(missing), Evidence::missing_or_stale);
  const std::vector<Seen> failing = {{&bad, true, false}, {&good, false, false}};
  EXPECT_EQ(active_level(failing), Level::degraded);
  const std::vector<Seen> old = {{&good, false, false}};
  EXPECT_EQ(evidence_of(old), Evidence::stale);
  EXPECT_EQ(evidence_of({}), Evidence::missing_or_stale);
}

TEST(StatusRules, TrafficAtItsLimits) {
  const auto with = [](std::uint32_t good) {
    return traffic_level({false, good, traffic_parts - good, 0, std::nullopt});
  };
  EXPECT_EQ(with(9'500), Level::operational);
  EXPECT_EQ(with(9'499), Level::degraded);
  EXPECT_EQ(with(5'000), Level::degraded);
  EXPECT_EQ(with(4'999), Level::major_outage);
  EXPECT_EQ(traffic_level({}), std::nullopt);
  EXPECT_TRUE(adds_up({}));
  EXPECT_FALSE(adds_up({false, 9'999, 0, 0, std::nullopt}));
  EXPECT_FALSE(adds_up({true, 1, 0, 0, std::nullopt}));
}

TEST(StatusRules, SignalsTogether) {
  EXPECT_EQ(level_together(Level::operational, std::nullopt), Level::operational);
  EXPECT_EQ(level_together(Level::operational, Level::major_outage), Level::major_outage);
  EXPECT_EQ(level_together(Level::degraded, Level::operational), Level::degraded);
  EXPECT_EQ(level_together(Level::unknown, Level::operational), Level::unknown);
  EXPECT_EQ(level_together(std::nullopt, Level::operational), Level::operational);
  EXPECT_EQ(level_together(std::nullopt, std::nullopt), Level::unknown);
  EXPECT_EQ(pricing_level(0, 3, false), Level::operational);
  EXPECT_EQ(pricing_level(1, 3, false), Level::degraded);
  EXPECT_EQ(pricing_level(3, 3, false), Level::major_outage);
  EXPECT_EQ(pricing_level(1, 3, true), Level::major_outage);
}

TEST(StatusRules, SegmentsAtTheirLimits) {
  EXPECT_EQ(segment_level(Level::degraded, 100, 100, 0), Level::degraded);
  EXPECT_EQ(segment_level(std::nullopt, 100, 90, 0), Level::operational);
  EXPECT_EQ(segment_level(std::nullopt, 100, 89, 0), Level::unknown);
  EXPECT_EQ(segment_level(std::nullopt, 100, 99, 1), Level::operational);
  EXPECT_EQ(segment_level(std::nullopt, 100, 98, 2), Level::degraded);
  EXPECT_EQ(segment_level(std::nullopt, 100, 50, 50), Level::degraded);
  EXPECT_EQ(segment_level(std::nullopt, 100, 49, 51), Level::major_outage);
  EXPECT_EQ(segment_level(std::nullopt, 0, 0, 0), Level::unknown);
}

TEST(StatusRules, PercentagesAreRoundedDown) {
  EXPECT_EQ(percent_hundredths(99'999, 100'000), 9'999u);
  EXPECT_EQ(percent_hundredths(100'000, 100'000), 10'000u);
  EXPECT_EQ(percent_hundredths(1, 3), 3'333u);
  EXPECT_EQ(percent_hundredths(0, 0), std::nullopt);
}

TEST(StatusRules, LatenciesAreCountedInBuckets) {
  EXPECT_EQ(latency_bucket(0), 0u);
  EXPECT_EQ(latency_bucket(1), 0u);
  EXPECT_EQ(latency_bucket(4), 3u);
  EXPECT_EQ(latency_bucket(30'001), latency_buckets - 1);
  std::vector<std::uint32_t> counts(latency_buckets, 0);
  EXPECT_EQ(latency_percentile_ms(counts, 50), std::nullopt);
  counts[latency_bucket(7)] = 95;
  counts[latency_bucket(900)] = 5;
  EXPECT_EQ(latency_percentile_ms(counts, 50), 7u);
  EXPECT_EQ(latency_percentile_ms(counts, 95), 7u);
  EXPECT_EQ(latency_percentile_ms(counts, 96), 1'000u);
}

TEST(StatusRules, AWindowBeginsAnewWithItsPassesInARow) {
  LookWindow window = looks("0010011111");
  window.keep_passes_in_row();
  EXPECT_EQ(window.text(), "11111");
  EXPECT_EQ(window.passes_in_row(), 5u);
  EXPECT_FALSE(LookWindow::read("1111", 1, 4));
  EXPECT_FALSE(LookWindow::read("1101", 0, 2));
  EXPECT_FALSE(LookWindow::read("11x1", 0, 1));
  EXPECT_FALSE(LookWindow::read(times(61, '1'), 0, 61));
}

TEST(StatusRules, TheDocumentIsCanonicalAndSaysWhatCannotBeRecomputed) {
  const auto document = nlohmann::json::parse(rules_json());
  EXPECT_EQ(text::canonical_json(document), rules_json());
  EXPECT_EQ(document["id"], "status-rules.1");
  EXPECT_EQ(document["numbers"]["window_looks"], 60);
  EXPECT_EQ(document["incidents"].size(), 12u);
  EXPECT_THAT(document["sentences"]["recomputable"].get<std::string>(),
              testing::HasSubstr("published as ratios"));
  EXPECT_EQ(rules_hash().size(), 71u);
}

// ---- the effect of the window's length ----------------------------------------------------------

// The rule with any window, to compare ours with others.
class AnyRule {
 public:
  AnyRule(std::size_t window, std::size_t judged_from)
      : window_(window), judged_from_(judged_from) {}
  void push(bool passed) {
    looks_.push_back(passed);
    if (looks_.size() > window_) looks_.pop_front();
    failed_ = static_cast<std::size_t>(std::count(looks_.begin(), looks_.end(), false));
    row_ = passed ? 0 : row_ + 1;
  }
  [[nodiscard]] bool is_degraded() const {
    if (row_ >= degraded_from_failures) return true;
    if (judged_from_ == 0 || looks_.size() < judged_from_) return false;
    return (looks_.size() - failed_) * 100 < looks_.size() * degraded_below_percent;
  }

 private:
  const std::size_t window_;
  const std::size_t judged_from_;  // 0: only failures in a row count
  std::deque<bool> looks_;
  std::size_t failed_ = 0;
  std::size_t row_ = 0;
};

struct Choice {
  const char* name;
  std::size_t window;
  std::size_t judged_from;
};

// The number of times per 30 days that a healthy target turns degraded, with one look a minute.
double false_alarms(const Choice& choice, double failing, int months) {
  std::mt19937_64 chance(20'261'124);
  std::bernoulli_distribution fails(failing);
  int alarms = 0;
  for (int month = 0; month < months; ++month) {
    AnyRule rule(choice.window, choice.judged_from);
    bool was = false;
    for (int look = 0; look < 30 * 24 * 60; ++look) {
      rule.push(!fails(chance));
      const bool is = rule.is_degraded();
      if (is && !was) ++alarms;
      was = is;
    }
  }
  return static_cast<double>(alarms) / months;
}

// The average number of looks until a failure is detected, for a target that was healthy for long.
double looks_until_seen(std::size_t window, double failing) {
  std::mt19937_64 chance(7);
  std::bernoulli_distribution fails(failing);
  double sum = 0;
  constexpr int runs = 4'000;
  for (int run = 0; run < runs; ++run) {
    AnyRule rule(window, judged_from_looks);
    for (std::size_t look = 0; look < window; ++look) rule.push(true);
    while (!rule.is_degraded()) {
      rule.push(!fails(chance));
      ++sum;
    }
  }
  return sum / runs;
}

TEST(StatusSimulation, FalseAlarmsInThirtyDays) {
  constexpr Choice choices[] = {{"W 10, M 1", 10, 1},
                                {"W 20, M 20", 20, 20},
                                {"W 60, M 20", 60, 20},
                                {"W 100, M 20", 100, 20},
                                {"2 in a row only", 1, 0}};
  constexpr double failing[] = {0.001, 0.005, 0.02};
  constexpr double expected[3][5] = {
      {43, 1.0, 0.0, 0.1, 0.0}, {210, 18.7, 1.7, 0.5, 0.8}, {698, 217, 78, 40, 19}};
  std::printf("false alarms of a target in 30 days, a look a minute\n%-6s", "fails");
  for (const Choice& choice : choices) std::printf("%17s", choice.name);
  std::printf("\n");
  for (std::size_t row = 0; row < 3; ++row) {
    std::printf("%5.1f%%", failing[row] * 100);
    for (std::size_t column = 0; column < 5; ++column) {
      const double alarms = false_alarms(choices[column], failing[row], 24);
      std::printf("%17.1f", alarms);
      // The expected figures come from few months, so rare alarms deviate more.
      EXPECT_NEAR(alarms, expected[row][column], 0.12 * expected[row][column] + 1.2)
          << choices[column].name << " at " << failing[row];
    }
    std::printf("\n");
  }
}

TEST(StatusSimulation, LooksUntilAFaultIsSeen) {
  constexpr double failing[] = {1.0, 0.5, 0.2, 0.1};
  constexpr double expected[2][4] = {{2, 5.3, 17, 38}, {2, 6.0, 21, 53}};
  constexpr std::size_t windows[] = {60, 100};
  std::printf("looks until a target that fails so often is degraded\n%-8s", "window");
  for (const double share : failing) std::printf("%9.0f%%", share * 100);
  std::printf("\n");
  for (std::size_t row = 0; row < 2; ++row) {
    std::printf("%-8zu", windows[row]);
    for (std::size_t column = 0; column < 4; ++column) {
      const double looks_taken = looks_until_seen(windows[row], failing[column]);
      std::printf("%10.1f", looks_taken);
      EXPECT_NEAR(looks_taken, expected[row][column], 0.1 * expected[row][column] + 0.3);
    }
    std::printf("\n");
  }
}

TEST(StatusSimulation, TheRuleOfTheSimulationIsOurs) {
  std::mt19937 chance(3);
  for (int run = 0; run < 200; ++run) {
    AnyRule rule(window_looks, judged_from_looks);
    LookWindow window;
    for (int look = 0; look < 200; ++look) {
      const bool passed = chance() % 100 >= static_cast<unsigned>(run % 20);
      rule.push(passed);
      window.push(passed);
      EXPECT_EQ(level_of({&window, true, false}) >= Level::degraded, rule.is_degraded());
    }
  }
}

}  // namespace
}  // namespace turnpike::status

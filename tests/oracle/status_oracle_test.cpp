// The status computed in slow and obvious ways: levels from whole histories of looks, segments by a
// walk through every due time. Compared with the windows and counters of framework/status.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "status/stream.h"

namespace turnpike::status {
namespace {

// ---- levels -------------------------------------------------------------------------------------

struct SlowTarget {
  std::vector<bool> looks;  // all, oldest first
  bool is_fresh = true;

  [[nodiscard]] std::vector<bool> window() const {
    const std::size_t size = std::min<std::size_t>(looks.size(), 60);
    return {looks.end() - static_cast<std::ptrdiff_t>(size), looks.end()};
  }
  [[nodiscard]] double passed() const {
    const std::vector<bool> newest = window();
    return static_cast<double>(std::count(newest.begin(), newest.end(), true));
  }
  [[nodiscard]] double share() const { return passed() / static_cast<double>(window().size()); }
  [[nodiscard]] bool ends_with_failures(std::size_t count) const {
    if (looks.size() < count) return false;
    return std::count(looks.end() - static_cast<std::ptrdiff_t>(count), looks.end(), false) ==
           static_cast<std::ptrdiff_t>(count);
  }
  // 0 operational, 1 unknown, 2 degraded.
  [[nodiscard]] int level() const {
    if (!is_fresh || looks.empty()) return 1;
    if (ends_with_failures(2)) return 2;
    if (window().size() >= 20 && share() < 0.95) return 2;
    return passed() == 0 ? 1 : 0;
  }
};

// The same, and 3 for major_outage.
int slow_level(const std::vector<SlowTarget>& targets) {
  if (targets.empty()) return 1;
  bool all_fail = true;
  double looks = 0;
  double passed = 0;
  int worst = 0;
  for (const SlowTarget& target : targets) {
    all_fail = all_fail && target.is_fresh && target.ends_with_failures(3);
    worst = std::max(worst, target.level());
    if (!target.is_fresh) continue;
    looks += static_cast<double>(target.window().size());
    passed += target.passed();
  }
  if (all_fail || (looks >= 20 && passed / looks < 0.5)) return 3;
  return worst;
}

TEST(StatusOracle, LevelsOfRandomHistories) {
  std::mt19937 chance(11);
  std::array<int, 4> seen{};
  for (int round = 0; round < 4'000; ++round) {
    const std::size_t count = chance() % 5;
    std::vector<SlowTarget> slow(count);
    std::vector<LookWindow> windows(count);
    const unsigned bad = chance() % 4 == 0 ? 70 : chance() % 12;  // percentage of looks that fail
    const std::size_t looks = chance() % 130;
    for (std::size_t at = 0; at < looks; ++at) {
      for (std::size_t target = 0; target < count; ++target) {
        const bool passed = chance() % 100 >= bad;
        slow[target].looks.push_back(passed);
        windows[target].push(passed);
      }
    }
    std::vector<Seen> fast;
    for (std::size_t target = 0; target < count; ++target) {
      slow[target].is_fresh = chance() % 10 != 0;
      fast.push_back({&windows[target], slow[target].is_fresh, false});
      const std::vector<SlowTarget> alone = {slow[target]};
      ASSERT_EQ(static_cast<int>(level_of(fast.back())), slow_level(alone));
      ASSERT_EQ(LookWindow::read(windows[target].text(), windows[target].failures_in_row(),
                                 windows[target].passes_in_row()),
                windows[target]);
    }
    ASSERT_EQ(static_cast<int>(active_level(fast)), slow_level(slow));
    ++seen[static_cast<std::size_t>(slow_level(slow))];
  }
  for (const int count : seen) EXPECT_GT(count, 50);
}

// ---- the grid -----------------------------------------------------------------------------------

TEST(StatusOracle, DueTimesAreThoseOfAWalk) {
  std::mt19937 chance(12);
  for (int round = 0; round < 2'000; ++round) {
    const std::int64_t interval_ms = 10 + chance() % 90;
    const std::int64_t phase = chance() % interval_ms;
    const std::int64_t from_ms = chance() % 1'000;
    const std::int64_t to_ms = chance() % 1'500;
    std::int64_t count = 0;
    for (std::int64_t at = phase; at < to_ms; at += interval_ms) count += at >= from_ms ? 1 : 0;
    ASSERT_EQ(due_count(phase, interval_ms, from_ms, to_ms), count);
  }
}

TEST(StatusOracle, DueTimesOfTargetsAreOnTheirGrid) {
  for (const Target& target : dozen().targets) {
    std::int64_t count = 0;
    for (std::int64_t at = test_begin_ms; at < test_begin_ms + 600'000; ++at) {
      if (is_on_grid(target, at)) ++count;
    }
    EXPECT_EQ(due_count(target, test_begin_ms, test_begin_ms + 600'000), count) << target.name;
  }
}

// ---- segments -----------------------------------------------------------------------------------

using Key = std::tuple<std::string, std::int64_t, std::int64_t>;
struct Sums {
  std::uint64_t expected = 0;
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
};

std::vector<std::string> scopes_of(const Target& target) {
  std::vector<std::string> scopes = {"gateway"};
  if (!target.provider.empty()) scopes.push_back("provider:" + target.provider);
  if (!target.operation.empty()) scopes.push_back("operation:" + target.operation);
  return scopes;
}

// Rounds with holes between them and with looks that fail, are skipped or missing. The walk
// remembers all of them.
TEST(StatusOracle, SegmentsAreWhatAWalkThroughAllDueTimesCounts) {
  std::mt19937 chance(13);
  Stream stream(dozen());
  stream.nodes = {"n_1", "n_2"};
  std::map<Key, Sums> slow;
  const auto add = [&](const Target& target, std::int64_t due,
                       const std::optional<LookResult>& seen) {
    for (const std::string& scope : scopes_of(target)) {
      for (const std::int64_t length : Segment::lengths_ms) {
        Sums& sums = slow[{scope, length, due - due % length}];
        ++sums.expected;
        if (seen == LookResult::pass) ++sums.passed;
        if (seen == LookResult::fail) ++sums.failed;
      }
    }
  };
  stream.looker = [&](const Target& target, const std::string&,
                      std::int64_t due) -> std::optional<LookResult> {
    const unsigned dice = chance() % 100;
    std::optional<LookResult> seen = LookResult::pass;
    if (dice < 5) seen = LookResult::fail;
    if (dice == 6) seen = LookResult::skipped;
    if (dice == 7) seen = LookResult::unknown;
    if (dice == 8) seen.reset();
    if (is_active(target.kind)) add(target, due, seen);
    return seen;
  };
  for (int round = 0; round < 3'000; ++round) {
    if (chance() % 300 == 0) {
      const std::int64_t until_ms = stream.now_ms + (1 + chance() % 40) * minute_ms;
      for (; stream.now_ms < until_ms; stream.now_ms += minute_ms) {
        for (const Target& target : stream.set.targets) {
          if (!is_active(target.kind)) continue;
          for (std::int64_t at = stream.now_ms; at < stream.now_ms + minute_ms; at += 1) {
            if ((at - phase_ms(target)) % target.interval_ms != 0) continue;
            const int nodes = target.kind == TargetKind::sentinel ? 2 : 1;
            for (int node = 0; node < nodes; ++node) add(target, at, std::nullopt);
            break;  // none is due twice a minute
          }
        }
      }
    }
    stream.round();
  }
  std::size_t compared = 0;
  for (const auto& [key, segment] : stream.segments) {
    const Sums& sums = slow[key];
    ASSERT_EQ(segment.expected, sums.expected) << segment.scope << segment.started_at_ms;
    ASSERT_EQ(segment.passed, sums.passed);
    ASSERT_EQ(segment.failed, sums.failed);
    ASSERT_EQ(segment.unknown, sums.expected - sums.passed - sums.failed);
    ++compared;
  }
  EXPECT_EQ(compared, slow.size());
  EXPECT_GT(compared, 1'000u);
}

// ---- one component's whole life -----------------------------------------------------------------

// One upstream whose looks pass or fail. The test follows the incident itself and expects the
// window to restart where the rules say so.
TEST(StatusOracle, ALifeOfFailuresAndRecoveries) {
  std::mt19937 chance(14);
  Stream stream(set_of({upstream("a", "alpha")}));
  bool passes = true;
  stream.looker = [&](const Target&, const std::string&, std::int64_t) {
    return passes ? LookResult::pass : LookResult::fail;
  };
  SlowTarget slow;
  std::string state = "none";
  std::deque<int> openings;
  std::string edges;
  const auto go = [&](const char* edge, const char* to) {
    edges += (edges.empty() ? "" : " ") + std::string(edge);
    state = to;
  };
  int severity = 0;
  for (int round = 0; round < 20'000; ++round) {
    const unsigned bad = round / 500 % 3 == 0 ? 2 : round / 500 % 3 == 1 ? 15 : 60;
    passes = chance() % 100 >= bad;
    stream.round();
    slow.looks.push_back(passes);
    const int level = slow_level({slow});
    int row = 0;
    for (auto at = slow.looks.rbegin(); at != slow.looks.rend() && *at; ++at) ++row;
    if (state == "none" && (!passes || level >= 2)) go("first_failure", "suspect");
    const auto opens = [&](const char* edge) {
      go(edge, "open");
      openings.push_back(round);
      if (openings.size() > 3) openings.pop_front();
    };
    if (state == "suspect" && level >= 2) {
      opens("opened");
      severity = level;
    } else if (state == "suspect" && row >= 2) {
      go("not_confirmed", "none");
    }
    if (state == "recovering" && !passes) {
      opens("failed_again");
      severity = std::max(severity, level);
    }
    if (state == "open" && level > severity) {
      go("severity_changed", "open");
      severity = level;
    }
    if (state == "open" && passes) go("passing", "recovering");
    const bool flaps = openings.size() == 3 && openings[2] - openings[0] <= 30;
    if (state == "recovering" && row >= (flaps ? 15 : 5)) {
      go("recovered", "none");
      severity = 0;
      slow.looks.assign(static_cast<std::size_t>(row), true);
    }
    ASSERT_EQ(static_cast<int>(stream.level("provider:alpha")), slow_level({slow})) << round;
  }
  EXPECT_EQ(stream.edges("provider:alpha"), edges);
  EXPECT_GT(stream.events.size(), 500u);
}

}  // namespace
}  // namespace turnpike::status

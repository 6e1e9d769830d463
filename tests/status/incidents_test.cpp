// The life of an incident: every edge of the table, and which causes share an incident.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "status/incidents.h"
#include "status/stream.h"

namespace turnpike::status {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// One provider with one upstream and five operations, each looked at once a minute.
TargetSet five() {
  std::vector<Target> targets = {sentinel("healthz"), upstream("a", "alpha"),
                                 plain("traffic:gateway", TargetKind::traffic),
                                 plain("traffic:provider:alpha", TargetKind::traffic, "alpha")};
  for (const char* const name : {"o1:GET", "o2:GET", "o3:GET", "o4:GET", "o5:GET"}) {
    targets.push_back(operation(name, "alpha", "a"));
    targets.push_back(plain("traffic:operation:" + std::string(name), TargetKind::traffic, "alpha",
                            name));
    targets.push_back(plain("pricing:" + std::string(name), TargetKind::pricing, "alpha", name));
  }
  return set_of(targets);
}

class StatusIncidents : public testing::Test {
 protected:
  StatusIncidents() { stream_.rounds(10); }

  void fail(const std::string& target, int rounds) {
    stream_.failing.insert(target);
    stream_.rounds(rounds);
  }
  void pass(int rounds) {
    stream_.failing.clear();
    stream_.rounds(rounds);
  }
  [[nodiscard]] const Incident& only() const { return stream_.book.incidents().at(0); }

  Stream stream_{five()};
};

constexpr const char* o1 = "operation:o1:GET";

TEST_F(StatusIncidents, FirstFailure) {
  EXPECT_EQ(stream_.edges(), "");
  const std::int64_t before_ms = stream_.now_ms;
  fail(o1, 1);
  EXPECT_EQ(stream_.edges(), "first_failure");
  EXPECT_EQ(only().state, IncidentState::suspect);
  EXPECT_EQ(only().severity, Level::unknown);
  EXPECT_EQ(only().scope, o1);
  EXPECT_THAT(only().signals, ElementsAre("contract"));
  EXPECT_THAT(only().affected, ElementsAre("o1:GET"));
  EXPECT_EQ(only().first_round, 11u);
  EXPECT_GE(only().started_at_ms, before_ms);
  EXPECT_LT(only().started_at_ms, stream_.now_ms);
  EXPECT_TRUE(stream_.events.back().is_first);
  EXPECT_EQ(stream_.events.back().at_ms, only().started_at_ms);
  EXPECT_EQ(stream_.level(o1), Level::operational);
}

TEST_F(StatusIncidents, NotConfirmed) {
  fail(o1, 1);
  pass(1);
  EXPECT_EQ(only().state, IncidentState::suspect);
  pass(1);
  EXPECT_EQ(stream_.edges(), "first_failure not_confirmed");
  ASSERT_THAT(stream_.changes.incidents, SizeIs(1));
  EXPECT_EQ(stream_.changes.incidents[0].resolution, Resolution::not_confirmed);
  EXPECT_THAT(stream_.book.incidents(), IsEmpty());
}

TEST_F(StatusIncidents, OpenedAndDatedBack) {
  fail(o1, 1);
  const std::int64_t started_at_ms = only().started_at_ms;
  fail(o1, 1);
  EXPECT_EQ(stream_.edges(), "first_failure opened");
  EXPECT_EQ(only().state, IncidentState::open);
  EXPECT_EQ(only().severity, Level::degraded);
  EXPECT_EQ(only().started_at_ms, started_at_ms);
  EXPECT_EQ(only().opened_at_ms, stream_.now_ms);
}

TEST_F(StatusIncidents, SeverityChangedAndTheWorstIsKept) {
  fail(o1, 3);
  EXPECT_EQ(stream_.edges(), "first_failure opened severity_changed");
  EXPECT_EQ(only().severity, Level::major_outage);
  pass(3);
  EXPECT_EQ(only().severity, Level::major_outage);
}

TEST_F(StatusIncidents, PassingAndRecovered) {
  fail(o1, 2);
  pass(1);
  EXPECT_EQ(only().state, IncidentState::recovering);
  EXPECT_EQ(only().recovering_at_ms, stream_.now_ms);
  pass(3);
  EXPECT_EQ(only().state, IncidentState::recovering);
  pass(1);  // the fifth pass, counting the first
  EXPECT_EQ(stream_.edges(), "first_failure opened passing recovered");
  EXPECT_EQ(only().state, IncidentState::resolved);
  EXPECT_EQ(only().resolution, Resolution::recovered);
  EXPECT_EQ(only().resolved_at_ms, stream_.now_ms);
  EXPECT_EQ(stream_.level(o1), Level::operational);
}

TEST_F(StatusIncidents, FailedAgain) {
  fail(o1, 2);
  pass(2);
  fail(o1, 1);
  EXPECT_EQ(stream_.edges(), "first_failure opened passing failed_again");
  EXPECT_EQ(only().state, IncidentState::open);
  EXPECT_EQ(only().recovering_at_ms, 0);
}

TEST_F(StatusIncidents, AfterThreeOpeningsInHalfAnHourFifteenPassesAreNeeded) {
  fail(o1, 2);
  pass(1);
  fail(o1, 1);
  pass(1);
  fail(o1, 1);
  pass(14);
  EXPECT_EQ(only().state, IncidentState::recovering);
  pass(1);
  EXPECT_EQ(only().state, IncidentState::resolved);
  EXPECT_EQ(stream_.edges(),
            "first_failure opened passing failed_again passing failed_again passing recovered");
}

TEST_F(StatusIncidents, ThreeOpeningsInMoreThanHalfAnHourNeedFive) {
  fail(o1, 2);
  pass(1);
  fail(o1, 1);
  pass(1);
  fail(o1, 29);
  pass(1);
  EXPECT_EQ(only().state, IncidentState::recovering);
  stream_.rounds(4);
  // The third opening came 4 minutes after the first, so the incident flaps.
  EXPECT_EQ(only().state, IncidentState::recovering);
  stream_.rounds(10);
  EXPECT_EQ(only().state, IncidentState::resolved);
  // Much later, another failure does not count as flapping, since the earlier openings are too old.
  stream_.rounds(30);
  fail(o1, 2);
  pass(5);
  EXPECT_EQ(stream_.book.incidents().back().state, IncidentState::resolved);
}

TEST_F(StatusIncidents, EvidenceMissingAndBack) {
  fail(o1, 2);
  stream_.silent.insert(o1);
  stream_.rounds(3);
  EXPECT_EQ(stream_.edges(), "first_failure opened evidence_missing");
  EXPECT_TRUE(only().is_stale);
  EXPECT_EQ(only().state, IncidentState::open);
  EXPECT_EQ(stream_.level(o1), Level::unknown);
  stream_.silent.clear();
  stream_.rounds(1);
  EXPECT_EQ(stream_.edges(),
            "first_failure opened evidence_missing evidence_back severity_changed");
  EXPECT_FALSE(only().is_stale);
}

TEST_F(StatusIncidents, EvidenceLost) {
  fail(o1, 2);
  stream_.silent.insert(o1);
  stream_.rounds(3 + 24 * 60 - 1);
  EXPECT_EQ(only().state, IncidentState::open);
  stream_.rounds(1);
  EXPECT_EQ(stream_.edges(), "first_failure opened evidence_missing evidence_lost");
  EXPECT_EQ(only().resolution, Resolution::evidence_lost);
  EXPECT_EQ(stream_.level(o1), Level::unknown);
  // The incident leaves no trace when the evidence returns.
  stream_.silent.clear();
  stream_.failing.clear();
  stream_.rounds(1);
  EXPECT_EQ(stream_.level(o1), Level::operational);
}

TEST_F(StatusIncidents, Removed) {
  fail(o1, 2);
  TargetSet fewer = stream_.set;
  std::erase_if(fewer.targets, [](const Target& target) { return target.operation == "o1:GET"; });
  stream_.set = fewer;
  stream_.rounds(1);
  EXPECT_EQ(stream_.edges(), "first_failure opened removed");
  EXPECT_EQ(only().resolution, Resolution::removed);
  EXPECT_EQ(stream_.book.scope(o1), nullptr);
}

TEST_F(StatusIncidents, ASentinelOfANodeThatIsGoneIsRemoved) {
  stream_.nodes = {"n_1", "n_2"};
  stream_.looker = [](const Target& target, const std::string& node, std::int64_t) {
    const bool fails = target.kind == TargetKind::sentinel && node == "n_2";
    return fails ? LookResult::fail : LookResult::pass;
  };
  stream_.rounds(3);
  EXPECT_EQ(stream_.edges("gateway"), "first_failure opened");
  EXPECT_EQ(only().severity, Level::degraded);
  stream_.nodes = {"n_1"};
  stream_.rounds(1);
  EXPECT_EQ(stream_.edges("gateway"), "first_failure opened removed");
  EXPECT_EQ(stream_.level("gateway"), Level::operational);
}

TEST_F(StatusIncidents, Absorbed) {
  fail(o1, 1);
  const std::int64_t started_at_ms = only().started_at_ms;
  fail("upstream:a", 1);
  EXPECT_EQ(stream_.edges(o1), "first_failure absorbed");
  ASSERT_THAT(stream_.book.incidents(), SizeIs(1));
  EXPECT_EQ(only().scope, "provider:alpha");
  EXPECT_EQ(only().started_at_ms, started_at_ms);
  EXPECT_THAT(only().affected, ElementsAre("o1:GET"));
  EXPECT_THAT(only().signals, ElementsAre("contract", "reachability"));
}

TEST_F(StatusIncidents, HalfOfTheOperationsAreTheProvidersIncident) {
  fail(o1, 0);
  fail("operation:o2:GET", 2);  // two of five
  EXPECT_EQ(stream_.edges("provider:alpha"), "");
  EXPECT_THAT(stream_.book.incidents(), SizeIs(2));
  fail("operation:o3:GET", 2);  // three of five
  EXPECT_EQ(stream_.edges("provider:alpha"), "first_failure opened");
  EXPECT_EQ(stream_.edges("operation:o3:GET"), "");
}

TEST_F(StatusIncidents, AProviderInOutageHasOneIncident) {
  for (const Target& target : stream_.set.targets) {
    if (target.kind == TargetKind::contract || target.kind == TargetKind::reachability) {
      stream_.failing.insert(target.name);
    }
  }
  stream_.rounds(5);
  ASSERT_THAT(stream_.book.incidents(), SizeIs(1));
  EXPECT_EQ(only().scope, "provider:alpha");
  EXPECT_EQ(only().severity, Level::major_outage);
  EXPECT_THAT(only().affected, SizeIs(5));
}

TEST_F(StatusIncidents, TrafficOpensAtOnceAndBlamesWhoIsAtFault) {
  stream_.traffic = {{"traffic:gateway", traffic_of(1'000)},
                     {"traffic:provider:alpha", traffic_of(1'000)},
                     {"traffic:operation:o1:GET", traffic_of(6'000)}};
  stream_.rounds(1);
  EXPECT_EQ(stream_.edges(), "first_failure opened");
  EXPECT_EQ(only().scope, "provider:alpha");
  EXPECT_THAT(only().signals, ElementsAre("traffic"));
  EXPECT_EQ(stream_.level(o1), Level::major_outage);
  EXPECT_EQ(stream_.level("gateway"), Level::degraded);
}

TEST_F(StatusIncidents, TheGatewaysOwnFaultsAreItsIncident) {
  stream_.traffic = {{"traffic:gateway", traffic_of(0, 900)},
                     {"traffic:provider:alpha", traffic_of(0, 900)}};
  stream_.rounds(1);
  EXPECT_EQ(stream_.edges(), "first_failure opened");
  EXPECT_EQ(only().scope, "gateway");
  stream_.traffic.clear();  // too few calls to judge: it counts as a pass
  stream_.rounds(5);
  EXPECT_EQ(stream_.edges(), "first_failure opened passing recovered");
}

TEST_F(StatusIncidents, TrafficOfOneOperationIsItsOwn) {
  stream_.traffic = {{"traffic:operation:o1:GET", traffic_of(700)}};
  stream_.rounds(1);
  EXPECT_EQ(only().scope, o1);
  EXPECT_EQ(stream_.level(o1), Level::degraded);
}

TEST_F(StatusIncidents, AWindowBelowItsShareOpensWithoutARowOfFailures) {
  stream_.rounds(5);
  fail(o1, 1);
  pass(4);
  fail(o1, 1);
  EXPECT_EQ(stream_.edges(), "first_failure not_confirmed first_failure opened");
  EXPECT_EQ(only().severity, Level::degraded);
  pass(4);
  EXPECT_EQ(stream_.level(o1), Level::degraded);
  pass(1);
  EXPECT_EQ(only().state, IncidentState::resolved);
  EXPECT_EQ(stream_.level(o1), Level::operational);
}

// Two failures in a window that is too short to judge, then more looks: the incident opens at a
// look that passes.
TEST_F(StatusIncidents, AWindowThatIsJudgedOpensWhileItsLooksPass) {
  fail(o1, 1);
  pass(2);
  fail(o1, 1);
  pass(5);
  EXPECT_EQ(stream_.edges(),
            "first_failure not_confirmed first_failure not_confirmed");
  pass(1);  // the twentieth look; 90 % have passed
  EXPECT_EQ(stream_.edges(), "first_failure not_confirmed first_failure not_confirmed "
                             "first_failure opened passing recovered");
  EXPECT_EQ(stream_.level(o1), Level::operational);
}

TEST_F(StatusIncidents, PricesThatCannotBeHadAreTheirOwn) {
  fail("pricing:o1:GET", 1);
  EXPECT_EQ(stream_.edges("pricing"), "first_failure opened");
  EXPECT_EQ(only().severity, Level::degraded);
  EXPECT_EQ(stream_.level(o1), Level::operational);
  EXPECT_EQ(stream_.book.scope(o1)->pricing, Level::major_outage);
  stream_.reasons["pricing:o1:GET"] = Reason::ledger;
  stream_.rounds(1);
  EXPECT_EQ(stream_.level("pricing"), Level::major_outage);
  EXPECT_EQ(only().severity, Level::major_outage);
}

TEST_F(StatusIncidents, ABrokenContractTellsItsDifference) {
  stream_.reasons[o1] = Reason::contract;
  stream_.differences[o1] = "/data/0/id was string, is number";
  fail(o1, 1);
  EXPECT_EQ(only().state, IncidentState::suspect);
  EXPECT_EQ(only().difference, "/data/0/id was string, is number");
}

TEST_F(StatusIncidents, AreForgottenADayAfterTheirEnd) {
  fail(o1, 2);
  pass(5 + 24 * 60 - 1);
  EXPECT_THAT(stream_.book.incidents(), SizeIs(1));
  pass(1);
  EXPECT_THAT(stream_.book.incidents(), IsEmpty());
}

// Each row of the table alone, with exactly the facts that it needs.
TEST(StatusIncidentTable, EveryEdgeCanBeFollowedAndHasAName) {
  std::set<std::string> names;
  for (const IncidentRule& rule : incident_rules()) {
    EXPECT_TRUE(names.insert(std::string(rule.edge)).second) << rule.edge;
    EXPECT_FALSE(rule.when.empty());
    EXPECT_EQ(rule.resolution != Resolution::none, rule.to == IncidentState::resolved);
  }
  EXPECT_THAT(names, ElementsAre("absorbed", "evidence_back", "evidence_lost", "evidence_missing",
                                 "failed_again", "first_failure", "not_confirmed", "opened",
                                 "passing", "recovered", "removed", "severity_changed"));
  Situation resolved;
  resolved.state = IncidentState::resolved;
  resolved.fails = true;
  resolved.is_in_catalog = false;
  EXPECT_EQ(next_edge(resolved, 0), nullptr);
}

TEST(StatusIncidentTable, NothingLeadsFromNothing) {
  Situation well;
  well.passes_in_row = 100;
  EXPECT_EQ(next_edge(well, 0), nullptr);
  well.is_missing = true;
  EXPECT_EQ(next_edge(well, 0), nullptr);
}

}  // namespace
}  // namespace turnpike::status

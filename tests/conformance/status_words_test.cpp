// Conformance of StatusStore: incidents, texts of operators, release sweeps, lost answers.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "conformance/engines.h"
#include "conformance/status_rounds.h"
#include "identity/audit.h"
#include "storage/engine/database.h"
#include "support/held_answers.h"

namespace turnpike::status {
namespace {

using support::round_after;
using support::status_incident;
using support::status_stream;

class StatusWords : public OnEveryEngine {
 protected:
  void SetUp() override {
    OnEveryEngine::SetUp();
    if (IsSkipped()) return;
    status_ = &node_->status();
    lease_ = *done(status_->hold_lease("n_1", 1'000'000'000'000));
  }

  ClosedRound next_round() {
    return round_after(done(status_->newest(status_stream)), lease_, store_->clock.now_ms());
  }
  void close(const ClosedRound& round) {
    ASSERT_EQ(done(status_->close_round(round)), Closing::written);
  }
  // Closes a round with these incidents in their current state.
  void close_with(std::vector<Incident> incidents) {
    ClosedRound round = next_round();
    round.changes.incidents = std::move(incidents);
    close(round);
  }
  static std::vector<std::string> ids_of(const std::vector<ShownIncident>& incidents) {
    std::vector<std::string> ids;
    for (const ShownIncident& each : incidents) ids.push_back(each.incident.id);
    return ids;
  }
  std::vector<std::string> actions() {
    std::vector<std::string> actions;
    for (const auto& event : done(node_->audit().list({.limit = 100}))) {
      actions.push_back(event.actor.principal + " " + event.action + " " + event.target);
    }
    return actions;
  }

  const identity::Actor actor_{
      .principal = "operator:opr_1", .address = "192.0.2.1", .request_id = "req_1"};
  StatusStore* status_ = nullptr;
  Lease lease_;
};
TURNPIKE_ON_EVERY_ENGINE(StatusWords);

// ---- incidents ----------------------------------------------------------------------------------

TEST_P(StatusWords, AnIncidentIsReadAsTheNewestRoundLeftIt) {
  Incident incident = status_incident("inc_1", 5);
  incident.severity = Level::unknown;
  incident.state = IncidentState::suspect;
  incident.opened_at_ms = 0;
  ClosedRound round = next_round();
  round.changes.incidents = {incident};
  const IncidentEvent begins{.incident_id = "inc_1",
                             .at_ms = 5,
                             .from = IncidentState::suspect,
                             .to = IncidentState::suspect,
                             .is_first = true,
                             .round = 1,
                             .note = "first_failure"};
  round.changes.events = {begins};
  close(round);
  incident = status_incident("inc_1", 5);
  incident.is_stale = true;
  round = next_round();
  round.changes.incidents = {incident};
  const IncidentEvent opens{.incident_id = "inc_1",
                            .at_ms = 65'000,
                            .from = IncidentState::suspect,
                            .to = IncidentState::open,
                            .round = 2,
                            .note = "left_operational"};
  IncidentEvent worsens = opens;
  worsens.from = IncidentState::open;
  worsens.note = "severity_changed";
  round.changes.events = {opens, worsens};
  round.impacts = {{"inc_1", 50, 0}, {"inc_1", 4, 2}, {"inc_none", 1, 1}};
  close(round);
  const auto shown = done(status_->incident("inc_1"));
  ASSERT_TRUE(shown.has_value());
  EXPECT_EQ(shown->incident, incident);
  EXPECT_EQ(shown->source, IncidentSource::automatic);
  EXPECT_EQ(shown->calls_refused, 54u);
  EXPECT_EQ(shown->credits_charged_for_failures, 2u);
  EXPECT_THAT(shown->events, testing::ElementsAre(begins, opens, worsens));
  EXPECT_TRUE(shown->notes.empty());
  round = next_round();
  round.changes.incidents = {incident};
  round.impacts = {{"inc_1", 1, 0}};
  close(round);
  EXPECT_EQ(done(status_->incident("inc_1"))->calls_refused, 55u) << "added, and never lost";
  EXPECT_FALSE(done(status_->incident("inc_2")).has_value());
}

TEST_P(StatusWords, IncidentsArePagedFromTheNewest) {
  std::vector<Incident> all;
  for (int at = 0; at < 5; ++at) {
    all.push_back(status_incident("inc_" + std::to_string(at), at / 2));  // some begin together
  }
  all[3].state = IncidentState::resolved;
  all[3].resolution = Resolution::not_confirmed;
  all[3].opened_at_ms = 0;
  close_with(all);
  const auto first = done(status_->incidents({.limit = 2}));
  EXPECT_THAT(ids_of(first), testing::ElementsAre("inc_4", "inc_2"));
  const auto rest = done(status_->incidents({.before_started_at_ms = 1, .before_id = "inc_2"}));
  EXPECT_THAT(ids_of(rest), testing::ElementsAre("inc_1", "inc_0"));
  const auto with = done(status_->incidents({.with_unconfirmed = true}));
  EXPECT_THAT(ids_of(with), testing::ElementsAre("inc_4", "inc_3", "inc_2", "inc_1", "inc_0"));
}

TEST_P(StatusWords, RecentIncidentsAreThoseThatGoOnOrEndedOfLate) {
  Incident open = status_incident("inc_open", 10);
  Incident old = status_incident("inc_old", 20);
  old.state = IncidentState::resolved;
  old.resolution = Resolution::recovered;
  old.resolved_at_ms = 499;
  Incident late = old;
  late.id = "inc_late";
  late.started_at_ms = 5;
  late.resolved_at_ms = 500;
  close_with({open, old, late});
  EXPECT_THAT(ids_of(done(status_->recent_incidents(500))),
              testing::ElementsAre("inc_late", "inc_open"));
}

// ---- operators' words ---------------------------------------------------------------------------

TEST_P(StatusWords, NotesStandBesideAnIncidentInTheirOrder) {
  close_with({status_incident("inc_1", 5)});
  const std::int64_t now_ms = store_->clock.now_ms();
  EXPECT_TRUE(done(status_->add_note("inc_1", "The provider \"knows\".", actor_)));
  store_->clock.move_ms(1'000);
  EXPECT_TRUE(done(status_->add_note("inc_1", "It is being mended.", identity::operator_actor())));
  EXPECT_FALSE(done(status_->add_note("inc_2", "There is none.", actor_)));
  const auto shown = done(status_->incident("inc_1"));
  ASSERT_EQ(shown->notes.size(), 2u);
  EXPECT_EQ(shown->notes[0].text, "The provider \"knows\".");
  EXPECT_EQ(shown->notes[0].operator_id, "operator:opr_1");
  EXPECT_EQ(shown->notes[0].at_ms, now_ms);
  EXPECT_EQ(shown->notes[1].operator_id, "operator:cli");
  EXPECT_EQ(shown->notes[1].at_ms, now_ms + 1'000);
  EXPECT_EQ(shown->incident, status_incident("inc_1", 5)) << "words move no state";
  EXPECT_THAT(actions(), testing::ElementsAre("operator:cli incident.note inc_1",
                                              "operator:opr_1 incident.note inc_1"));
}

TEST_P(StatusWords, NotesOfSeveralAtOnceAreAllKept) {
  close_with({status_incident("inc_1", 5)});
  const auto other = store_->open(storage::Role::gateway, "other");
  const auto run = [&](StatusStore& store) {
    for (int at = 0; at < 10; ++at) EXPECT_TRUE(done(store.add_note("inc_1", "word", actor_)));
  };
  std::thread left([&] { run(*status_); });
  std::thread right([&] { run(other->status()); });
  left.join();
  right.join();
  EXPECT_EQ(done(status_->incident("inc_1"))->notes.size(), 20u);
  EXPECT_EQ(actions().size(), 20u);
}

TEST_P(StatusWords, AnIncidentOfOperatorsIsTheirsToResolve) {
  const std::int64_t now_ms = store_->clock.now_ms();
  const std::string id =
      done(status_->open_incident("gateway", Level::major_outage, "The network is cut.", actor_));
  EXPECT_TRUE(id.starts_with("inc_"));
  auto shown = done(status_->incident(id));
  ASSERT_TRUE(shown.has_value());
  EXPECT_EQ(shown->source, IncidentSource::operators);
  EXPECT_EQ(shown->incident.scope, "gateway");
  EXPECT_EQ(shown->incident.state, IncidentState::open);
  EXPECT_EQ(shown->incident.severity, Level::major_outage);
  EXPECT_EQ(shown->incident.started_at_ms, now_ms);
  EXPECT_EQ(shown->incident.opened_at_ms, now_ms);
  ASSERT_EQ(shown->notes.size(), 1u);
  EXPECT_EQ(shown->notes[0].text, "The network is cut.");
  EXPECT_THAT(ids_of(done(status_->recent_incidents(now_ms))), testing::ElementsAre(id));
  store_->clock.move_ms(60'000);
  EXPECT_TRUE(done(status_->resolve_incident(id, "It is whole again.", actor_)));
  EXPECT_FALSE(done(status_->resolve_incident(id, "Once more.", actor_)));
  shown = done(status_->incident(id));
  EXPECT_EQ(shown->incident.state, IncidentState::resolved);
  EXPECT_EQ(shown->incident.resolved_at_ms, now_ms + 60'000);
  EXPECT_EQ(shown->notes.size(), 2u);
  ASSERT_EQ(shown->events.size(), 2u);
  EXPECT_TRUE(shown->events[0].is_first);
  EXPECT_EQ(shown->events[1].from, IncidentState::open);
  EXPECT_EQ(shown->events[1].to, IncidentState::resolved);
  EXPECT_THAT(actions(), testing::ElementsAre("operator:opr_1 incident.resolve " + id,
                                              "operator:opr_1 incident.open " + id));
}

TEST_P(StatusWords, NobodyResolvesWhatTheEvidenceSays) {
  close_with({status_incident("inc_1", 5)});
  EXPECT_FALSE(done(status_->resolve_incident("inc_1", "I say so.", actor_)));
  EXPECT_EQ(done(status_->incident("inc_1"))->incident.state, IncidentState::open);
  EXPECT_TRUE(done(status_->incident("inc_1"))->notes.empty());
  EXPECT_TRUE(actions().empty());
}

TEST_P(StatusWords, MaintenanceIsShownUntilItIsOverOrCancelled) {
  const std::int64_t now_ms = store_->clock.now_ms();
  const auto announce = [&](const std::string& text, std::int64_t from_ms, std::int64_t to_ms) {
    return done(status_->announce({.id = "ignored",
                                   .scope = "provider:weather",
                                   .text = text,
                                   .starts_at_ms = now_ms + from_ms,
                                   .ends_at_ms = now_ms + to_ms,
                                   .operator_id = "ignored"},
                                  actor_));
  };
  const std::string late = announce("late", 2'000, 3'000);
  const std::string soon = announce("soon", 1'000, 1'500);
  auto shown = done(status_->maintenance(now_ms));
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_EQ(shown[0].id, soon);
  EXPECT_EQ(shown[0].text, "soon");
  EXPECT_EQ(shown[0].scope, "provider:weather");
  EXPECT_EQ(shown[0].starts_at_ms, now_ms + 1'000);
  EXPECT_EQ(shown[0].ends_at_ms, now_ms + 1'500);
  EXPECT_EQ(shown[0].operator_id, "operator:opr_1");
  EXPECT_EQ(shown[1].id, late);
  EXPECT_EQ(done(status_->maintenance(now_ms + 1'499)).size(), 2u);
  EXPECT_EQ(done(status_->maintenance(now_ms + 1'500)).size(), 1u);
  EXPECT_TRUE(done(status_->cancel_maintenance(late, actor_)));
  EXPECT_FALSE(done(status_->cancel_maintenance(late, actor_))) << "it is cancelled already";
  EXPECT_FALSE(done(status_->cancel_maintenance("mnt_none", actor_)));
  store_->clock.move_ms(1'500);
  EXPECT_FALSE(done(status_->cancel_maintenance(soon, actor_))) << "it is over";
  EXPECT_TRUE(done(status_->maintenance(now_ms + 1'500)).empty());
  EXPECT_THAT(actions(), testing::ElementsAre("operator:opr_1 maintenance.cancel " + late,
                                              "operator:opr_1 maintenance.announce " + soon,
                                              "operator:opr_1 maintenance.announce " + late));
}

// ---- release sweeps -----------------------------------------------------------------------------

Sweep sweep_of(const std::string& id, const std::string& release) {
  Sweep sweep;
  sweep.id = id;
  sweep.release = release;
  sweep.generation_id = "gen_1";
  sweep.payload_hash = "sha256:payload";
  sweep.principal = "key:key_1";
  sweep.started_at_ms = 1'000;
  sweep.expires_at_ms = 3'601'000;
  sweep.targets = {{.target = "upstream:weather"},
                   {.target = "operation:b:GET", .monitoring = MonitoringClass::manual},
                   {.target = "operation:a:GET"}};
  return sweep;
}

SweepTarget answer_of(const std::string& target, LookResult result, Reason reason,
                      std::uint64_t round) {
  SweepTarget answer;
  answer.target = target;
  answer.result = result;
  answer.reason = reason;
  answer.observed_at_ms = 1'500;
  answer.round = round;
  return answer;
}

TEST_P(StatusWords, ASweepIsReadAsItBegan) {
  const Sweep asked = sweep_of("swp_1", "1.2.3");
  const Sweep begun = done(status_->begin_sweep(asked));
  EXPECT_EQ(begun.id, "swp_1");
  for (const auto& read : {done(status_->sweep("swp_1")), done(status_->running_sweep())}) {
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->release, "1.2.3");
    EXPECT_EQ(read->generation_id, "gen_1");
    EXPECT_EQ(read->payload_hash, "sha256:payload");
    EXPECT_EQ(read->principal, "key:key_1");
    EXPECT_EQ(read->state, SweepState::running);
    EXPECT_EQ(read->started_at_ms, 1'000);
    EXPECT_EQ(read->completed_at_ms, 0);
    EXPECT_EQ(read->expires_at_ms, 3'601'000);
    EXPECT_EQ(read->targets, asked.targets) << "in the order of the set";
  }
  EXPECT_FALSE(done(status_->sweep("swp_2")).has_value());
}

TEST_P(StatusWords, TheSameReleaseAndGenerationIsTheSameSweep) {
  ASSERT_EQ(done(status_->begin_sweep(sweep_of("swp_1", "1.2.3"))).id, "swp_1");
  EXPECT_EQ(done(status_->begin_sweep(sweep_of("swp_2", "1.2.3"))).id, "swp_1");
  (void)done(status_->end_sweep("swp_1", SweepState::complete, ""));
  const Sweep ended = done(status_->begin_sweep(sweep_of("swp_3", "1.2.3")));
  EXPECT_EQ(ended.id, "swp_1");
  EXPECT_EQ(ended.state, SweepState::complete) << "also when it has ended";
  Sweep other = sweep_of("swp_4", "1.2.3");
  other.generation_id = "gen_2";
  EXPECT_EQ(done(status_->begin_sweep(other)).id, "swp_4");
}

TEST_P(StatusWords, ANewSweepSupersedesTheOneThatRuns) {
  ASSERT_TRUE(status_->begin_sweep(sweep_of("swp_1", "1.2.3")).ok());
  ASSERT_TRUE(status_->begin_sweep(sweep_of("swp_2", "1.2.4")).ok());
  const auto first = done(status_->sweep("swp_1"));
  EXPECT_EQ(first->state, SweepState::failed);
  EXPECT_EQ(first->reason, "superseded");
  EXPECT_EQ(first->completed_at_ms, store_->clock.now_ms());
  EXPECT_EQ(done(status_->running_sweep())->id, "swp_2");
}

TEST_P(StatusWords, TheFirstAnswerOfATargetStays) {
  ASSERT_TRUE(status_->begin_sweep(sweep_of("swp_1", "1.2.3")).ok());
  const SweepTarget passed = answer_of("operation:b:GET", LookResult::pass, Reason::none, 7);
  const SweepTarget failed =
      answer_of("upstream:weather", LookResult::fail, Reason::timeout, 8);
  const SweepTarget answers[] = {passed, answer_of("no:target", LookResult::pass, Reason::none, 7),
                                 {.target = "operation:a:GET"}};
  ASSERT_TRUE(status_->answer_sweep("swp_1", answers).ok());
  const SweepTarget later[] = {answer_of("operation:b:GET", LookResult::fail, Reason::status, 8),
                               failed};
  ASSERT_TRUE(status_->answer_sweep("swp_1", later).ok());
  const auto read = done(status_->sweep("swp_1"));
  ASSERT_EQ(read->targets.size(), 3u);
  EXPECT_EQ(read->targets[0].result, LookResult::fail);
  EXPECT_EQ(read->targets[0].reason, Reason::timeout);
  EXPECT_EQ(read->targets[0].round, 8u);
  EXPECT_EQ(read->targets[0].observed_at_ms, 1'500);
  EXPECT_EQ(read->targets[1].result, LookResult::pass);
  EXPECT_EQ(read->targets[1].round, 7u);
  EXPECT_EQ(read->targets[1].monitoring, MonitoringClass::manual);
  EXPECT_FALSE(read->targets[2].result.has_value()) << "an answer without a result is none";
}

TEST_P(StatusWords, ASweepEndsOnceAndIsThenAsItIs) {
  ASSERT_TRUE(status_->begin_sweep(sweep_of("swp_1", "1.2.3")).ok());
  const auto ended = done(status_->end_sweep("swp_1", SweepState::failed, "looks_failed"));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->state, SweepState::failed);
  EXPECT_EQ(ended->reason, "looks_failed");
  EXPECT_EQ(ended->completed_at_ms, store_->clock.now_ms());
  store_->clock.move_ms(1'000);
  const auto again = done(status_->end_sweep("swp_1", SweepState::complete, ""));
  EXPECT_EQ(again->state, SweepState::failed);
  EXPECT_EQ(again->completed_at_ms, ended->completed_at_ms);
  const SweepTarget answers[] = {
      answer_of("operation:b:GET", LookResult::pass, Reason::none, 7)};
  ASSERT_TRUE(status_->answer_sweep("swp_1", answers).ok());
  EXPECT_FALSE(done(status_->sweep("swp_1"))->targets[1].result.has_value());
  EXPECT_FALSE(done(status_->running_sweep()).has_value());
  EXPECT_FALSE(done(status_->end_sweep("swp_none", SweepState::failed, "")).has_value());
}

TEST_P(StatusWords, SweepsThatBeginAtOnceOnTwoNodesAreOneForEachRelease) {
  const auto other = store_->open(storage::Role::gateway, "other");
  for (int turn = 0; turn < 10; ++turn) {
    const std::string number = std::to_string(turn);
    // In odd turns the two releases differ, and the later sweep supersedes the earlier one.
    const bool is_same = turn % 2 == 0;
    std::string ids[2];
    std::thread left([&] {
      ids[0] = done(status_->begin_sweep(sweep_of("swp_l" + number, number))).id;
    });
    std::thread right([&] {
      ids[1] = done(other->status().begin_sweep(
                        sweep_of("swp_r" + number, is_same ? number : number + "b")))
                   .id;
    });
    left.join();
    right.join();
    EXPECT_EQ(ids[0] == ids[1], is_same);
    const auto running = done(status_->running_sweep());
    ASSERT_TRUE(running.has_value());
    EXPECT_TRUE(running->id == ids[0] || running->id == ids[1]);
    EXPECT_EQ(running->targets.size(), 3u);
    if (is_same) continue;
    const auto lost = done(status_->sweep(running->id == ids[0] ? ids[1] : ids[0]));
    EXPECT_EQ(lost->reason, "superseded");
  }
}

// ---- lost answers -------------------------------------------------------------------------------

class StatusOnPostgres : public StatusWords {
 protected:
  // Tries to close the round, but the store's answer is lost.
  void close_unheard(const ClosedRound& round) {
    const auto closing = status_->close_round(round);
    ASSERT_FALSE(closing.ok()) << "its session was killed";
    EXPECT_EQ(closing.error().code, base::ErrorCode::status_unavailable);
    EXPECT_THAT(closing.error().message, testing::HasSubstr("did not confirm"));
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, StatusOnPostgres, testing::Values(storage::Engine::postgres),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(StatusOnPostgres, ACommitThatWasLostOnItsWayIsTriedAgainOnce) {
  close(next_round());
  const ClosedRound second = next_round();
  storage::Database database(store_->settings());
  database.with([&](storage::Connection& connection) {
    connection.run_once(
        "CREATE FUNCTION end_session() RETURNS TRIGGER LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$");
    connection.run_once(
        "CREATE CONSTRAINT TRIGGER lost AFTER INSERT ON status_round DEFERRABLE"
        " INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_session()");
  });
  close_unheard(second);
  database.with([&](storage::Connection& connection) {
    connection.run_once("DROP TRIGGER lost ON status_round");
  });
  EXPECT_EQ(done(status_->newest_round(status_stream)), 1u);
  EXPECT_EQ(done(status_->close_round(second)), Closing::written);
  EXPECT_EQ(done(status_->rounds(status_stream, 1, 10)).size(), 2u);
}

TEST_P(StatusOnPostgres, ACommitWhoseAnswerWasLostIsNotDoneTwice) {
  close(next_round());
  const ClosedRound second = next_round();
  std::optional<support::HeldAnswers> held(store_->settings());
  std::thread killer([&] {
    held->wait_for_commit();
    held->end_waiting();
  });
  close_unheard(second);
  killer.join();
  held.reset();
  EXPECT_EQ(done(status_->newest_round(status_stream)), 2u);
  EXPECT_EQ(done(status_->newest(status_stream))->round, second.round);
  EXPECT_EQ(done(status_->close_round(second)), Closing::not_next);
  EXPECT_EQ(done(status_->rounds(status_stream, 1, 10)).size(), 2u);
}

}  // namespace
}  // namespace turnpike::status

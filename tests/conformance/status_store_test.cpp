// Conformance of StatusStore: the lease, rounds and their chain, history, retention.
#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/crash_points.h"
#include "conformance/engines.h"
#include "conformance/status_rounds.h"
#include "storage/engine/database.h"
#include "support/victim.h"

namespace turnpike::status {
namespace {

using support::round_after;
using support::round_length_ms;
using support::status_incident;
using support::status_segment;
using support::status_stream;

constexpr std::int64_t hold_ms = 20'000;

class StatusPort : public OnEveryEngine {
 protected:
  void SetUp() override {
    OnEveryEngine::SetUp();
    if (!IsSkipped()) status_ = &node_->status();
  }

  Lease lead(StatusStore& store, const std::string& node = "n_1") {
    const auto lease = done(store.hold_lease(node, hold_ms));
    if (!lease) throw std::runtime_error("another node holds the lease");
    return *lease;
  }
  Lease lead() { return lead(*status_); }

  // The next round of this lease, as if closed now.
  ClosedRound next_round(StatusStore& store, const Lease& lease) {
    return round_after(done(store.newest(status_stream)), lease, store_->clock.now_ms());
  }
  ClosedRound next_round(const Lease& lease) { return next_round(*status_, lease); }

  std::vector<StoredRound> chain(std::uint32_t limit = 10'000) {
    return done(status_->rounds(status_stream, 1, limit));
  }

  // Checks that the chain has that many rounds, each linked to the one before it.
  void check_chain(std::size_t rounds) {
    const std::vector<StoredRound> all = chain();
    ASSERT_EQ(all.size(), rounds);
    std::string prev(first_prev);
    std::uint64_t epoch = 0;
    for (std::size_t at = 0; at < all.size(); ++at) {
      const RoundHead& head = all[at].round.head;
      EXPECT_EQ(head.round, at + 1);
      EXPECT_EQ(head.prev, prev);
      EXPECT_EQ(head.head, chained_head(prev, all[at].lines.value_or("")));
      EXPECT_GE(head.epoch, epoch);
      prev = head.head;
      epoch = head.epoch;
    }
    EXPECT_EQ(done(status_->newest_round(status_stream)), rounds);
  }

  std::int64_t rows_of(const std::string& table) {
    storage::Database database(store_->settings());
    return database.with([&](storage::Connection& connection) {
      return connection.query_once("SELECT COUNT(*) AS rows FROM " + table, "i").number(0, 0);
    });
  }

  StatusStore* status_ = nullptr;
};
TURNPIKE_ON_EVERY_ENGINE(StatusPort);

// ---- the lease ----------------------------------------------------------------------------------

TEST_P(StatusPort, OneNodeHoldsTheLeaseUntilItsTimeIsOver) {
  EXPECT_FALSE(done(status_->lease()).has_value());
  const std::int64_t now_ms = store_->clock.now_ms();
  const Lease first = lead();
  EXPECT_EQ(first.holder, "n_1");
  EXPECT_EQ(first.epoch, 1u);
  EXPECT_EQ(first.until_ms, now_ms + hold_ms);
  EXPECT_FALSE(done(status_->hold_lease("n_2", hold_ms)).has_value());
  store_->clock.move_ms(hold_ms - 1);
  EXPECT_FALSE(done(status_->hold_lease("n_2", hold_ms)).has_value()) << "one millisecond is left";
  EXPECT_EQ(done(status_->lease())->holder, "n_1");
  store_->clock.move_ms(1);
  const Lease second = lead(*status_, "n_2");
  EXPECT_EQ(second.epoch, 2u);
  EXPECT_FALSE(done(status_->hold_lease("n_1", hold_ms)).has_value());
  EXPECT_EQ(done(status_->lease())->holder, "n_2");
  EXPECT_EQ(done(status_->lease())->epoch, 2u);
}

TEST_P(StatusPort, RenewingKeepsTheEpochAndTakingItAnewDoesNot) {
  ASSERT_EQ(lead().epoch, 1u);
  store_->clock.move_ms(hold_ms - 1);
  const Lease renewed = lead();
  EXPECT_EQ(renewed.epoch, 1u);
  EXPECT_EQ(renewed.until_ms, store_->clock.now_ms() + hold_ms);
  store_->clock.move_ms(hold_ms);
  EXPECT_EQ(lead().epoch, 2u) << "another node may have led meanwhile";
}

TEST_P(StatusPort, AReleasedLeaseIsFreeAtOnce) {
  const Lease first = lead();
  ASSERT_TRUE(status_->release_lease("n_2").ok());
  EXPECT_EQ(done(status_->lease())->holder, "n_1") << "another node ends nothing";
  const ClosedRound round = next_round(first);
  ASSERT_TRUE(status_->release_lease("n_1").ok());
  EXPECT_FALSE(done(status_->lease()).has_value());
  EXPECT_EQ(done(status_->close_round(round)), Closing::lease_lost);
  EXPECT_EQ(lead(*status_, "n_2").epoch, 2u);
}

TEST_P(StatusPort, OfNodesThatTakeAFreeLeaseAtOnceOneGetsIt) {
  const auto other = store_->open(storage::Role::gateway, "other");
  for (int turn = 0; turn < 10; ++turn) {
    std::optional<Lease> held[2];
    std::thread left([&] { held[0] = done(status_->hold_lease("n_1", hold_ms)); });
    std::thread right([&] { held[1] = done(other->status().hold_lease("n_2", hold_ms)); });
    left.join();
    right.join();
    ASSERT_NE(held[0].has_value(), held[1].has_value());
    EXPECT_EQ((held[0] ? held[0] : held[1])->epoch, static_cast<std::uint64_t>(turn + 1));
    store_->clock.move_ms(hold_ms);
  }
}

// ---- rounds -------------------------------------------------------------------------------------

TEST_P(StatusPort, ARoundIsReadAsItWasWritten) {
  EXPECT_EQ(done(status_->newest_round(status_stream)), 0u);
  EXPECT_FALSE(done(status_->newest(status_stream)).has_value());
  EXPECT_TRUE(chain().empty());
  EXPECT_EQ(done(status_->first_verifiable(status_stream)), 1u);
  ClosedRound round = next_round(lead());
  round.lines += std::string(200'000, 'x') + "\n";  // more than one step of inflating
  round.book = "{\"text\":\"" + std::string(70'000, 'y') + "ü\"}";
  ASSERT_EQ(done(status_->close_round(round)), Closing::written);
  EXPECT_EQ(done(status_->newest_round(status_stream)), 1u);
  const auto newest = done(status_->newest(status_stream));
  ASSERT_TRUE(newest.has_value());
  EXPECT_EQ(newest->round, round.round);
  EXPECT_TRUE(is_signed_by(newest->round, round.key));
  EXPECT_EQ(newest->targets, round.targets);
  EXPECT_EQ(newest->book, round.book);
  const auto stored = chain();
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].round, round.round);
  EXPECT_EQ(stored[0].lines, round.lines);
  EXPECT_EQ(done(status_->target_set("sha256:targets")), round.targets);
  EXPECT_EQ(done(status_->target_set("sha256:others")), "");
  EXPECT_EQ(done(status_->newest_round("st_other")), 0u);
}

TEST_P(StatusPort, ARoundWithoutRecordsHasLinesThatAreEmpty) {
  ClosedRound round = next_round(lead());
  round.lines.clear();
  ASSERT_EQ(done(status_->close_round(round)), Closing::written);
  EXPECT_EQ(chain().at(0).lines, "");
}

TEST_P(StatusPort, RoundsAreReadInStretches) {
  const Lease lease = lead();
  for (int at = 0; at < 5; ++at) {
    ASSERT_EQ(done(status_->close_round(next_round(lease))), Closing::written);
  }
  check_chain(5);
  const auto some = done(status_->rounds(status_stream, 2, 3));
  ASSERT_EQ(some.size(), 3u);
  EXPECT_EQ(some[0].round.head.round, 2u);
  EXPECT_EQ(some[2].round.head.round, 4u);
  EXPECT_TRUE(done(status_->rounds(status_stream, 6, 3)).empty());
  EXPECT_TRUE(done(status_->rounds("st_other", 1, 3)).empty());
}

TEST_P(StatusPort, OnlyTheNextRoundIsWritten) {
  const Lease lease = lead();
  const ClosedRound first = next_round(lease);
  ASSERT_EQ(done(status_->close_round(first)), Closing::written);
  EXPECT_EQ(done(status_->close_round(first)), Closing::not_next) << "a second time";
  ClosedRound gap = next_round(lease);
  gap.round.head.round = 3;
  EXPECT_EQ(done(status_->close_round(gap)), Closing::not_next);
  ClosedRound fork = next_round(lease);
  fork.round.head.prev = first.round.head.prev;
  EXPECT_EQ(done(status_->close_round(fork)), Closing::not_next);
  check_chain(1);
  EXPECT_EQ(rows_of("status_lines"), 1);
  ClosedRound late = round_after(std::nullopt, lease, 0);
  late.round.head.stream = "st_other";
  late.round.head.round = 2;
  EXPECT_EQ(done(status_->close_round(late)), Closing::not_next) << "a stream begins with 1";
  late.round.head.round = 1;
  late.round.head.prev = first.round.head.head;
  EXPECT_EQ(done(status_->close_round(late)), Closing::not_next) << "and behind nothing";
  late.round.head.prev = first_prev;
  EXPECT_EQ(done(status_->close_round(late)), Closing::written);
}

TEST_P(StatusPort, AReplacedLeaderWritesNothing) {
  const Lease replaced = lead();
  ClosedRound round = next_round(replaced);
  round.keeps_book = true;
  round.changes.segments = {status_segment("gateway", 300'000, 0)};
  round.changes.incidents = {status_incident("inc_1", 5)};
  round.changes.events = {{.incident_id = "inc_1", .at_ms = 5, .is_first = true, .round = 1}};
  store_->clock.move_ms(hold_ms);
  const Lease leader = lead(*status_, "n_2");
  EXPECT_EQ(done(status_->close_round(round)), Closing::lease_lost);
  for (const char* table : {"status_round", "status_lines", "status_newest", "status_book",
                            "status_target_set", "status_key", "status_segment",
                            "status_incident", "status_incident_event"}) {
    EXPECT_EQ(rows_of(table), 0) << table;
  }
  ClosedRound pretended = next_round(leader);
  pretended.round.head.node = "n_1";
  EXPECT_EQ(done(status_->close_round(pretended)), Closing::lease_lost) << "the epoch of another";
  EXPECT_EQ(done(status_->close_round(next_round(leader))), Closing::written);
  check_chain(1);
}

TEST_P(StatusPort, ALeaderWhoseTimeIsOverWritesUntilAnotherLeads) {
  const Lease lease = lead();
  store_->clock.move_ms(10 * hold_ms);
  EXPECT_EQ(done(status_->close_round(next_round(lease))), Closing::written);
}

TEST_P(StatusPort, ThreeNodesThatRaceMakeOneChain) {
  constexpr std::uint64_t wanted = 60;
  std::vector<std::unique_ptr<storage::Node>> nodes;
  for (const char* name : {"a", "b", "c"}) {
    nodes.push_back(store_->open(storage::Role::gateway, name));
  }
  std::atomic<int> written = 0;
  std::atomic<int> refused = 0;
  const auto run = [&](StatusStore& store, const std::string& name) {
    while (done(store.newest_round(status_stream)) < wanted) {
      const auto lease = done(store.hold_lease(name, 30));
      store_->clock.move_ms(7);
      if (!lease) continue;
      // Closes several rounds under one lease, which expires before the last of them.
      for (int at = 0; at < 4; ++at) {
        const ClosedRound round = next_round(store, *lease);
        store_->clock.move_ms(7);
        const Closing closing = done(store.close_round(round));
        ++(closing == Closing::written ? written : refused);
        if (closing == Closing::lease_lost) break;
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    threads.emplace_back([&, at] { run(nodes[at]->status(), "n_" + std::to_string(at)); });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_GE(written, static_cast<int>(wanted));
  check_chain(static_cast<std::size_t>(written));
  EXPECT_EQ(rows_of("status_lines"), written);
  RecordProperty("refused", refused);
}

TEST_P(StatusPort, TwoThreadsOfOneLeaderCloseNoRoundTwice) {
  const Lease lease = lead();
  for (int turn = 0; turn < 10; ++turn) {
    const ClosedRound round = next_round(lease);
    Closing closings[2] = {};
    std::thread left([&] { closings[0] = done(status_->close_round(round)); });
    std::thread right([&] { closings[1] = done(status_->close_round(round)); });
    left.join();
    right.join();
    EXPECT_THAT(closings, testing::UnorderedElementsAre(Closing::written, Closing::not_next));
  }
  check_chain(10);
}

TEST_P(StatusPort, KeysOfTheStreamAreListedByTheirFirstRound) {
  const Lease lease = lead();
  ASSERT_EQ(done(status_->close_round(next_round(lease))), Closing::written);
  ASSERT_EQ(done(status_->close_round(next_round(lease))), Closing::written);
  ClosedRound third = next_round(lease);
  third.key = crypto::ed25519_public_key(support::status_seed(2));
  third.round.head.kid = key_id(third.key);
  third.round = sign(third.round.head, support::status_seed(2));
  ASSERT_EQ(done(status_->close_round(third)), Closing::written);
  const auto keys = done(status_->keys());
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].first_round, 1u);
  EXPECT_EQ(keys[1].first_round, 3u);
  EXPECT_EQ(keys[1].kid, third.round.head.kid);
  EXPECT_EQ(keys[1].public_key.size(), 43u) << "32 bytes as base64url";
  EXPECT_NE(keys[0].public_key, keys[1].public_key);
}

TEST_P(StatusPort, SetsOfTargetsAreKeptByTheirHash) {
  const Lease lease = lead();
  ASSERT_EQ(done(status_->close_round(next_round(lease))), Closing::written);
  ClosedRound second = next_round(lease);
  second.round.head.expected_targets_hash = "sha256:more";
  second.targets = "{\"targets\":[1]}";
  ASSERT_EQ(done(status_->close_round(second)), Closing::written);
  ASSERT_EQ(done(status_->close_round(next_round(lease))), Closing::written);
  EXPECT_EQ(done(status_->target_set("sha256:more")), second.targets);
  EXPECT_EQ(done(status_->target_set("sha256:targets")), R"({"targets":[]})");
  EXPECT_EQ(rows_of("status_target_set"), 2);
}

// ---- history ------------------------------------------------------------------------------------

TEST_P(StatusPort, SegmentsAreWrittenAnewWithEachRound) {
  const Lease lease = lead();
  ClosedRound round = next_round(lease);
  const Segment early = status_segment("gateway", 300'000, 0);
  const Segment day = status_segment("gateway", 86'400'000, 0);
  const Segment other = status_segment("provider:weather", 300'000, 0);
  round.changes.segments = {early, day, other};
  ASSERT_EQ(done(status_->close_round(round)), Closing::written);
  round = next_round(lease);
  Segment grown = status_segment("gateway", 300'000, 0, 8);
  grown.status = Level::operational;
  grown.latencies = {};
  const Segment next = status_segment("gateway", 300'000, 300'000);
  round.changes.segments = {next, grown};
  ASSERT_EQ(done(status_->close_round(round)), Closing::written);
  EXPECT_THAT(done(status_->segments("gateway", 300'000, 0)), testing::ElementsAre(grown, next));
  EXPECT_THAT(done(status_->segments("gateway", 300'000, 1)), testing::ElementsAre(next));
  EXPECT_THAT(done(status_->segments("gateway", 86'400'000, 0)), testing::ElementsAre(day));
  EXPECT_THAT(done(status_->segments("gateway", 3'600'000, 0)), testing::IsEmpty());
  EXPECT_THAT(done(status_->all_segments(300'000, 0)),
              testing::ElementsAre(grown, other, next));
  EXPECT_THAT(done(status_->all_segments(300'000, 300'000)), testing::ElementsAre(next));
}

TEST_P(StatusPort, ReportsOfNodesAreReadByTimeAndNode) {
  ASSERT_TRUE(status_->write_report({"n_2", 60'000, "gen_1", "{\"a\":1}"}).ok());
  ASSERT_TRUE(status_->write_report({"n_1", 60'000, "gen_1", "{}"}).ok());
  ASSERT_TRUE(status_->write_report({"n_1", 0, "gen_1", "{}"}).ok());
  ASSERT_TRUE(status_->write_report({"n_2", 60'000, "gen_2", "{\"a\":2}"}).ok());
  const auto all = done(status_->reports(0));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].started_at_ms, 0);
  EXPECT_EQ(all[1].node, "n_1");
  EXPECT_EQ(all[2].node, "n_2");
  EXPECT_EQ(all[2].generation, "gen_2") << "the same node and time replaces the report";
  EXPECT_EQ(all[2].body, "{\"a\":2}");
  EXPECT_EQ(done(status_->reports(1)).size(), 2u);
}

TEST_P(StatusPort, TheNewestShapeOfAnOperationIsKept) {
  ASSERT_TRUE(status_->keep_shape("b:GET", "{\"v\":1}").ok());
  ASSERT_TRUE(status_->keep_shape("a:GET", "{}").ok());
  ASSERT_TRUE(status_->keep_shape("b:GET", "{\"v\":2}").ok());
  EXPECT_THAT(done(status_->shapes()),
              testing::ElementsAre(testing::Pair("a:GET", "{}"),
                                   testing::Pair("b:GET", "{\"v\":2}")));
}

// ---- retention ----------------------------------------------------------------------------------

TEST_P(StatusPort, HeadsAndDaysStayWhenTheRestIsPruned) {
  constexpr std::int64_t kept_ms = 30 * day_ms;
  const Lease lease = lead();
  for (int at = 0; at < 4; ++at) {
    ClosedRound round = next_round(lease);
    round.keeps_book = at == 1 || at == 2;
    for (const std::int64_t length_ms : Segment::lengths_ms) {
      round.changes.segments.push_back(
          status_segment("gateway", length_ms, store_->clock.now_ms()));
    }
    ASSERT_EQ(done(status_->close_round(round)), Closing::written);
    ASSERT_TRUE(status_->write_report({"n_1", store_->clock.now_ms(), "gen_1", "{}"}).ok());
    store_->clock.move_ms(day_ms);
  }
  EXPECT_EQ(done(status_->prune({.reports_ms = 10 * day_ms})), 0u) << "all of it is young enough";
  EXPECT_EQ(done(status_->first_verifiable(status_stream)), 1u);
  EXPECT_EQ(done(status_->book_after(status_stream, 2)), "{\"round\":2}");
  EXPECT_EQ(done(status_->book_after(status_stream, 1)), "");
  EXPECT_EQ(done(status_->book_after(status_stream, 4)), "{\"round\":4}") << "the newest";
  // Rounds 1 and 2 are then older than 30 days; round 2 by one millisecond.
  store_->clock.move_ms(kept_ms - 3 * day_ms + round_length_ms + 1);
  const std::uint64_t pruned = done(status_->prune({}));
  EXPECT_EQ(pruned, 2u + 1u + 4u + 4u) << "lines, one book, reports, segments of five minutes";
  const auto rounds = chain();
  ASSERT_EQ(rounds.size(), 4u) << "heads stay";
  EXPECT_FALSE(rounds[0].lines.has_value());
  EXPECT_FALSE(rounds[1].lines.has_value());
  EXPECT_TRUE(rounds[2].lines.has_value());
  EXPECT_EQ(done(status_->book_after(status_stream, 2)), "");
  EXPECT_EQ(done(status_->first_verifiable(status_stream)), 4u) << "behind the book of round 3";
  EXPECT_EQ(done(status_->segments("gateway", 3'600'000, 0)).size(), 4u);
  EXPECT_EQ(done(status_->segments("gateway", 300'000, 0)).size(), 0u);
  store_->clock.move_ms(400 * day_ms);
  EXPECT_EQ(done(status_->prune({})), 2u + 1u + 4u) << "the other lines and book, and the hours";
  EXPECT_EQ(done(status_->segments("gateway", 86'400'000, 0)).size(), 4u);
  EXPECT_EQ(done(status_->first_verifiable(status_stream)), 5u) << "behind the newest book";
  EXPECT_EQ(chain().size(), 4u);
  EXPECT_EQ(done(status_->close_round(next_round(lease))), Closing::written)
      << "the chain goes on without its lines";
}

TEST_P(StatusPort, WhatIsPrunedGoesInStepsAndWhole) {
  ClosedRound round = next_round(lead());
  for (std::int64_t at = 0; at < 2'500; ++at) {
    round.changes.segments.push_back(status_segment("gateway", 300'000, at * 300'000));
  }
  ASSERT_EQ(done(status_->close_round(round)), Closing::written);
  EXPECT_EQ(done(status_->prune({})), 2'500u);
  EXPECT_EQ(done(status_->prune({})), 0u);
}

// ---- what dies ----------------------------------------------------------------------------------

constexpr base::CrashPoint points_of_a_round[] = {
    base::CrashPoint::round_before, base::CrashPoint::round_row, base::CrashPoint::round_book,
    base::CrashPoint::round_changes, base::CrashPoint::round_after};

TEST_P(StatusPort, ALeaderThatIsKilledAtAnyWriteLeavesNeitherGapNorTwin) {
  const support::TemporaryDirectory directory;
  const std::string order = directory.path() + "/order";
  std::size_t rounds = 0;
  std::int64_t of_children = 0;  // each keeps its book, a segment and an incident
  for (const base::CrashPoint point : points_of_a_round) {
    std::ofstream(order) << base::name_of(point) << " 3";
    support::Victim victim("status_kill_child", store_->settings("victim"), {order});
    EXPECT_EQ(victim.wait_for(1'000), 2) << "it dies in its third round";
    ASSERT_EQ(victim.kill(), 2) << "it ended by itself";
    const int written = point == base::CrashPoint::round_after ? 3 : 2;
    rounds += static_cast<std::size_t>(written);
    of_children += written;
    const Lease lease = lead();  // by our clock, the child's lease is over
    check_chain(rounds);
    for (const char* table : {"status_book", "status_segment", "status_incident"}) {
      EXPECT_EQ(rows_of(table), of_children) << table << " after " << base::name_of(point);
    }
    ASSERT_EQ(done(status_->close_round(next_round(lease))), Closing::written);
    check_chain(++rounds);
    ASSERT_TRUE(status_->release_lease("n_1").ok());
  }
}

}  // namespace
}  // namespace turnpike::status

// /governance-signals, /governance-events and the evidence of a proposal.
#include <nlohmann/json.hpp>
#include <random>

#include "fixtures.h"
#include "govdata/import/sample.h"
#include "govdata/serve/feed.h"
#include "govdata/serve/routes.h"
#include "govdata/store/digest.h"

namespace turnpike::govdata {
namespace {

using List = std::vector<std::string>;

class FeedsTest : public StoreTest {
 protected:
  void SetUp() override {
    load_sample(store(), support::source_path("plugins/govdata/sample"), clock.now_ms(), nullptr);
  }
  Answer ask(Operation operation, const std::string& query,
             std::vector<std::string_view> path_values = {}) {
    if (!service_) {
      ServiceOptions with;
      with.database = path();
      service_ = std::make_unique<Service>(with, clock);
      service_->check();
    }
    return service_->answer({operation, std::move(path_values), query, "req-1"});
  }
  Json data(Operation operation, const std::string& query,
            std::vector<std::string_view> path_values = {}) {
    const Answer answer = ask(operation, query, std::move(path_values));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return Json::parse(answer.body)["data"];
  }
  // A query for the last `days` before the clock's time.
  [[nodiscard]] std::string last(std::int64_t days) const {
    return "start_ms=" + std::to_string(clock.now_ms() - days * ms_per_day) +
           "&end_ms=" + std::to_string(clock.now_ms() + 1) + "&limit=200";
  }
  static List all(const Json& items, const char* name) {
    List values;
    for (const Json& item : items) values.push_back(item[name].get<std::string>());
    return values;
  }

 private:
  std::unique_ptr<Service> service_;
};

TEST_F(FeedsTest, EventsInTheOrderOfTime) {
  const Json feed = data(Operation::events, last(365));
  ASSERT_GT(feed["count"], 20);
  EXPECT_EQ(feed["truncated"], false);
  EXPECT_TRUE(feed["nextStartMs"].is_null());
  std::int64_t before = 0;
  for (const Json& item : feed["items"]) {
    EXPECT_LE(before, item["eventTimeMs"].get<std::int64_t>());
    before = item["eventTimeMs"];
    EXPECT_LE(before, clock.now_ms()) << "nothing that is yet to happen";
    EXPECT_EQ(item["itemRef"], item["evidenceRef"]);
    EXPECT_FALSE(item.contains("intelligence"));
    if (item["eventType"] == "proposal_voting_ended") {
      EXPECT_TRUE(item["details"].contains("outcome")) << item;
      EXPECT_TRUE(item["details"].contains("executionStatus")) << item;
    }
  }
}

TEST_F(FeedsTest, EventsAreWalkedByTheirLastTime) {
  const List whole = all(data(Operation::events, last(365))["items"], "eventId");
  List walked;
  std::int64_t from = clock.now_ms() - 365 * ms_per_day;
  for (int pages = 0; pages < 500; ++pages) {
    const Json page = data(Operation::events, "start_ms=" + std::to_string(from) + "&end_ms=" +
                                                  std::to_string(clock.now_ms() + 1) + "&limit=5");
    for (const std::string& id : all(page["items"], "eventId")) {
      if (std::find(walked.begin(), walked.end(), id) == walked.end()) walked.push_back(id);
    }
    if (page["truncated"] == false) break;
    from = page["nextStartMs"];
  }
  EXPECT_EQ(walked, whole);
}

// An import discovers all that it brings in one millisecond.
TEST_F(FeedsTest, EventsOfOneMillisecondAreWalkedByTheirIds) {
  const std::string basis = "&time_basis=discovered_time";
  const std::string end = "&end_ms=" + std::to_string(clock.now_ms() + 1);
  const Json at_once = data(
      Operation::events, "start_ms=" + std::to_string(clock.now_ms()) + end + basis + "&limit=200");
  ASSERT_GT(at_once["count"], 10);
  for (const char* more : {"", "&importance_min=40", "&event_types=proposal_created"}) {
    const std::string query = end + basis + more;
    const Json whole = data(Operation::events, "start_ms=1" + query + "&limit=200");
    ASSERT_FALSE(whole["truncated"]);
    EXPECT_TRUE(whole["nextAfterId"].is_null());
    List walked;
    std::string from = "start_ms=1";
    for (int pages = 0; pages < 200; ++pages) {
      const Json page = data(Operation::events, from + query + "&limit=3");
      for (const std::string& id : all(page["items"], "eventId")) walked.push_back(id);
      if (page["truncated"] == false) break;
      EXPECT_EQ(page["nextAfterId"], walked.back());
      from = "start_ms=" + page["nextStartMs"].dump() +
             "&after_id=" + page["nextAfterId"].get<std::string>();
    }
    EXPECT_EQ(walked, all(whole["items"], "eventId")) << more;
  }
}

TEST_F(FeedsTest, AListEndsBeforeItsReplyIsTooLong) {
  const Json signals = data(Operation::signals, last(365) + "&sort=recent");
  const Json events = data(Operation::events, last(365));
  store().execute("UPDATE proposal SET url = 'https://example.org/' || hex(zeroblob(32000))");
  clock.move_ms(60'000);  // beyond what the cache keeps
  for (const auto& [operation, whole, id] :
       {std::tuple{Operation::signals, signals, "signalId"},
        std::tuple{Operation::events, events, "eventId"}}) {
    ASSERT_FALSE(whole["truncated"]) << id;
    const Json cut = data(operation, last(365) + "&sort=recent");
    EXPECT_TRUE(cut["truncated"]) << id;
    EXPECT_LE(dump(cut).size(), reply_bytes_max) << id;
    List expected = all(whole["items"], id);
    ASSERT_GT(cut["count"], 5) << id;
    ASSERT_LT(cut["count"], expected.size()) << id;
    expected.resize(cut["count"]);
    EXPECT_EQ(all(cut["items"], id), expected) << id;
    if (operation == Operation::events) {
      EXPECT_EQ(cut["nextAfterId"], expected.back());
    }
  }
}

TEST_F(FeedsTest, EventsAreFiltered) {
  const Json ended = data(Operation::events, last(365) + "&event_types=proposal_voting_ended");
  for (const Json& item : ended["items"]) EXPECT_EQ(item["eventType"], "proposal_voting_ended");
  EXPECT_GT(ended["count"], 2);
  const Json weighty = data(Operation::events, last(365) + "&importance_min=75");
  EXPECT_GT(weighty["count"], 0);
  for (const Json& item : weighty["items"]) EXPECT_GE(item["importanceScore"], 75);
  const Json harbor = data(Operation::events, last(365) + "&dao_id=HARBOR");
  EXPECT_GT(harbor["count"], 0);
  for (const Json& item : harbor["items"]) EXPECT_EQ(item["daoId"], "sample-harbor-dao");
  const Json nobody = data(Operation::events, last(365) + "&dao_id=nobody");
  EXPECT_EQ(nobody["count"], 0);
  EXPECT_EQ(nobody["warnings"], Json{"unknown_dao"});
  const Json clever = data(Operation::events, last(365) + "&include_intelligence=true");
  EXPECT_EQ(clever["items"][0]["intelligence"]["status"], "derived");
  // The whole sample is discovered when it is loaded.
  const Json found = data(Operation::events, last(1) + "&time_basis=discovered_time");
  EXPECT_GT(found["count"], data(Operation::events, last(1))["count"]);
}

TEST_F(FeedsTest, SignalsByPriorityAndRecency) {
  const Json feed = data(Operation::signals, last(60));
  ASSERT_GT(feed["count"], 5);
  EXPECT_EQ(feed["surface"], "agent");
  EXPECT_EQ(feed["sort"], "priority");
  int before = 1000;
  List kinds;
  for (const Json& item : feed["items"]) {
    const int score = item["priority"]["score"];
    EXPECT_LE(score, before);
    before = score;
    int sum = 0;
    for (const Json& reason : item["reasons"]) sum += reason["points"].get<int>();
    EXPECT_EQ(sum, score) << "the reasons add up";
    EXPECT_EQ(item["priority"]["band"], score >= 80 ? "high" : score >= 50 ? "medium" : "low");
    EXPECT_EQ("sig_" + item["eventId"].get<std::string>().substr(4), item["signalId"]);
    kinds.push_back(item["itemRef"].dump() + item["signalType"].dump());
  }
  std::sort(kinds.begin(), kinds.end());
  EXPECT_EQ(std::unique(kinds.begin(), kinds.end()), kinds.end()) << "one of an item and type";
  const Json recent = data(Operation::signals, last(60) + "&sort=recent");
  EXPECT_EQ(recent["count"], feed["count"]);
  EXPECT_EQ(recent["items"][0]["eventTimeMs"], recent["newestTimeMs"]);
  const Json reminders =
      data(Operation::signals, last(60) + "&signal_types=proposal_deadline_reminder");
  EXPECT_GT(reminders["count"], 0);
  for (const Json& item : reminders["items"]) EXPECT_EQ(item["actionability"], "deadline");
}

TEST_F(FeedsTest, SurfacesKeepWhatTheyShow) {
  for (const char* surface : {"agent", "atlas_latest", "atlas_priority", "telegram_realtime"}) {
    const Json feed = data(Operation::signals, last(365) + "&surface=" + surface);
    for (const Json& item : feed["items"]) {
      EXPECT_NE(std::find(item["surfaces"].begin(), item["surfaces"].end(), surface),
                item["surfaces"].end())
          << surface << item;
    }
  }
  const Json latest = data(Operation::signals, last(365) + "&surface=atlas_latest");
  EXPECT_EQ(latest["sort"], "recent");
  List items;
  for (const Json& item : latest["items"]) items.push_back(item["itemRef"].dump());
  std::sort(items.begin(), items.end());
  EXPECT_EQ(std::unique(items.begin(), items.end()), items.end()) << "one of an item";
  const Json priority = data(Operation::signals, last(365) + "&surface=atlas_priority");
  EXPECT_GT(priority["count"], 0);
  for (const Json& item : priority["items"]) EXPECT_GE(item["priority"]["score"], 60);
  const Json strict = data(Operation::signals, last(365) + "&priority_min=70");
  for (const Json& item : strict["items"]) EXPECT_GE(item["priority"]["score"], 70);
  // An event that is discovered long after it happened is not realtime news.
  const Json news = data(Operation::signals, last(365) + "&surface=telegram_realtime");
  for (const Json& item : news["items"]) {
    EXPECT_LE(item["discoveredTimeMs"].get<std::int64_t>(),
              item["eventTimeMs"].get<std::int64_t>() + 6 * ms_per_hour);
    EXPECT_GE(item["priority"]["score"], 70);
  }
}

TEST_F(FeedsTest, ParametersOfTheFeedsAreChecked) {
  const auto message = [&](const std::string& query) {
    const Answer answer = ask(Operation::signals, query);
    if (answer.status == 200) return std::string("200");
    return Json::parse(answer.body)["error"]["message"].get<std::string>();
  };
  EXPECT_EQ(message(""), "start_ms is required");
  EXPECT_EQ(message("start_ms=1"), "end_ms is required");
  EXPECT_EQ(message("start_ms=2&end_ms=2"), "start_ms must be less than end_ms");
  EXPECT_EQ(message("start_ms=1&end_ms=2&sort=best"), "sort takes priority, recent");
  EXPECT_EQ(message("start_ms=1&end_ms=2&surface="),
            "surface takes agent, atlas_latest, atlas_priority, telegram_realtime");
  EXPECT_EQ(message("start_ms=1&end_ms=2&time_basis=now"),
            "time_basis takes discovered_time, event_time");
  EXPECT_EQ(message("start_ms=1&end_ms=2"), "200");
  const Json body =
      Json::parse(ask(Operation::signals, "start_ms=0&end_ms=9007199254740991").body);
  EXPECT_EQ(body["request"]["clamped"], Json{"start_ms"}) << "a year and a day";
  EXPECT_EQ(body["request"]["params"]["start_ms"], body["data"]["window"]["startMs"]);
  EXPECT_EQ(Json::parse(ask(Operation::events, "start_ms=0&end_ms=9007199254740991").body)
                ["request"]["clamped"],
            Json::array());
}

TEST_F(FeedsTest, TheClockAloneBringsEventsInWithoutAWriter) {
  const std::string foreseen = "SELECT min(event_time) FROM governance_event WHERE event_time > " +
                               std::to_string(clock.now_ms());
  const std::int64_t next_ms = number(foreseen);
  ASSERT_GT(next_ms, clock.now_ms()) << "votes that are yet to end";
  const auto count = [&](std::int64_t now_ms) {
    clock.step_ms(now_ms - clock.now_ms());
    return data(Operation::events, "start_ms=" + std::to_string(next_ms) +
                                       "&end_ms=" + std::to_string(next_ms + 1))["count"];
  };
  EXPECT_EQ(count(next_ms - 60'000), 0);
  EXPECT_GT(count(next_ms), 0) << "on the millisecond";
}

TEST_F(FeedsTest, PriorityFollowsTheRules) {
  FeedRow row;
  row.importance = 75;
  row.type = EventType::proposal_voting_ending_soon;
  row.event_time = 0;
  row.deadline_at = ms_per_day;
  const auto score = [&](std::int64_t at_ms) { return priority_of(row, at_ms).score; };
  EXPECT_EQ(score(0), 80);
  EXPECT_EQ(score(12 * ms_per_hour), 85);
  EXPECT_EQ(score(18 * ms_per_hour), 90);
  EXPECT_EQ(score(21 * ms_per_hour), 95);
  EXPECT_EQ(score(ms_per_day), 45) << "over";
  row.quorum_missing = true;
  EXPECT_EQ(score(0), 85);
  row.type = EventType::proposal_voting_started;
  EXPECT_EQ(score(72 * ms_per_hour), 75);
  EXPECT_EQ(score(72 * ms_per_hour + 1), 65);
  EXPECT_EQ(score(7 * ms_per_day + 1), 55);
}

TEST_F(FeedsTest, StoresThatWereNeverDerivedSaySo) {
  store().execute("DELETE FROM meta WHERE key='derivation_rules'");
  EXPECT_EQ(ask(Operation::events, last(1)).status, 503);
  store().execute("DELETE FROM item_link; DELETE FROM forum_topic; DELETE FROM proposal");
  EXPECT_EQ(data(Operation::events, last(2))["count"], 0) << "nothing is there to derive";
}

// Many events of few items over a year, with every type and importance and many equal times.
class FeedWalkTest : public StoreTest {
 protected:
  void SetUp() override {
    store();
    std::mt19937 random(7);
    const auto any = [&](int below) { return static_cast<int>(random() % below); };
    Transaction transaction(store(), Transaction::Kind::write);
    for (int at = 0; at < 6000; ++at) {
      const auto type = static_cast<EventType>(any(7));
      const bool is_topic = type <= EventType::forum_topic_created;
      const std::int64_t event_time =
          clock.now_ms() + ms_per_day - std::int64_t{any(400 * 24)} * ms_per_hour;
      const std::int64_t late_ms = any(3) == 0 ? std::int64_t{any(2000)} * ms_per_hour : 0;
      const std::string id = "evt_" + sha256_hex(std::to_string(at)).substr(0, 32);
      const bool is_reminder = type == EventType::proposal_voting_ending_soon;
      const MaybeInteger deadline =
          is_reminder ? MaybeInteger(event_time + (any(2) + 1) * 12 * ms_per_hour) : std::nullopt;
      const std::string payload = is_reminder && any(2) == 0 ? R"({"quorumReached":false})"
                                  : any(2) == 0 ? R"({"changedFields":["votingEndsAt"]})" : "{}";
      const std::int64_t item = any(900);
      const std::string dao = "dao-" + std::to_string(item % 3);
      store()
          .prepare("INSERT INTO governance_event VALUES (?1,?2,?3,?4,?5,1,?6,?7,'exact',?8,?9,"
                   "'[]',?10)")
          .with(id, dao, name_of(type), is_topic ? "forum_topic" : "proposal",
                item, event_time, event_time + late_ms,
                std::int64_t{any(12) * 9}, deadline, payload)
          .run();
    }
    transaction.commit();
  }
  RouteRequest request(Operation operation, const std::string& query) {
    RouteRequest asked = parse_request({operation, {}, query_ = query, ""}, clock.now_ms());
    return asked;
  }
  [[nodiscard]] std::string span(std::int64_t days) const {
    return "start_ms=" + std::to_string(clock.now_ms() - days * ms_per_day) +
           "&end_ms=" + std::to_string(clock.now_ms() + ms_per_hour);
  }

 private:
  std::string query_;
};

TEST_F(FeedWalkTest, GivesWhatAScanGives) {
  const ServiceOptions none;
  int compared = 0;
  for (const std::int64_t days : {1, 40, 360}) {
    for (const char* surface : {"agent", "atlas_latest", "atlas_priority", "telegram_realtime"}) {
      for (const char* more :
           {"", "&sort=recent", "&sort=priority", "&time_basis=discovered_time", "&priority_min=70",
            "&time_basis=discovered_time&sort=recent", "&sort=recent&priority_min=60",
            "&dao_id=dao-1", "&dao_id=dao-1&time_basis=discovered_time",
            "&signal_types=proposal_deadline_reminder,proposal_updated&sort=recent"}) {
        RouteRequest asked =
            request(Operation::signals, span(days) + "&surface=" + surface + more);
        RouteContext context{store(), clock.now_ms(), none, asked, {store(), clock.now_ms(), ""}};
        const auto scanned = scan_signals(context, 60);
        const auto walked = walk_signals(context, 60);
        List expected;
        List found;
        for (const Signal& signal : scanned) expected.push_back(signal.row.id);
        for (const Signal& signal : walked) found.push_back(signal.row.id);
        EXPECT_EQ(found, expected) << days << surface << more;
        compared += static_cast<int>(expected.size());
      }
    }
  }
  EXPECT_GT(compared, 2000);
}

TEST_F(FeedWalkTest, OfEventsGivesWhatAScanGives) {
  const ServiceOptions none;
  for (const char* more : {"&importance_min=50", "&event_types=proposal_updated",
                           "&dao_id=dao-2&importance_min=80&event_types=proposal_created"}) {
    RouteRequest asked = request(Operation::events, span(300) + more);
    RouteContext context{store(), clock.now_ms(), none, asked, {store(), clock.now_ms(), ""}};
    const auto walked = walk_events(context, 150);
    EXPECT_EQ(walked, scan_events(context, 150)) << more;
    ASSERT_GT(walked.size(), 10u) << more;

    const auto middle = walked.begin() + 5;
    asked.start_ms = store().number("SELECT event_time FROM governance_event WHERE event_id = '" +
                                    *middle + "'");
    asked.after_id = *middle;
    const List rest(middle + 1, walked.end());
    EXPECT_EQ(walk_events(context, rest.size()), rest) << more;
    EXPECT_EQ(scan_events(context, rest.size()), rest) << more;
  }
}

// Queries of feeds that must use indexes, since a large store cannot be scanned for each.
TEST_F(FeedWalkTest, UsesItsIndexes) {
  const ServiceOptions none;
  const auto reader = open_for_reading(path());
  for (const char* more : {"", "&dao_id=dao-1", "&sort=recent&priority_min=50",
                           "&time_basis=discovered_time&sort=recent",
                           "&dao_id=dao-1&time_basis=discovered_time&sort=recent"}) {
    RouteRequest asked = request(Operation::signals, span(360) + more);
    RouteContext context{*reader, clock.now_ms(), none, asked, {*reader, clock.now_ms(), ""}};
    select_signals(context, 10);
    RouteRequest events = request(Operation::events, span(360) + "&importance_min=9" +
                                                         (asked.dao_id ? "&dao_id=dao-1" : ""));
    RouteContext of_events{*reader, clock.now_ms(), none, events, {*reader, clock.now_ms(), ""}};
    select_events(of_events, 10);
    events.score_min = 0;
    select_events(of_events, 10);
  }
  std::string plans;
  for (const std::string& sql : reader->prepared()) {
    auto plan = reader->prepare("EXPLAIN QUERY PLAN " + sql);
    plans += "\n-- " + sql + "\n";
    while (plan.step()) plans += plan.text(3) + "\n";
  }
  for (const char* wanted :
       {"USING INDEX ev_rank (event_type=? AND importance=? AND event_time>? AND event_time<?)",
        "USING INDEX ev_dao_rank (dao_id=? AND event_type=? AND importance=? AND event_time>?",
        "USING COVERING INDEX ev_rank (event_type=? AND importance<?)",
        "USING INDEX ev_time (event_time>? AND event_time<?)",
        "USING INDEX ev_dao_time (dao_id=? AND event_time>? AND event_time<?)",
        "USING INDEX ev_disc (discovered_time>? AND discovered_time<?)",
        "USING INDEX ev_dao_disc (dao_id=? AND discovered_time>? AND discovered_time<?)",
        "USING INDEX ev_item (item_kind=? AND item_pk=? AND event_type=?)"}) {
    EXPECT_NE(plans.find(wanted), std::string::npos) << wanted << plans;
  }
  EXPECT_EQ(plans.find("SCAN governance_event"), std::string::npos) << plans;
}

TEST_F(FeedsTest, EvidenceOfASnapshotProposal) {
  const Json lookup = data(Operation::lookup, "dao_id=harbor&title=harbour");
  const std::string id = lookup["candidates"][0]["proposal"]["source"]["externalId"];
  const Json evidence =
      data(Operation::evidence, "", {"harbor", "snapshot", std::string_view(id)});
  EXPECT_EQ(evidence["proposal"]["source"]["externalId"], id);
  EXPECT_EQ(evidence["contentHashes"]["titleSha256"],
            sha256_hex(evidence["proposal"]["title"].get<std::string>()));
  EXPECT_EQ(evidence["contentHashes"]["bodySha256"], evidence["proposal"]["bodySha256"]);
  EXPECT_TRUE(evidence["contentHashes"]["descriptionKeccak256"].is_null());
  EXPECT_EQ(evidence["intelligence"]["status"], "unavailable");
  EXPECT_EQ(evidence["provenance"][0]["field"], "title");
  EXPECT_EQ(evidence["provenance"][0]["importer"], "snapshot-graphql");
  EXPECT_EQ(evidence["revisions"][0]["changedFields"], Json::array());
  EXPECT_EQ(evidence["timeline"][0]["event"], "created");
}

TEST_F(FeedsTest, EvidenceOfAGovernorProposalCountsItsVotes) {
  const Json evidence = data(Operation::evidence, "", {"orchard", "tally", "0x5"});
  EXPECT_EQ(evidence["proposal"]["source"]["externalId"], "5");
  const Json& votes = evidence["votes"];
  EXPECT_EQ(votes["counted"], votes["reported"]);
  EXPECT_EQ(votes["knownPower"], evidence["proposal"]["votes"]["totalPower"]);
  std::int64_t counted = 0;
  for (const Json& choice : votes["byChoice"]) counted += choice["voteCount"].get<std::int64_t>();
  EXPECT_EQ(counted, votes["counted"]);
  EXPECT_LE(votes["top"].size(), 10u);
  EXPECT_TRUE(evidence["onchain"].is_object());
  EXPECT_EQ(evidence["contentHashes"]["descriptionKeccak256"].get<std::string>().size(), 66u);
  const auto has = [&](const char* list, const char* name) {
    return std::find(evidence[list].begin(), evidence[list].end(), name) != evidence[list].end();
  };
  EXPECT_TRUE(has("qualityFlags", "registry_votes_available")) << evidence["qualityFlags"];
  EXPECT_TRUE(has("qualityFlags", "votes_match_reported_total")) << evidence["qualityFlags"];
  EXPECT_TRUE(has("qualityFlags", "registry_actions_available")) << evidence["qualityFlags"];
  EXPECT_FALSE(has("warnings", "votes_partial")) << evidence["warnings"];
}

TEST_F(FeedsTest, EvidenceSaysWhatIsMissing) {
  const auto missing = [&](std::vector<std::string_view> values) {
    const Answer answer = ask(Operation::evidence, "", std::move(values));
    EXPECT_EQ(answer.status, 404);
    return Json::parse(answer.body)["error"]["details"]["missing"].get<std::string>();
  };
  EXPECT_EQ(missing({"nobody", "snapshot", "1"}), "dao");
  EXPECT_EQ(missing({"orchard", "snapshot", "1"}), "source");
  EXPECT_EQ(missing({"orchard", "governor", "999"}), "proposal");
}

}  // namespace
}  // namespace turnpike::govdata

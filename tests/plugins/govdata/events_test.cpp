// The derivation of governance events: which events occur when, their ids, and that they depend on
// the records alone.
#include <nlohmann/json.hpp>

#include "fixtures.h"
#include "govdata/import/sample.h"
#include "govdata/store/events.h"
#include "govdata/store/digest.h"

namespace turnpike::govdata {
namespace {

using Object = nlohmann::json;

class EventsTest : public StoreTest {
 protected:
  // All rows with all columns, in an order that does not depend on the order of writing.
  std::string all_events() {
    std::string all;
    auto row = store().prepare(
        "SELECT event_id || '|' || dao_id || '|' || event_type || '|' || item_kind || '|' ||"
        " item_pk || '|' || revision || '|' || event_time || '|' || discovered_time || '|' ||"
        " time_confidence || '|' || importance || '|' || coalesce(deadline_at, '') || '|' ||"
        " reasons_json || '|' || payload_json FROM governance_event ORDER BY event_id");
    while (row.step()) all += row.text(0) + "\n";
    return all;
  }
  void expect_rebuilt_alike() {
    const std::string before = all_events();
    EXPECT_NE(before, "");
    const Transaction transaction(store(), Transaction::Kind::write);
    rebuild_events(store(), clock.now_ms() + ms_per_day);
    EXPECT_EQ(all_events(), before);
  }
  std::int64_t happened(const char* type, std::int64_t from, std::int64_t to, std::int64_t now) {
    auto row = store().prepare(
        "SELECT count(*) FROM governance_event WHERE event_type=?1 AND event_time >= ?2"
        " AND event_time < ?3 AND event_time <= ?4");
    row.with(type, from, to, now);
    row.step();
    return row.integer(0);
  }
  // "type time\n" for each event of the only proposal or topic.
  std::string story() {
    std::string all;
    auto row = store().prepare(
        "SELECT event_type, event_time FROM governance_event ORDER BY event_time, event_type");
    while (row.step()) all += row.text(0) + " " + iso_time(row.integer(1)) + "\n";
    return all;
  }
  void import_at(const char* time, const ImportOptions& with, const std::string& records) {
    ImportOptions later = with;
    later.now_ms = at(time);
    EXPECT_EQ(import(later, records).error, "");
  }
  static std::string proposal(const std::string& more) {
    return R"({"data":{"proposals":[{"id":"0xA1","title":"One","type":"basic",
      "choices":["For","Against"],"space":{"id":"s.eth"},"state":"active",)" +
           more + "}]}}";
  }
  static std::string seconds(const char* time) { return std::to_string(at(time) / 1000); }
  static std::string span(const char* start, const char* end, const char* updated) {
    return proposal("\"created\":" + seconds("2026-03-01T09:00:00Z") +
                    ",\"start\":" + seconds(start) + ",\"end\":" + seconds(end) +
                    ",\"updated\":" + seconds(updated));
  }
  static std::string topic(const std::string& more) {
    return R"({"topic_list":{"topics":[{"id":7,"title":"Talk","slug":"talk",)" + more + "}]}}";
  }
};

TEST_F(EventsTest, DecentralandOfFebruary2023) {
  REQUIRE_SHARED_DATA();
  clock.step_ms(at("2023-02-28T10:30:55Z") - clock.now_ms());
  ImportOptions with = options(Format::snapshot_graphql, "decentraland");
  with.now_ms = clock.now_ms();
  import_shared(with, "decentraland/derived.snapshot-hub.proposals.json");
  const auto count = [&](const char* type) {
    return happened(type, at("2023-02-01T00:00:00Z"), at("2023-03-01T00:00:00Z"), clock.now_ms());
  };
  EXPECT_EQ(count("proposal_created"), 30);
  EXPECT_EQ(count("proposal_voting_started"), 30);
  EXPECT_EQ(count("proposal_voting_ending_soon"), 36);
  EXPECT_EQ(count("proposal_voting_ended"), 37);
  EXPECT_EQ(count("proposal_updated"), 0);
  expect_rebuilt_alike();
  const std::string before = all_events();
  import_shared(with, "decentraland/derived.snapshot-hub.proposals.json");
  import_shared(with, "decentraland/derived.snapshot-hub.votes.json");
  EXPECT_EQ(all_events(), before) << "a second import and votes change no event";
}

TEST_F(EventsTest, TheSampleIsRebuiltAlike) {
  load_sample(store(), support::source_path("plugins/govdata/sample"), clock.now_ms(), nullptr);
  EXPECT_EQ(number("SELECT count(DISTINCT event_type) FROM governance_event"), 7)
      << "the sample shows every type";
  expect_rebuilt_alike();
}

TEST_F(EventsTest, IdsAreHashesOfWhatNamesTheEvent) {
  import_at("2026-03-01T10:00:00Z", options(Format::snapshot_graphql, "s-dao"),
            span("2026-03-02T00:00:00Z", "2026-03-05T00:00:00Z", "2026-03-01T09:00:00Z"));
  const std::string named = "s-dao\x1fsnapshot\x1fproposal\x1f" "0xa1\x1f";
  const std::string bucket = std::to_string(at("2026-03-05T00:00:00Z"));
  EXPECT_EQ(text("SELECT event_id FROM governance_event WHERE event_type='proposal_voting_ended'"),
            "evt_" + sha256_hex(named + "proposal_voting_ended\x1f" + bucket).substr(0, 32));
  EXPECT_EQ(text("SELECT event_id FROM governance_event WHERE event_type='proposal_created'"),
            "evt_" + sha256_hex(named + "proposal_created\x1f").substr(0, 32));
}

TEST_F(EventsTest, AProposalFromItsCreationToItsEnd) {
  import_at("2026-03-01T10:00:00Z", options(Format::snapshot_graphql, "s-dao"),
            span("2026-03-02T00:00:00Z", "2026-03-05T00:00:00Z", "2026-03-01T09:00:00Z"));
  EXPECT_EQ(story(),
            "proposal_created 2026-03-01T09:00:00.000Z\n"
            "proposal_voting_started 2026-03-02T00:00:00.000Z\n"
            "proposal_voting_ending_soon 2026-03-04T00:00:00.000Z\n"
            "proposal_voting_ended 2026-03-05T00:00:00.000Z\n");
  EXPECT_EQ(number("SELECT discovered_time FROM governance_event WHERE"
                   " event_type='proposal_created'"),
            at("2026-03-01T10:00:00Z"))
      << "not before it was first seen";
  EXPECT_EQ(number("SELECT discovered_time FROM governance_event WHERE"
                   " event_type='proposal_voting_ended'"),
            at("2026-03-05T00:00:00Z"));
}

TEST_F(EventsTest, AShortVoteEndsSoonInItsLastQuarter) {
  import_at("2026-03-01T10:00:00Z", options(Format::snapshot_graphql, "s-dao"),
            span("2026-03-02T00:00:00Z", "2026-03-02T12:00:00Z", "2026-03-01T09:00:00Z"));
  EXPECT_EQ(number("SELECT event_time FROM governance_event WHERE"
                   " event_type='proposal_voting_ending_soon'"),
            at("2026-03-02T09:00:00Z"));
  EXPECT_EQ(Object::parse(text("SELECT payload_json FROM governance_event WHERE"
                               " event_type='proposal_voting_ending_soon'"))["hoursLeft"],
            3);
}

TEST_F(EventsTest, AMovedEndDropsWhatHasNotHappenedAndKeepsThePast) {
  const ImportOptions with = options(Format::snapshot_graphql, "s-dao");
  import_at("2026-03-01T10:00:00Z", with,
            span("2026-03-02T00:00:00Z", "2026-03-05T00:00:00Z", "2026-03-01T09:00:00Z"));
  // By then, voting has counted as ending soon for 12 hours; the end moves by two days.
  import_at("2026-03-04T12:00:00Z", with,
            span("2026-03-02T00:00:00Z", "2026-03-07T00:00:00Z", "2026-03-04T11:00:00Z"));
  EXPECT_EQ(story(),
            "proposal_created 2026-03-01T09:00:00.000Z\n"
            "proposal_voting_started 2026-03-02T00:00:00.000Z\n"
            "proposal_voting_ending_soon 2026-03-04T00:00:00.000Z\n"
            "proposal_updated 2026-03-04T11:00:00.000Z\n"
            "proposal_voting_ending_soon 2026-03-06T00:00:00.000Z\n"
            "proposal_voting_ended 2026-03-07T00:00:00.000Z\n");
  const Object details = Object::parse(
      text("SELECT payload_json FROM governance_event WHERE event_type='proposal_updated'"));
  EXPECT_EQ(details["changedFields"], Object{"votingEndsAt"});
  EXPECT_EQ(details["revision"], 2);
  expect_rebuilt_alike();
}

TEST_F(EventsTest, TalliesAloneAreNoUpdate) {
  const ImportOptions with = options(Format::snapshot_graphql, "s-dao");
  import_at("2026-03-01T10:00:00Z", with, proposal("\"votes\":1,\"scores\":[1,0]"));
  import_at("2026-03-01T11:00:00Z", with, proposal("\"votes\":200,\"scores\":[2,0]"));
  EXPECT_EQ(number("SELECT revision FROM proposal"), 2);
  EXPECT_EQ(story(), "");
  import_at("2026-03-01T12:00:00Z", with,
            proposal("\"votes\":200,\"scores\":[2,0],\"body\":\"text\""));
  EXPECT_EQ(story(), "proposal_updated 2026-03-01T12:00:00.000Z\n");
  EXPECT_EQ(text("SELECT time_confidence FROM governance_event"), "observed");
  EXPECT_EQ(text("SELECT reasons_json FROM governance_event"),
            R"([{"code":"base","points":40},{"code":"turnout","points":5}])");
  EXPECT_EQ(number("SELECT importance FROM governance_event"), 45);
}

TEST_F(EventsTest, ACancellationEndsVotingEarlyOrPreventsIt) {
  const auto governor_log = [](const char* event, const std::string& arguments,
                               const std::string& block) {
    return R"({"eventName":")" + std::string(event) + R"(","address":"0xaa","chainId":1,)" +
           R"("blockNumber":")" + block + R"(","logIndex":0,"args":)" + arguments + "}\n";
  };
  support::TemporaryDirectory folder;
  {
    std::FILE* blocks = std::fopen(folder.file("blocks.csv").c_str(), "w");
    std::fputs("block_number,timestamp\n1000,1700000000\n100000,1701188000\n", blocks);
    std::fclose(blocks);
  }
  ImportOptions with = options(Format::governor_logs, "g-dao");
  with.scope = "eip155:1:0x00000000000000000000000000000000000000aa";
  with.chain_id = 1;
  with.blocks_path = folder.file("blocks.csv");
  const auto created = [&](int id) {
    return governor_log("ProposalCreated",
                        "{\"proposalId\":\"" + std::to_string(id) +
                            R"(","proposer":"0xbb","targets":["0xcc"],"values":["0"],)"
                            R"_("signatures":["upgradeTo(address)"],"calldatas":["0x"],)_"
                            R"("startBlock":"2000","endBlock":"30000","description":"# T"})",
                        "1000");
  };
  const ImportSummary summary =
      import(with, created(1) + created(2) +
                       governor_log("ProposalCanceled", "{\"proposalId\":\"1\"}", "1500") +
                       governor_log("ProposalCanceled", "{\"proposalId\":\"2\"}", "10000"));
  ASSERT_EQ(summary.error, "") << (rejected.empty() ? "" : rejected[0].reason);
  ASSERT_EQ(summary.rows_rejected, 0) << rejected[0].reason;
  ASSERT_EQ(summary.rows_ignored, 0);
  const auto types = [&](int id) {
    std::string all;
    const std::string name = std::to_string(id);
    auto row = store().prepare(
        "SELECT event_type FROM governance_event e JOIN proposal p ON p.proposal_pk = e.item_pk"
        " WHERE p.external_id = ?1 ORDER BY event_time, event_type");
    row.with(name);
    while (row.step()) all += row.text(0) + " ";
    return all;
  };
  EXPECT_EQ(types(1), "proposal_created proposal_updated ");
  EXPECT_EQ(types(2),
            "proposal_created proposal_voting_started proposal_updated proposal_voting_ended ");
  EXPECT_EQ(text("SELECT reasons_json FROM governance_event WHERE event_type='proposal_updated'"),
            R"([{"code":"base","points":40},{"code":"executable","points":10},)"
            R"({"code":"high_impact_type","points":10},{"code":"terminal_change","points":15}])");
  expect_rebuilt_alike();
}

TEST_F(EventsTest, BusyDiscussionsByTheirPosts) {
  const ImportOptions with = options(Format::discourse, "f-dao");
  std::string posts;
  // Six replies by three people, one per hour; the fifth fulfils the condition.
  for (int number = 1; number <= 7; ++number) {
    if (number > 1) posts += ",";
    posts += "{\"id\":" + std::to_string(number) + ",\"topic_id\":7,\"username\":\"u" +
             std::to_string(number % 3) + "\",\"post_type\":1,\"cooked\":\"x\",\"post_number\":" +
             std::to_string(number) + ",\"created_at\":\"2026-02-01T0" + std::to_string(number) +
             ":00:00.000Z\"}";
  }
  import_at("2026-03-01T10:00:00Z", with,
            R"({"id":7,"title":"Talk","slug":"talk","posts_count":7,"views":5,"visible":true,
                "created_at":"2026-02-01T01:00:00.000Z","post_stream":{"posts":[)" +
                posts + "]}}");
  EXPECT_EQ(story(),
            "forum_topic_created 2026-02-01T01:00:00.000Z\n"
            "forum_discussion_active 2026-02-01T06:00:00.000Z\n");
  EXPECT_EQ(Object::parse(text("SELECT payload_json FROM governance_event WHERE"
                               " event_type='forum_discussion_active'")),
            (Object{{"posts24h", 5}, {"authors24h", 3}, {"totalPosts", 7}}));
  EXPECT_EQ(text("SELECT reasons_json FROM governance_event WHERE"
                 " event_type='forum_topic_created'"),
            R"([{"code":"base","points":30},{"code":"off_topic","points":-20}])");
  expect_rebuilt_alike();
}

TEST_F(EventsTest, BusyDiscussionsByWhatListsShow) {
  ImportOptions with = options(Format::discourse, "f-dao");
  const auto seen = [&](const char* time, int posts, const char* last) {
    with.as_of_ms = at(time);
    import_at(time, with,
              topic("\"created_at\":\"2026-01-01T00:00:00Z\",\"last_posted_at\":\"" +
                    std::string(last) + "\",\"posts_count\":" + std::to_string(posts)));
  };
  seen("2026-02-01T00:00:00Z", 3, "2026-01-31T00:00:00Z");
  seen("2026-02-02T00:00:00Z", 7, "2026-02-01T20:00:00Z");
  seen("2026-02-02T12:00:00Z", 8, "2026-02-02T11:00:00Z");
  EXPECT_EQ(story(),
            "forum_topic_created 2026-01-01T00:00:00.000Z\n"
            "forum_discussion_active 2026-02-02T11:00:00.000Z\n");
  seen("2026-02-02T18:00:00Z", 30, "2026-02-02T17:00:00Z");
  EXPECT_EQ(number("SELECT count(*) FROM governance_event"), 2) << "not within 24 hours";
  EXPECT_EQ(text("SELECT time_confidence FROM governance_event WHERE"
                 " event_type='forum_discussion_active'"),
            "estimated");
  expect_rebuilt_alike();
}

TEST_F(EventsTest, AboutTopicsAndHiddenOnesMakeNone) {
  const ImportOptions with = options(Format::discourse, "f-dao");
  import_at("2026-03-01T10:00:00Z", with,
            R"({"topic_list":{"topics":[
              {"id":1,"title":"About the Grants category","created_at":"2026-01-01T00:00:00Z"},
              {"id":2,"title":"Hidden","visible":false,"created_at":"2026-01-01T00:00:00Z"}]}})");
  EXPECT_EQ(number("SELECT count(*) FROM forum_topic"), 2);
  EXPECT_EQ(story(), "");
}

TEST_F(EventsTest, AStoreThatWasFilledBeforeIsDerivedByTheNextImport) {
  const ImportOptions with = options(Format::snapshot_graphql, "s-dao");
  import_at("2026-03-01T10:00:00Z", with,
            span("2026-03-02T00:00:00Z", "2026-03-05T00:00:00Z", "2026-03-01T09:00:00Z"));
  const std::string before = all_events();
  store().execute("DELETE FROM governance_event; DELETE FROM meta WHERE key='derivation_rules'");
  EXPECT_FALSE(events_are_derived(store()));
  import_at("2026-03-01T11:00:00Z", options(Format::discourse, "other"), topic("\"views\":1"));
  EXPECT_TRUE(events_are_derived(store()));
  EXPECT_EQ(all_events(), before);
}

}  // namespace
}  // namespace turnpike::govdata

// The whole answer of each route, on the sample data and on small stores.
#include <nlohmann/json.hpp>

#include "fixtures.h"
#include "govdata/import/sample.h"
#include "govdata/serve/routes.h"

namespace turnpike::govdata {
namespace {

class RoutesTest : public StoreTest {
 protected:
  Service& service() {
    if (!service_) {
      store();
      ServiceOptions with;
      with.database = path();
      with.activity_anchor = anchor;
      for (const char* end : {"/meta/pricing", "/daos", "/governance-events",
                              "/daos/{dao_id}/proposals/{source}/{external_id}/evidence"}) {
        PricedRoute route;
        route.path = std::string("/v1/gateway/govdata/global/v1") + end;
        route.operation = *operation_of_path(route.path);
        route.route_id = "route-x";
        route.method = "GET";
        if (route.operation != Operation::events) {
          route.credit_cost = 1;
          route.x402_atomic_amount = "1000";
        }
        with.routes.push_back(route);
      }
      service_ = std::make_unique<Service>(with, clock);
      service_->check();
    }
    return *service_;
  }
  Answer ask(Operation operation, const std::string& query = "",
             std::vector<std::string_view> path_values = {}) {
    return service().answer({operation, std::move(path_values), query, "req-1"});
  }
  Json data(Operation operation, const std::string& query = "",
            std::vector<std::string_view> path_values = {}) {
    const Answer answer = ask(operation, query, std::move(path_values));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return Json::parse(answer.body)["data"];
  }
  void load_sample_data() {
    load_sample(store(), support::source_path("plugins/govdata/sample"), clock.now_ms(), nullptr);
  }
  static std::vector<std::string> keys(const Json& object) {
    std::vector<std::string> names;
    for (const auto& [name, value] : object.items()) names.push_back(name);
    return names;
  }
  ActivityAnchor anchor = ActivityAnchor::wall_clock;

 private:
  std::unique_ptr<Service> service_;
};

using Names = std::vector<std::string>;

const Names& summary_names() {
  static const Names names = {"daoId",          "daoName",         "source",       "title",
                              "proposerId",     "proposalType",    "votingSystem", "status",
                              "outcome",        "executionStatus", "sourceStatus", "createdAt",
                              "votingStartsAt", "votingEndsAt",    "updatedAt",    "timeConfidence",
                              "votes",          "dataAsOf"};
  return names;
}

TEST_F(RoutesTest, PathsTellTheOperations) {
  const std::string base = "/v1/gateway/govdata/global/v1";
  EXPECT_EQ(operation_of_path(base + "/daos"), Operation::daos);
  EXPECT_EQ(operation_of_path(base + "/daos/{d}/brief"), Operation::brief);
  EXPECT_EQ(operation_of_path(base + "/daos/{dao_id}/proposals/{s}/{e}/evidence"),
            Operation::evidence);
  EXPECT_EQ(operation_of_path(base + "/items/{kind}/{external_id}"), Operation::item);
  EXPECT_EQ(operation_of_path("/own/place/activity"), Operation::activity);
  EXPECT_EQ(operation_of_path(base + "/unknown"), std::nullopt);
  EXPECT_EQ(operation_of_path("{"), std::nullopt);
  EXPECT_EQ(operation_of_name("lookup"), Operation::lookup);
}

TEST(Present, WritesWhatTheJsonLibraryWrites) {
  const Json value = {{"plain", "text"},
                      {"quo\"te", "a\\b\n\x7f"},
                      {"wide", "\u00e9\u20ac"},
                      {"broken", std::string("a\xff")},
                      {"numbers", {0, -7, 9007199254740991, 1.5, true, nullptr}},
                      {"empty", {Json::object(), Json::array(), ""}}};
  EXPECT_EQ(dump(value), value.dump(-1, ' ', false, Json::error_handler_t::replace));
  EXPECT_EQ(dump(Json::array()), "[]");
  EXPECT_EQ(dump(Json::object()), "{}");
}

TEST_F(RoutesTest, Pricing) {
  const Json body = Json::parse(ask(Operation::pricing).body);
  EXPECT_EQ(keys(body), (Names{"request", "freshness", "pricing"}));
  const Json& entries = body["pricing"]["entries"];
  EXPECT_EQ(keys(entries),
            (Names{"daos", "activity", "governanceEvents", "governanceSignals", "proposalLookup",
                   "freshness", "brief", "evidence", "item", "pricing"}));
  EXPECT_EQ(entries["daos"], (Json{{"routeId", "route-x"},
                                   {"method", "GET"},
                                   {"path", "/v1/gateway/govdata/global/v1/daos"},
                                   {"tier", "standard"},
                                   {"paid", true},
                                   {"price", "0.001"},
                                   {"creditCost", 1},
                                   {"x402AtomicAmount", "1000"},
                                   {"pricingStatus", "priced"}}));
  EXPECT_EQ(entries["governanceEvents"]["pricingStatus"], "pricing_unavailable");
  EXPECT_TRUE(entries["governanceEvents"]["price"].is_null());
}

TEST_F(RoutesTest, AnEmptyStoreIsSaidToBeEmpty) {
  EXPECT_EQ(data(Operation::daos), (Json{{"count", 0}, {"items", Json::array()}}));
  const Json body = Json::parse(ask(Operation::freshness).body);
  EXPECT_EQ(body["freshness"]["readiness"], "unavailable");
  EXPECT_EQ(body["data"]["status"], "unavailable");
  EXPECT_EQ(body["data"]["counts"]["proposals"], 0);
  EXPECT_EQ(data(Operation::activity)["items"], Json::array());
  EXPECT_EQ(data(Operation::lookup, "title=abc")["candidates"], Json::array());
  EXPECT_EQ(ask(Operation::item, "", {"proposal", "1"}).status, 404);
  EXPECT_EQ(ask(Operation::brief, "", {"nobody"}).status, 404);
}

TEST_F(RoutesTest, TheEnvelopeEchoesAndCaches) {
  load_sample_data();
  const Answer first = ask(Operation::activity, "hours=9999&limit=0&dao_id=HARBOR&noise=1");
  Json body = Json::parse(first.body);
  EXPECT_EQ(keys(body), (Names{"request", "freshness", "data"}));
  EXPECT_EQ(body["request"]["endpoint"], "/activity");
  EXPECT_EQ(body["request"]["params"], (Json{{"dao_id", "sample-harbor-dao"},
                                             {"governance_only", false},
                                             {"hours", 168},
                                             {"limit", 1},
                                             {"types", {"forum_topic", "proposal"}}}));
  EXPECT_EQ(body["request"]["clamped"], (Json{"hours", "limit"}));
  EXPECT_EQ(keys(body["freshness"]),
            (Names{"generatedAt", "dataAsOf", "cacheStatus", "readiness", "revision"}));
  EXPECT_EQ(body["freshness"]["cacheStatus"], "registry_only");
  EXPECT_EQ(body["freshness"]["readiness"], "ready");
  EXPECT_EQ(body["freshness"]["generatedAt"], "2026-03-01T12:00:00.000Z");
  EXPECT_EQ(first.max_age_s, 30u);

  clock.move_ms(10'000);
  const Answer other = ask(Operation::activity, "hours=168&limit=1&dao_id=harbor");
  body = Json::parse(other.body);
  EXPECT_EQ(body["freshness"]["cacheStatus"], "registry_only") << "nothing was clamped here";
  const Answer second = ask(Operation::activity, "dao_id=sample-harbor-dao&limit=-3&hours=168168");
  body = Json::parse(second.body);
  EXPECT_EQ(body["freshness"]["cacheStatus"], "memory_cache") << "the same effective values";
  EXPECT_EQ(second.etag, first.etag);
  clock.move_ms(30'000);
  body = Json::parse(ask(Operation::activity, "hours=9999&limit=0&dao_id=harbor").body);
  EXPECT_EQ(body["freshness"]["cacheStatus"], "registry_only") << "older than its time to live";
  import(options(Format::snapshot_graphql, "x"), "[]");
  body = Json::parse(ask(Operation::activity, "hours=9999&limit=0&dao_id=harbor").body);
  EXPECT_EQ(body["freshness"]["cacheStatus"], "registry_only") << "another revision";
}

TEST_F(RoutesTest, ParametersAreCheckedByTheCommonRules) {
  load_sample_data();
  const auto message = [&](Operation operation, const std::string& query) {
    const Answer answer = ask(operation, query);
    const Json body = Json::parse(answer.body);
    if (answer.status == 200) return std::string("200");
    EXPECT_EQ(answer.status, 400);
    EXPECT_EQ(keys(body), (Names{"error", "requestId"}));
    EXPECT_EQ(body["error"]["code"], "invalid_argument");
    EXPECT_EQ(body["requestId"], "req-1");
    return body["error"]["message"].get<std::string>();
  };
  const auto activity = [&](const std::string& query) {
    return message(Operation::activity, query);
  };
  EXPECT_EQ(activity("hours=ten"), "hours must be an integer from 1 to 168");
  EXPECT_EQ(activity("hours="), "hours must be an integer from 1 to 168");
  EXPECT_EQ(activity("hours=1.5"), "hours must be an integer from 1 to 168");
  EXPECT_EQ(activity("hours=99999999999999999999999"), "200");
  EXPECT_EQ(activity("hours=24&hours=24"), "200");
  EXPECT_EQ(activity("hours=24&hours=25"), "hours has two different values");
  EXPECT_EQ(activity("governance_only=yes"), "governance_only must be true or false");
  EXPECT_EQ(activity("governance_only=1"), "200");
  EXPECT_EQ(activity("types=proposal,%20proposal&types=forum_topic"), "200");
  EXPECT_EQ(activity("types=proposal,"), "types takes forum_topic, proposal");
  EXPECT_EQ(activity("types=vote"), "types takes forum_topic, proposal");
  EXPECT_EQ(activity("dao_id="), "dao_id must not be empty");
  EXPECT_EQ(activity("dao_id=%ff"), "dao_id is no UTF-8 text");
  EXPECT_EQ(activity("dao_id=%zz"), "the query holds a broken percent escape");
  EXPECT_EQ(activity("dao_id=" + std::string(128, 'a')), "200");
  EXPECT_EQ(activity("dao_id=" + std::string(129, 'a')), "dao_id is longer than 128 bytes");
  EXPECT_EQ(activity(std::string(9000, '&') + "x&=&&=1"), "200");
  EXPECT_EQ(message(Operation::lookup, "dao_id=harbor"),
            "give at least one of external_id, title and url");
  const Json rule = Json::parse(ask(Operation::lookup, "").body)["error"]["details"];
  EXPECT_EQ(rule["rule"], "at_least_one");
  EXPECT_EQ(ask(Operation::item, "", {"vote", "1"}).status, 400);
}

TEST_F(RoutesTest, Daos) {
  load_sample_data();
  const Json list = data(Operation::daos);
  EXPECT_EQ(list["count"], 4);
  Names ids;
  for (const Json& item : list["items"]) ids.push_back(item["daoId"]);
  EXPECT_EQ(ids, (Names{"sample-harbor-dao", "sample-lantern-guild", "sample-orchard-dao",
                        "sample-tidepool-dao"}));
  const Json& harbor = list["items"][0];
  EXPECT_EQ(keys(harbor), (Names{"daoId", "name", "aliases", "about", "website", "logoUrl",
                                 "sources", "availableData", "proposalCounts", "participation",
                                 "forumCounts", "latestActivity", "coverageStatus", "dataAsOf"}));
  EXPECT_EQ(harbor["availableData"], (Json{"proposals", "votes", "forumTopics"}));
  EXPECT_EQ(harbor["proposalCounts"],
            (Json{{"total", 8}, {"pending", 1}, {"active", 2}, {"closed", 5}}));
  EXPECT_EQ(harbor["participation"]["voteCount"], 166);
  EXPECT_EQ(harbor["forumCounts"]["topics"], 6);
  EXPECT_EQ(harbor["coverageStatus"], "complete");
  EXPECT_TRUE(list["items"][1]["forumCounts"].is_null());
}

TEST_F(RoutesTest, FreshnessTellsSourcesAndFailures) {
  load_sample_data();
  Json fresh = data(Operation::freshness);
  EXPECT_EQ(keys(fresh),
            (Names{"status", "dataAsOf", "oldestSourceAsOf", "revision", "schemaVersion", "counts",
                   "sources", "derivation", "upstream", "warnings"}));
  EXPECT_EQ(fresh["status"], "ready");
  EXPECT_EQ(fresh["counts"]["proposals"], 22);
  EXPECT_EQ(fresh["counts"]["activeProposals"], 5);
  EXPECT_EQ(fresh["sources"].size(), 6u);
  EXPECT_EQ(
      keys(fresh["sources"][0]),
      (Names{"sourceId", "daoId", "provider", "scope", "kind", "status", "asOf", "lastAttemptAt",
             "lastSuccessAt", "lastRecordAt", "records", "staleAfterSeconds", "lastError"}));
  ImportOptions bad = options(Format::discourse, "sample-harbor-dao");
  bad.base_url = "https://forum.sample-harbor.example";
  bad.now_ms = clock.now_ms() + 1000;
  bad.stale_after_s = 7 * 24 * 3600;
  bad.input_name = "/secret/path.json";
  EXPECT_EQ(import(bad, R"({"topic_list":{"topics":[{"id":1}]}})").status, "failed");
  clock.move_ms(60'000);
  const std::string body = ask(Operation::freshness).body;
  EXPECT_EQ(body.find("/secret"), std::string::npos);
  fresh = Json::parse(body)["data"];
  EXPECT_EQ(fresh["sources"][0]["status"], "failed");
  EXPECT_EQ(fresh["sources"][0]["lastError"]["message"], "1 of 1 records rejected");
  clock.move_ms(8 * ms_per_day);
  EXPECT_EQ(data(Operation::freshness)["status"], "stale");
}

TEST_F(RoutesTest, LookupRanksIdAddressAndTitle) {
  load_sample_data();
  const Json all = data(Operation::lookup, "title=proposal&limit=200");
  EXPECT_GE(all["count"].get<int>(), 15);
  EXPECT_EQ(all["truncated"], false);
  const Json two = data(Operation::lookup, "title=PROPOSAL&limit=2");
  EXPECT_EQ(two["count"], 2);
  EXPECT_EQ(two["truncated"], true);
  EXPECT_EQ(two["candidates"][0]["match"],
            (Json{{"type", "title_contains"}, {"matchedFields", {"title"}}}));
  const Json exact =
      data(Operation::lookup, "title=Proposal:%20rename%20the%20LOWER%20orchard&dao_id=orchard");
  EXPECT_EQ(exact["count"], 1);
  EXPECT_EQ(keys(exact["candidates"][0]),
            (Names{"match", "itemRef", "evidenceRef", "evidencePath", "proposal"}));
  EXPECT_EQ(exact["candidates"][0]["match"]["type"], "title_exact");
  EXPECT_EQ(keys(exact["candidates"][0]["proposal"]), summary_names());
  EXPECT_EQ(exact["candidates"][0]["evidencePath"],
            "/v1/gateway/govdata/global/v1/daos/sample-orchard-dao/proposals/governor/5/evidence");
  // The number 5 identifies one proposal, 1 identifies two, which differ by their DAO.
  EXPECT_EQ(data(Operation::lookup, "external_id=5")["count"], 1);
  EXPECT_EQ(data(Operation::lookup, "external_id=0x5")["count"], 1);
  EXPECT_EQ(data(Operation::lookup, "external_id=1")["count"], 2);
  EXPECT_EQ(data(Operation::lookup, "external_id=sample-tidepool-dao~tally~1")["count"], 1);
  EXPECT_EQ(data(Operation::lookup, "external_id=1&dao_id=tidepool")["count"], 1);
  const Json by_topic =
      data(Operation::lookup, "url=https://forum.sample-harbor.example/t/x/31/4%23frag");
  EXPECT_EQ(by_topic["candidates"][0]["match"],
            (Json{{"type", "url_canonical"}, {"matchedFields", {"discussionUrl"}}}));
  const std::string url = by_topic["candidates"][0]["proposal"]["source"]["url"];
  std::string encoded = url;
  encoded.replace(encoded.find('#'), 1, "%23");
  const Json by_url = data(Operation::lookup, "title=tide&url=" + encoded);
  EXPECT_EQ(by_url["candidates"][0]["match"]["type"], "url_exact");
  EXPECT_EQ(by_url["candidates"][1]["match"]["type"], "title_contains");
  EXPECT_EQ(data(Operation::lookup, "url=https://www.tally.xyz/gov/orchard/proposal/6")["count"],
            1);
  EXPECT_EQ(data(Operation::lookup, "url=https://www.tally.xyz/gov/nobody/proposal/6")["count"], 0);
  const Json unknown = data(Operation::lookup, "title=abc&dao_id=nobody");
  EXPECT_EQ(unknown["warnings"], Json{"unknown_dao"});
  EXPECT_EQ(data(Operation::lookup, "title=zz")["count"], 0);
  EXPECT_EQ(data(Operation::lookup, "title=%22%20OR%20%2A")["count"], 0) << "no query language";
}

TEST_F(RoutesTest, ItemsOfBothKinds) {
  load_sample_data();
  const Json two = data(Operation::item, "", {"proposal", "1"});
  EXPECT_EQ(two["ambiguous"], true);
  EXPECT_EQ(two["alternatives"].size(), 1u);
  EXPECT_EQ(two["alternatives"][0]["externalId"], "sample-orchard-dao~governor~1");
  const Json qualified = data(Operation::item, "", {"proposal", "sample-orchard-dao~governor~1"});
  EXPECT_EQ(qualified["ambiguous"], false);
  EXPECT_EQ(qualified["item"]["daoId"], "sample-orchard-dao");
  const Json one = data(Operation::item, "", {"proposal", "4"});
  EXPECT_EQ(keys(one),
            (Names{"kind", "itemRef", "ambiguous", "alternatives", "item", "related", "warnings"}));
  Names detail = summary_names();
  for (const char* name : {"body", "bodyFormat", "bodyTruncated", "bodySha256", "choices",
                           "quorumRequired", "sourceUpdatedAt", "canceledAt", "queuedAt",
                           "executedAt", "actions", "revision", "links"}) {
    detail.emplace_back(name);
  }
  EXPECT_EQ(keys(one["item"]), detail);
  EXPECT_EQ(one["item"]["executionStatus"], "queued");
  EXPECT_EQ(one["item"]["outcome"], "passed");
  EXPECT_EQ(one["item"]["choices"].size(), 3u);
  EXPECT_EQ(one["item"]["actions"][0]["signature"], "setPeriod(uint256)");
  EXPECT_EQ(one["related"]["topics"][0]["title"], "[Proposal] Pay the pickers weekly");
  EXPECT_EQ(data(Operation::item, "", {"proposal", "2"})["alternatives"].size(), 1u);
  const Json topic = data(Operation::item, "", {"forum_topic", "33"});
  EXPECT_EQ(topic["item"]["posts"].size(), 9u);
  EXPECT_EQ(topic["item"]["posts"][0]["postNumber"], 1);
  EXPECT_EQ(topic["item"]["activity24h"]["posts"], 9);
  EXPECT_EQ(topic["item"]["commentCount"], 8);
  EXPECT_EQ(topic["item"]["governanceScore"], 90);
  EXPECT_EQ(topic["related"]["proposals"].size(), 1u);
  const Answer missing = ask(Operation::item, "", {"proposal", "no~such~thing"});
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(Json::parse(missing.body)["error"]["code"], "not_found");
}

TEST_F(RoutesTest, LongBodiesAreCutAndSaidToBe) {
  const std::string body(70'000, 'b');
  import(options(Format::snapshot_graphql, "s-dao"),
         R"([{"id":"0x1","title":"T","choices":[],"space":{"id":"s.eth"},"flagged":true,"body":")" +
             body + "\"}]");
  const Json one = data(Operation::item, "", {"proposal", "0x1"});
  EXPECT_EQ(one["item"]["body"].get<std::string>().size(), 64u << 10);
  EXPECT_EQ(one["item"]["bodyTruncated"], true);
  EXPECT_EQ(one["warnings"], Json{"flagged"});
  EXPECT_EQ(one["item"]["status"], "unknown");
}

TEST_F(RoutesTest, BriefOfADao) {
  load_sample_data();
  const Json brief = data(Operation::brief, "activity_limit=3", {"Sample Harbor DAO"});
  EXPECT_EQ(keys(brief), (Names{"dao", "outcomes", "execution", "activeProposals",
                                "upcomingProposals", "recentOutcomes", "recentActivity", "forum",
                                "cadence", "highlights", "warnings"}));
  EXPECT_EQ(brief["activeProposals"].size(), 2u);
  EXPECT_EQ(brief["activeProposals"][0]["endsInSeconds"], 5 * 3600);
  EXPECT_EQ(brief["activeProposals"][0]["deadlineBand"], "<6h");
  EXPECT_EQ(brief["activeProposals"][1]["deadlineBand"], "<72h");
  EXPECT_EQ(brief["upcomingProposals"].size(), 1u);
  EXPECT_EQ(brief["recentOutcomes"].size(), 5u);
  EXPECT_EQ(brief["recentActivity"].size(), 3u);
  EXPECT_EQ(
      brief["outcomes"],
      (Json{{"passed", 1}, {"failed", 1}, {"canceled", 0}, {"no_quorum", 2}, {"unknown", 1}}));
  EXPECT_EQ(brief["highlights"][0]["text"],
            "Voting on [HIP-31] Proposal: add two public berths at the east pier ends in 5 h; "
            "quorum 106% reached");
  EXPECT_EQ(brief["forum"]["topTopics"].size(), 3u);
  EXPECT_EQ(brief["cadence"]["medianVotingPeriodHours"], "168");
  EXPECT_EQ(ask(Operation::brief, "", {"nobody"}).status, 404);
}

TEST_F(RoutesTest, ActivityIsOrderedAndMovesWithTheClock) {
  load_sample_data();
  const Json week = data(Operation::activity, "hours=168&limit=200");
  std::string last = "9999";
  for (const Json& item : week["items"]) {
    EXPECT_EQ(keys(item), (Names{"kind", "type", "daoId", "daoName", "title", "summary", "url",
                                 "updatedAt", "createdAt", "changeType", "governanceRelated",
                                 "itemRef", "evidenceRef", "proposal", "topic"}));
    EXPECT_LE(item["updatedAt"].get<std::string>(), last);
    last = item["updatedAt"];
  }
  EXPECT_GE(last, "2026-02-22T12:00:00.000Z");
  EXPECT_EQ(week["window"]["anchor"], "wall_clock");
  const Json topics = data(Operation::activity, "types=forum_topic&governance_only=true&hours=168");
  for (const Json& item : topics["items"]) {
    EXPECT_EQ(item["kind"], "forum_topic");
    EXPECT_GE(item["topic"]["governanceScore"].get<int>(), 50);
  }
  // Six hours later, the vote that had five hours left has ended although nothing was imported.
  clock.move_ms(6 * ms_per_hour);
  const Json later = data(Operation::activity, "hours=2&types=proposal&dao_id=harbor");
  ASSERT_EQ(later["count"], 1);
  EXPECT_EQ(later["items"][0]["changeType"], "voting_ended");
  EXPECT_EQ(later["items"][0]["proposal"]["status"], "closed");
  EXPECT_EQ(later["items"][0]["proposal"]["outcome"], "unknown") << "its result was never read";
  const Json unknown = data(Operation::activity, "dao_id=nobody");
  EXPECT_EQ(unknown["warnings"], Json{"unknown_dao"});
  EXPECT_EQ(unknown["count"], 0);
}

TEST_F(RoutesTest, ActivityCanStandOnTheDataInsteadOfTheClock) {
  anchor = ActivityAnchor::data_as_of;
  load_sample_data();
  clock.move_ms(400 * ms_per_day);
  const Json old = data(Operation::activity, "hours=24");
  EXPECT_EQ(old["window"]["anchor"], "data_as_of");
  EXPECT_EQ(old["window"]["endMs"], at("2026-03-01T12:00:00Z"));
  EXPECT_GE(old["count"].get<int>(), 4);
}

TEST_F(RoutesTest, AMissingStoreIsSaidNotThrown) {
  Service absent({path() + ".absent", {}, {}, {}, 4}, clock);
  EXPECT_EQ(absent.check(), StoreHealth::missing);
  const Answer answer = absent.answer({Operation::daos, {}, "", "r"});
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(Json::parse(answer.body)["error"]["code"], "unavailable");
  EXPECT_EQ(absent.answer({Operation::pricing, {}, "", "r"}).status, 200);
}

// Queries that must use indexes, since a large store cannot be scanned for each.
TEST_F(RoutesTest, QueriesUseTheirIndexes) {
  load_sample_data();
  const auto reader = open_for_reading(path());
  ServiceOptions none;
  const auto run = [&](Operation operation, const char* query, Json (*route)(RouteContext&)) {
    RouteRequest request = parse_request({operation, {}, query, ""}, clock.now_ms());
    RouteContext context{*reader, clock.now_ms(), none, request, {*reader, clock.now_ms(), ""}};
    route(context);
  };
  run(Operation::activity, "limit=5", run_activity);
  run(Operation::activity, "limit=5&dao_id=sample-harbor-dao", run_activity);
  run(Operation::lookup, "external_id=5&title=tide%20sensor&url=https://x.example/t/a/1",
      run_lookup);
  run(Operation::daos, "", run_daos);
  std::string plans;
  for (const std::string& sql : reader->prepared()) {
    auto plan = reader->prepare("EXPLAIN QUERY PLAN " + sql);
    plans += "\n-- " + sql + "\n";
    while (plan.step()) plans += plan.text(3) + "\n";
  }
  for (const char* wanted :
       {"SEARCH p USING INDEX proposal_updated (updated_at>? AND updated_at<?)",
        "SEARCH p USING INDEX proposal_dao_updated (dao_id=? AND updated_at>? AND updated_at<?)",
        "SEARCH p USING INDEX proposal_end (voting_ends_at>?)",
        "SEARCH t USING INDEX topic_updated (updated_at>? AND updated_at<?)",
        "SEARCH proposal USING INDEX proposal_ext (external_id=?)",
        "SEARCH proposal USING INDEX proposal_url (url_norm=?)",
        "SEARCH proposal USING INDEX proposal_discussion (discussion_norm=?)",
        "SEARCH proposal USING INDEX proposal_title (title_norm=?)", "SCAN f VIRTUAL TABLE INDEX",
        "SCAN proposal USING COVERING INDEX proposal_state"}) {
    EXPECT_NE(plans.find(wanted), std::string::npos) << wanted << plans;
  }
  EXPECT_EQ(plans.find("SCAN p\n"), std::string::npos) << plans;
  EXPECT_EQ(plans.find("SCAN t\n"), std::string::npos) << plans;
}

}  // namespace
}  // namespace turnpike::govdata

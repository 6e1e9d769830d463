// The routes of the status over real sockets, with a scripted status behind them.
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/api/status_feed.h"
#include "hosts/api/status_reads.h"
#include "hosts/api/status_routes.h"
#include "hosts/host_fixture.h"
#include "hosts/scripted_status.h"
#include "registry/compile.h"
#include "status/evidence.h"
#include "support/status_story.h"
#include "support/stores.h"
#include "text/time_text.h"

namespace turnpike::tests {
namespace {

using base::ErrorCode;
using nlohmann::json;
using support::StatusStory;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view sweeps = "/v1/status/probes/release-sweeps";

std::shared_ptr<const registry::Program> program() {
  const registry::Source sources[] = {{"weather.yaml", R"yaml(
provider: {key: weather, name: "<script>Weather & \"friends\"</script>"}
upstreams: {weather-main: {plugin: http}}
prices: {standard: {version: 1, credit_cost: 1}}
routes:
  - path: /now
    price: standard
    monitoring: {class: continuous, sample: {}, per_day_max: 2000}
)yaml"}};
  auto compiled =
      registry::compile({.sources = sources, .installed = {}, .plugins = {}, .lane = nullptr});
  if (!compiled.ok()) throw std::runtime_error(compiled.error().front().text());
  return *compiled;
}

class StatusRoutesTest : public HostFixture {
 protected:
  void SetUp() override {
    host_clock_ = &time_;
    status_source_ = &status_;
    start({.cors_origins = {},
           .build = {},
           .reference = {},
           .cursor_key = std::string(32, 'k'),
           .base_url = "https://api.example.com"});
    for (int at = 0; at < 5; ++at) story_.close_round();
    set_time(story_.now_ms);
    status_.set_board(story_.board());
  }

  std::string operation_path() const {
    return "/v1/status/gateway/operations/" + story_.program->routes().front().id;
  }
  // The documents of the board.
  std::vector<std::string> document_paths() const {
    return {"/v1/status",
            "/v1/status/gateway",
            operation_path(),
            "/v1/status/gateway/providers/weather",
            "/v1/status/gateway/authority",
            "/v1/status/badges/weather.svg"};
  }
  std::vector<std::string> public_paths() const {
    std::vector<std::string> paths = document_paths();
    for (const char* const path : {"/v1/status/evidence", "/v1/status/rules",
                                   "/v1/status/incidents", "/v1/status/feed.atom"}) {
      paths.emplace_back(path);
    }
    return paths;
  }
  HttpReply post(const std::string& target, const std::string& body,
                 const std::string& token = "good") {
    std::vector<std::string> headers;
    if (!token.empty()) headers.push_back("Authorization: Bearer " + token);
    if (!body.empty()) headers.emplace_back("Content-Type: application/json");
    return call({.method = "POST", .target = target, .headers = headers, .body = body});
  }
  void expect_rejected(const std::string& target, const std::string& location) {
    const HttpReply reply = get(target);
    EXPECT_EQ(reply.status, 400) << target;
    EXPECT_EQ(code_of(reply), "status.query_invalid") << target;
    const json fields = json::parse(reply.body)["error"]["fields"];
    ASSERT_EQ(fields.size(), 1u) << target;
    EXPECT_EQ(fields[0]["location"], location) << target;
    EXPECT_FALSE(fields[0]["fix"].get<std::string>().empty()) << target;
  }

  void set_time(std::int64_t now_ms) { time_.step_ms(now_ms - time_.now_ms()); }

  support::ManualClock time_;
  StatusStory story_{program()};
  ScriptedStatus status_;
};

// ---- documents

TEST_F(StatusRoutesTest, EveryPublicRouteAnswersAndIsKeptByNoCache) {
  for (const std::string& path : public_paths()) {
    const HttpReply reply = get(path);
    EXPECT_EQ(reply.status, 200) << path;
    EXPECT_EQ(reply.header("cache-control"), "no-store") << path;
    EXPECT_EQ(reply.header("etag"), "") << path;
    const HttpReply head = call({.method = "HEAD", .target = path});
    EXPECT_EQ(head.status, 200) << path;
    EXPECT_EQ(head.body, "") << path;
    EXPECT_EQ(head.header("content-length"), std::to_string(reply.body.size())) << path;
    EXPECT_EQ(head.header("content-type"), reply.header("content-type")) << path;
    EXPECT_EQ(code_of(get(path + "?unknown=1")), "request.query_rejected") << path;
    EXPECT_EQ(call({.method = "DELETE", .target = path}).status, 405) << path;
  }
}

TEST_F(StatusRoutesTest, TheDocumentsAreThoseOfTheBoard) {
  const auto board = story_.board();
  EXPECT_EQ(get("/v1/status").body, board->status().current);
  EXPECT_EQ(get("/v1/status/gateway").body, board->gateway().current);
  EXPECT_EQ(get("/v1/status/gateway/providers/weather").body, board->provider("weather")->current);
  EXPECT_EQ(get("/v1/status/gateway/authority").body, *board->authority(time_.now_ms()));
  EXPECT_EQ(get("/v1/status/rules").body, status::rules_json());
  EXPECT_EQ(json::parse(get("/v1/status").body)["status"], "operational");
}

TEST_F(StatusRoutesTest, DocumentsThatAllPollAreCompressedForClientsThatTakeIt) {
  const auto board = story_.board();
  const auto ask = [&](const std::string& target, const std::string& coding) {
    return get(target, {"Accept-Encoding: " + coding});
  };
  const HttpReply plain = ask("/v1/status/gateway", "gzip, br;q=0");
  EXPECT_EQ(plain.body, board->gateway().current);
  EXPECT_EQ(plain.header("content-encoding"), "");
  EXPECT_EQ(plain.header("vary"), "Accept-Encoding");
  const HttpReply small = ask("/v1/status/gateway", "gzip, br");
  EXPECT_EQ(small.header("content-encoding"), "br");
  EXPECT_EQ(small.header("vary"), "Accept-Encoding");
  EXPECT_EQ(small.body, board->gateway().current_brotli);
  EXPECT_LT(small.body.size(), plain.body.size());
  EXPECT_EQ(ask("/v1/status", "br").body, board->status().current_brotli);
  EXPECT_EQ(ask("/v1/status/gateway/authority", "br").header("content-encoding"), "");
  set_time(story_.now_ms + 3 * 60'000);
  EXPECT_EQ(ask("/v1/status", "br").body, board->status().stale_brotli);
}

TEST_F(StatusRoutesTest, TheSameBoardIsUnknownWhenTheClockHasPassedIt) {
  set_time(story_.board()->gateway().valid_until_ms - 1);
  EXPECT_EQ(json::parse(get("/v1/status/gateway").body)["status"], "operational");
  set_time(story_.now_ms + 3 * 60'000);
  for (const char* const path : {"/v1/status", "/v1/status/gateway",
                                 "/v1/status/gateway/providers/weather"}) {
    const json body = json::parse(get(path).body);
    EXPECT_EQ(body["status"], "unknown") << path;
  }
  const json body = json::parse(get(operation_path()).body);
  EXPECT_EQ(body["status"], "unknown");
  EXPECT_EQ(body["evidence_status"], "stale");
  EXPECT_THAT(get("/v1/status/badges/weather.svg").body, HasSubstr(": unknown</title>"));
  const HttpReply authority = get("/v1/status/gateway/authority");
  EXPECT_EQ(authority.status, 503);
  EXPECT_EQ(code_of(authority), "status.authority_unavailable");
  EXPECT_EQ(authority.header("cache-control"), "no-store");
  EXPECT_EQ(authority.header("retry-after"), "5");
}

TEST_F(StatusRoutesTest, WithoutAProgramThereIsNoStatus) {
  status_.set_board(nullptr);
  for (const std::string& path : document_paths()) {
    const HttpReply reply = get(path);
    EXPECT_EQ(reply.status, 503) << path;
    EXPECT_EQ(code_of(reply), path.ends_with("authority") ? "status.authority_unavailable"
                                                          : "registry.unavailable");
  }
}

TEST_F(StatusRoutesTest, BeforeTheFirstRoundThereIsNoAuthority) {
  const StatusStory fresh(program());
  status_.set_board(fresh.board());
  EXPECT_EQ(get("/v1/status/gateway/authority").status, 503);
  const json body = json::parse(get("/v1/status/gateway").body);
  EXPECT_EQ(body["evidence_status"], "unverified");
  EXPECT_EQ(body["providers"][0]["status"], "unknown");
}

TEST_F(StatusRoutesTest, WhatTheCatalogLacksIsNotFound) {
  for (const char* const path :
       {"/v1/status/gateway/operations/route-00000000000000000000000000000000",
        "/v1/status/gateway/operations/nothing", "/v1/status/gateway/providers/nobody",
        "/v1/status/gateway/providers/%3Cscript%3E", "/v1/status/badges/nobody.svg"}) {
    const HttpReply reply = get(path);
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_EQ(code_of(reply), "status.not_in_catalog") << path;
  }
  for (const char* const path : {"/v1/status/badges/weather", "/v1/status/badges/weather.png",
                                 "/v1/status/badges/.svg", "/v1/status/", "/v1/status/nothing"}) {
    EXPECT_EQ(code_of(get(path)), "request.not_found") << path;
  }
}

TEST_F(StatusRoutesTest, ANameCannotLeaveItsPlaceInAPicture) {
  const HttpReply reply = get("/v1/status/badges/weather.svg");
  EXPECT_EQ(reply.header("content-type"), "image/svg+xml");
  EXPECT_THAT(reply.body, Not(HasSubstr("<script")));
  EXPECT_THAT(reply.body, HasSubstr("&lt;script&gt;Weather &amp; &quot;friends&quot;"));
}

// ---- evidence

std::vector<json> lines_of(const std::string& body) {
  std::vector<json> lines;
  std::istringstream stream(body);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

std::vector<std::uint64_t> rounds_of(const std::string& body) {
  std::vector<std::uint64_t> rounds;
  for (const json& line : lines_of(body)) {
    if (line.value("type", "") == "round") rounds.push_back(line["round"]);
  }
  return rounds;
}

TEST_F(StatusRoutesTest, EvidenceIsReadRoundByRound) {
  status_.store_.stored = story_.rounds;
  status_.store_.set = story_.targets.canonical();
  const HttpReply reply = get("/v1/status/evidence");
  EXPECT_EQ(reply.header("content-type"), status::evidence_media_type);
  EXPECT_THAT(rounds_of(reply.body), testing::ElementsAre(1u, 2u, 3u, 4u, 5u));
  EXPECT_EQ(lines_of(reply.body).front()["type"], "targets");
  EXPECT_THAT(rounds_of(get("/v1/status/evidence?from_round=2&limit=2").body),
              testing::ElementsAre(2u, 3u));
  EXPECT_THAT(rounds_of(get("/v1/status/evidence?from_round=5&limit=60").body),
              testing::ElementsAre(5u));
  EXPECT_EQ(get("/v1/status/evidence?from_round=6").body, "");
  EXPECT_THAT(get("/v1/status/evidence?from_round=1&limit=1").body,
              HasSubstr(*story_.rounds.front().lines));
}

TEST_F(StatusRoutesTest, AVerifierCanBeginBehindAKeptBook) {
  status_.store_.stored.assign(story_.rounds.begin() + 2, story_.rounds.end());
  status_.store_.stored.back().lines.reset();
  status_.store_.book = story_.newest.book;
  status_.store_.book_round = 2;
  const std::string body = get("/v1/status/evidence").body;
  const std::vector<json> lines = lines_of(body);
  EXPECT_EQ(lines.front()["type"], "book");
  EXPECT_EQ(lines.front()["after_round"], 2);
  EXPECT_THAT(rounds_of(body), testing::ElementsAre(3u, 4u, 5u));
  EXPECT_EQ(lines.back()["type"], "pruned");
  status_.store_.book_round = 5;
  EXPECT_EQ(get("/v1/status/evidence?from_round=6").body, "");  // no round follows that book
}

TEST_F(StatusRoutesTest, BeforeTheFirstRoundThereIsNoEvidence) {
  const HttpReply reply = get("/v1/status/evidence");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "");
}

TEST_F(StatusRoutesTest, APageOfEvidenceEndsWhenItIsLarge) {
  for (int at = 0; at < 5; ++at) {
    status_.store_.stored.push_back(story_.rounds[static_cast<std::size_t>(at)]);
    status_.store_.stored.back().lines = std::string(hosts::api::evidence_page_bytes / 2, ' ');
  }
  const std::string body = get("/v1/status/evidence").body;
  EXPECT_GE(body.size(), hosts::api::evidence_page_bytes);
  EXPECT_LT(body.size(), 2 * hosts::api::evidence_page_bytes);
  EXPECT_THAT(body, HasSubstr(R"("round":2)"));
  EXPECT_THAT(body, Not(HasSubstr(R"("round":3)")));
}

TEST_F(StatusRoutesTest, EvidenceQueriesAreJudged) {
  for (const char* const value : {"0", "-1", "01", "1.0", "x", "", "9223372036854775808"}) {
    expect_rejected("/v1/status/evidence?from_round=" + std::string(value), "query.from_round");
  }
  for (const char* const value : {"0", "61", "x", ""}) {
    expect_rejected("/v1/status/evidence?limit=" + std::string(value), "query.limit");
  }
  EXPECT_EQ(get("/v1/status/evidence?from_round=9223372036854775807&limit=60").status, 200);
}

TEST_F(StatusRoutesTest, WhatTheStoreSaysOfItselfIsForOperators) {
  status_.store_.is_down = true;
  for (const char* const path :
       {"/v1/status/evidence", "/v1/status/evidence?from_round=1", "/v1/status/incidents",
        "/v1/status/feed.atom"}) {
    const HttpReply reply = get(path);
    EXPECT_EQ(reply.status, 503) << path;
    EXPECT_EQ(code_of(reply), "status.unavailable") << path;
    EXPECT_NE(reply.header("retry-after"), "") << path;
    EXPECT_THAT(reply.body, Not(HasSubstr("secret"))) << path;
  }
  EXPECT_EQ(get("/v1/status/gateway").status, 200);  // the board needs no store
}

// ---- incidents and feed

std::vector<status::ShownIncident> many_incidents(int count) {
  std::vector<status::ShownIncident> told;
  for (int at = count; at > 0; --at) {
    status::ShownIncident one;
    one.incident.id = "inc_" + std::to_string(1'000 + at);
    one.incident.scope = "provider:weather";
    one.incident.state = status::IncidentState::open;
    one.incident.severity = status::Level::degraded;
    one.incident.signals = {"reachability"};
    one.incident.affected = {"route-1:GET", "route-1:POST", "route-2:GET"};
    one.incident.started_at_ms = 1'795'564'800'000 + at / 2 * 60'000;  // two at a time
    one.incident.opened_at_ms = one.incident.started_at_ms + 60'000;
    one.incident.first_round = one.incident.last_round = static_cast<std::uint64_t>(at);
    told.push_back(one);
  }
  return told;
}

TEST_F(StatusRoutesTest, IncidentsArePagedWithoutLossOrRepetition) {
  status_.store_.told = many_incidents(25);
  std::vector<std::string> seen;
  std::string query = "?limit=4";
  for (int page = 0; page < 7; ++page) {
    const json body = json::parse(get("/v1/status/incidents" + query).body);
    for (const json& one : body["incidents"]) seen.push_back(one["incident_id"]);
    if (body["next_cursor"].is_null()) break;
    query = "?limit=4&after=" + body["next_cursor"].get<std::string>();
  }
  EXPECT_EQ(seen.size(), 25u);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 25u);
  EXPECT_TRUE(std::is_sorted(seen.rbegin(), seen.rend()));
}

TEST_F(StatusRoutesTest, AnIncidentIsShownWithAllThatIsOnRecord) {
  status_.store_.told = many_incidents(1);
  auto& told = status_.store_.told.front();
  told.incident.difference = "/data/0/id was string, is number";
  told.notes = {{1'795'564'900'000, "op_1", "We ask them."}};
  told.events = {{told.incident.id, 1'795'564'800'000, {}, status::IncidentState::suspect, true, 1,
                  "first_failure"}};
  told.calls_refused = 54;
  const json one = json::parse(get("/v1/status/incidents").body)["incidents"][0];
  EXPECT_EQ(one["affected"], (json::array({"route-1", "route-2"})));
  EXPECT_EQ(one["affected_operations"].size(), 3u);
  EXPECT_EQ(one["difference"], told.incident.difference);
  EXPECT_EQ(one["impact"], (json{{"calls_refused", 54}, {"credits_charged_for_failures", 0}}));
  EXPECT_EQ(one["events"][0]["event"], "first_failure");
  EXPECT_TRUE(one["events"][0]["from"].is_null());
  EXPECT_EQ(one["notes"], (json::array({{{"at", text::rfc3339(1'795'564'900'000)},
                                         {"text", "We ask them."}}})));
}

TEST_F(StatusRoutesTest, IncidentQueriesAreJudged) {
  status_.store_.told = many_incidents(3);
  for (const char* const value : {"0", "101", "x", "", "+1"}) {
    expect_rejected("/v1/status/incidents?limit=" + std::string(value), "query.limit");
  }
  const std::string cursor =
      json::parse(get("/v1/status/incidents?limit=1").body)["next_cursor"];
  std::string altered = cursor;
  altered[3] = altered[3] == 'A' ? 'B' : 'A';
  for (const std::string& value : {std::string("x"), std::string(), altered}) {
    expect_rejected("/v1/status/incidents?after=" + value, "query.after");
  }
  const hosts::NamedValues fields = [&] {
    hosts::NamedValues made;
    made.add("after", cursor);
    return made;
  }();
  const std::string key(32, 'k');
  EXPECT_TRUE(hosts::api::read_incidents_query(fields, "st_01", key).ok());
  EXPECT_FALSE(hosts::api::read_incidents_query(fields, "st_02", key).ok());
  EXPECT_FALSE(hosts::api::read_incidents_query(fields, "st_01", std::string(32, 'l')).ok());
}

TEST_F(StatusRoutesTest, TheFeedIsOfIncidentsAndMaintenance) {
  status_.store_.told = many_incidents(2);
  status_.store_.told.front().notes = {
      {1'795'564'900'000, "op_1", "</content><script>\x01 & \xFF ]]>"}};
  status_.store_.announced = {
      {"mnt_1", "gateway", "New disks", 1'795'600'000'000, 1'795'603'600'000, "op_1", 0}};
  const HttpReply reply = get("/v1/status/feed.atom");
  EXPECT_EQ(reply.header("content-type"), "application/atom+xml; charset=utf-8");
  EXPECT_THAT(reply.body, HasSubstr("&lt;/content&gt;&lt;script&gt;\xEF\xBF\xBD &amp; "
                                    "\xEF\xBF\xBD ]]&gt;"));
  EXPECT_THAT(reply.body, HasSubstr("Maintenance of gateway"));
  EXPECT_THAT(reply.body, HasSubstr("href=\"https://api.example.com/v1/status/feed.atom\""));
  EXPECT_THAT(reply.body, Not(HasSubstr("op_1")));
  EXPECT_EQ(get("/v1/status/feed.atom").body, reply.body);
}

TEST_F(StatusRoutesTest, EntriesKeepTheirIdsWhateverBecomesOfThem) {
  const auto ids_of = [](const std::string& feed) {
    std::set<std::string> ids;
    for (std::size_t at = feed.find("<id>"); at != feed.npos; at = feed.find("<id>", at + 1)) {
      ids.insert(feed.substr(at + 4, feed.find("</id>", at) - at - 4));
    }
    return ids;
  };
  auto told = many_incidents(2);
  const std::string before = hosts::api::feed_text({"st_01", "https://a.example", told, {}});
  told.front().incident.state = status::IncidentState::resolved;
  told.front().incident.resolved_at_ms = 1'795'999'999'000;
  const std::string after = hosts::api::feed_text({"st_01", "", told, {}});
  EXPECT_EQ(ids_of(before).size(), 3u);
  EXPECT_EQ(ids_of(before), ids_of(after));
  for (const std::string& id : ids_of(before)) {
    ASSERT_TRUE(id.starts_with("urn:uuid:")) << id;
    EXPECT_TRUE(base::is_uuid(id.substr(9)) || id[23] == '8') << id;
  }
  EXPECT_NE(ids_of(hosts::api::feed_text({"st_02", "", told, {}})), ids_of(after));
  EXPECT_THAT(after, Not(HasSubstr("<link")));
}

// ---- release sweeps

const std::string begin_body =
    R"({"release":"1.4.0","generation":{"id":"gen_1","payload_hash":"sha256:00"}})";

status::Sweep running_sweep() {
  status::Sweep sweep;
  sweep.id = "swp_1";
  sweep.release = "1.4.0";
  sweep.generation_id = "gen_1";
  sweep.payload_hash = "sha256:00";
  sweep.started_at_ms = 1'795'564'800'000;
  sweep.expires_at_ms = 1'795'568'400'000;
  sweep.targets = {
      {.target = "gateway:healthz", .result = status::LookResult::pass, .round = 4},
      {.target = "operation:route-1:GET",
       .monitoring = status::MonitoringClass::manual,
       .result = status::LookResult::fail,
       .reason = status::Reason::timeout,
       .observed_at_ms = 1'795'564'801'000,
       .round = 4},
      {.target = "operation:route-2:GET", .result = {}},
      {.target = "upstream:weather-main", .result = status::LookResult::skipped}};
  return sweep;
}

TEST_F(StatusRoutesTest, ASweepIsBegunByThePrincipalOfTheKey) {
  status_.sweep = running_sweep();
  const HttpReply reply = post(std::string(sweeps), begin_body);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("cache-control"), "no-store");
  EXPECT_EQ(status_.asked.release, "1.4.0");
  EXPECT_EQ(status_.asked.generation_id, "gen_1");
  EXPECT_EQ(status_.asked.payload_hash, "sha256:00");
  EXPECT_EQ(status_.asked.principal, "key:key_good");
  const json body = json::parse(reply.body);
  EXPECT_EQ(body["state"], "running");
  EXPECT_EQ(body["expected_targets"], 4);
  EXPECT_EQ(body["passed"], 1);
  EXPECT_EQ(body["failed"], 1);
  EXPECT_EQ(body["unknown"], 2);
  EXPECT_EQ(body["estimated_executions"], 2);
  EXPECT_TRUE(body["completed_at"].is_null());
  EXPECT_TRUE(body["reason"].is_null());
  EXPECT_EQ(body["targets"][1]["reason"], "timeout");
  EXPECT_TRUE(body["targets"][2]["result"].is_null());
  EXPECT_TRUE(body["targets"][2]["observed_at"].is_null());
}

TEST_F(StatusRoutesTest, ASweepNeedsAKey) {
  for (const std::string& path : {std::string(sweeps), std::string(sweeps) + "/swp_1/complete"}) {
    const std::string body = path.ends_with("complete") ? "" : begin_body;
    const HttpReply stranger = post(path, body, "");
    EXPECT_EQ(stranger.status, 401) << path;
    EXPECT_EQ(code_of(stranger), "auth.credential_required") << path;
    EXPECT_EQ(post(path, body, "nonsense").status, 401) << path;
    EXPECT_EQ(post(path, body, "down").status, 503) << path;
    EXPECT_EQ(get(path).status, 405) << path;
  }
  EXPECT_TRUE(status_.asked.principal.empty());
  EXPECT_TRUE(status_.completed.first.empty());
}

TEST_F(StatusRoutesTest, RefusalsOfSweepsHaveTheirStatuses) {
  const std::vector<std::pair<ErrorCode, int>> cases = {
      {ErrorCode::status_sweep_principal, 403},     {ErrorCode::status_sweep_not_found, 404},
      {ErrorCode::status_generation_mismatch, 409}, {ErrorCode::status_sweep_incomplete, 503},
      {ErrorCode::status_unavailable, 503},         {ErrorCode::registry_unavailable, 503}};
  for (const auto& [code, status] : cases) {
    status_.refusal = base::Error{code, "As the script says.", status == 503 ? 7u : 0u};
    const std::string path(sweeps);
    for (const HttpReply& reply : {post(path, begin_body), post(path + "/swp_1/complete", "")}) {
      EXPECT_EQ(reply.status, status);
      EXPECT_EQ(code_of(reply), base::info_of(code).name);
      EXPECT_EQ(reply.header("retry-after"), status == 503 ? "7" : "");
    }
  }
}

TEST_F(StatusRoutesTest, TheBodyOfASweepIsStrict) {
  const auto expect_problem = [&](const std::string& body, const std::string& location) {
    const HttpReply reply = post(std::string(sweeps), body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_EQ(code_of(reply), "request.body_rejected") << body;
    std::set<std::string> locations;
    const json refusal = json::parse(reply.body)["error"];
    for (const json& field : refusal["fields"]) locations.insert(field["location"]);
    EXPECT_TRUE(locations.contains(location)) << reply.body;
  };
  expect_problem("{", "");
  expect_problem("[]", "");
  expect_problem(R"({"generation":{"id":"a","payload_hash":"b"}})", "/release");
  expect_problem(R"({"release":"1"})", "/generation");
  expect_problem(R"({"release":"1","generation":"gen_1"})", "/generation");
  expect_problem(R"({"release":"1","generation":{"id":"a"}})", "/generation/payload_hash");
  expect_problem(R"({"release":"1","generation":{"id":7,"payload_hash":"b"}})", "/generation/id");
  expect_problem(R"({"release":"1","generation":{"id":"a","payload_hash":"b","c":1}})",
                 "/generation/c");
  expect_problem(R"({"release":"1","generation":{"id":"a","payload_hash":"b"},"principal":"x"})",
                 "/principal");
  expect_problem(R"({"release":"","generation":{"id":"a","payload_hash":"b"}})", "/release");
  const std::string most(200, 'r');
  const std::string rest = R"(","generation":{"id":"a","payload_hash":"b"}})";
  status_.sweep = running_sweep();
  EXPECT_EQ(post(std::string(sweeps), R"({"release":")" + most + rest).status, 200);
  expect_problem(R"({"release":")" + most + "r" + rest, "/release");
  EXPECT_EQ(post(std::string(sweeps), std::string(4'097, ' ')).status, 413);
  EXPECT_EQ(call({.method = "POST",
                  .target = std::string(sweeps),
                  .headers = {"Authorization: Bearer good", "Content-Type: text/plain"},
                  .body = begin_body})
                .status,
            415);
}

TEST_F(StatusRoutesTest, ASweepIsCompletedWithoutABody) {
  status_.sweep = running_sweep();
  status_.sweep.state = status::SweepState::failed;
  status_.sweep.reason = "looks_failed";
  status_.sweep.completed_at_ms = 1'795'565'000'000;
  const HttpReply reply = post(std::string(sweeps) + "/swp_1/complete", "");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(status_.completed.first, "swp_1");
  EXPECT_EQ(status_.completed.second, "key:key_good");
  EXPECT_EQ(json::parse(reply.body)["reason"], "looks_failed");
  EXPECT_EQ(post(std::string(sweeps) + "/swp_1/complete", "{}").status, 400);
}

}  // namespace
}  // namespace turnpike::tests

// The documents of the board: their members, their sums, and their contents once they are stale.
#include "status/board.h"

#include <cmath>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "registry/compile.h"
#include "status/board_parts.h"
#include "support/status_story.h"
#include "text/time_text.h"

namespace turnpike::status {
namespace {

using nlohmann::json;
using support::StatusStory;

constexpr std::string_view yaml = R"yaml(
provider: {key: weather, id: weather-data, name: "Weather <b> & \"friends\"", revision: 2}
upstreams:
  weather-main: {plugin: http}
free_policies:
  weather.free: {window: {limit: 60, seconds: 60}, concurrency: 4}
prices: {standard: {version: 1, credit_cost: 1}}
defaults: {price: standard}
routes:
  - path: /now
    free: weather.free
    monitoring: {class: continuous, sample: {}, per_day_max: 2000}
  - path: /later
    methods:
      GET: {monitoring: {class: continuous, sample: {}, per_day_max: 400, interval_ms: 300000}}
      POST: {body: {media_types: [application/json]}}
  - path: /rare
    monitoring: {class: manual, sample: {}}
  - path: /plain
    monitoring: {class: not_applicable}
  - path: /free-of-price
    price: unavailable
    credential_required: true
  - path: /blocked
    readiness: {status: blocked, reason: Not yet.}
    monitoring: {class: continuous, sample: {}, per_day_max: 2000}
)yaml";

constexpr std::string_view other_yaml = R"yaml(
provider: {key: quiet, name: Quiet}
upstreams:
  quiet-main: {plugin: http, probe: {interval_ms: 300000, per_day_max: 300}}
prices: {quiet: {version: 1, credit_cost: 1}}
routes:
  - {path: /one, price: quiet}
)yaml";

std::shared_ptr<const registry::Program> program() {
  const registry::Source sources[] = {{"weather.yaml", std::string(yaml)},
                                      {"quiet.yaml", std::string(other_yaml)}};
  auto compiled = registry::compile(
      {.sources = sources, .installed = {}, .plugins = {}, .lane = nullptr});
  if (compiled.ok()) return *compiled;
  std::string problems;
  for (const registry::Problem& problem : compiled.error()) problems += problem.text() + "\n";
  throw std::runtime_error(problems);
}

const registry::Route& route_at(const registry::Program& program, std::string_view path) {
  for (const registry::Route& route : program.routes()) {
    if (route.matcher.pattern.ends_with(path)) return route;
  }
  throw std::runtime_error("no such route");
}

std::vector<const BoardDocument*> documents_of(const Board& board, const StatusStory& story) {
  std::vector<const BoardDocument*> all = {&board.status(), &board.gateway()};
  for (const auto& route : story.program->routes()) all.push_back(board.operation(route.id));
  for (const auto& provider : story.program->providers()) {
    all.push_back(board.provider(provider.key));
  }
  return all;
}

json component(const json& status, std::string_view id) {
  for (const json& one : status["components"]) {
    if (one["id"] == id) return one;
  }
  return nullptr;
}

json provider_of(const json& gateway, std::string_view key) {
  for (const json& one : gateway["providers"]) {
    if (one["provider_key"] == key) return one;
  }
  return nullptr;
}

// ---- sums

std::uint64_t floor_hundredths(std::uint64_t part, std::uint64_t whole) {
  return part * 10'000 / whole;
}

void expect_percentage(const json& shown, std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) {
    EXPECT_TRUE(shown.is_null()) << shown;
    return;
  }
  ASSERT_TRUE(shown.is_number()) << shown;
  EXPECT_EQ(std::llround(shown.get<double>() * 100), floor_hundredths(part, whole));
  EXPECT_EQ(shown.get<double>() == 100.0, part == whole);
}

void expect_looks_add_up(const json& one) {
  const std::uint64_t passed = one["active_passed_targets"];
  const std::uint64_t failed = one["active_failed_targets"];
  const std::uint64_t unknown = one["active_unknown_targets"];
  EXPECT_EQ(one["active_expected_targets"], passed + failed + unknown);
  expect_percentage(one["active_check_percentage"], passed, passed + failed);
  expect_percentage(one["active_coverage_percentage"], passed + failed, passed + failed + unknown);
}

void expect_history_adds_up(const json& history) {
  expect_looks_add_up(history);
  std::map<std::string, std::uint64_t> sums;
  std::string before;
  for (const json& segment : history["segments"]) {
    expect_looks_add_up(segment);
    EXPECT_TRUE(before.empty() || segment["started_at"] == before) << "a gap after " << before;
    before = segment["ended_at"];
    for (const char* const name : {"active_expected_targets", "active_passed_targets",
                                   "active_failed_targets", "active_unknown_targets"}) {
      sums[name] += segment[name].get<std::uint64_t>();
    }
  }
  for (const auto& [name, sum] : sums) EXPECT_EQ(history[name], sum) << name;
}

std::uint64_t sum_of(const json& counts) {
  std::uint64_t sum = 0;
  for (const json& one : counts) sum += one.is_object() ? sum_of(one) : one.get<std::uint64_t>();
  return sum;
}

void expect_gateway_adds_up(const json& gateway) {
  const json& coverage = gateway["operation_coverage"];
  EXPECT_EQ(sum_of(coverage["api_operations"]), gateway["active_operations"]);
  EXPECT_EQ(sum_of(coverage["route_variants"]), gateway["active_route_variants"]);
  std::uint64_t of_providers = 0;
  for (const json& provider : gateway["providers"]) {
    of_providers += sum_of(provider["operations"]);
    const json& traffic = provider["traffic"];
    if (traffic["good_percentage"].is_null()) continue;
    EXPECT_NEAR(traffic["good_percentage"].get<double>() +
                    traffic["provider_fault_percentage"].get<double>() +
                    traffic["gateway_fault_percentage"].get<double>(),
                100.0, 1e-9);
  }
  EXPECT_EQ(of_providers, gateway["active_operations"]);
}

void expect_sums_hold(const Board& board, const StatusStory& story) {
  for (const BoardDocument* const document : documents_of(board, story)) {
    for (const std::string* const text : {&document->current, &document->stale}) {
      const json body = json::parse(*text);
      if (body.contains("health_history")) expect_history_adds_up(body["health_history"]);
      if (body.contains("operation_coverage")) expect_gateway_adds_up(body);
    }
  }
}

// Collects every status in a document by its path.
void collect(const json& value, const std::string& place, std::map<std::string, json>& found) {
  if (!value.is_structured()) return;
  for (const auto& [name, member] : value.items()) {
    const std::string at = place + "/" + name;
    if (name == "health_history" || name == "incidents") continue;
    if (name == "status" || name.ends_with("_status")) found[at] = member;
    collect(member, at, found);
  }
}

// ---- the documents

TEST(BoardTest, BeforeTheFirstRoundEverythingIsListedAndNothingIsKnown) {
  const StatusStory story(program());
  const auto board = story.board();
  const json gateway = json::parse(board->gateway().at(story.now_ms));
  EXPECT_EQ(gateway["status"], "unknown");
  EXPECT_EQ(gateway["evidence_status"], "unverified");
  EXPECT_EQ(gateway["providers"].size(), 2u);
  EXPECT_EQ(gateway["active_operations"], 8);
  EXPECT_EQ(gateway["active_route_variants"], 9);
  EXPECT_EQ(gateway["health_history"]["segments"], json::array());
  EXPECT_TRUE(gateway["health_history"]["active_check_percentage"].is_null());
  EXPECT_EQ(gateway["evidence"]["round"], 0);
  EXPECT_EQ(gateway["evidence"]["head"], first_prev);
  for (const auto* const document : documents_of(*board, story)) {
    std::map<std::string, json> levels;
    collect(json::parse(document->at(story.now_ms)), "", levels);
    for (const auto& [place, level] : levels) {
      if (place.ends_with("health_status")) continue;
      EXPECT_EQ(level, place.ends_with("evidence_status") ? "unverified" : "unknown") << place;
    }
    EXPECT_EQ(document->current, document->stale);
  }
  EXPECT_EQ(board->authority(story.now_ms), nullptr);
  EXPECT_EQ(board->operation("route-00000000000000000000000000000000"), nullptr);
  EXPECT_EQ(board->provider("nobody"), nullptr);
  expect_sums_hold(*board, story);
}

TEST(BoardTest, WhatWasSeenIsShown) {
  StatusStory story(program());
  for (int at = 0; at < 6; ++at) story.close_round();
  const auto board = story.board();
  const json status = json::parse(board->status().at(story.now_ms));
  for (const char* const id : {"api", "mcp", "web", "registry", "database", "gateway",
                               "lane:credits", "lane:free", "lane:x402"}) {
    EXPECT_EQ(component(status, id)["status"], "operational") << id;
    EXPECT_EQ(component(status, id)["evidence_status"], "current") << id;
    EXPECT_TRUE(component(status, id)["observed_at"].is_string()) << id;
  }
  EXPECT_EQ(component(status, "pricing")["status"], "operational");
  EXPECT_EQ(status["status"], "operational");
  const json gateway = json::parse(board->gateway().at(story.now_ms));
  EXPECT_EQ(gateway["sentinel_observations"].size(), 14u);  // seven checks on two nodes
  const json weather = provider_of(gateway, "weather");
  EXPECT_EQ(weather["status"], "operational");
  EXPECT_EQ(weather["reachability_status"], "operational");
  EXPECT_TRUE(weather["health_status"].is_null());
  EXPECT_EQ(weather["traffic"]["good_percentage"], 99.97);
  EXPECT_EQ(weather["traffic"]["provider_fault_percentage"], 0.03);
  EXPECT_EQ(weather["traffic"]["gateway_fault_percentage"], 0.0);
  EXPECT_TRUE(weather["traffic"]["requests"].is_null());
  const json& offered = gateway["operation_coverage"]["api_operations"]["offered"];
  EXPECT_EQ(offered["continuous"], 2);
  EXPECT_EQ(offered["manual"], 1);
  EXPECT_EQ(offered["not_applicable"], 1);
  EXPECT_EQ(offered["unreviewed"], 2);  // POST /later and /one
  const json& blocked = gateway["operation_coverage"]["api_operations"]["not_offered"];
  EXPECT_EQ(blocked["continuous"], 1);
  EXPECT_EQ(blocked["unreviewed"], 1);
  expect_sums_hold(*board, story);
}

TEST(BoardTest, AnOperationTellsOfEachOfItsMethods) {
  StatusStory story(program());
  for (int at = 0; at < 6; ++at) story.close_round();
  const auto& route = route_at(*story.program, "/later");
  const json body = json::parse(story.board()->operation(route.id)->at(story.now_ms));
  EXPECT_EQ(body["schema_version"], "service.status.operation.v1");
  EXPECT_EQ(body["capability_id"], route.id);
  EXPECT_EQ(body["provider_key"], "weather");
  ASSERT_EQ(body["operations"].size(), 2u);
  const json& get = body["operations"][0];
  EXPECT_EQ(get["method"], "GET");
  EXPECT_EQ(get["monitoring_class"], "continuous");
  EXPECT_EQ(get["variants"], json::array({"paid"}));
  EXPECT_EQ(get["last_check"]["result"], "pass");
  EXPECT_TRUE(get["last_check"]["reason"].is_null());
  EXPECT_EQ(get["latency_ms"], (json{{"p50", 15}, {"p95", 15}, {"p99", 15}}));
  const json& post = body["operations"][1];
  EXPECT_EQ(post["monitoring_class"], "unreviewed");
  EXPECT_TRUE(post["last_check"].is_null());
  EXPECT_TRUE(post["latency_ms"]["p50"].is_null());
  const auto& now = route_at(*story.program, "/now");
  const json free = json::parse(story.board()->operation(now.id)->at(story.now_ms));
  EXPECT_EQ(free["operations"][0]["variants"], (json::array({"paid", "free"})));
}

TEST(BoardTest, TheReadersClockAloneMakesItUnknown) {
  StatusStory story(program());
  for (int at = 0; at < 6; ++at) story.close_round();
  const auto board = story.board();
  for (const BoardDocument* const document : documents_of(*board, story)) {
    ASSERT_GT(document->valid_until_ms, story.now_ms);
    EXPECT_EQ(&document->at(document->valid_until_ms - 1), &document->current);
    ASSERT_EQ(&document->at(document->valid_until_ms), &document->stale);
    const json stale = json::parse(document->stale);
    std::map<std::string, json> levels;
    collect(stale, "", levels);
    for (const auto& [place, level] : levels) {
      if (place.ends_with("health_status")) continue;
      EXPECT_EQ(level, place.ends_with("evidence_status") ? "stale" : "unknown") << place;
    }
    const json current = json::parse(document->current);
    EXPECT_EQ(stale.value("health_history", json()), current.value("health_history", json()));
    EXPECT_EQ(stale["evidence"], current["evidence"]);
  }
}

TEST(BoardTest, ItHoldsUntilTheEarliestLookThatCountsIsThreeIntervalsOld) {
  StatusStory story(program());
  for (int at = 0; at < 6; ++at) story.close_round();
  const auto board = story.board();
  std::int64_t earliest_ms = story.now_ms + 3 * story.targets.round_ms;
  for (const Target& target : story.targets.targets) {
    const TargetFigures* const figures = story.book.target(target.name);
    if (!is_active(target.kind) || figures == nullptr || !figures->last) continue;
    earliest_ms = std::min(earliest_ms, figures->last->at_ms + 3 * target.interval_ms);
  }
  EXPECT_EQ(board->gateway().valid_until_ms, earliest_ms);
  EXPECT_EQ(json::parse(board->gateway().current)["valid_until"], text::rfc3339(earliest_ms));
  EXPECT_LE(board->gateway().valid_until_ms, board->provider("quiet")->valid_until_ms);
}

// A target whose looks have stopped is unknown, but must not make others unknown.
TEST(BoardTest, ATargetThatIsMissingAlreadyEndsNothingElse) {
  StatusStory story(program());
  const std::string silent = "operation:" + route_at(*story.program, "/now").id + ":GET";
  for (int at = 0; at < 3; ++at) story.close_round();
  for (int at = 0; at < 8; ++at) {
    story.close_round([&](Record& record) { return record.target != silent; });
  }
  const auto board = story.board();
  EXPECT_GT(board->gateway().valid_until_ms, story.now_ms);
  const json gateway = json::parse(board->gateway().at(story.now_ms));
  EXPECT_EQ(gateway["evidence_status"], "missing_or_stale");
  EXPECT_EQ(provider_of(gateway, "quiet")["status"], "operational");
  EXPECT_GT(gateway["health_history"]["active_unknown_targets"], 0);
  expect_sums_hold(*board, story);
}

TEST(BoardTest, EvidenceOfAnotherGenerationIsNotBelieved) {
  StatusStory story(program());
  for (int at = 0; at < 3; ++at) story.close_round();
  story.generation.id = "gen_ffffffffffffffff";
  const auto board = story.board();
  const json gateway = json::parse(board->gateway().at(story.now_ms));
  EXPECT_EQ(gateway["status"], "unknown");
  EXPECT_EQ(gateway["evidence_status"], "unverified");
  EXPECT_EQ(gateway["evidence"]["round"], 3);
  EXPECT_EQ(board->authority(story.now_ms), nullptr);
}

TEST(BoardTest, NeitherIsWhatTheKeyDidNotSign) {
  StatusStory story(program());
  for (int at = 0; at < 3; ++at) story.close_round();
  ASSERT_NE(story.board()->authority(story.now_ms), nullptr);
  story.newest.round.head.ended_at_ms += 1;
  EXPECT_EQ(json::parse(story.board()->gateway().at(story.now_ms))["evidence_status"],
            "unverified");
  story.newest.round.head.ended_at_ms -= 1;
  story.keys.front().kid = "another";
  EXPECT_EQ(story.board()->authority(story.now_ms), nullptr);
}

TEST(BoardTest, AuthorityEndsWithTheRound) {
  StatusStory story(program());
  story.close_round();
  story.keys.push_back({"older", story.keys.front().public_key, 1});
  const auto board = story.board();
  const std::string* const found = board->authority(story.now_ms);
  ASSERT_NE(found, nullptr);
  const json body = json::parse(*found);
  EXPECT_EQ(body["authority_id"], "st_01");
  EXPECT_EQ(body["leader"]["node"], "n_1");
  EXPECT_EQ(body["key"]["public_key_jwk"]["crv"], "Ed25519");
  EXPECT_EQ(body["earlier_keys"][0]["kid"], "older");
  EXPECT_EQ(body["rules"], (json{{"id", rules_id}, {"hash", rules_hash()}}));
  EXPECT_EQ(body["expected_targets"]["set_hash"], story.targets.hash());
  EXPECT_EQ(body["expected_targets"]["count"], 7 + 2 + 3);  // sentinels, upstreams, operations
  EXPECT_EQ(body["interval_seconds"], 60);
  EXPECT_EQ(body["stale_after_seconds"], 180);
  EXPECT_EQ(body["signed_round"], json::parse(text_of(story.newest.round)));
  EXPECT_NE(board->authority(story.now_ms + 179'999), nullptr);
  EXPECT_EQ(board->authority(story.now_ms + 180'000), nullptr);
}

TEST(BoardTest, ComponentsThatThereAreNotAreLeftOut) {
  StatusStory story(program(), {.sentinels = {"healthz"}, .lanes = {}});
  story.close_round();
  const json status = json::parse(story.board()->status().at(story.now_ms));
  std::vector<std::string> ids;
  for (const json& one : status["components"]) ids.push_back(one["id"]);
  EXPECT_EQ(ids, (std::vector<std::string>{"api", "gateway", "pricing"}));
}

TEST(BoardTest, IncidentsAreShownWhereTheyBelong) {
  StatusStory story(program());
  for (int at = 0; at < 3; ++at) story.close_round();
  for (int at = 0; at < 4; ++at) {
    story.close_round([](Record& record) {
      if (record.target != "upstream:weather-main") return true;
      record.result = LookResult::fail;
      record.reason = Reason::timeout;
      return true;
    });
  }
  ShownIncident told;
  told.incident.id = "inc_told";
  told.incident.scope = "gateway";
  told.incident.state = IncidentState::open;
  told.incident.severity = Level::degraded;
  told.incident.started_at_ms = told.incident.opened_at_ms = story.now_ms;
  told.source = IncidentSource::operators;
  told.notes = {{story.now_ms, "op_secret", "We look <into> it."}};
  story.incidents[told.incident.id] = told;
  ShownIncident dropped = told;
  dropped.incident.id = "inc_dropped";
  dropped.incident.state = IncidentState::resolved;
  dropped.incident.resolution = Resolution::not_confirmed;
  story.incidents[dropped.incident.id] = dropped;
  const auto board = story.board();
  const json gateway = json::parse(board->gateway().at(story.now_ms));
  std::set<std::string> scopes;
  for (const json& one : gateway["incidents"]) scopes.insert(one["scope"]);
  EXPECT_TRUE(scopes.contains("provider:weather"));
  EXPECT_TRUE(scopes.contains("gateway"));
  EXPECT_EQ(board->gateway().current.find("inc_dropped"), std::string::npos);
  EXPECT_EQ(board->gateway().current.find("op_secret"), std::string::npos);
  for (const json& one : gateway["incidents"]) {
    if (one["incident_id"] != "inc_told") continue;
    EXPECT_EQ(one["source"], "operator");
    EXPECT_EQ(one["rounds"], json::array());
    EXPECT_EQ(one["notes"][0]["text"], "We look <into> it.");
    EXPECT_TRUE(one["resolved_at"].is_null());
    EXPECT_TRUE(one["resolution"].is_null());
  }
  const json weather = json::parse(board->provider("weather")->at(story.now_ms));
  ASSERT_EQ(weather["incidents"].size(), 1u);
  EXPECT_EQ(weather["incidents"][0]["rounds"][0], 4);
  EXPECT_EQ(json::parse(board->provider("quiet")->current)["incidents"], json::array());
  EXPECT_GE(json::parse(board->status().current)["open_incidents"], 2);
}

TEST(BoardTest, ThinTrafficIsNull) {
  StatusStory story(program());
  story.close_round([](Record& record) {
    if (record.traffic) record.traffic = Traffic{};
    return true;
  });
  const json traffic =
      provider_of(json::parse(story.board()->gateway().current), "weather")["traffic"];
  EXPECT_EQ(traffic["window_seconds"], 300);
  for (const char* const name : {"good_percentage", "provider_fault_percentage",
                                 "gateway_fault_percentage", "requests"}) {
    EXPECT_TRUE(traffic[name].is_null()) << name;
  }
}

TEST(BoardTest, CountsOfCallsAreShownWhereTheyArePublished) {
  StatusStory story(program());
  story.close_round([](Record& record) {
    if (record.traffic) {
      record.traffic = Traffic{false, 5'000, 2'500, 2'500, Traffic::Counts{200, 100, 100}};
    }
    return true;
  });
  const json traffic =
      provider_of(json::parse(story.board()->gateway().current), "weather")["traffic"];
  EXPECT_EQ(traffic["requests"], 400);
  EXPECT_EQ(traffic["good_percentage"], 50.0);
}

TEST(BoardTest, PercentagesAreRoundedDown) {
  EXPECT_EQ(percentage_text(0, 0), "null");
  EXPECT_EQ(percentage_text(0, 7), "0.0");
  EXPECT_EQ(percentage_text(7, 7), "100.0");
  EXPECT_EQ(percentage_text(99'999, 100'000), "99.99");
  EXPECT_EQ(percentage_text(129'411, 129'512), "99.92");
  EXPECT_EQ(percentage_text(2, 3), "66.66");
  EXPECT_EQ(percentage_text(1, 20), "5.0");
  EXPECT_EQ(percentage_text(1, 2'000), "0.05");
}

TEST(BoardTest, ABadgeIsAPictureAndNothingElse) {
  StatusStory story(program());
  for (int at = 0; at < 6; ++at) story.close_round();
  const auto board = story.board();
  ASSERT_NE(board->badge("weather"), nullptr);
  const std::string& good = board->badge("weather")->current;
  EXPECT_NE(good.find("<title>Weather &lt;b&gt; &amp; &quot;friends&quot;: operational</title>"),
            std::string::npos)
      << good;
  EXPECT_NE(good.find("role=\"img\""), std::string::npos);
  for (const char* const never : {"<script", "<b>", "href", "onload"}) {
    EXPECT_EQ(good.find(never), std::string::npos) << never;
  }
  const std::string& stale = board->badge("weather")->stale;
  EXPECT_NE(stale.find(": unknown</title>"), std::string::npos);
  EXPECT_NE(good.substr(good.find("<g transform")), stale.substr(stale.find("<g transform")));
}

TEST(BoardTest, HistoryShowsADayOfWhichNothingIsKnown) {
  StatusStory story(program());
  for (int at = 0; at < 3; ++at) story.close_round();
  story.now_ms += 3 * 86'400'000LL;
  story.close_round();
  const json history = json::parse(story.board()->gateway().current)["health_history"];
  ASSERT_EQ(history["segments"].size(), 4u);
  EXPECT_EQ(history["segments"][1]["status"], "unknown");
  EXPECT_GT(history["segments"][3]["active_passed_targets"], 0);
  expect_sums_hold(*story.board(), story);
}

TEST(BoardTest, SumsHoldWhateverWasSeen) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    std::mt19937 chance(seed);
    const auto pick = [&](std::uint32_t most) { return chance() % most; };
    StatusStory story(program());
    for (int round = 0; round < 40; ++round) {
      if (pick(8) == 0) story.now_ms += 60'000 * static_cast<std::int64_t>(pick(3'000));
      const std::uint32_t mood = pick(4);
      story.close_round([&](Record& record) {
        if (pick(12) == 0) return false;
        if (pick(4) < mood) record.result = static_cast<LookResult>(pick(4));
        if (record.result == LookResult::fail) record.reason = Reason::timeout;
        if (record.latency_ms) record.latency_ms = pick(40'000);
        if (record.traffic) {
          const std::uint32_t good = pick(10'001);
          const std::uint32_t provider_fault = pick(10'001 - good);
          record.traffic =
              Traffic{false, good, provider_fault, 10'000 - good - provider_fault, {}};
          if (pick(3) == 0) record.traffic = Traffic{};
        }
        return true;
      });
      if (round % 8 == 7) expect_sums_hold(*story.board(), story);
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace turnpike::status

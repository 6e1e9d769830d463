// The agent cards: one for each capability that can be called now, with what a program needs to
// choose it. They must agree with the tools and stay valid as long as their contents.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "catalog/program_fixture.h"
#include "catalog/tool_schema.h"
#include "catalog/view.h"

namespace turnpike::catalog::tests {
namespace {

using nlohmann::json;
const std::string cards_yaml = R"yaml(
provider:
  key: weather
  name: Weather
  listing:
    category: weather
    description: Words.
    topics: [wind, rain]
    source: {name: Office, url: "https://data.example.org", updated: 2026-11-24}
upstreams: {main: {plugin: http}}
free_policies: {few: {window: {limit: 60, seconds: 60}, concurrency: 4}}
prices: {standard: {version: 3, credit_cost: 2, no_charge_when: [empty_body]}}
defaults: {price: standard}
routes:
  - path: /stations/{station}/now
    summary: What a station measures
    free: few
    query: {parameters: {unit: {type: string, values: [metric, imperial]}}}
    monitoring:
      class: manual
      sample: {path_parameters: {station: berlin}}
      expect: {fresh_within_seconds: 600, fresh_at: /at}
  - path: /reports
    methods:
      GET: {}
      POST: {price: unavailable, body: {max_bytes: 9, media_types: [application/json]}}
  - path: /blocked
    readiness: {status: blocked, reason: Not yet.}
tools:
  station_now:
    route: GET /v1/gateway/weather/stations/{station}/now
    description: Use it when somebody asks for the weather.
    arguments: {station: Its id.}
  station_metric:
    route: GET /v1/gateway/weather/stations/{station}/now
    description: The same in metric units.
    fixed: {unit: metric}
)yaml";

class AgentCardsTest : public testing::Test {
 protected:
  void make(Features features = {.free_lane = true},
            const std::string& mcp_url = "https://mcp.example.test") {
    program_ = compiled(cards_yaml);
    ViewOptions options{.base_url = "https://api.example.test",
                        .cursor_key = std::string(32, 'k'),
                        .features = features,
                        .http_status = status_for_tests,
                        .openapi_frame = frame_for_tests};
    options.service_name = "Acme";
    options.mcp_url = mcp_url;
    options.web_url = "https://example.test";
    view_ = std::make_unique<View>(installed(program_), readiness_, options);
  }
  json cards() { return json::parse(view_->render_agent_cards()->body); }
  json card_of(const std::string& path) {
    const json document = cards();
    for (const json& card : document["capabilities"]) {
      if (card["path"] == "/v1/gateway/weather" + path) return card;
    }
    return nullptr;
  }

  std::shared_ptr<SettableReadiness> readiness_ = std::make_shared<SettableReadiness>();
  std::shared_ptr<const registry::Program> program_;
  std::unique_ptr<View> view_;
};

TEST_F(AgentCardsTest, ACardSaysWhatAProgramChoosesBy) {
  make();
  const json document = cards();
  EXPECT_EQ(document["schema_version"], "service.agent-capabilities.v1");
  EXPECT_EQ(document["$schema"], "https://example.test/discovery/agent-capabilities.schema.json");
  EXPECT_EQ(document["service"]["name"], "Acme");
  EXPECT_EQ(document["generation"]["id"], "gen_test");
  const json card = card_of("/stations/{station}/now");
  const std::string id = card["id"];
  EXPECT_EQ(card["purpose"], "Use it when somebody asks for the weather.");
  EXPECT_EQ(card["status"], "https://api.example.test/v1/status/gateway/operations/" + id);
  EXPECT_EQ(card["detail"], "https://api.example.test/v1/capabilities/" + id);
  EXPECT_EQ(card["generation"], "gen_test");
  EXPECT_EQ(card["provenance"], json::parse(R"({
    "provider_key": "weather", "provider_name": "Weather",
    "page": "https://example.test/discovery/sources/weather", "category": "weather",
    "chains": [], "topics": ["rain", "wind"],
    "source": {"name": "Office", "url": "https://data.example.org", "licence": null,
               "updated": "2026-11-24"}})"));
  const json operation = card["operations"][0];
  EXPECT_EQ(operation["freshness"], json::parse(R"({"within_seconds": 600, "told_by": "/at"})"));
  EXPECT_EQ(operation["output"],
            json::parse(R"({"statuses": [200], "content_types": ["application/json"]})"));
  EXPECT_EQ(operation["price"]["credit_cost"], 2);
  EXPECT_EQ(operation["price"]["no_charge_when"][0]["kind"], "empty_body");
  EXPECT_EQ(operation["free"]["window"]["limit"], 60);
  EXPECT_EQ(operation["call"], json::parse(R"({
    "url_template": "https://api.example.test/v1/gateway/weather/stations/{station}/now",
    "free_url_template": "https://api.example.test/v1/gateway/weather/stations/{station}/now:free",
    "tools": ["service.route.execute", "station_metric", "station_now"]})"));
}

TEST_F(AgentCardsTest, TheInputIsThatOfTheToolThatLeavesNothingOut) {
  make();
  const registry::Tool& whole = program_->tools()[1];
  ASSERT_EQ(whole.name, "station_now");
  EXPECT_EQ(card_of("/stations/{station}/now")["operations"][0]["input_schema"],
            json::parse(tool_input_schema(*program_, whole).dump()));
  EXPECT_EQ(card_of("/reports")["operations"][0]["input_schema"]["required"], json());
  EXPECT_EQ(card_of("/reports")["purpose"], "GET /v1/gateway/weather/reports");
}

TEST_F(AgentCardsTest, OnlyWhatCanBeCalledHasACard) {
  make();
  EXPECT_EQ(cards()["capabilities"].size(), 2u);
  EXPECT_EQ(card_of("/blocked"), json());
  EXPECT_EQ(card_of("/reports")["operations"].size(), 1u) << "POST has no price";
  for (const registry::Operation& operation : program_->operations()) {
    readiness_->states[operation.index] = {Condition::credential_missing, {}};
  }
  EXPECT_EQ(cards()["capabilities"], json::array());
}

TEST_F(AgentCardsTest, WhatIsNotServedIsNotNamed) {
  make({}, "");
  const json operation = card_of("/stations/{station}/now")["operations"][0];
  EXPECT_EQ(operation["free"], json());
  EXPECT_EQ(operation["call"]["free_url_template"], json());
  EXPECT_EQ(operation["call"]["tools"], json());
  EXPECT_EQ(cards()["service"]["mcp"], json());
}

TEST_F(AgentCardsTest, AreKeptAsLongAsTheyHold) {
  make();
  EXPECT_EQ(view_->kept_agent_cards(), nullptr);
  const Document rendered = view_->render_agent_cards();
  EXPECT_EQ(view_->kept_agent_cards(), rendered);
  readiness_->states[0] = {Condition::blocked, "The breaker is open."};
  EXPECT_EQ(view_->kept_agent_cards(), rendered) << "what passes does not show in it";
  readiness_->states[0] = {Condition::credential_missing, {}};
  EXPECT_EQ(view_->kept_agent_cards(), nullptr);
}

}  // namespace
}  // namespace turnpike::catalog::tests

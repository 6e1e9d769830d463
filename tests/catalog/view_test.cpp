#include "catalog/view.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "catalog/program_fixture.h"
#include "crypto/digest.h"
#include "support/paths.h"
#include "support/x402_lane.h"
#include "text/canonical_json.h"

namespace turnpike::catalog::tests {
namespace {

using base::ErrorCode;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t now_ms = 1'795'242'600'000;

class ViewTest : public testing::Test {
 protected:
  std::unique_ptr<View> make_view(std::shared_ptr<const registry::Program> program,
                                  Features features = {}, std::string generation_id = "gen_test") {
    program_ = program;
    return std::make_unique<View>(installed(std::move(program), std::move(generation_id)),
                                  readiness_,
                                  ViewOptions{.base_url = "https://api.example.test",
                                              .cursor_key = std::string(32, 'k'),
                                              .features = features,
                                              .http_status = status_for_tests,
                                              .openapi_frame = frame_for_tests});
  }
  static json read(const Result<Document, base::Error>& document) {
    EXPECT_TRUE(document.ok()) << document.error().message;
    return document.ok() ? json::parse((*document)->body) : json();
  }
  json detail(const View& view, const std::string& pattern) {
    return read(view.detail(route_with(*program_, pattern).id, now_ms))["capability"];
  }

  std::shared_ptr<SettableReadiness> readiness_ = std::make_shared<SettableReadiness>();
  std::shared_ptr<const registry::Program> program_;
};

// ---- the list -----------------------------------------------------------------------------------

TEST_F(ViewTest, APageNamesItsGenerationManifestAndProjection) {
  const auto view = make_view(compiled(varied_yaml));
  json page = read(view->page({}, now_ms));
  EXPECT_EQ(page["capabilities"].size(), 7u);
  page.erase("capabilities");
  EXPECT_EQ(page, (json{{"schema_version", "service.gateway.registry.capability-page.v5"},
                        {"generation",
                         {{"epoch_id", "ep_01"},
                          {"id", "gen_test"},
                          {"sequence", 7},
                          {"codec", "canonical_json_v1"},
                          {"payload_hash", program_->payload_hash()}}},
                        {"manifest",
                         {{"registry_epoch_id", "ep_01"},
                          {"manifest_sequence", 9},
                          {"manifest_payload_hash", program_->payload_hash()}}},
                        {"projection", "public.v5"},
                        {"compiled_at", "2026-11-21T06:29:00.000Z"},
                        {"observed_at", "2026-11-21T06:30:00.000Z"},
                        {"next_cursor", nullptr}}));
}

TEST_F(ViewTest, ASummaryShowsWhatACallerChoosesBy) {
  const auto view = make_view(compiled(varied_yaml), {.free_lane = true, .per_call = false});
  const std::string id = route_with(*program_, "/v1/gateway/alpha/v1/reports").id;
  const json page = read(view->page({}, now_ms));
  for (const json& entry : page["capabilities"]) {
    if (entry["capability_id"] != id) continue;
    EXPECT_EQ(entry, json::parse(R"({"capability_id": ")" + id + R"(", "provider_key": "alpha",
                "provider_name": "Alpha data", "path": "/v1/gateway/alpha/v1/reports",
                "summary": "", "methods": ["GET", "POST"], "credential_required": false,
                "operations": [
                  {"method": "GET", "billing": {"mode": "service_priced", "credit_cost": 1}},
                  {"method": "POST", "billing": {"mode": "service_priced", "credit_cost": 25}}],
                "free": true, "readiness": {"status": "ready"}})"));
    return;
  }
  FAIL() << "the route is not in the list";
}

TEST_F(ViewTest, UnpricedAndBlockedRoutesAreListedAsSuch) {
  const auto view = make_view(compiled(varied_yaml));
  int seen = 0;
  const json page = read(view->page({}, now_ms));
  for (const json& entry : page["capabilities"]) {
    EXPECT_EQ(entry["free"], false) << "the free lane is off";
    if (entry["path"] == "/v1/gateway/alpha/v1/events") {
      ++seen;
      EXPECT_EQ(entry["operations"][0]["billing"], (json{{"mode", "pricing_unavailable"}}));
      EXPECT_EQ(entry["credential_required"], true);
    }
    if (entry["path"] == "/v1/gateway/alpha/v1/blocked") {
      ++seen;
      EXPECT_EQ(entry["readiness"],
                (json{{"status", "blocked"}, {"reason", "Its importer is not built yet."}}));
    }
  }
  EXPECT_EQ(seen, 2);
}

TEST_F(ViewTest, FollowingCursorsShowsEveryRouteOnceInOrder) {
  const auto view = make_view(compiled(bulk_yaml(137)));
  for (const std::uint32_t limit : {1u, 2u, 7u, 50u, 136u, 137u, 138u, 1000u}) {
    PageRequest request;
    request.limit = limit;
    std::vector<std::string> ids;
    for (;;) {
      const json page = read(view->page(request, now_ms));
      const std::size_t count = page["capabilities"].size();
      ASSERT_LE(count, limit);
      for (const json& entry : page["capabilities"]) ids.push_back(entry["capability_id"]);
      if (page["next_cursor"].is_null()) break;
      ASSERT_EQ(count, limit) << "only the last page may be short";
      request.cursor = page["next_cursor"];
    }
    ASSERT_EQ(ids.size(), 137u) << limit;
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 137u);
  }
}

TEST_F(ViewTest, FiltersNarrowTheList) {
  const auto view = make_view(compiled(bulk_yaml(30)));
  PageRequest posts;
  posts.method = Method::post;
  posts.limit = 4;
  std::size_t count = 0;
  for (;;) {
    const json page = read(view->page(posts, now_ms));
    for (const json& entry : page["capabilities"]) {
      ++count;
      EXPECT_EQ(entry["methods"], (json{"GET", "POST"}));
    }
    if (page["next_cursor"].is_null()) break;
    posts.cursor = page["next_cursor"];
  }
  EXPECT_EQ(count, 10u);
  const json all = read(view->page({.limit = 1000, .provider_key = "bulk"}, now_ms));
  EXPECT_EQ(all["capabilities"].size(), 30u);
  const json none = read(view->page({.provider_key = "Bulk"}, now_ms));
  EXPECT_TRUE(none["capabilities"].empty()) << "the filter is exact";
  EXPECT_TRUE(none["next_cursor"].is_null());
}

constexpr const char* searched_yaml = R"(
provider: {key: sky, name: Weather Office}
upstreams: {main: {plugin: http}}
prices: {p: {version: 1, credit_cost: 1}}
defaults: {price: p}
routes:
  - {path: "/stations/{station_id}/forecast", summary: Forecast for ONE station}
  - {path: /stations, summary: All stations}
  - {path: /tides}
)";

// Models choose a route by its purpose.
TEST_F(ViewTest, ASearchLooksAtPathSummaryAndProvider) {
  const auto view = make_view(compiled(searched_yaml));
  const auto found = [&](const std::string& q) {
    std::set<std::string> paths;
    const auto request = read_page_request({.q = q});
    EXPECT_TRUE(request.ok()) << q;
    const json page = read(view->page(*request, now_ms));
    for (const json& entry : page["capabilities"]) {
      paths.insert(entry["path"].get<std::string>().substr(15));
      EXPECT_TRUE(entry["summary"].is_string());
    }
    return paths;
  };
  const std::set<std::string> all = {"/stations", "/stations/{station_id}/forecast", "/tides"};
  EXPECT_EQ(found(""), all);
  EXPECT_EQ(found("weather"), all) << "the provider's name";
  EXPECT_EQ(found("SKY"), all) << "its key";
  EXPECT_EQ(found("tide"), std::set<std::string>{"/tides"});
  EXPECT_EQ(found("  one\tstation "), std::set<std::string>{"/stations/{station_id}/forecast"});
  EXPECT_EQ(found("stations all"), std::set<std::string>{"/stations"});
  EXPECT_EQ(found("stations rain"), std::set<std::string>());
  EXPECT_EQ(found("one\nall"), std::set<std::string>()) << "each word by itself";
}

TEST_F(ViewTest, ACursorServesOnlyItsSearch) {
  const auto view = make_view(compiled(searched_yaml));
  PageRequest request = {.limit = 1, .search = "stations"};
  const std::string cursor = read(view->page(request, now_ms))["next_cursor"];
  request.cursor = cursor;
  const json last = read(view->page(request, now_ms));
  EXPECT_EQ(last["capabilities"].size(), 1u);
  EXPECT_TRUE(last["next_cursor"].is_null());
  for (const char* other : {"", "tides", "station"}) {
    request.search = other;
    EXPECT_EQ(view->page(request, now_ms).error().code, ErrorCode::catalog_cursor_invalid) << other;
  }
}

// A search through very many routes returns partial pages, so that it does not block a loop.
TEST_F(ViewTest, AFilterLooksAtTenThousandRoutesAPage) {
  const auto view = make_view(compiled(bulk_yaml(10'001)));
  PageRequest nothing = {.search = "nothing like it"};
  const json first = read(view->page(nothing, now_ms));
  EXPECT_TRUE(first["capabilities"].empty());
  ASSERT_FALSE(first["next_cursor"].is_null());
  nothing.cursor = first["next_cursor"];
  const json second = read(view->page(nothing, now_ms));
  EXPECT_TRUE(second["capabilities"].empty());
  EXPECT_TRUE(second["next_cursor"].is_null());
}

// A page is as long as a result may be, and the cursor continues it.
TEST_F(ViewTest, APageIsNoLongerThanItMayBe) {
  const auto view = make_view(compiled(bulk_yaml(137)));
  readiness_->states[3] = {Condition::blocked, std::string(300, '"')};
  for (const std::size_t bytes_max : {1u, 4'000u, 10'000u, 1'000'000u}) {
    PageRequest request = {.limit = 1'000, .bytes_max = bytes_max};
    std::vector<std::string> ids;
    std::size_t pages = 0;
    for (bool is_last = false; !is_last; ++pages) {
      const Document document = *view->page(request, now_ms);
      const json page = json::parse(document->body);
      for (const json& entry : page["capabilities"]) ids.push_back(entry["capability_id"]);
      ASSERT_FALSE(page["capabilities"].empty());
      EXPECT_TRUE(document->body.size() <= bytes_max || page["capabilities"].size() == 1);
      is_last = page["next_cursor"].is_null();
      if (!is_last) request.cursor = page["next_cursor"];
    }
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 137u) << bytes_max;
    EXPECT_EQ(ids.size(), 137u);
    EXPECT_EQ(pages == 1, bytes_max == 1'000'000) << pages;
    EXPECT_EQ(pages == 137, bytes_max == 1) << pages;
  }
}

// Callers who pay per call see the price per call.
TEST_F(ViewTest, AListForPayersShowsTheTermsOfEachCall) {
  const auto terms_of = [&](Features features, bool shows_payments) -> json {
    const auto view = make_view(compiled(varied_yaml), features);
    const json page = read(view->page({.shows_payments = shows_payments}, now_ms));
    for (const json& entry : page["capabilities"]) {
      if (entry["path"] != "/v1/gateway/alpha/v1/things") continue;
      const json& billing = entry["operations"][0]["billing"];
      EXPECT_EQ(billing["credit_cost"], 1);
      return billing.value("x402", json());
    }
    return "not listed";
  };
  const json terms = terms_of({.free_lane = true, .per_call = true}, true);
  EXPECT_EQ(terms["enabled"], true);
  EXPECT_EQ(terms["terms"][0]["atomic_amount"], "1000");
  EXPECT_EQ(terms_of({.free_lane = true, .per_call = true}, false), json());
  EXPECT_EQ(terms_of({}, true), json()) << "nobody can pay so";
}

TEST_F(ViewTest, ACursorServesOnlyItsFilterAndGeneration) {
  const auto program = compiled(bulk_yaml(30));
  const auto view = make_view(program);
  PageRequest request;
  request.limit = 5;
  request.cursor = read(view->page(request, now_ms))["next_cursor"];

  PageRequest filtered = request;
  filtered.method = Method::get;
  EXPECT_EQ(view->page(filtered, now_ms).error().code, ErrorCode::catalog_cursor_invalid);
  PageRequest other_limit = request;
  other_limit.limit = 9;
  EXPECT_EQ(read(view->page(other_limit, now_ms))["capabilities"].size(), 9u);

  const auto next = make_view(program, {}, "gen_next");
  EXPECT_EQ(next->page(request, now_ms).error().code, ErrorCode::catalog_cursor_stale);
}

// ---- readiness and validators -------------------------------------------------------------------

TEST_F(ViewTest, LiveReadinessShowsAtOnce) {
  const auto view = make_view(compiled(varied_yaml));
  const registry::Route& route = route_with(*program_, "/v1/gateway/alpha/v1/reports");
  EXPECT_EQ(detail(*view, route.matcher.pattern)["readiness"], (json{{"status", "ready"}}));

  readiness_->states[route.operations[1]] = {Condition::evidence_stale, "No news since noon."};
  EXPECT_EQ(detail(*view, route.matcher.pattern)["readiness"],
            (json{{"status", "blocked"}, {"reason", "No news since noon."}}));
  readiness_->states[route.operations[1]] = {Condition::credential_missing, ""};
  EXPECT_THAT(detail(*view, route.matcher.pattern)["readiness"]["reason"], HasSubstr("credential"));
  readiness_->states.clear();
  EXPECT_EQ(detail(*view, route.matcher.pattern)["readiness"], (json{{"status", "ready"}}));
}

TEST_F(ViewTest, TheProgrammedReasonComesFirst) {
  const auto view = make_view(compiled(varied_yaml));
  const registry::Route& route = route_with(*program_, "/v1/gateway/alpha/v1/blocked");
  readiness_->states[route.operations[0]] = {Condition::blocked, "down"};
  EXPECT_EQ(detail(*view, route.matcher.pattern)["readiness"]["reason"],
            "Its importer is not built yet.");
}

TEST_F(ViewTest, RenderingsAreKeptWhileTheyHold) {
  const auto view = make_view(compiled(varied_yaml));
  const Document first = *view->page({}, now_ms);
  EXPECT_EQ(*view->page({}, now_ms + RenderingCache::age_ms_max - 1), first);
  EXPECT_NE(*view->page({}, now_ms + RenderingCache::age_ms_max), first) << "observed_at ages";
  EXPECT_NE(*view->page({}, now_ms - 1), first) << "the clock stepped back";

  const Document again = *view->page({}, now_ms);
  readiness_->states[route_with(*program_, "/v1/gateway/alpha/v1/things").operations[0]] = {
      Condition::blocked, "down"};
  const Document changed = *view->page({}, now_ms);
  EXPECT_NE(changed, again);
  EXPECT_NE(changed->etag, again->etag);
}

TEST_F(ViewTest, TheEtagIsOfTheBytes) {
  const auto view = make_view(compiled(varied_yaml));
  const Document page = *view->page({}, now_ms);
  EXPECT_EQ(page->etag, "\"" + crypto::sha256_hex(page->body).substr(0, 32) + "\"");
  PageRequest one;
  one.limit = 1;
  EXPECT_NE((*view->page(one, now_ms))->etag, page->etag);
}

// ---- details ------------------------------------------------------------------------------------

TEST_F(ViewTest, ADetailHasEveryFieldInItsShape) {
  const auto view = make_view(compiled(varied_yaml), {.free_lane = true, .per_call = true});
  const registry::Route& route = route_with(*program_, "/v1/gateway/alpha/v1/things");
  json document = read(view->detail(route.id, now_ms));
  EXPECT_EQ(document["schema_version"], "service.gateway.registry.capability-detail.v5");
  EXPECT_EQ(document["compiled_at"], "2026-11-21T06:29:00.000Z");
  EXPECT_EQ(document["observed_at"], "2026-11-21T06:30:00.000Z");
  json& terms = document["capability"]["operations"][0]["billing"]["x402"]["terms"][0];
  EXPECT_THAT(terms["offer_id"].get<std::string>(), testing::StartsWith("off_"));
  terms.erase("offer_id");
  EXPECT_EQ(document["capability"], json::parse(R"({"capability_id": ")" + route.id + R"(",
    "route": {"id": ")" + route.id + R"(", "revision": 3},
    "provider": {"id": "alpha-data", "revision": 2},
    "provider_key": "alpha", "provider_name": "Alpha data",
    "upstream": {"id": "alpha-main", "revision": 5},
    "matcher": {"kind": "exact", "path": "/v1/gateway/alpha/v1/things"},
    "summary": "List the things",
    "methods": ["GET"],
    "request": {"query": {"kind": "deny"}, "body": {"kind": "forbidden"}, "enforcement": "none"},
    "response": {"success": {"kind": "explicit_statuses", "statuses": [200]},
                 "allowed_content_types": ["application/json"]},
    "credential_required": false,
    "operations": [{"method": "GET",
      "billing": {"mode": "service_priced", "price_policy_key": "alpha.standard",
        "price_version": 4, "credit_cost": 1, "no_charge_when": [],
        "x402": {"enabled": true, "terms": [{"scheme": "exact", "network": "eip155:8453",
          "asset": "0x2222222222222222222222222222222222222222", "atomic_amount": "1000"}],
          "flow": "authorization", "readiness": {"status": "ready"}}},
      "free_rate_limit": {"policy_key": "alpha.free", "window": {"limit": 60, "seconds": 60},
        "concurrency": 4, "permit_ttl_seconds": 60, "quota": {"limit": 1000, "seconds": 86400},
        "cumulative_limit": null, "bucket_scope": "provider"}}],
    "readiness": {"status": "ready"}})"));
}

TEST_F(ViewTest, WhatIsOffIsNotAdvertised) {
  const auto view = make_view(compiled(varied_yaml));
  const json operation = detail(*view, "/v1/gateway/alpha/v1/things")["operations"][0];
  EXPECT_EQ(operation["billing"]["x402"], (json{{"enabled", false}, {"terms", json::array()}}));
  EXPECT_FALSE(operation.contains("free_rate_limit"));
}

TEST_F(ViewTest, PoliciesAreShownAsDeclared) {
  const auto view = make_view(compiled(varied_yaml));
  EXPECT_EQ(detail(*view, "/v1/gateway/alpha/v1/things/{thing_id}/parts/{part}")["matcher"],
            json::parse(R"({"kind": "template", "template": [
              {"kind": "literal", "value": "v1"}, {"kind": "literal", "value": "gateway"},
              {"kind": "literal", "value": "alpha"}, {"kind": "literal", "value": "v1"},
              {"kind": "literal", "value": "things"}, {"kind": "parameter", "name": "thing_id"},
              {"kind": "literal", "value": "parts"}, {"kind": "parameter", "name": "part"}]})"));
  const json parts = detail(*view, "/v1/gateway/alpha/v1/things/{thing_id}/parts/{part}");
  EXPECT_EQ(parts["request"]["query"],
            json::parse(R"({"kind": "fields", "max_encoded_bytes": 16384, "rules": [],
              "parameters": [
                {"name": "deep", "presence": "optional",
                 "value": {"kind": "scalar", "constraint": {"kind": "boolean"}}},
                {"name": "kinds", "presence": "optional",
                 "value": {"kind": "comma_delimited_enum",
                           "allowed_values": ["blue", "green", "red"],
                           "min_items": 1, "max_items": 2, "unique": true}},
                {"name": "limit", "presence": "optional",
                 "value": {"kind": "scalar",
                           "constraint": {"kind": "integer", "minimum": 1, "maximum": 200}}},
                {"name": "sort", "presence": "required",
                 "value": {"kind": "scalar", "constraint": {"kind": "string", "min_length": 6,
                           "max_length": 6, "allowed_values": ["newest", "oldest"]}}}]})"));
  EXPECT_EQ(detail(*view, "/v1/gateway/alpha/v1/search")["request"]["query"]["rules"],
            json::parse(R"([{"kind": "at_least_one", "parameters": ["title", "url"]},
              {"kind": "integer_comparison", "left": "from_ms", "operator": "less_than",
               "right": "to_ms"}])"));
  const json reports = detail(*view, "/v1/gateway/alpha/v1/reports");
  EXPECT_EQ(reports["request"]["body"], json::parse(R"({"kind": "bytes", "max_bytes": 65536,
                            "media_types": ["application/json"], "required": false})"));
  EXPECT_EQ(reports["request"]["enforcement"], "declared");
  EXPECT_EQ(reports["operations"][1]["billing"]["no_charge_when"],
            json::parse(R"([{"kind": "empty_body"},
                            {"kind": "empty_at", "pointer": "/items/0~1x"},
                            {"kind": "upstream_over", "ms": 2000}])"));
}

const std::string typed_yaml = R"yaml(
provider: {key: t, name: T}
upstreams: {u: {plugin: http}}
prices: {p: {version: 1, credit_cost: 1}}
defaults: {price: p}
routes:
  - path: /pets/{petId}/{owner-id}
    summary: Pets
    path_parameters: {petId: {type: integer, range: 1..9}}
    methods:
      GET:
        summary: One pet
        query: {parameters: {share: {type: number, range: 0.5..1, required: true}}}
      POST:
        body: {max_bytes: 10, media_types: [application/json]}
        response: {statuses: [201], content_types: [text/plain]}
)yaml";

TEST_F(ViewTest, MethodsShowWhatTheyDefineThemselvesAndParametersTheirTypes) {
  const auto view = make_view(compiled(typed_yaml));
  const json pets = detail(*view, "/v1/gateway/t/pets/{petId}/{owner-id}");
  EXPECT_EQ(pets["matcher"]["template"][4],
            json::parse(R"({"kind": "parameter", "name": "petId", "value": {"kind": "scalar",
              "constraint": {"kind": "integer", "minimum": 1, "maximum": 9}}})"));
  EXPECT_EQ(pets["matcher"]["template"][5],
            json::parse(R"({"kind": "parameter", "name": "owner-id"})"));
  EXPECT_EQ(pets["request"]["query"]["parameters"][0]["value"], json::parse(R"({"kind": "scalar",
              "constraint": {"kind": "number", "minimum": 0.5, "maximum": 1.0}})"));
  const json& get = pets["operations"][0];
  const json& post = pets["operations"][1];
  EXPECT_EQ(get["summary"], "One pet");
  EXPECT_FALSE(get.contains("request") || get.contains("response"));
  EXPECT_FALSE(post.contains("summary"));
  EXPECT_EQ(post["request"]["query"], (json{{"kind", "deny"}}));
  EXPECT_EQ(post["response"]["success"]["statuses"], json::array({201}));
  EXPECT_EQ(post["response"]["allowed_content_types"], json::array({"text/plain"}));
}

TEST_F(ViewTest, IdsAreJudgedBeforeTheyAreLookedUp) {
  const auto view = make_view(compiled(varied_yaml));
  for (const std::string id :
       {"", "route-", "route-00112233445566778899aabbccddeef",
        "route-00112233445566778899aabbccddeefff", "route-00112233445566778899AABBCCDDEEFF",
        "Route-00112233445566778899aabbccddeeff", "route-00112233445566778899aabbccddeefg"}) {
    EXPECT_EQ(view->detail(id, now_ms).error().code, ErrorCode::catalog_capability_id_invalid)
        << id;
  }
  EXPECT_EQ(view->detail("route-00112233445566778899aabbccddeeff", now_ms).error().code,
            ErrorCode::catalog_capability_not_found);
}

// ---- inventory ----------------------------------------------------------------------------------

TEST_F(ViewTest, TheInventoryListsEveryOperationWithItsClosure) {
  const auto view = make_view(compiled(varied_yaml));
  const json inventory = read(view->inventory(now_ms));
  EXPECT_EQ(inventory["schema_version"], "service.operation-pricing-inventory.v2");
  EXPECT_EQ(inventory["observed_at"], "2026-11-21T06:30:00.000Z");
  EXPECT_FALSE(inventory.contains("x402_contract_version"));
  ASSERT_EQ(inventory["entries"].size(), program_->operations().size());

  std::vector<std::string> keys;
  for (const json& entry : inventory["entries"]) {
    keys.push_back(entry["operation_key"]);
    EXPECT_FALSE(entry.contains("credit_cost")) << "no selected price is carried";
  }
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  const auto at = std::find(keys.begin(), keys.end(), "GET /v1/gateway/alpha/v1/things");
  ASSERT_NE(at, keys.end());
  json entry = inventory["entries"][static_cast<std::size_t>(at - keys.begin())];
  const std::string id = route_with(*program_, "/v1/gateway/alpha/v1/things").id;
  const json closure = {{"provider", {{"id", "alpha-data"}, {"revision", 2}}},
                        {"upstream", {{"id", "alpha-main"}, {"revision", 5}}},
                        {"route", {{"id", id}, {"revision", 3}}}};
  EXPECT_EQ(entry["closure"]["hash"],
            "sha256:" + crypto::sha256_hex(*text::canonical_json(closure)))
      << "any reader can recompute it";
  EXPECT_EQ(entry["request_bounds"], (json{{"max_query_bytes", 16384},
                                           {"max_forwarded_query_bytes", 65536},
                                           {"max_body_bytes", 0}}));
  EXPECT_EQ(entry["classification"], "merchant_priced");
}

TEST_F(ViewTest, TheEntrySetHashCanBeRecomputed) {
  const auto program = compiled(varied_yaml);
  const json second = read(make_view(program)->inventory(now_ms));
  EXPECT_EQ(second["entry_set_hash"],
            "sha256:" + crypto::sha256_hex(*text::canonical_json(second["entries"])));

  const auto paid = make_view(program, {.free_lane = false, .per_call = true});
  const json third = read(paid->inventory(now_ms));
  EXPECT_EQ(third["schema_version"], "service.operation-pricing-inventory.v3");
  EXPECT_EQ(third["x402_contract_version"], "service.x402.v2");
  const json hashed = {{"x402_contract_version", "service.x402.v2"}, {"entries", third["entries"]}};
  EXPECT_EQ(third["entry_set_hash"], "sha256:" + crypto::sha256_hex(*text::canonical_json(hashed)));
  EXPECT_NE(third["entry_set_hash"], second["entry_set_hash"]);
}

TEST_F(ViewTest, AnInventoryThatCannotBeWholeIsNoInventory) {
  auto other = installed(compiled(varied_yaml));
  other.generation.payload_hash = "sha256:" + std::string(64, '0');
  const View view(other, readiness_,
                  {.base_url = "https://api.example.test",
                   .cursor_key = std::string(32, 'k'),
                   .features = {},
                   .http_status = status_for_tests,
                   .openapi_frame = frame_for_tests});
  EXPECT_EQ(view.inventory(now_ms).error().code, ErrorCode::catalog_inventory_incomplete);
}

// ---- OpenAPI ------------------------------------------------------------------------------------

class OpenApiTest : public ViewTest {
 protected:
  json openapi(Features features = {}) {
    if (!view_) view_ = make_view(compiled(varied_yaml), features);
    return json::parse(view_->render_openapi()->body);
  }
  json parameter(const json& operation, const std::string& name) {
    for (const json& one : operation["parameters"]) {
      if (one["name"] == name) return one;
    }
    ADD_FAILURE() << "no parameter " << name;
    return {};
  }
  std::unique_ptr<View> view_;
};

TEST_F(OpenApiTest, ListsCallableOperationsAlone) {
  json document = openapi();
  EXPECT_EQ(document["openapi"], "3.1.0");
  EXPECT_EQ(document["info"]["version"], "0.2.36");
  EXPECT_EQ(document["servers"][0]["url"], "https://api.example.test");
  const json& paths = document["paths"];
  EXPECT_TRUE(paths.contains("/v1/gateway/alpha/v1/things"));
  EXPECT_TRUE(paths["/v1/gateway/alpha/v1/reports"].contains("post"));
  EXPECT_FALSE(paths.contains("/v1/gateway/alpha/v1/blocked"));
  EXPECT_TRUE(paths.contains("/v1/capabilities/{capability_id}"));

  const registry::Route& route = route_with(*program_, "/v1/gateway/alpha/v1/reports");
  readiness_->states[route.operations[1]] = {Condition::credential_missing, "no key"};
  document = openapi();
  EXPECT_TRUE(document["paths"][route.matcher.pattern].contains("get"));
  EXPECT_FALSE(document["paths"][route.matcher.pattern].contains("post"));
  readiness_->states[route.operations[0]] = {Condition::credential_missing, "no key"};
  EXPECT_FALSE(openapi()["paths"].contains(route.matcher.pattern));
}

// Regression: clients that were generated while a breaker was open lacked the routes behind it.
TEST_F(OpenApiTest, LeavesNothingOutForWhatPassesByItself) {
  (void)openapi();
  const registry::Route& route = route_with(*program_, "/v1/gateway/alpha/v1/reports");
  const json before = openapi();
  for (const Condition condition : {Condition::blocked, Condition::evidence_stale}) {
    readiness_->states[route.operations[1]] = {condition, "down"};
    EXPECT_EQ(openapi(), before);
  }
}

TEST_F(OpenApiTest, HasALicence) {
  EXPECT_EQ(openapi()["info"]["license"]["identifier"], "Apache-2.0");
}

TEST_F(OpenApiTest, TellsInWhichFormsTheProvidersErrorsCome) {
  json document = openapi();
  const json& usual = document["components"]["responses"]["Gateway404"]["content"];
  for (const char* type :
       {"application/json", "application/problem+json", "text/html", "text/plain"}) {
    EXPECT_TRUE(usual.contains(type)) << type;
  }
  EXPECT_EQ(usual.size(), 4u);
  EXPECT_EQ(document["components"]["responses"]["Gateway401"]["content"].size(), 1u);
  const json& narrow =
      document["paths"]["/v1/gateway/alpha/v1/narrow"]["get"]["responses"]["404"]["content"];
  EXPECT_TRUE(narrow.contains("application/json")) << "the gateway's own";
  EXPECT_TRUE(narrow.contains("application/problem+json"));
  EXPECT_EQ(narrow.size(), 2u);
}

TEST_F(OpenApiTest, ShowsEachMethodWithItsOwnDefinitions) {
  view_ = make_view(compiled(typed_yaml));
  const json path = openapi()["paths"]["/v1/gateway/t/pets/{petId}/{owner-id}"];
  EXPECT_EQ(path["get"]["summary"], "One pet");
  EXPECT_EQ(path["post"]["summary"], "Pets");
  EXPECT_EQ(parameter(path["get"], "petId")["schema"],
            json::parse(R"({"type": "integer", "format": "int64", "minimum": 1, "maximum": 9})"));
  EXPECT_EQ(parameter(path["post"], "owner-id")["schema"],
            json::parse(R"({"type": "string", "minLength": 1})"));
  const json share = parameter(path["get"], "share");
  EXPECT_EQ(share["schema"], json::parse(R"({"type": "number", "format": "double",
                                             "minimum": 0.5, "maximum": 1.0})"));
  EXPECT_EQ(path["post"]["parameters"].size(), path["get"]["parameters"].size() - 1);
  EXPECT_TRUE(path["get"]["responses"].contains("200"));
  EXPECT_TRUE(path["post"]["responses"]["201"]["content"].contains("text/plain"));
  EXPECT_FALSE(path["get"].contains("requestBody"));
  EXPECT_TRUE(path["post"].contains("requestBody"));
  EXPECT_THAT(path["get"]["x-codeSamples"][0]["source"].get<std::string>(),
              HasSubstr("/v1/gateway/t/pets/${petId}/${owner_id}?share=0.5\""));
}

TEST_F(OpenApiTest, IsKeptUntilReadinessChanges) {
  const auto view = make_view(compiled(varied_yaml));
  EXPECT_EQ(view->kept_openapi(), nullptr);
  const Document rendered = view->render_openapi();
  EXPECT_EQ(view->kept_openapi(), rendered);
  const auto operation = route_with(*program_, "/v1/gateway/alpha/v1/things").operations[0];
  readiness_->states[operation] = {Condition::blocked, "down"};
  EXPECT_EQ(view->kept_openapi(), rendered) << "what passes does not show in it";
  readiness_->states[operation] = {Condition::credential_missing, "no key"};
  EXPECT_EQ(view->kept_openapi(), nullptr);
  EXPECT_NE(view->render_openapi()->etag, rendered->etag);
}

TEST_F(OpenApiTest, DerivesSchemasFromDeclaredPolicies) {
  const json document = openapi();
  const json& parts =
      document["paths"]["/v1/gateway/alpha/v1/things/{thing_id}/parts/{part}"]["get"];
  EXPECT_EQ(parameter(parts, "thing_id")["in"], "path");
  EXPECT_EQ(parameter(parts, "thing_id")["required"], true);
  const json kinds = parameter(parts, "kinds");
  EXPECT_EQ(kinds["schema"], json::parse(R"({"type": "array",
    "items": {"type": "string", "enum": ["blue", "green", "red"]},
    "minItems": 1, "maxItems": 2, "uniqueItems": true})"));
  EXPECT_EQ(kinds["explode"], false);
  EXPECT_EQ(parameter(parts, "sort")["required"], true);
  EXPECT_EQ(parameter(parts, "sort")["example"], "newest");
  EXPECT_EQ(parameter(parts, "deep")["schema"], (json{{"type", "boolean"}}));

  const json& search = document["paths"]["/v1/gateway/alpha/v1/search"]["get"];
  const json url = parameter(search, "url");
  EXPECT_EQ(url["schema"], (json{{"type", "string"}, {"minLength", 2}, {"maxLength", 2048}}))
      << "5 bytes may be 2 characters";
  EXPECT_THAT(url["description"].get<std::string>(), HasSubstr("5 to 2048 bytes"));
  EXPECT_LT(parameter(search, "from_ms")["example"].get<std::int64_t>(),
            parameter(search, "to_ms")["example"].get<std::int64_t>());
  EXPECT_THAT(search["description"].get<std::string>(),
              HasSubstr("At least one of `title`, `url` is given. "
                        "`from_ms` is less than `to_ms`."));

  EXPECT_EQ(search["x-codeSamples"][0]["source"],
            "curl -s -H \"Authorization: Bearer $TURNPIKE_API_KEY\" "
            "\"https://api.example.test/v1/gateway/alpha/v1/search"
            "?from_ms=0&title=${title}&to_ms=9007199254740991\"");

  const json& post = document["paths"]["/v1/gateway/alpha/v1/reports"]["post"];
  EXPECT_TRUE(post["requestBody"]["content"].contains("application/json"));
  EXPECT_THAT(post["description"].get<std::string>(), HasSubstr("refused with 400"));
  EXPECT_FALSE(document["paths"]["/v1/gateway/alpha/v1/reports"]["get"].contains("requestBody"));
}

TEST_F(OpenApiTest, DescribesTheHeadersOfEveryReplyAndAnyOtherError) {
  const json document = openapi({.free_lane = true, .per_call = true});
  std::size_t replies = 0;
  for (const auto& [path, item] : document["paths"].items()) {
    for (const auto& [method, operation] : item.items()) {
      EXPECT_TRUE(operation["responses"].contains("default")) << path;
      for (const auto& [status, reference] : operation["responses"].items()) {
        const json& response =
            reference.contains("$ref")
                ? document.at(json::json_pointer(reference["$ref"].get<std::string>().substr(1)))
                : reference;
        EXPECT_TRUE(response["headers"].contains("X-Request-Id")) << path << " " << status;
        EXPECT_TRUE(status != "304" || response["headers"].contains("ETag")) << path;
        ++replies;
      }
    }
  }
  EXPECT_GT(replies, 100u);
  const json& paid = document["paths"]["/v1/gateway/alpha/v1/things"]["get"]["responses"];
  for (const char* name : {"PAYMENT-RESPONSE", "RateLimit", "Turnpike-Credits-Charged"}) {
    EXPECT_TRUE(paid["200"]["headers"].contains(name)) << name;
  }
  const json& errors = document["components"]["responses"];
  EXPECT_TRUE(errors["Gateway402"]["headers"].contains("PAYMENT-REQUIRED"));
  EXPECT_TRUE(errors["Gateway429"]["headers"].contains("RateLimit-Policy"));
  EXPECT_TRUE(errors["Gateway401"]["headers"].contains("Turnpike-Lane"));
}

TEST_F(OpenApiTest, ListsEveryErrorCode) {
  const json document = openapi();
  std::set<std::string> listed;
  for (const json& name : document["components"]["schemas"]["ErrorCode"]["enum"]) {
    listed.insert(name);
  }
  EXPECT_EQ(listed.size(), base::all_errors().size());
  for (const base::ErrorInfo& info : base::all_errors()) {
    EXPECT_TRUE(listed.contains(std::string(info.name))) << info.name;
  }
}

TEST_F(OpenApiTest, OperationIdsAreUnique) {
  const std::string yaml =
      "provider: {key: p, name: P}\nupstreams: {u: {plugin: http}}\n"
      "prices: {x: {version: 1, credit_cost: 1}}\ndefaults: {price: x}\n"
      "routes: [{path: /a-b}, {path: /a_b}, {path: /a/b}, {path: \"/a/{b}\"}]\n";
  const auto view = make_view(compiled(yaml));
  const json document = json::parse(view->render_openapi()->body);
  std::set<std::string> ids;
  std::size_t operations = 0;
  for (const auto& [path, item] : document["paths"].items()) {
    for (const auto& [method, operation] : item.items()) {
      ++operations;
      ids.insert(operation["operationId"]);
    }
  }
  EXPECT_EQ(ids.size(), operations);
}

TEST_F(OpenApiTest, FreeVariantsAndPaymentsShowWhenTheyAreOn) {
  const json plain = openapi();
  const json& off = plain["paths"]["/v1/gateway/alpha/v1/things"]["get"];
  EXPECT_FALSE(off.contains("x-service-free-variant"));
  EXPECT_EQ(off["security"], json::parse(R"([{"ApiKey": []}])"));

  view_.reset();
  const json all = openapi({.free_lane = true, .per_call = true});
  const json& on = all["paths"]["/v1/gateway/alpha/v1/things"]["get"];
  EXPECT_EQ(on["x-service-free-variant"]["window"], (json{{"limit", 60}, {"seconds", 60}}));
  EXPECT_EQ(on["security"], json::parse(R"([{"ApiKey": []}, {}])"));
  EXPECT_FALSE(all["paths"].contains("/v1/gateway/alpha/v1/events")) << "it has no price";
}

TEST_F(OpenApiTest, OnlyWhatIsPaidByPermit2MayLackAnAllowance) {
  const Features features{.free_lane = true, .per_call = true};
  EXPECT_EQ(openapi(features).dump().find("Gateway412"), std::string::npos);

  std::string yaml(varied_yaml);
  const std::string domain = "name: USD Coin, version: \"2\"";
  yaml.replace(yaml.find(domain), domain.size(), "transfer: permit2");
  view_ = make_view(compiled(yaml), features);
  const json document = openapi(features);
  const json& responses = document["paths"]["/v1/gateway/alpha/v1/things"]["get"]["responses"];
  EXPECT_EQ(responses["412"]["$ref"], "#/components/responses/Gateway412");
  const json& shown = document["components"]["responses"]["Gateway412"]["description"];
  EXPECT_NE(shown.get<std::string>().find("`x402.allowance_required`"), std::string::npos) << shown;
}

TEST_F(OpenApiTest, NoChargeConditionsAreToldInWordsAndInFull) {
  const json document = openapi();
  const json& reports = document["paths"]["/v1/gateway/alpha/v1/reports"];
  EXPECT_EQ(reports["post"]["description"].get<std::string>().find(
                "Costs 25 Credits, charged when the provider answers with success, unless its "
                "reply has no body or its reply has null or an empty list at \"/items/0~1x\" or "
                "it takes over 2000 ms."),
            0u)
      << reports["post"]["description"];
  EXPECT_EQ(reports["post"]["x-service-billing"]["no_charge_when"].size(), 3u);
  EXPECT_EQ(reports["get"]["x-service-billing"]["no_charge_when"].size(), 2u)
      << "the price of GET has no condition of its own";
}

// Both documents must agree about free variants, for every route of a program.
TEST_F(OpenApiTest, FreeVariantsAreTheSameInBothDocuments) {
  const json document = openapi({.free_lane = true, .per_call = true});
  std::size_t with = 0;
  std::size_t without = 0;
  for (const registry::Route& route : program_->routes()) {
    const json shown = read(view_->detail(route.id, now_ms))["capability"];
    if (shown["readiness"]["status"] != "ready") continue;
    for (const json& operation : shown["operations"]) {
      if (operation["billing"]["mode"] == "pricing_unavailable") {  // not in the document
        EXPECT_FALSE(operation.contains("free_rate_limit"));
        ++without;
        continue;
      }
      std::string method = operation["method"];
      for (char& letter : method) letter = static_cast<char>(letter + 32);
      const json& path = document["paths"][route.matcher.pattern][method];
      ASSERT_EQ(operation.contains("free_rate_limit"), path.contains("x-service-free-variant"));
      if (!operation.contains("free_rate_limit")) {
        ++without;
        continue;
      }
      EXPECT_EQ(operation["free_rate_limit"], path["x-service-free-variant"]);
      ++with;
    }
  }
  EXPECT_GT(with, 3u);
  EXPECT_GT(without, 0u);
}

// ---- the shipped registry -----------------------------------------------------------------------

TEST_F(ViewTest, TheShippedRegistryIsShownAsTheInterfaceSays) {
  const auto sources = registry::read_sources(support::source_path("registry"));
  ASSERT_TRUE(sources.ok());
  const auto program = registry::compile(
      {.sources = *sources, .installed = {}, .plugins = {}, .lane = &support::x402_lane()});
  ASSERT_TRUE(program.ok());
  const auto view = make_view(*program);
  PageRequest request;
  request.provider_key = "govdata";
  request.limit = 1000;
  const json page = read(view->page(request, now_ms));
  ASSERT_EQ(page["capabilities"].size(), 10u);
  for (const json& entry : page["capabilities"]) {
    const json& billing = entry["operations"][0]["billing"];
    if (entry["path"] == "/v1/gateway/govdata/global/v1/governance-events") {
      EXPECT_EQ(billing["mode"], "pricing_unavailable");
      EXPECT_EQ(entry["credential_required"], true);
    } else {
      EXPECT_EQ(billing, (json{{"mode", "service_priced"}, {"credit_cost", 1}})) << entry["path"];
    }
  }
  const json lookup = detail(*view, "/v1/gateway/govdata/global/v1/proposals/lookup");
  EXPECT_EQ(lookup["response"]["schema"]["type"], "object");
  EXPECT_TRUE(lookup["response"]["schema"]["$defs"].contains("govdata.proposal"));
  EXPECT_EQ(lookup["response"]["error_schema"]["required"], (json{"error", "requestId"}));
  EXPECT_EQ(lookup["operations"][0]["billing"]["price_version"], 4);
  EXPECT_EQ(lookup["request"]["query"]["max_encoded_bytes"], 16384);
  EXPECT_EQ(lookup["request"]["query"]["rules"][0]["parameters"],
            (json{"external_id", "title", "url"}));
}

}  // namespace
}  // namespace turnpike::catalog::tests

// The table of routes: which path leads to which row, and that a host's table, its OpenAPI document
// and its metrics agree.
#include "hosts/route_table.h"

#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/account/account_routes.h"
#include "hosts/account/auto_top_up_routes.h"
#include "hosts/account/grant_routes.h"
#include "hosts/account/notice_routes.h"
#include "hosts/account/people_routes.h"
#include "hosts/account/purchase_routes.h"
#include "hosts/api/api_routes.h"
#include "hosts/api/status_routes.h"
#include "hosts/host_fixture.h"
#include "text/json_text.h"

namespace turnpike::hosts {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::HttpReply;

std::vector<std::string> segments_of(std::string_view route_path, std::string_view path) {
  std::array<std::string_view, path_parameters_max> segments;
  if (!matches_path(route_path, path, segments)) return {"no match"};
  std::vector<std::string> found;
  for (const std::string_view segment : segments) {
    if (!segment.empty()) found.emplace_back(segment);
  }
  return found;
}

TEST(RoutePathTest, VariablePartsAreSegmentsThatAreNotEmpty) {
  EXPECT_THAT(segments_of("/a", "/a"), ElementsAre());
  EXPECT_THAT(segments_of("/a/{b}", "/a/x%2Fy"), ElementsAre("x%2Fy"));
  EXPECT_THAT(segments_of("/a/{b}/c/{d}/e", "/a/1/c/2/e"), ElementsAre("1", "2"));
  EXPECT_THAT(segments_of("/a/{b}.svg", "/a/x.svg"), ElementsAre("x"));
  EXPECT_THAT(segments_of("/a/{b}.svg", "/a/x.svg.svg"), ElementsAre("x.svg"));
  EXPECT_THAT(segments_of("/a/{b}.svg/c", "/a/x.svg/c"), ElementsAre("x"));
  EXPECT_THAT(segments_of("/a/{rest...}", "/a/1/2"), ElementsAre("1/2"));
  EXPECT_THAT(segments_of("/a/{rest...}", "/a/"), ElementsAre());
  for (const char* path : {"", "/", "/a/", "/a/1/2", "/b/1", "/a/1/", "/A/1", "//a/1", "a/1"}) {
    EXPECT_THAT(segments_of("/a/{b}", path), ElementsAre("no match")) << path;
  }
  for (const char* path : {"/a/.svg", "/a/x", "/a/x.png", "/a/x.svg/", "/a/x/y.svg"}) {
    EXPECT_THAT(segments_of("/a/{b}.svg", path), ElementsAre("no match")) << path;
  }
  EXPECT_THAT(segments_of("/a/{b}/c", "/a//c"), ElementsAre("no match"));
  EXPECT_THAT(segments_of("/a/{b}/c", "/a/b/c/"), ElementsAre("no match"));
  EXPECT_THAT(segments_of("/a/{rest...}", "/a"), ElementsAre("no match"));
}

class ApiTableTest : public tests::HostFixture {
 protected:
  ApiTableTest() {
    for (const auto& route : api::api_routes()) facts_.push_back(&route.facts);
    for (const auto& route : account::account_routes()) facts_.push_back(&route.facts);
    described_ = facts_;
    for (const auto& route : account::people_routes()) described_.push_back(&route.facts);
    for (const auto& route : account::grant_routes()) described_.push_back(&route.facts);
    for (const auto& route : account::purchase_routes()) described_.push_back(&route.facts);
    for (const auto& route : account::auto_top_up_routes()) described_.push_back(&route.facts);
    for (const auto& route : account::notice_routes()) described_.push_back(&route.facts);
    for (const auto& route : api::status_routes()) described_.push_back(&route.facts);
  }
  // A path of the route with values for its parameters.
  static std::string example_of(const RouteFacts& facts) {
    std::string path(facts.path);
    for (auto open = path.find('{'); open != path.npos; open = path.find('{')) {
      path.replace(open, path.find('}', open) + 1 - open, "acc_good");
    }
    return path;
  }
  std::vector<const RouteFacts*> facts_;      // served by the fixture's host
  std::vector<const RouteFacts*> described_;  // also those of sessions
};

TEST_F(ApiTableTest, EveryPathLeadsToItsOwnRow) {
  for (const RouteFacts* const facts : facts_) {
    const HttpReply reply = get(example_of(*facts), {"Authorization: Bearer good"});
    const tests::LoggedRequest logged = access_log_.wait_for(reply.header("x-request-id"));
    EXPECT_EQ(logged.endpoint, facts->endpoint) << facts->path;
  }
}

TEST_F(ApiTableTest, ItsOpenApiDocumentHasTheRowsAndNothingElse) {
  const json document = text::parse_json(api::api_openapi_frame());
  std::set<std::string> described;
  for (const RouteFacts* const facts : described_) {
    if (facts->described.operation_id.empty()) continue;
    described.insert(std::string(facts->method) + " " + std::string(facts->path));
    ASSERT_TRUE(document["paths"].contains(std::string(facts->path))) << facts->path;
    std::string method(facts->method);
    for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
    const json& operation = document["paths"][std::string(facts->path)][method];
    EXPECT_EQ(operation["operationId"], facts->described.operation_id);
    EXPECT_EQ(operation["security"].empty(), facts->callers.are_anyone()) << facts->path;
    EXPECT_NE(operation["responses"].contains("401"), facts->callers.are_anyone());
    std::set<std::string> in_path;
    std::set<std::string> in_query;
    std::set<std::string> in_header;
    for (const json& parameter : operation.value("parameters", json::array())) {
      EXPECT_TRUE(parameter["schema"].is_object()) << parameter["name"];
      auto& others = parameter["in"] == "header" ? in_header : in_query;
      (parameter["in"] == "path" ? in_path : others).insert(parameter["name"]);
    }
    EXPECT_EQ(in_header.contains("Idempotency-Key"), facts->needs_idempotency_key) << facts->path;
    for (const std::string& name : in_path) EXPECT_THAT(facts->path, HasSubstr("{" + name + "}"));
    EXPECT_EQ(static_cast<long>(in_path.size()),
              std::count(facts->path.begin(), facts->path.end(), '{'))
        << facts->path;
    EXPECT_EQ(in_query.size(), facts->query.size()) << facts->path;
  }
  std::size_t operations = 0;
  for (const json& path : document["paths"]) operations += path.size();
  EXPECT_EQ(described.size(), operations);
}

TEST_F(ApiTableTest, EveryRowRefusesWhatItDoesNotTake) {
  for (const RouteFacts* const facts : facts_) {
    if (facts->takes_all) continue;
    const std::string path = example_of(*facts);
    const std::string allow = facts->answers_head ? "GET, HEAD, OPTIONS" : "GET, OPTIONS";
    const HttpReply deleted = call({.method = "DELETE", .target = path});
    EXPECT_EQ(deleted.status, 405) << path;
    EXPECT_EQ(deleted.header("allow"), allow) << path;
    EXPECT_EQ(call({.method = "OPTIONS", .target = path}).header("allow"), allow) << path;
    const HttpReply with_body = call({.target = path, .headers = {}, .body = "x"});
    EXPECT_EQ(code_of(with_body), "request.body_not_allowed") << path;
    const HttpReply asked = get(path + "?unknown=1", {"Authorization: Bearer good"});
    EXPECT_EQ(code_of(asked), "request.query_rejected") << path;
    if (facts->callers.are_anyone()) continue;
    EXPECT_EQ(code_of(get(path + "?unknown=1")), "auth.credential_required")
        << path << ": strangers do not learn what a query may hold";
  }
}

TEST_F(ApiTableTest, WhatNoRowHasIsNotFound) {
  for (const char* path : {"/",
                           "*",
                           "/healthz/",
                           "//healthz",
                           "/Healthz",
                           "/v1",
                           "/v1/",
                           "/v1/gateway",
                           "/v1/capabilities/",
                           "/v1/capabilities/a/b",
                           "/v1/billing-accounts//credit-balance",
                           "/v1/billing-accounts/credit-balance",
                           "/v1/billing-accounts/a/usage/m",
                           "/v1/billing-accounts/a/b/credit-balance",
                           "/v1/billing-accounts/a/credit-balance/",
                           "/v1/auth/context/",
                           "/reference/",
                           "/reference/a/b",
                           "/v1/calls",
                           "/v1/calls/",
                           "/v2/capabilities",
                           "/openapi.json.bak"}) {
    for (const RouteFacts* const facts : facts_) {
      std::array<std::string_view, path_parameters_max> segments;
      EXPECT_FALSE(matches_path(facts->path, path, segments)) << path << " " << facts->path;
    }
  }
}

}  // namespace
}  // namespace turnpike::hosts

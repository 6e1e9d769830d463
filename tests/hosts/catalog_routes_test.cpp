// The catalog through the host: validators, paging and large documents over real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/host_fixture.h"
#include "hosts/status_table.h"
#include "registry/compile.h"
#include "support/x402_lane.h"

namespace turnpike::tests {
namespace {

using nlohmann::json;

class AllReady final : public catalog::ReadinessSource {
 public:
  State state(std::uint32_t) const noexcept override {
    if (is_down) return {Condition::blocked, "down"};
    return {};
  }
  std::atomic<bool> is_down{false};
};

class CatalogRoutesTest : public HostFixture {
 protected:
  void install(int routes, const std::string& generation_id, catalog::Features features = {}) {
    std::string yaml =
        "provider: {key: bulk, name: Bulk}\nupstreams: {bulk-main: {plugin: http}}\n"
        "prices: {bulk.standard: {version: 1, credit_cost: 1}}\n"
        "defaults: {price: bulk.standard}\nroutes:\n";
    for (int at = 0; at < routes; ++at) yaml += "  - {path: /item-" + std::to_string(at) + "}\n";
    const registry::Source sources[] = {{"bulk.yaml", yaml}};
    auto program = registry::compile(
        {.sources = sources, .installed = {}, .plugins = {}, .lane = &support::x402_lane()});
    ASSERT_TRUE(program.ok());
    registry::Generation generation;
    generation.id = generation_id;
    generation.epoch_id = "ep_01";
    generation.payload_hash = (*program)->payload_hash();
    backend_.set_view(std::make_shared<catalog::View>(
        registry::Installed{*program, generation}, readiness_,
        catalog::ViewOptions{.base_url = "http://" + address_,
                             .cursor_key = std::string(32, 'k'),
                             .features = features,
                             .http_status = hosts::call_status,
                             .openapi_frame = hosts::api::api_openapi_frame()}));
  }

  std::shared_ptr<AllReady> readiness_ = std::make_shared<AllReady>();
};

TEST_F(CatalogRoutesTest, EveryReferenceResolves) {
  install(5, "gen_1", {.free_lane = true, .per_call = true});
  const json document = json::parse(get("/openapi.json").body);
  const std::string text = document.dump();
  std::size_t at = 0;
  int references = 0;
  while ((at = text.find("\"$ref\":\"#", at)) != std::string::npos) {
    const std::size_t begin = at + 9;
    const std::size_t end = text.find('"', begin);
    const json::json_pointer pointer(text.substr(begin, end - begin));
    EXPECT_TRUE(document.contains(pointer)) << pointer.to_string();
    at = end;
    ++references;
  }
  EXPECT_GT(references, 50);
}

TEST_F(CatalogRoutesTest, DocumentsCarryStrongValidators) {
  install(5, "gen_1");
  const std::string id =
      json::parse(get("/v1/capabilities?limit=1").body)["capabilities"][0]["capability_id"];
  for (const std::string& target :
       {std::string("/v1/capabilities"), "/v1/capabilities/" + id,
        std::string("/v1/operation-pricing-inventory"), std::string("/openapi.json")}) {
    const HttpReply first = get(target);
    ASSERT_EQ(first.status, 200) << target;
    const std::string etag = first.header("etag");
    ASSERT_GT(etag.size(), 2u);
    EXPECT_EQ(etag.front(), '"') << "strong";
    EXPECT_EQ(first.header("cache-control"), "public, no-cache");
    for (const std::string& match : {etag, "W/" + etag, "\"other\", " + etag, std::string("*")}) {
      const HttpReply again = get(target, {"If-None-Match: " + match});
      EXPECT_EQ(again.status, 304) << target << " " << match;
      EXPECT_TRUE(again.body.empty());
      EXPECT_EQ(again.header("etag"), etag);
    }
    EXPECT_EQ(get(target, {"If-None-Match: \"other\""}).status, 200);
    const HttpReply head = call({.method = "HEAD", .target = target, .headers = {}});
    EXPECT_EQ(head.header("etag"), etag) << target;
    EXPECT_EQ(head.header("content-length"), std::to_string(first.body.size()));
  }
}

TEST_F(CatalogRoutesTest, AChangedReadinessChangesTheValidator) {
  install(3, "gen_1");
  const HttpReply before = get("/v1/capabilities");
  readiness_->is_down = true;
  const HttpReply after = get("/v1/capabilities", {"If-None-Match: " + before.header("etag")});
  EXPECT_EQ(after.status, 200);
  EXPECT_EQ(json::parse(after.body)["capabilities"][0]["readiness"]["status"], "blocked");
  EXPECT_THAT(get("/openapi.json").body, testing::HasSubstr("/v1/gateway/bulk/item-0\""))
      << "what passes by itself takes nothing out of the document";
}

TEST_F(CatalogRoutesTest, PagingRestartsWhenTheGenerationChanges) {
  install(10, "gen_1");
  const std::string cursor = json::parse(get("/v1/capabilities?limit=4").body)["next_cursor"];
  EXPECT_EQ(get("/v1/capabilities?limit=4&cursor=" + cursor).status, 200);
  HttpReply reply = get("/v1/capabilities?limit=4&method=GET&cursor=" + cursor);
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(code_of(reply), "catalog.cursor_invalid");
  install(10, "gen_2");
  reply = get("/v1/capabilities?limit=4&cursor=" + cursor);
  EXPECT_EQ(reply.status, 409);
  EXPECT_EQ(code_of(reply), "catalog.cursor_stale");
  EXPECT_EQ(json::parse(reply.body)["error"]["retry"]["advice"], "restart_paging");
  EXPECT_EQ(json::parse(get("/version").body)["generation"]["id"], "gen_2");
}

TEST_F(CatalogRoutesTest, IdsThatAreUnknownOrMalformed) {
  install(1, "gen_1");
  HttpReply reply = get("/v1/capabilities/route-00112233445566778899aabbccddeeff");
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(code_of(reply), "catalog.capability_not_found");
  for (const char* id : {"route-1", "x", "route-00112233445566778899AABBCCDDEEFF", "%C3%A9"}) {
    reply = get("/v1/capabilities/" + std::string(id));
    EXPECT_EQ(reply.status, 400) << id;
    EXPECT_EQ(code_of(reply), "catalog.capability_id_invalid") << id;
  }
}

TEST_F(CatalogRoutesTest, AReloadRepairsAnUnavailableRegistry) {
  EXPECT_EQ(get("/v1/capabilities").status, 503);
  install(1, "gen_1");
  EXPECT_EQ(get("/v1/capabilities").status, 200);
  backend_.set_view(nullptr);
  EXPECT_EQ(get("/openapi.json").status, 503);
  EXPECT_EQ(get("/healthz").status, 200);
}

// The document is too large for the loop to render, so the pool renders it.
TEST_F(CatalogRoutesTest, LargeProgramsHaveTheirDocumentToo) {
  install(300, "gen_1");
  const HttpReply reply = get("/openapi.json");
  ASSERT_EQ(reply.status, 200);
  const json document = json::parse(reply.body);
  EXPECT_TRUE(document["paths"].contains("/v1/gateway/bulk/item-299"));
  EXPECT_EQ(get("/openapi.json", {"If-None-Match: " + reply.header("etag")}).status, 304);
}

}  // namespace
}  // namespace turnpike::tests

// Tools of the registry on the real host: what they show of their operation, and the calls that
// they make from their arguments. Arguments are tested in tests/hosts/mcp/tool_call_test.cpp.
#include "hosts/mcp/bound_tool.h"

#include <optional>

#include <gtest/gtest.h>

#include "hosts/mcp/mcp_fixture.h"
#include "registry/compile.h"

namespace turnpike::hosts::mcp {
namespace {

constexpr std::string_view source = R"(
provider: {key: t, name: T}
upstreams: {u: {plugin: p}}
prices: {p: {version: 1, credit_cost: 1}}
free_policies: {f: {window: {limit: 1, seconds: 60}, concurrency: 1}}
defaults: {price: p, free: f}
routes:
  - path: /things/{name}
    query:
      parameters: {limit: {type: integer, range: 1..9}, sort: {type: string, values: [up, down]}}
  - path: /things
    methods: [POST]
    body: {max_bytes: 100, media_types: [application/json]}
    reply_schema: t.thing
reply_schemas:
  t.thing: {type: object, properties: {next: {"$ref": "#/$defs/t.thing"}}}
tools:
  find:
    title: Find a thing
    description: By its name.
    route: GET /v1/gateway/t/things/{name}
    fixed: {sort: up}
  find.free: {route: "GET /v1/gateway/t/things/{name}", description: The same., variant: free}
  add: {route: POST /v1/gateway/t/things, description: Adds one.}
)";

std::shared_ptr<const registry::Program> make_program() {
  const registry::Source sources[] = {{"tools.yaml", std::string(source)}};
  auto compiled = registry::compile({sources, {}, {}});
  EXPECT_TRUE(compiled.ok()) << compiled.error().front().text();
  return *std::move(compiled);
}

// A copy of an invocation.
struct Asked {
  std::string method, path, query, body, content_type, key, authorization;
  std::optional<exchange::FoundOperation> found = {};
};

class BoundToolTest : public McpHostTest {
 protected:
  void SetUp() override {
    auto tools = make_service_tools(backend_, clock_, executions_);
    const auto bound = make_bound_tools(program_, executions_);
    tools.insert(tools.end(), bound.begin(), bound.end());
    toolsets_.set(std::make_shared<const Toolset>(std::move(tools), "gen_1", std::string(32, 'k')));
    backend_.on_serve = [this](const exchange::Invocation& invocation,
                               exchange::ReplyWriter& writer) {
      asked_ = Asked{std::string(invocation.method),
                     std::string(invocation.path),
                     std::string(invocation.query),
                     "",
                     std::string(invocation.content_type),
                     std::string(invocation.idempotency_key),
                     ""};
      if (invocation.found != nullptr) asked_->found = *invocation.found;
      if (invocation.body != nullptr) asked_->body = *invocation.body->read(1'000);
      for (const HeaderField& field : invocation.headers) {
        if (field.name == "Authorization") asked_->authorization = field.value;
      }
      EXPECT_EQ(invocation.reply_bytes_max, reply_bytes_max);
      writer.reply({.status = 200, .headers = {}, .lane_headers = {}, .facts = {}}, "{}");
      return exchange::Served{};
    };
    McpHostTest::SetUp();
  }

  Json rpc(const std::string& door, const std::string& method, const Json& params,
           std::vector<std::string> headers = {"Authorization: Bearer good"}) {
    headers.emplace_back("Content-Type: application/json");
    headers.emplace_back("MCP-Protocol-Version: 2025-11-25");
    const Json message = {{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}};
    return Json::parse(call("POST", door, std::move(headers), message.dump()).body);
  }
  Json run(const std::string& tool, const Json& arguments) {
    asked_.reset();
    return rpc("/", "tools/call", {{"name", tool}, {"arguments", arguments}})["result"];
  }
  Json card(const std::string& name) {
    const Json list = rpc("/", "tools/list", Json::object())["result"]["tools"];
    for (const Json& one : list) {
      if (one["name"] == name) return one;
    }
    ADD_FAILURE() << "not listed: " << name;
    return {};
  }

  const std::shared_ptr<const registry::Program> program_ = make_program();
  std::optional<Asked> asked_;
};

TEST_F(BoundToolTest, ShowsItsOperationOnItsCard) {
  const Json find = card("find");
  EXPECT_EQ(find["title"], "Find a thing");
  EXPECT_EQ(find["description"], "By its name. A success costs 1 Credit.");
  EXPECT_EQ(card("find.free")["description"],
            "The same. Costs nothing, within the limits of the free variant.");
  EXPECT_EQ(find["_meta"]["anthropic/maxResultSizeChars"], 2 * reply_bytes_max);
  EXPECT_EQ(find["inputSchema"]["required"], Json({"name"}));
  EXPECT_FALSE(find["inputSchema"]["properties"].contains("sort")) << "it is fixed";
  EXPECT_TRUE(find["inputSchema"]["properties"].contains("idempotency_key"));
  EXPECT_EQ(find["outputSchema"], execution_output_schema());
  EXPECT_EQ(find["annotations"], (Json{{"title", "Find a thing"},
                                       {"readOnlyHint", true},
                                       {"destructiveHint", false},
                                       {"idempotentHint", true},
                                       {"openWorldHint", true}}));
  const Json needs_account = {{{"type", "oauth2"}, {"scopes", Json::array()}}};
  EXPECT_EQ(find["securitySchemes"], needs_account);
  EXPECT_EQ(find["_meta"]["securitySchemes"], needs_account);
  EXPECT_EQ(find["_meta"]["turnpike/capability_id"],
            program_->match("/v1/gateway/t/things/a").route->id);
  EXPECT_EQ(card("add")["annotations"], (Json{{"readOnlyHint", false},
                                              {"destructiveHint", true},
                                              {"idempotentHint", false},
                                              {"openWorldHint", true}}));
}

TEST_F(BoundToolTest, TellsWhatItsBodyIsWhereTheRegistryDoes) {
  const Json schema = card("add")["outputSchema"];
  EXPECT_EQ(schema["type"], "object");
  const Json thing = {{"type", "object"},
                      {"properties", {{"next", {{"$ref", "#/$defs/t.thing"}}}}}};
  EXPECT_EQ(schema["properties"]["body"]["anyOf"][0], thing);
  EXPECT_EQ(schema["properties"]["body"]["anyOf"].size(), 2u) << "errors may be anything";
  EXPECT_EQ(schema["$defs"]["t.thing"], thing);
  EXPECT_EQ(schema["properties"]["http_status"],
            execution_output_schema()["properties"]["http_status"]);
}

TEST_F(BoundToolTest, AsksForItsOperationWithTheCredentialOfTheRequest) {
  EXPECT_EQ(run("find", {{"name", "a/b"}})["isError"], true) << "a slash is not allowed there";
  EXPECT_FALSE(asked_.has_value());
  EXPECT_EQ(run("find", {{"name", "a b"}, {"limit", 3}})["isError"], false);
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->method, "GET");
  EXPECT_EQ(asked_->path, "/v1/gateway/t/things/a%20b");
  EXPECT_EQ(asked_->query, "limit=3&sort=up");
  EXPECT_EQ(asked_->authorization, "Bearer good");
  ASSERT_TRUE(asked_->found);
  EXPECT_EQ(asked_->found->program, program_.get());
  EXPECT_EQ(asked_->found->operation, program_->tools()[1].operation);
  EXPECT_EQ(asked_->found->match.route, program_->match(asked_->path).route);
  ASSERT_EQ(asked_->found->match.parameter_count, 1u);
  const registry::ParameterSpan name = asked_->found->match.parameters[0];
  EXPECT_EQ(asked_->path.substr(name.offset, name.length), "a%20b");
  run("find.free", {{"name", "a"}});
  EXPECT_EQ(asked_.value().path, "/v1/gateway/t/things/a:free");
  ASSERT_TRUE(asked_->found);
  EXPECT_EQ(asked_->found->match.parameters[0].length, 1) << "the suffix is no part of it";
  run("add", {{"body", {{"n", 1}}}, {"idempotency_key", "k"}});
  EXPECT_EQ(asked_.value().method, "POST");
  EXPECT_EQ(asked_->body, R"({"n":1})");
  EXPECT_EQ(asked_->content_type, "application/json");
  EXPECT_EQ(asked_->key, "k");
  run("add", Json::object());
  EXPECT_EQ(asked_.value().content_type, "");
}

TEST_F(BoundToolTest, SendsAJsonBodyAsTheCallerWroteIt) {
  const std::string body = R"({ "n": 123456789012345678901234567890,
  "e": 1e2, "z":-0})";
  call("POST", "/",
       {"Content-Type: application/json", "MCP-Protocol-Version: 2025-11-25",
        "Authorization: Bearer good"},
       R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":)"
       R"({"idempotency_key":"k", "body" : )" +
           body + R"( }}})");
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->body, body);
}

TEST_F(BoundToolTest, SaysWhatIsWrongWithArgumentsAsTheModelsToMend) {
  const Json result = run("find", {{"limit", 10}, {"sort", "up"}});
  EXPECT_FALSE(asked_.has_value());
  EXPECT_EQ(result["isError"], true);
  const Json error = result["structuredContent"]["error"];
  EXPECT_EQ(error["code"], "request.malformed");
  ASSERT_EQ(error["fields"].size(), 3u);
  EXPECT_EQ(error["fields"][0]["location"], "/sort");
  EXPECT_EQ(error["fields"][1]["location"], "/name");
  EXPECT_EQ(error["fields"][2]["location"], "/limit");
}

TEST_F(BoundToolTest, IsNotAtTheDoorForPayments) {
  const Json list = rpc("/x402", "tools/list", Json::object(), {})["result"]["tools"];
  EXPECT_EQ(list.size(), 3u);
  const Json reply =
      rpc("/x402", "tools/call", {{"name", "find"}, {"arguments", {{"name", "a"}}}}, {});
  EXPECT_EQ(reply["error"]["code"], -32602);
  EXPECT_FALSE(asked_.has_value());
}

}  // namespace
}  // namespace turnpike::hosts::mcp

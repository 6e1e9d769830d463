// Tools of plugins on the real host: what their cards say, and the calls that they make. Which
// tools are valid is tested in tests/exchange/service_test.cpp.
#include "hosts/mcp/operation_tool.h"

#include <optional>

#include <gtest/gtest.h>

#include "hosts/mcp/mcp_fixture.h"
#include "registry/compile.h"

namespace turnpike::hosts::mcp {
namespace {

constexpr std::string_view operation_source = R"(
provider: {key: t, name: T}
upstreams: {u: {plugin: p}}
prices: {p: {version: 1, credit_cost: 3}}
routes:
  - path: /verify
    methods: [POST]
    price: p
    body: {max_bytes: 1000, media_types: [application/json]}
)";

std::shared_ptr<const registry::Program> operation_program() {
  const registry::Source sources[] = {{"tools.yaml", std::string(operation_source)}};
  auto compiled = registry::compile({sources, {}, {}});
  EXPECT_TRUE(compiled.ok()) << compiled.error().front().text();
  return *std::move(compiled);
}

std::string told_verdict(std::string_view reply) { return "It is " + std::string(reply) + "."; }

constexpr OperationTool verify_tool{
    .name = "service.p.verify",
    .title = "Verify",
    .description = "Verifies it.",
    .input_schema = R"({"type":"object","properties":{"n":{"type":"integer"}}})",
    .output_schema = R"({"type":"object","required":["verdict"]})",
    .is_read_only = true,
    .text_of = told_verdict};

class OperationToolTest : public McpHostTest {
 protected:
  void SetUp() override {
    const exchange::ToolInService tools[] = {{&verify_tool, 0}};
    toolsets_.set(std::make_shared<const Toolset>(
        make_operation_tools(tools, program_, executions_), "gen_1", std::string(32, 'k')));
    backend_.on_serve = [this](const exchange::Invocation& invocation,
                               exchange::ReplyWriter& writer) {
      ++calls_;
      path_ = invocation.path;
      body_ = *invocation.body->read(1'000);
      content_type_ = invocation.content_type;
      if (invocation.found != nullptr) found_ = *invocation.found;
      const HeaderField headers[] = {{"Content-Type", "application/json"}};
      writer.reply({.status = status_, .headers = headers, .lane_headers = {}, .facts = {}},
                   reply_);
      return exchange::Served{};
    };
    McpHostTest::SetUp();
  }

  Json send(const std::string& door, const std::string& text) {
    std::vector<std::string> headers = {"Content-Type: application/json",
                                        "MCP-Protocol-Version: 2025-11-25"};
    if (door == "/") headers.emplace_back("Authorization: Bearer good");
    return Json::parse(call("POST", door, std::move(headers), text).body);
  }
  Json run(const std::string& arguments) {
    return send("/", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)"
                     R"({"name":"service.p.verify","arguments":)" +
                         arguments + "}}")["result"];
  }
  Json listed(const std::string& door) {
    return send(door, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})")["result"]["tools"];
  }

  const std::shared_ptr<const registry::Program> program_ = operation_program();
  int calls_ = 0;
  int status_ = 200;
  std::string path_, body_, content_type_;
  std::string reply_ = R"({"verdict":"right"})";
  std::optional<exchange::FoundOperation> found_;
};

TEST_F(OperationToolTest, ShowsWhatThePluginSaysAndWhatACallCosts) {
  const Json cards = listed("/");
  ASSERT_EQ(cards.size(), 1u);
  EXPECT_EQ(cards[0]["name"], "service.p.verify");
  EXPECT_EQ(cards[0]["title"], "Verify");
  EXPECT_EQ(cards[0]["description"], "Verifies it. A success costs 3 Credits.");
  EXPECT_EQ(cards[0]["inputSchema"], Json::parse(verify_tool.input_schema));
  EXPECT_EQ(cards[0]["outputSchema"], Json::parse(verify_tool.output_schema));
  EXPECT_EQ(cards[0]["annotations"]["readOnlyHint"], true);
  EXPECT_EQ(cards[0]["_meta"]["turnpike/capability_id"], program_->routes()[0].id);
}

TEST_F(OperationToolTest, IsACallOfItsOperationWithTheArgumentsAsTheBody) {
  const std::string arguments = R"({ "n": 123456789012345678901234567890, "z":-0})";
  const Json result = run(arguments);
  EXPECT_EQ(path_, "/v1/gateway/t/verify");
  EXPECT_EQ(body_, arguments) << "byte for byte";
  EXPECT_EQ(content_type_, "application/json");
  ASSERT_TRUE(found_);
  EXPECT_EQ(found_->program, program_.get());
  EXPECT_EQ(found_->operation, 0u);
  EXPECT_EQ(result["isError"], false);
  EXPECT_EQ(result["structuredContent"], Json({{"verdict", "right"}}));
  EXPECT_EQ(result["content"][0]["text"], R"(It is {"verdict":"right"}.)");
}

TEST_F(OperationToolTest, AFailureIsAnExecutionThatFailed) {
  status_ = 422;
  reply_ = R"({"error":"no"})";
  const Json result = run("{}");
  EXPECT_EQ(result["isError"], true);
  EXPECT_EQ(result["structuredContent"]["http_status"], 422);
  EXPECT_EQ(result["structuredContent"]["body"], Json({{"error", "no"}}));
}

TEST_F(OperationToolTest, IsNotAtTheDoorForPayments) {
  EXPECT_TRUE(listed("/x402").empty());
  const Json reply = send("/x402", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)"
                                   R"({"name":"service.p.verify","arguments":{}}})");
  EXPECT_EQ(reply["error"]["code"], -32602);
  EXPECT_EQ(calls_, 0);
}

}  // namespace
}  // namespace turnpike::hosts::mcp

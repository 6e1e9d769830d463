#include "hosts/mcp/answer.h"

#include <array>
#include <span>
#include <string_view>

#include <gtest/gtest.h>

namespace turnpike::hosts::mcp {
namespace {

const std::string server = server_info_object({}, "1.2.3");

TEST(AnswerTest, AModernResultSaysThatItIsCompleteAndWhoseItIs) {
  RpcResult result;
  result.members = R"("tools":[])";
  result.ttl_ms = 60'000;
  result.meta = R"("x":1)";
  EXPECT_EQ(Json::parse(result_text("7", Era::modern, result, server)), Json::parse(R"({
    "jsonrpc":"2.0","id":7,"result":{"resultType":"complete","tools":[],"ttlMs":60000,
    "cacheScope":"public","_meta":{"x":1,"io.modelcontextprotocol/serverInfo":
    {"name":"turnpike","title":"Turnpike","version":"1.2.3"}}}})"));
}

TEST(AnswerTest, ALegacyResultLooksAsItAlwaysDid) {
  RpcResult result;
  EXPECT_EQ(result_text(R"("a")", Era::legacy, result, server),
            R"({"jsonrpc":"2.0","id":"a","result":{}})");
  result.ttl_ms = 1;
  result.kept = std::make_shared<const std::string>(R"("tools":[])");
  EXPECT_EQ(result_text("1", Era::legacy, result, server),
            R"({"jsonrpc":"2.0","id":1,"result":{"tools":[]}})");
  result.meta = R"("x":1)";
  EXPECT_EQ(result_text("1", Era::legacy, result, server),
            R"({"jsonrpc":"2.0","id":1,"result":{"tools":[],"_meta":{"x":1}}})");
}

TEST(AnswerTest, AResultThatAsksForInputNamesItsOwnType) {
  RpcResult result;
  result.members = R"("resultType":"input_required","requestState":"s")";
  result.is_complete = false;
  const Json text = Json::parse(result_text("1", Era::modern, result, server));
  EXPECT_EQ(text["result"]["resultType"], "input_required");
  EXPECT_FALSE(text["result"].contains("ttlMs"));
}

TEST(AnswerTest, StructuredContentIsRepeatedAsText) {
  const RpcResult result = tool_result(R"({"a":"\"é"})", true);
  const Json json = Json::parse("{" + result.members + "}");
  EXPECT_EQ(json["structuredContent"], Json::parse(json["content"][0]["text"].get<std::string>()));
  EXPECT_EQ(json["isError"], true);
  EXPECT_EQ(Json::parse("{" + text_result("x", false).members + "}")["isError"], false);
}

std::array<HeaderField, 1> one_field(std::string_view accept) { return {{{"Accept", accept}}}; }

TEST(AnswerTest, TheEventStreamIsForWhoTakesNothingElse) {
  for (const char* accept :
       {"", "*/*", "application/json", "application/json, text/event-stream",
        "text/event-stream;q=0.5, */*;q=0.1", "application/*", "text/html", "text/event-stream;q=0",
        "text/event-stream; q=0.000", "text/event-stream, Application/JSON"}) {
    EXPECT_FALSE(wants_event_stream(one_field(accept))) << accept;
  }
  for (const char* accept : {"text/event-stream", " text/event-stream ; charset=utf-8",
                             "text/event-stream, application/json;q=0",
                             "text/html,text/event-stream", "Text/Event-Stream"}) {
    EXPECT_TRUE(wants_event_stream(one_field(accept))) << accept;
  }
  const HeaderField several[] = {{"accept", "text/event-stream"}, {"Accept", "application/json"}};
  EXPECT_FALSE(wants_event_stream(several)) << "they are one list";
  EXPECT_TRUE(wants_event_stream(std::span(several).first(1)));
  EXPECT_FALSE(wants_event_stream({})) << "nothing is said";
}

// A line break would end the event; between JSON tokens it can be replaced by a space.
TEST(AnswerTest, AnEventIsOneLine) {
  EXPECT_EQ(as_event("{\"a\":\r\n 1}"), "event: message\ndata: {\"a\":   1}\n\n");
}

}  // namespace
}  // namespace turnpike::hosts::mcp

#include "hosts/mcp/json_rpc.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace turnpike::hosts::mcp {
namespace {

RpcCode code_of(std::string_view body) {
  const auto message = read_message(body);
  EXPECT_FALSE(message.ok()) << body;
  if (message.ok()) return RpcCode::internal_error;
  EXPECT_EQ(message.error().http_status, 400);
  EXPECT_FALSE(message.error().message.empty());
  return message.error().code;
}

std::string nested(int depth) {
  return R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":)" + std::string(depth, '[') +
         std::string(depth, ']') + "}}";
}

TEST(JsonRpcTest, ReadsRequestsAndNotifications) {
  const auto request =
      read_message(R"( {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}} )");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->id, "7");
  EXPECT_EQ(request->method, "tools/call");
  EXPECT_EQ(request->params, (Json{{"name", "t"}}));
  const auto notification = read_message(R"({"jsonrpc":"2.0","method":"notifications/x"})");
  ASSERT_TRUE(notification.ok());
  EXPECT_TRUE(notification->is_notification());
  EXPECT_TRUE(notification->params.is_object());
}

TEST(JsonRpcTest, AnIdIsSentBackAsItCame) {
  for (const char* id : {"0", "-1", "9007199254740993", "18446744073709551615", R"("")", R"("a")",
                         R"("\"\u0000")"}) {
    const auto request =
        read_message(R"({"jsonrpc":"2.0","method":"m","id":)" + std::string(id) + "}");
    ASSERT_TRUE(request.ok()) << id;
    EXPECT_EQ(request->id, id);
  }
}

TEST(JsonRpcTest, WhatIsNoJsonIsAParseError) {
  for (const char* body : {"", "{", "nil", "{\"a\":1,}", "{\"a\":\"\xff\"}", "{} {}", "\x00"}) {
    EXPECT_EQ(code_of(body), RpcCode::parse_error) << body;
  }
}

// The message is the whole body.
TEST(JsonRpcTest, ANulByteIsNotTheEndOfAMessage) {
  const std::string message = R"({"jsonrpc":"2.0","id":1,"method":"m"})";
  for (const std::string_view rest : {std::string_view("\0", 1), std::string_view("\0garbage", 8),
                                      std::string_view(" \0{}", 4)}) {
    EXPECT_EQ(code_of(message + std::string(rest)), RpcCode::parse_error);
  }
  EXPECT_EQ(read_json(std::string_view("{}\0", 3)).error().message,
            "The JSON cannot be read: it is not JSON.");
}

TEST(JsonRpcTest, WhatIsNoMessageIsAnInvalidRequest) {
  for (const char* body :
       {"7", "null", "\"x\"", "[]", R"([{"jsonrpc":"2.0","id":1,"method":"m"}])", "{}",
        R"({"id":1,"method":"m"})", R"({"jsonrpc":"1.0","id":1,"method":"m"})",
        R"({"jsonrpc":2.0,"id":1,"method":"m"})", R"({"jsonrpc":"2.0","id":1})",
        R"({"jsonrpc":"2.0","id":1,"method":7})", R"({"jsonrpc":"2.0","id":null,"method":"m"})",
        R"({"jsonrpc":"2.0","id":1.5,"method":"m"})",
        R"({"jsonrpc":"2.0","id":18446744073709551616,"method":"m"})",
        R"({"jsonrpc":"2.0","id":[],"method":"m"})", R"({"jsonrpc":"2.0","id":true,"method":"m"})",
        R"({"jsonrpc":"2.0","id":1,"result":{}})"}) {
    EXPECT_EQ(code_of(body), RpcCode::invalid_request) << body;
  }
}

// Two readers of one text must not read different values.
TEST(JsonRpcTest, AMemberThatIsThereTwiceIsRefused) {
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1,"method":"a","method":"b"})"), RpcCode::parse_error);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1,"method":"a","params":{"x":[{"y":1,"y":2}]}})"),
            RpcCode::parse_error);
}

TEST(JsonRpcTest, DepthIsBoundedAtTheLimit) {
  const int inner = message_depth_max - 2;  // the message and its params are two levels
  EXPECT_TRUE(read_message(nested(inner)).ok());
  EXPECT_EQ(code_of(nested(inner + 1)), RpcCode::parse_error);
  EXPECT_EQ(code_of(std::string(1'000'000, '[')), RpcCode::parse_error);
}

TEST(JsonRpcTest, ValuesAreBoundedAtTheLimit) {
  const auto list = [](std::size_t values) {
    std::string text = "[0";
    for (std::size_t at = 2; at < values; ++at) text += ",0";
    return text + "]";
  };
  EXPECT_TRUE(read_json(list(message_values_max)).ok());
  EXPECT_FALSE(read_json(list(message_values_max + 1)).ok());
}

TEST(JsonRpcTest, ErrorsCarryWhatIsKnown) {
  EXPECT_EQ(error_text("", {RpcCode::parse_error, "No \"JSON\"."}),
            R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"No \"JSON\"."}})");
  EXPECT_EQ(error_text("7", {RpcCode::version_unsupported, "v", 400, {{"supported", {"a", "b"}}}}),
            R"({"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"v",)"
            R"("data":{"supported":["a","b"]}}})");
}

}  // namespace
}  // namespace turnpike::hosts::mcp

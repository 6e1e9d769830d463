// The routes of the MCP host other than messages, on a real server and real sockets.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hosts/mcp/mcp_fixture.h"

namespace turnpike::hosts::mcp {
namespace {

using nlohmann::json;
using tests::HttpReply;

class McpRoutesTest : public McpHostTest {
 protected:
  HttpReply get(const std::string& target, std::vector<std::string> headers = {}) {
    return call("GET", target, std::move(headers));
  }
  static std::string code_of(const HttpReply& reply) {
    const json body = json::parse(reply.body, nullptr, false);
    if (!body.is_object() || !body.contains("error")) return "no envelope: " + reply.body;
    return body["error"]["code"];
  }
};

TEST_F(McpRoutesTest, HealthReadinessAndVersionAreThoseOfTheService) {
  EXPECT_EQ(get("/healthz").body, R"({"status":"ok"})");
  const HttpReply readiness = get("/readyz");
  EXPECT_EQ(readiness.status, 503);
  EXPECT_EQ(json::parse(readiness.body)["checks"][0]["name"], "database");
  const HttpReply version = get("/version");
  EXPECT_EQ(json::parse(version.body)["build"], "abc1234");
  EXPECT_EQ(version.header("cache-control"), "no-store");
}

TEST_F(McpRoutesTest, DocumentsAreForEveryoneAndMayBeKept) {
  const HttpReply reply = get("/.well-known/mcp.json");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("content-type"), "application/json");
  EXPECT_EQ(reply.header("cache-control"), "public, max-age=300");
  EXPECT_EQ(reply.header("access-control-allow-origin"), "*") << "though no Origin was sent";
  EXPECT_NE(reply.header("access-control-expose-headers").find("ETag"), std::string::npos);
  EXPECT_EQ(reply.header("vary"), "");
  EXPECT_EQ(get("/server-card").header("content-type"), "application/mcp-server-card+json");
  EXPECT_EQ(get("/.well-known/mcp/server-card.json").body, get("/server-card").body);

  const HttpReply of_page = get("/server-card", {"Origin: https://anywhere.example"});
  EXPECT_EQ(of_page.status, 200);
  EXPECT_EQ(of_page.header("access-control-allow-origin"), "*");
}

TEST_F(McpRoutesTest, DocumentsAreNotSentTwice) {
  const HttpReply first = get("/server-card");
  const std::string etag = first.header("etag");
  const HttpReply again = get("/server-card", {"If-None-Match: " + etag});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(again.header("etag"), etag);
  EXPECT_EQ(again.header("access-control-allow-origin"), "*");
  EXPECT_EQ(get("/server-card", {"If-None-Match: \"other\""}).status, 200);
  const HttpReply head = call("HEAD", "/server-card");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("etag"), etag);
  EXPECT_EQ(head.header("content-length"), std::to_string(first.body.size()));
  EXPECT_EQ(head.body, "");
}

TEST_F(McpRoutesTest, WhatIsNotConfiguredIsNotThere) {
  for (const char* path :
       {"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/x402",
        "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration",
        "/.well-known/openai-apps-challenge", "/.well-known/did.json", "/.well-known/", "/mcp",
        "/x402/", "//", "/healthz/", "/sse"}) {
    for (const char* method : {"GET", "HEAD"}) {
      const HttpReply reply = call(method, path);
      EXPECT_EQ(reply.status, 404) << path;
    }
    EXPECT_EQ(code_of(get(path)), "request.not_found") << path;
  }
  EXPECT_EQ(code_of(call("POST", "/mcp")), "request.not_found");
}

TEST_F(McpRoutesTest, EndpointsOpenNoStreamsAndEndNoSessions) {
  for (const char* path : {"/", "/x402"}) {
    for (const char* method : {"GET", "DELETE", "HEAD", "PUT", "PATCH"}) {
      const HttpReply reply = call(method, path, {"Accept: text/event-stream"});
      EXPECT_EQ(reply.status, 405) << method << path;
      EXPECT_EQ(reply.header("allow"), "POST, OPTIONS") << method << path;
    }
    EXPECT_EQ(code_of(get(path)), "request.method_not_allowed");
  }
}

TEST_F(McpRoutesTest, DocumentsAreOnlyRead) {
  for (const char* path : {"/healthz", "/server-card", "/.well-known/mcp.json"}) {
    const HttpReply reply = call("POST", path);
    EXPECT_EQ(reply.status, 405) << path;
    EXPECT_EQ(reply.header("allow"), "GET, HEAD, OPTIONS") << path;
  }
}

TEST_F(McpRoutesTest, PreflightsOfAllowedPagesNameWhatClientsSend) {
  const HttpReply own = call("OPTIONS", "/", {"Origin: http://localhost:6274"});
  EXPECT_EQ(own.status, 204);
  EXPECT_EQ(own.header("access-control-allow-origin"), "http://localhost:6274");
  EXPECT_EQ(own.header("access-control-allow-methods"), "POST, OPTIONS");
  for (const char* name : {"Authorization", "Content-Type", "Accept", "MCP-Protocol-Version",
                           "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Last-Event-ID", "*"}) {
    EXPECT_NE(own.header("access-control-allow-headers").find(name), std::string::npos) << name;
  }
  EXPECT_EQ(own.header("access-control-allow-credentials"), "");
  const HttpReply foreign = call("OPTIONS", "/", {"Origin: https://evil.example.com"});
  EXPECT_EQ(foreign.status, 204);
  EXPECT_EQ(foreign.header("access-control-allow-origin"), "");
  EXPECT_EQ(foreign.header("vary"), "Origin");
  const HttpReply document = call("OPTIONS", "/server-card", {"Origin: https://any.example"});
  EXPECT_EQ(document.header("access-control-allow-origin"), "*");
  EXPECT_EQ(document.header("access-control-allow-methods"), "GET, HEAD, OPTIONS");
  EXPECT_NE(document.header("access-control-allow-headers").find("If-None-Match"),
            std::string::npos);
}

TEST_F(McpRoutesTest, MessagesOfForeignPagesAreRefusedAndDocumentsAreNot) {
  for (const char* path : {"/", "/x402"}) {
    const HttpReply reply = call("POST", path, {"Origin: https://evil.example.com"});
    EXPECT_EQ(reply.status, 403) << path;
    EXPECT_EQ(reply.header("access-control-allow-origin"), "") << path;
  }
  EXPECT_EQ(get("/healthz", {"Origin: https://evil.example.com"}).status, 200);
}

TEST_F(McpRoutesTest, APageMayReadWhyItIsRefused) {
  const HttpReply reply = call("DELETE", "/", {"Origin: https://mcp.example.com"});
  EXPECT_EQ(reply.header("access-control-allow-origin"), "https://mcp.example.com");
  EXPECT_NE(reply.header("access-control-expose-headers").find("WWW-Authenticate"),
            std::string::npos);
}

}  // namespace
}  // namespace turnpike::hosts::mcp

// What the MCP host answers beside messages, on a real server and real sockets.
#include "hosts/mcp/document_routes.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/metrics.h"
#include "base/sources.h"
#include "hosts/http_client.h"
#include "hosts/mcp/mcp_host.h"

namespace turnpike::hosts::mcp {
namespace {

using nlohmann::json;
using tests::HttpReply;

// No program is installed, and the database is away.
class EmptyBackend final : public Backend {
 public:
  exchange::Served serve(const exchange::Invocation&, exchange::ReplyWriter&) override {
    ADD_FAILURE() << "no document is a call";
    return {};
  }
  std::shared_ptr<const catalog::View> view() override { return nullptr; }
  Result<Document, base::Error> document(std::string_view) override {
    ADD_FAILURE() << "documents of lanes are the API host's";
    return base::Error{};
  }
  Health health() override { return {{{"database", false, "It does not answer."}}, {}}; }
};

class DocumentRoutesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(
        server_->start({{.name = "mcp", .address = "127.0.0.1:0", .handler = &host_}}).ok());
  }
  void TearDown() override {
    server_->drain(std::chrono::milliseconds(2'000));
    server_.reset();
    runtime_.stop(runtime::Deadline::after_ms(2'000), runtime::Deadline::after_ms(10'000));
  }

  HttpReply call(const std::string& method, const std::string& target,
                 std::vector<std::string> headers = {}) {
    return tests::http_call(address_,
                            {.method = method, .target = target, .headers = std::move(headers)});
  }
  HttpReply get(const std::string& target, std::vector<std::string> headers = {}) {
    return call("GET", target, std::move(headers));
  }
  static std::string code_of(const HttpReply& reply) {
    const json body = json::parse(reply.body, nullptr, false);
    if (!body.is_object() || !body.contains("error")) return "no envelope: " + reply.body;
    return body["error"]["code"];
  }

  base::SystemClock clock_;
  base::SystemRandom random_;
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  std::unique_ptr<AccessLog> access_log_ = make_access_log(*log_, *metrics_);
  EmptyBackend backend_;
  const Discovery discovery_{{.urls = {.mcp = "https://mcp.example.com"},
                              .release = "1.4.0",
                              .protocol_versions = {"2026-07-28"}}};
  runtime::Runtime runtime_{runtime::RuntimeOptions{.loops = 1}};
  std::unique_ptr<wire::Server> server_ = wire::make_server(runtime_, {}, *log_);
  std::string address_ = server_->reserve("mcp", "127.0.0.1:0")->address;
  McpHost host_{{backend_, discovery_, runtime_, clock_, random_, *access_log_},
                {.access = {.base_url = "https://mcp.example.com", .bound_address = address_},
                 .build = {"1.4.0", "abc1234", "development"}}};
};

TEST_F(DocumentRoutesTest, HealthReadinessAndVersionAreThoseOfTheService) {
  EXPECT_EQ(get("/healthz").body, R"({"status":"ok"})");
  const HttpReply readiness = get("/readyz");
  EXPECT_EQ(readiness.status, 503);
  EXPECT_EQ(json::parse(readiness.body)["checks"][0]["name"], "database");
  const HttpReply version = get("/version");
  EXPECT_EQ(json::parse(version.body)["build"], "abc1234");
  EXPECT_EQ(version.header("cache-control"), "no-store");
}

TEST_F(DocumentRoutesTest, DocumentsAreForEveryoneAndMayBeKept) {
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

TEST_F(DocumentRoutesTest, DocumentsAreNotSentTwice) {
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

TEST_F(DocumentRoutesTest, WhatIsNotConfiguredIsNotThere) {
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

TEST_F(DocumentRoutesTest, EndpointsOpenNoStreamsAndEndNoSessions) {
  for (const char* path : {"/", "/x402"}) {
    for (const char* method : {"GET", "DELETE", "HEAD", "PUT", "PATCH"}) {
      const HttpReply reply = call(method, path, {"Accept: text/event-stream"});
      EXPECT_EQ(reply.status, 405) << method << path;
      EXPECT_EQ(reply.header("allow"), "POST, OPTIONS") << method << path;
    }
    EXPECT_EQ(code_of(get(path)), "request.method_not_allowed");
  }
}

TEST_F(DocumentRoutesTest, DocumentsAreOnlyRead) {
  for (const char* path : {"/healthz", "/server-card", "/.well-known/mcp.json"}) {
    const HttpReply reply = call("POST", path);
    EXPECT_EQ(reply.status, 405) << path;
    EXPECT_EQ(reply.header("allow"), "GET, HEAD, OPTIONS") << path;
  }
}

TEST_F(DocumentRoutesTest, PreflightsOfAllowedPagesNameWhatClientsSend) {
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

TEST_F(DocumentRoutesTest, MessagesOfForeignPagesAreRefusedAndDocumentsAreNot) {
  for (const char* path : {"/", "/x402"}) {
    const HttpReply reply = call("POST", path, {"Origin: https://evil.example.com"});
    EXPECT_EQ(reply.status, 403) << path;
    EXPECT_EQ(reply.header("access-control-allow-origin"), "") << path;
  }
  EXPECT_EQ(get("/healthz", {"Origin: https://evil.example.com"}).status, 200);
}

TEST_F(DocumentRoutesTest, APageMayReadWhyItIsRefused) {
  const HttpReply reply = call("DELETE", "/", {"Origin: https://mcp.example.com"});
  EXPECT_EQ(reply.header("access-control-allow-origin"), "https://mcp.example.com");
  EXPECT_NE(reply.header("access-control-expose-headers").find("WWW-Authenticate"),
            std::string::npos);
}

}  // namespace
}  // namespace turnpike::hosts::mcp

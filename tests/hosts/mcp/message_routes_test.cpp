// JSON-RPC over a real server: eras, the order of refusals, credentials at both doors, tools, and
// how executions map replies and refusals of serve().
#include "hosts/mcp/message_routes.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "hosts/mcp/mcp_fixture.h"
#include "hosts/mcp/tool_call.h"
#include "runtime/wait.h"
#include "support/x402_lane.h"
#include "text/encoding.h"
#include "wire/raw_socket.h"

namespace turnpike::hosts::mcp {
namespace {

using base::ErrorCode;
using tests::HttpReply;

exchange::Served served(exchange::Ending ending, std::optional<ErrorCode> error = std::nullopt) {
  exchange::Served result;
  result.ending = ending;
  result.error = error;
  return result;
}

const std::string json_header = "Content-Type: application/json";

struct Said {
  HttpReply http;
  Json json;

  [[nodiscard]] int code() const { return json.value("/error/code"_json_pointer, 0); }
  [[nodiscard]] Json structured() const {
    return json.value("/result/structuredContent"_json_pointer, Json());
  }
};

class MessageRoutesTest : public McpHostTest {
 protected:
  using McpHostTest::McpHostTest;

  Said post(const std::string& body, std::vector<std::string> headers = {},
            const std::string& target = "/") {
    headers.push_back(json_header);
    Said said{call("POST", target, std::move(headers), body), {}};
    said.json = Json::parse(said.http.body, nullptr, false);
    return said;
  }
  Said legacy(const std::string& method, const Json& params = Json::object(),
              std::vector<std::string> headers = {}, const std::string& target = "/") {
    return post(Json{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}}.dump(),
                std::move(headers), target);
  }
  Said modern(const std::string& method, Json params = Json::object(),
              std::vector<std::string> headers = {}) {
    params["_meta"][version_key] = "2026-07-28";
    params["_meta"][capabilities_key] = Json::object();
    headers.push_back("MCP-Protocol-Version: 2026-07-28");
    headers.push_back("Mcp-Method: " + method);
    if (params.contains("name"))
      headers.push_back("Mcp-Name: " + params["name"].get<std::string>());
    return legacy(method, params, std::move(headers));
  }
  // Begins a hand-written message; `rest` follows the common headers.
  wire::RawSocket begin_message(const std::string& rest) {
    auto socket = wire::RawSocket::connect(address_);
    socket.send("POST / HTTP/1.1\r\nHost: " + address_ + "\r\nContent-Type: application/json\r\n" +
                rest);
    return socket;
  }
  static std::string padded(std::size_t bytes) {
    const std::string ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
    return ping + std::string(bytes - ping.size(), ' ');
  }
  // Sends a call of a route without waiting for its reply.
  wire::RawSocket begin_call(const Json& id, const Json& meta = Json::object(),
                             const std::string& headers = "Authorization: Bearer good\r\n") {
    const Json params = {{"name", "service.route.execute"}, {"arguments", get_x}, {"_meta", meta}};
    const std::string body =
        Json{{"jsonrpc", "2.0"}, {"id", id}, {"method", "tools/call"}, {"params", params}}.dump();
    return begin_message(headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                         body);
  }
  // Makes serve() wait for the test and record how the wait ended.
  void wait_in_serve() {
    backend_.on_serve = [this](const exchange::Invocation& invocation,
                               exchange::ReplyWriter& writer) {
      entered_.release();
      wake_ = gate_.wait(runtime::Deadline::after_ms(wire::patience_ms));
      standing_ = invocation.caller->standing();
      if (standing_ == exchange::Standing::gone) return served(exchange::Ending::caller_gone);
      writer.reply({}, "done");
      return served(exchange::Ending::replied);
    };
  }
  static std::string cancelled(const Json& id) {
    return Json{{"jsonrpc", "2.0"},
                {"method", "notifications/cancelled"},
                {"params", {{"requestId", id}, {"reason", "it took too long"}}}}
        .dump();
  }
  // The JSON of the next event of a stream.
  static Json next_event(wire::RawSocket& stream) {
    const auto event = stream.read_past("\n\n");
    if (!event) return nullptr;
    const std::size_t at = event->find("data: ");
    return Json::parse(event->substr(at + 6), nullptr, false);
  }
  [[nodiscard]] bool runtime_is_idle() const {
    return std::all_of(runtime_.loops().begin(), runtime_.loops().end(),
                       [](const auto& loop) { return loop->calls() == 0; });
  }
  const std::string stream_headers =
      "Authorization: Bearer good\r\nAccept: application/json, text/event-stream\r\n";
  void wait_until_entered() {
    ASSERT_EQ(entered_.acquire(runtime::Deadline::after_ms(wire::patience_ms)),
              runtime::Wake::ready);
  }

  const std::string good_key = "Authorization: Bearer good";
  const Json get_x = {{"method", "GET"}, {"path", "/v1/gateway/x"}};
  runtime::Semaphore entered_{0};
  runtime::Event gate_;
  runtime::Wake wake_ = runtime::Wake::deadline;
  exchange::Standing standing_ = exchange::Standing::waiting;

  Said execute(const Json& arguments, std::vector<std::string> headers = {},
               const std::string& target = "/", const Json& meta = Json::object()) {
    return legacy("tools/call",
                  {{"name", "service.route.execute"}, {"arguments", arguments}, {"_meta", meta}},
                  std::move(headers), target);
  }

  // Sets the answer of serve(), which also records the invocation.
  void reply_with(int status, std::string content_type, std::string body,
                  std::string lane = "credits", std::vector<OwnedHeader> lane_headers = {}) {
    backend_.on_serve = [this, status, content_type, body, lane, lane_headers](
                            const exchange::Invocation& invocation, exchange::ReplyWriter& writer) {
      remember(invocation);
      const HeaderField fields[] = {{"Content-Type", content_type}};
      exchange::ReplyHead head;
      head.status = status;
      head.headers = fields;
      head.lane_headers = lane_headers;
      head.facts = {exchange::ReplyFrom::provider, "gen_1", lane, 3};
      head.facts.credits_remaining = credits_remaining_;
      writer.reply(head, body);
      return served(exchange::Ending::replied);
    };
  }
  void refuse_with(const base::Error& error, std::string body = {}, std::string lane = {},
                   std::vector<OwnedHeader> lane_headers = {}) {
    backend_.on_serve = [this, error, body, lane, lane_headers](
                            const exchange::Invocation& invocation, exchange::ReplyWriter& writer) {
      remember(invocation);
      exchange::RefusalHead head;
      head.body = body;
      head.content_type = "application/json";
      head.lane_headers = lane_headers;
      head.facts = {exchange::ReplyFrom::gateway, "gen_1", lane};
      writer.refuse(error, head);
      return served(exchange::Ending::refused, error.code);
    };
  }

  std::vector<std::string> seen_headers_;
  Json seen_;
  std::int64_t credits_remaining_ = -1;  // in the answer of serve()

 private:
  void remember(const exchange::Invocation& invocation) {
    seen_headers_.clear();
    for (const HeaderField& field : invocation.headers) {
      seen_headers_.push_back(std::string(field.name) + ": " + std::string(field.value));
    }
    seen_ = {{"method", invocation.method},
             {"path", invocation.path},
             {"query", invocation.query},
             {"content_type", invocation.content_type},
             {"idempotency_key", invocation.idempotency_key},
             {"reply_bytes_max", invocation.reply_bytes_max}};
    if (invocation.body != nullptr) seen_["body"] = *invocation.body->read(1'000'000);
  }
};

// ---- envelopes ----------------------------------------------------------------------------------

TEST_F(MessageRoutesTest, TheHandshakeNegotiatesALegacyVersion) {
  for (const auto& [asked, given] :
       std::vector<std::pair<std::string, std::string>>{{"2025-11-25", "2025-11-25"},
                                                        {"2025-06-18", "2025-06-18"},
                                                        {"2025-03-26", "2025-11-25"},
                                                        {"2026-07-28", "2025-11-25"},
                                                        {"x", "2025-11-25"}}) {
    const Said said = legacy("initialize", {{"protocolVersion", asked}});
    EXPECT_EQ(said.json["result"]["protocolVersion"], given);
    EXPECT_EQ(said.json["result"]["serverInfo"]["version"], "1.4.0");
    EXPECT_EQ(said.http.header("mcp-session-id"), "");
    EXPECT_EQ(said.http.header("cache-control"), "no-store");
  }
  EXPECT_EQ(legacy("initialize").code(), -32602);
  EXPECT_EQ(legacy("ping").json["result"], Json::object());
}

TEST_F(MessageRoutesTest, DiscoveryIsOfTheModernEraAlone) {
  const Said said = modern("server/discover");
  EXPECT_EQ(said.http.status, 200);
  EXPECT_EQ(said.json["result"]["supportedVersions"], Json::array({"2026-07-28"}));
  EXPECT_EQ(said.json["result"]["resultType"], "complete");
  EXPECT_EQ(said.json["result"]["cacheScope"], "public");
  EXPECT_NE(said.json["result"]["instructions"].get<std::string>().find("free: true"),
            std::string::npos);
  const Said old = legacy("server/discover");
  EXPECT_EQ(old.http.status, 200);
  EXPECT_EQ(old.code(), -32601);
}

TEST_F(MessageRoutesTest, RemovedMethodsAreNotFoundInTheModernEra) {
  for (const char* method : {"initialize", "ping", "logging/setLevel", "resources/subscribe",
                             "subscriptions/listen", "tasks/get", "nothing"}) {
    const Said said = modern(method);
    EXPECT_EQ(said.http.status, 404) << method;
    EXPECT_EQ(said.code(), -32601) << method;
    EXPECT_EQ(said.json["id"], 1);
  }
}

TEST_F(MessageRoutesTest, NotificationsAreTakenWithoutAWord) {
  const Said said = post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  EXPECT_EQ(said.http.status, 202);
  EXPECT_EQ(said.http.body, "");
}

TEST_F(MessageRoutesTest, RefusalsComeInTheirOrder) {
  const std::string bad_version =
      R"({"jsonrpc":"2.0","id":1,"method":"nothing","params":{"_meta":{)"
      R"("io.modelcontextprotocol/protocolVersion":"2030-01-01",)"
      R"("io.modelcontextprotocol/clientCapabilities":{}}}})";
  struct Case {
    std::string what, body;
    std::vector<std::string> headers;
    int status, code;
  };
  const std::vector<Case> cases = {
      {"origin", "{", {"Origin: https://evil.example.com", json_header}, 403, 0},
      {"content type", "{", {"Content-Type: text/plain"}, 415, -32600},
      {"coding", "{", {json_header, "Content-Encoding: gzip"}, 415, -32600},
      {"size", std::string(2'097'153, ' '), {json_header}, 413, -32600},
      {"no JSON", "{", {json_header, "Authorization: Bearer bad"}, 400, -32700},
      {"params",
       R"({"jsonrpc":"2.0","id":1,"method":"nothing","params":[]})",
       {json_header, "Mcp-Method: x", "Authorization: Bearer bad"},
       400,
       -32602},
      {"a batch", "[]", {json_header, "Authorization: Bearer bad"}, 400, -32600},
      {"no meta",
       R"({"jsonrpc":"2.0","id":1,"method":"nothing"})",
       {json_header, "Mcp-Method: x", "Authorization: Bearer bad"},
       400,
       -32602},
      {"headers", bad_version, {json_header, "Authorization: Bearer bad"}, 400, -32020},
      {"version",
       bad_version,
       {json_header, "Mcp-Method: nothing", "MCP-Protocol-Version: 2030-01-01",
        "Authorization: Bearer bad"},
       400,
       -32022},
      {"credential",
       R"({"jsonrpc":"2.0","id":1,"method":"nothing"})",
       {json_header, "Authorization: Bearer bad"},
       401,
       -32600},
      {"method", R"({"jsonrpc":"2.0","id":1,"method":"nothing"})", {json_header}, 200, -32601},
  };
  for (const Case& one : cases) {
    const HttpReply reply = call("POST", "/", one.headers, one.body);
    EXPECT_EQ(reply.status, one.status) << one.what << " " << reply.body;
    const Json json = Json::parse(reply.body, nullptr, false);
    if (one.code == 0) continue;
    EXPECT_EQ(json["error"]["code"], one.code) << one.what;
  }
}

// An error has the request's id if that could be read.
TEST_F(MessageRoutesTest, ARefusalNamesTheIdThatCouldBeRead) {
  const std::string wrong = R"({"jsonrpc":"2.0","id":"a","method":"ping","params":[]})";
  EXPECT_EQ(post(wrong).json["id"], "a");
  EXPECT_FALSE(post(R"({"jsonrpc":"2.0","id":null,"method":"ping"})").json.contains("id"));
}

// Here the key is an argument of the call, so the header is ignored, even a malformed one.
TEST_F(MessageRoutesTest, AnIdempotencyKeyInAHeaderIsNotRead) {
  for (const char* key : {"", "k", "two words"}) {
    EXPECT_EQ(legacy("ping", Json::object(), {std::string("Idempotency-Key: ") + key}).http.status,
              200)
        << key;
  }
  reply_with(200, "application/json", "{}");
  execute(get_x, {good_key, "Idempotency-Key: k"});
  EXPECT_EQ(seen_["idempotency_key"], "");
  EXPECT_EQ(legacy("ping", Json::object(), {json_header}).http.status, 415) << "it came twice";
}

TEST_F(MessageRoutesTest, AMessageOfTheGreatestLengthIsRead) {
  std::string body = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  body.resize(2'097'152, ' ');
  EXPECT_EQ(post(body).json["result"], Json::object());
}

// Regression: 96 connections that had sent one byte each kept every long message out.
TEST_F(MessageRoutesTest, WhatIsOnlyAnnouncedKeepsNobodyOut) {
  std::vector<wire::RawSocket> silent;
  for (int at = 0; at < 20; ++at) {
    silent.push_back(begin_message(at % 2 == 0 ? "Content-Length: 2000000\r\n\r\n{"
                                               : "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"));
  }
  silent.push_back(begin_message("Expect: 100-continue\r\nContent-Length: 2000000\r\n\r\n"));
  ASSERT_TRUE(silent.back().read_past("100 Continue\r\n\r\n")) << "it is being read";
  EXPECT_EQ(post(padded(2'000'000)).http.status, 200);
}

// Messages are read before authentication, so many large ones at once could exhaust the memory.
TEST_F(MessageRoutesTest, MessagesInMemoryAreBoundedTogether) {
  auto first = begin_message("Content-Length: 2097152\r\n\r\n");
  ASSERT_TRUE(first.send(padded(2'000'000)));
  // The first message is in memory once another of the same network is refused.
  Said refused = post(padded(200'000));
  for (int at = 0; at < 1'000 && refused.http.status == 200; ++at) refused = post(padded(200'000));
  EXPECT_EQ(refused.http.status, 503);
  EXPECT_EQ(refused.http.header("retry-after"), "1");
  EXPECT_EQ(refused.code(), -32603);
  EXPECT_EQ(post(padded(64 * 1024)).http.status, 200);
  for (const char* unknown : {"Authorization: Bearer bad", "Authorization: Bearer down"}) {
    EXPECT_EQ(post(padded(200'000), {unknown}).http.status, 503) << unknown;
  }
  EXPECT_EQ(post(padded(200'000), {good_key}).http.status, 200) << "a part is kept for callers";
  first.send(std::string(97'152, ' '));
  EXPECT_EQ(first.read_reply().status, 200);
  // The connection's next request is read only after the first has ended.
  first.send("GET /healthz HTTP/1.1\r\nHost: " + address_ + "\r\n\r\n");
  EXPECT_EQ(first.read_reply().status, 200);
  EXPECT_EQ(post(padded(2'000'000)).http.status, 200) << "what was answered does not count";
}

TEST_F(MessageRoutesTest, WhoTakesTheEventStreamAloneGetsOneEvent) {
  const Said said = legacy("ping", Json::object(), {"Accept: text/event-stream"});
  EXPECT_EQ(said.http.header("content-type"), "text/event-stream");
  EXPECT_EQ(said.http.body,
            "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n");
  EXPECT_EQ(legacy("ping", Json::object(), {"Accept: */*"}).http.header("content-type"),
            "application/json");
}

// ---- credentials --------------------------------------------------------------------------------

TEST_F(MessageRoutesTest, ListsNeedNoCredentialButTakeNoBadOne) {
  EXPECT_EQ(legacy("tools/list").json["result"]["tools"].size(), 4u);
  EXPECT_EQ(legacy("tools/list", Json::object(), {good_key}).http.status, 200);
  for (const char* bad : {"Bearer bad", "Basic Zzo=", "Bearer", "x"}) {
    const Said said = legacy("tools/list", Json::object(), {std::string("Authorization: ") + bad});
    EXPECT_EQ(said.http.status, 401) << bad;
    EXPECT_EQ(said.http.header("www-authenticate"),
              R"(Bearer error="invalid_token", error_description="The credential is not valid")");
  }
  // All hosts read credentials in the same way.
  for (const char* good : {"Bearer  good", "bearer good", "BEARER    good"}) {
    const std::string sent = std::string("Authorization: ") + good;
    EXPECT_EQ(legacy("tools/list", Json::object(), {sent}).http.status, 200) << good;
  }
  const Said doubled = legacy("tools/list", Json::object(), {good_key, good_key});
  EXPECT_EQ(doubled.http.status, 400);
  EXPECT_EQ(doubled.http.header("www-authenticate"), "");
  EXPECT_EQ(legacy("tools/list", Json::object(), {"Authorization: Bearer down"}).http.status, 200)
      << "what is public is public while keys cannot be read";
}

const std::vector<Json> public_calls = {
    {{"name", "service.capabilities.list"}},
    {{"name", "service.capabilities.get"}, {"arguments", {{"capability_id", "route-1"}}}},
    {{"name", "service.route.execute"}, {"arguments", {{"method", "GET"}, {"path", "/healthz"}}}}};

TEST_F(MessageRoutesTest, TheDoorOfPaymentsTellsHowToPayAndNothingOfFreeVariants) {
  const Json hello = {{"protocolVersion", "2025-11-25"}};
  const Said paid = legacy("initialize", hello, {}, "/x402");
  const std::string text = paid.json["result"]["instructions"];
  EXPECT_NE(text.find("x402/payment"), std::string::npos);
  EXPECT_EQ(text.find("free: true"), std::string::npos);
  for (const bool is_account : {true, false}) {
    const Said said = legacy("tools/list", Json::object(), {}, is_account ? "/" : "/x402");
    const Json run = said.json["result"]["tools"][2];
    EXPECT_EQ(run["name"], "service.route.execute");
    EXPECT_EQ(run["inputSchema"]["properties"].contains("free"), is_account);
    EXPECT_EQ(run["annotations"]["destructiveHint"], true) << "it may be any route";
  }
}

// An expired key must be reported even by tools that need none.
TEST_F(MessageRoutesTest, ToolsThatNeedNoCredentialTakeNoBadOne) {
  for (const Json& call : public_calls) {
    EXPECT_EQ(legacy("tools/call", call).http.status, 200) << call;
    EXPECT_EQ(legacy("tools/call", call, {good_key}).http.status, 200) << call;
    EXPECT_EQ(legacy("tools/call", call, {"Authorization: Bearer down"}).http.status, 200) << call;
    const Said bad = legacy("tools/call", call, {"Authorization: Bearer bad"});
    EXPECT_EQ(bad.http.status, 401) << call;
    EXPECT_EQ(bad.structured()["error"]["code"], "auth.credential_invalid");
    EXPECT_TRUE(bad.json["result"]["_meta"].contains("mcp/www_authenticate"));
    EXPECT_NE(bad.http.header("www-authenticate"), "");
    const Said doubled = legacy("tools/call", call, {good_key, good_key});
    EXPECT_EQ(doubled.structured()["error"]["code"], "auth.credential_conflict") << call;
  }
  const Said unknown = legacy("tools/call", {{"name", "nothing"}}, {"Authorization: Bearer bad"});
  EXPECT_EQ(unknown.http.status, 401) << "the key may be why it is not known";
}

TEST_F(MessageRoutesTest, RunningARouteNeedsACredential) {
  const Said said = execute(get_x);
  EXPECT_EQ(said.http.status, 401);
  EXPECT_EQ(said.http.header("www-authenticate"), "Bearer");
  EXPECT_EQ(said.structured()["error"]["code"], "auth.credential_required");
  EXPECT_EQ(said.json["result"]["isError"], true);
  EXPECT_EQ(said.json["result"]["_meta"]["mcp/www_authenticate"],
            Json::array({R"(Bearer error="invalid_token", )"
                         R"(error_description="A credential is required")"}));
}

TEST_F(MessageRoutesTest, ABadApiKeyStartsNoOtherDance) {
  refuse_with({ErrorCode::auth_credential_invalid, "The API key is not valid."});
  const Said key = execute(get_x, {"Authorization: Bearer turnpike_sk_v1_dev_x"});
  EXPECT_EQ(key.http.status, 401);
  EXPECT_EQ(key.http.header("www-authenticate"), R"(Bearer error="invalid_token")");
  EXPECT_FALSE(key.json["result"].contains("_meta"));
  EXPECT_EQ(key.structured()["error"]["code"], "auth.credential_invalid");
  const Said token = execute(get_x, {"Authorization: Bearer other"});
  EXPECT_TRUE(token.json["result"]["_meta"].contains("mcp/www_authenticate"));
}

TEST_F(MessageRoutesTest, TheDoorOfPaymentsTakesNoAccountsAndNeverAsksForOne) {
  for (const char* credential :
       {"Authorization: Bearer good", "Authorization: Basic x", "X-Service-Api-Key: x"}) {
    for (const char* method : {"tools/list", "tools/call", "ping"}) {
      const Said said = legacy(method, Json::object(), {credential}, "/x402");
      EXPECT_EQ(said.http.status, 403) << credential << method;
      EXPECT_EQ(said.http.header("www-authenticate"), "");
      EXPECT_NE(said.json["error"]["message"].get<std::string>().find("no credentials"),
                std::string::npos);
    }
  }
  refuse_with({ErrorCode::auth_credential_required, "An API key is needed."});
  const Said said = execute(get_x, {}, "/x402");
  EXPECT_EQ(said.http.status, 200);
  EXPECT_EQ(said.structured()["error"]["code"], "x402.not_payable");
  EXPECT_EQ(said.structured()["execution_status"], "x402_error");
}

TEST_F(MessageRoutesTest, TheDoorOfAccountsTakesNoPayments) {
  const Json payment = {{"x402/payment", {{"x402Version", 2}}}};
  EXPECT_EQ(execute(get_x, {}, "/", payment).structured()["error"]["code"], "x402.not_payable");
  EXPECT_EQ(execute(get_x, {"PAYMENT-SIGNATURE: e30="}).structured()["error"]["code"],
            "x402.not_payable");
  for (const std::string& account : {good_key, std::string("X-Service-Api-Key: k")}) {
    EXPECT_EQ(execute(get_x, {account}, "/", payment).structured()["error"]["code"],
              "auth.credential_conflict");
  }
  for (Json call : public_calls) {
    call["_meta"] = payment;
    EXPECT_EQ(legacy("tools/call", call).structured()["error"]["code"], "x402.not_payable") << call;
    EXPECT_NE(legacy("tools/call", call, {}, "/x402").structured()["error"]["code"],
              "x402.not_payable")
        << call;
  }
}

// ---- executions ---------------------------------------------------------------------------------

TEST_F(MessageRoutesTest, ArgumentsBecomeTheCall) {
  reply_with(200, "application/json", "{}");
  execute({{"method", "POST"},
           {"path", "/v1/gateway/x/a%20b"},
           {"query", "q=1&r=%7E"},
           {"body", "{\"a\": 1.0}"},
           {"idempotency_key", "k-1"}},
          {good_key, "User-Agent: a client", "traceparent: ignored"}, "/",
          {{"traceparent", "00-abc"}});
  EXPECT_EQ(seen_, Json({{"method", "POST"},
                         {"path", "/v1/gateway/x/a%20b"},
                         {"query", "q=1&r=%7E"},
                         {"content_type", "application/json"},
                         {"idempotency_key", "k-1"},
                         {"reply_bytes_max", reply_bytes_max},
                         {"body", "{\"a\": 1.0}"}}));
  EXPECT_EQ(seen_headers_,
            (std::vector<std::string>{"Authorization: Bearer good", "traceparent: 00-abc"}));
  execute({{"method", "GET"}, {"path", "/v1/gateway/x"}, {"free", true}}, {good_key});
  EXPECT_EQ(seen_["path"], "/v1/gateway/x:free");
  execute({{"method", "POST"}, {"path", "/p"}, {"body_base64", "AP8="}, {"content_type", "a/b"}},
          {good_key});
  EXPECT_EQ(seen_["content_type"], "a/b");
}

TEST_F(MessageRoutesTest, ArgumentsThatAreNotRightAreToldOneByOne) {
  const std::vector<std::pair<Json, std::string>> cases = {
      {{{"method", "GET"}}, "/path"},
      {{{"method", 1}, {"path", "/x"}}, "/method"},
      {{{"method", "GET"}, {"path", "x"}}, "/path"},
      {{{"method", "GET"}, {"path", "/x?a=1"}}, "/path"},
      {{{"method", "GET"}, {"path", "/a b"}}, "/path"},
      {{{"method", "GET"}, {"path", "/a\r\nX: y"}}, "/path"},
      {{{"method", "GET"}, {"path", "/\u00fc"}}, "/path"},
      {{{"method", "GET"}, {"path", "/%zz"}}, "/path"},
      {{{"method", "GET"}, {"path", "/x"}, {"pth", 1}}, "/pth"},
      {{{"method", "GET"}, {"path", "/x:free"}, {"free", false}}, "/free"},
      {{{"method", "GET"}, {"path", "/x"}, {"free", "yes"}}, "/free"},
      {{{"method", "POST"}, {"path", "/x"}, {"body", {{"a", 1}}}, {"content_type", "text/plain"}},
       "/body"},
      {{{"method", "GET"}, {"path", "/x"}, {"query", 1}}, "/query"},
      {{{"method", "GET"}, {"path", "/x"}, {"query", {{"a", {{"b", 1}}}}}}, "/query"},
      {{{"method", "GET"}, {"path", "/x"}, {"query", {{"a", 1e300}}}}, "/query"},
      {{{"method", "POST"}, {"path", "/x"}, {"body", ""}, {"body_base64", ""}}, "/body_base64"},
      {{{"method", "POST"}, {"path", "/x"}, {"body_base64", "a"}}, "/body_base64"},
      {{{"method", "POST"}, {"path", "/x"}, {"body", ""}, {"content_type", "a\nb"}},
       "/content_type"},
      {{{"method", "POST"}, {"path", "/x"}, {"content_type", std::string(32'769, 'a')}},
       "/content_type"},
      {{{"method", "GET"}, {"path", "/x"}, {"idempotency_key", "a b"}}, "/idempotency_key"}};
  for (const auto& [arguments, location] : cases) {
    const Said said = execute(arguments, {good_key});
    EXPECT_EQ(said.http.status, 200);
    EXPECT_EQ(said.json["result"]["isError"], true);
    const Json error = said.structured()["error"];
    EXPECT_EQ(error["code"], "request.malformed") << arguments;
    EXPECT_EQ(error["fields"][0]["location"], location) << arguments;
    EXPECT_FALSE(error["fields"][0]["fix"].get<std::string>().empty());
    EXPECT_EQ(error["retry"]["advice"], "after_change");
  }
}

// A parameter that was not filled in is reported as such, not as an escaping error.
TEST_F(MessageRoutesTest, AParameterLeftInThePathIsNamed) {
  const Said said =
      execute({{"method", "GET"}, {"path", "/v1/gateway/x/{dao_id}/brief"}}, {good_key});
  const Json field = said.structured()["error"]["fields"][0];
  EXPECT_EQ(field["problem"], "it still holds the parameter {dao_id}");
  EXPECT_EQ(field["fix"], "Put the value in its place, percent-encoded.");
}

// Deviations from the schema that models make.
TEST_F(MessageRoutesTest, WhatModelsWriteIsTakenAsMeant) {
  reply_with(200, "application/json", "{}");
  const auto asked = [&](Json change) {
    Json arguments = {{"method", "GET"}, {"path", "/v1/gateway/x"}};
    arguments.update(change);
    const Said said = execute(arguments, {good_key});
    EXPECT_EQ(said.json["result"]["isError"], false) << said.http.body;
    return seen_;
  };
  EXPECT_EQ(asked({{"query", "?hours=1"}})["query"], "hours=1");
  EXPECT_EQ(asked({{"query", "??hours=1"}})["query"], "?hours=1") << "one is the delimiter";
  EXPECT_EQ(asked({{"query",
                    {{"a b", "x&y=1"},
                     {"flag", true},
                     {"list", {"p", "q,r"}},
                     {"n", 1.5},
                     {"none", nullptr},
                     {"big", 9'007'199'254'740'993}}}})["query"],
            "a%20b=x%26y%3D1&big=9007199254740993&flag=true&list=p,q%2Cr&n=1.5");
  EXPECT_EQ(asked({{"query", Json::object()}})["query"], "");
  EXPECT_EQ(asked({{"method", "get"}})["method"], "GET");
  EXPECT_EQ(asked({{"free", "true"}})["path"], "/v1/gateway/x:free");
  EXPECT_EQ(asked({{"query", nullptr}, {"free", nullptr}, {"body", nullptr}})["path"],
            "/v1/gateway/x");
  const std::string body = R"({ "n": 123456789012345678901234567890, "e": 1e2,"z":-0 })";
  const Said said =
      post(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":)"
           R"("service.route.execute","arguments":{"method":"POST","path":"/p","body":)" +
               body + "}}}",
           {good_key});
  EXPECT_EQ(said.json["result"]["isError"], false) << said.http.body;
  EXPECT_EQ(seen_["body"], body);
  EXPECT_EQ(seen_["content_type"], "application/json");
}

TEST_F(MessageRoutesTest, NullIsAsIfLeftOut) {
  const Said list =
      legacy("tools/call", {{"name", "service.capabilities.list"}, {"arguments", nullptr}});
  EXPECT_EQ(list.structured()["error"]["code"], "registry.unavailable") << "it was called";
  EXPECT_EQ(legacy("tools/list", {{"cursor", nullptr}}).json["result"]["tools"].size(), 4u);
  EXPECT_EQ(legacy("tools/list", nullptr).json["result"]["tools"].size(), 4u);
  reply_with(200, "application/json", "{}");
  const Json nulls = {
      {"x402/payment", nullptr}, {"traceparent", nullptr}, {"progressToken", nullptr}};
  const Said said = execute(get_x, {good_key}, "/", nulls);
  EXPECT_EQ(said.json["result"]["isError"], false) << said.http.body;
  EXPECT_EQ(seen_headers_, std::vector<std::string>{"Authorization: Bearer good"});
}

TEST_F(MessageRoutesTest, UnderscoresMayStandForDots) {
  reply_with(200, "application/json", "{}");
  const Said said =
      modern("tools/call", {{"name", "service_route_execute"}, {"arguments", get_x}}, {good_key});
  EXPECT_EQ(said.json["result"]["isError"], false) << said.http.body;
  EXPECT_EQ(seen_["path"], "/v1/gateway/x");
}

TEST_F(MessageRoutesTest, TextsSpeakOfToolsAsTheyAreListed) {
  toolsets_.set(std::make_shared<const Toolset>(make_service_tools(backend_, clock_, executions_),
                                                "gen_1", std::string(32, 'k'),
                                                ToolNames::underscored));
  const std::string list = legacy("tools/list").http.body;
  const std::string hello = legacy("initialize", {{"protocolVersion", "2025-11-25"}}).http.body;
  for (const std::string& text : {list, hello}) {
    EXPECT_NE(text.find("service_capabilities_list"), std::string::npos);
    EXPECT_EQ(text.find("service.capabilities"), std::string::npos) << text;
    EXPECT_EQ(text.find("service.route"), std::string::npos) << text;
  }
}

// Clients that ask for confirmation before other tools may run this one without.
TEST_F(MessageRoutesTest, ARouteThatReadsHasAToolThatOnlyReads) {
  const Json tool = legacy("tools/list").json["result"]["tools"][3];
  EXPECT_EQ(tool["name"], "service.route.read");
  EXPECT_EQ(tool["annotations"]["readOnlyHint"], true);
  EXPECT_EQ(tool["annotations"]["destructiveHint"], false);
  EXPECT_NE(tool["description"].get<std::string>().find("charged"), std::string::npos);
  EXPECT_EQ(tool["inputSchema"]["required"], Json({"path"}));
  reply_with(200, "application/json", "{}");
  const auto read = [&](const Json& arguments, std::vector<std::string> headers) {
    return legacy("tools/call", {{"name", "service.route.read"}, {"arguments", arguments}},
                  std::move(headers));
  };
  EXPECT_EQ(
      read({{"path", "/v1/gateway/x"}, {"query", "a=1"}}, {good_key}).json["result"]["isError"],
      false);
  EXPECT_EQ(seen_["method"], "GET");
  EXPECT_EQ(seen_["query"], "a=1");
  for (const char* other : {"method", "body", "body_base64", "content_type"}) {
    const Said said = read({{"path", "/v1/gateway/x"}, {other, "POST"}}, {good_key});
    EXPECT_EQ(said.structured()["error"]["code"], "request.malformed") << other;
  }
  EXPECT_EQ(read({{"path", "/v1/gateway/x"}}, {}).http.status, 401);
  EXPECT_EQ(
      legacy("tools/call", {{"name", "service.route.read"}, {"arguments", get_x}}, {}, "/x402")
          .code(),
      -32602);
}

// A client that knows the length keeps long results visible to its model.
TEST_F(MessageRoutesTest, ToolsSayHowLongTheirResultsMayBe) {
  const Json tools = legacy("tools/list").json["result"]["tools"];
  for (const std::size_t at : {0u, 2u, 3u}) {
    EXPECT_EQ(tools[at]["_meta"]["anthropic/maxResultSizeChars"], 2 * reply_bytes_max) << at;
  }
}

TEST_F(MessageRoutesTest, NoMoreProblemsAreToldThanAReaderNeeds) {
  Json arguments = get_x;
  for (int at = 0; at < 1'000; ++at) arguments["unknown" + std::to_string(at)] = at;
  const Said said = execute(arguments, {good_key});
  EXPECT_EQ(said.structured()["error"]["fields"].size(), tool_problems_max);
}

// A tool of the catalog reports problems by its own arguments, not by parts of a URL.
TEST_F(MessageRoutesTest, WhatTheCatalogRefusesIsToldOfTheArgument) {
  const auto field = [&](const Json& arguments) -> Json {
    return legacy("tools/call", {{"name", "service.capabilities.list"}, {"arguments", arguments}})
        .structured()["error"]["fields"][0]["location"];
  };
  EXPECT_EQ(field({{"limit", 0}}), "/limit");
  EXPECT_EQ(field({{"method", "PUT"}}), "/method");
  EXPECT_EQ(field({{"cursor", ""}}), "/cursor");
}

TEST_F(MessageRoutesTest, ALimitIsAnInteger) {
  for (const Json& limit : {Json(5.5), Json(true), Json::array()}) {
    const Json field = legacy("tools/call", {{"name", "service.capabilities.list"},
                                             {"arguments", {{"limit", limit}}}})
                           .structured()["error"]["fields"][0];
    EXPECT_EQ(field["location"], "/limit");
    EXPECT_EQ(field["problem"], "it is not an integer") << limit;
  }
}

TEST_F(MessageRoutesTest, AReplyIsToldWithWhatItCost) {
  reply_with(200, "application/json; charset=utf-8", "{\"big\": 12345678901234567890.5,\n\"a\":1}",
             "credits", {{"Idempotent-Replayed", "true"}});
  const Said said = execute(get_x, {good_key});
  const Json expected = {{"execution_status", "registry_paid_route_executed"},
                         {"http_status", 200},
                         {"content_type", "application/json; charset=utf-8"},
                         {"body", {{"big", 12345678901234567890.5}, {"a", 1}}},
                         {"credits_charged", 3},
                         {"request_id", said.http.header("x-request-id")},
                         {"generation", "gen_1"},
                         {"reply_from", "provider"},
                         {"headers", {{"idempotent-replayed", "true"}}}};
  EXPECT_EQ(said.structured(), expected);
  EXPECT_EQ(said.json["result"]["isError"], false);
  EXPECT_NE(said.http.body.find("12345678901234567890.5"), std::string::npos)
      << "numbers keep their digits";
  EXPECT_EQ(Json::parse(said.json["result"]["content"][0]["text"].get<std::string>()), expected);
}

TEST_F(MessageRoutesTest, AReplySaysWhatIsLeftWhereItIsKnown) {
  reply_with(200, "application/json", "{}");
  EXPECT_FALSE(execute(get_x, {good_key}).structured().contains("credits_remaining"));
  credits_remaining_ = 0;
  EXPECT_EQ(execute(get_x, {good_key}).structured()["credits_remaining"], 0);
}

TEST_F(MessageRoutesTest, BodiesAreValuesTextsOrBytes) {
  struct Case {
    std::string type, body;
    Json told;
  };
  for (const Case& one : std::vector<Case>{{"application/json", "[1,2]", Json::array({1, 2})},
                                           {"application/problem+json", "null", nullptr},
                                           {"application/json", "{broken", "{broken"},
                                           {"text/plain", "héllo", "héllo"},
                                           {"application/json", "", ""},
                                           {"image/png", "\xff\x01", {{"base64", "/wE="}}},
                                           {"", "x", "x"}}) {
    reply_with(200, one.type, one.body);
    EXPECT_EQ(execute(get_x, {good_key}).structured()["body"], one.told) << one.type << one.body;
  }
}

TEST_F(MessageRoutesTest, FreeAndFailedRepliesSayWhatTheyAre) {
  reply_with(200, "text/plain", "x", "free");
  EXPECT_EQ(execute(get_x, {good_key}).structured()["execution_status"],
            "registry_free_route_executed");
  reply_with(404, "text/plain", "no such item");
  const Said said = execute(get_x, {good_key});
  EXPECT_EQ(said.structured()["http_status"], 404);
  EXPECT_EQ(said.json["result"]["isError"], true);
}

TEST_F(MessageRoutesTest, ARefusalIsAnErrorEnvelopeAndNoHttpError) {
  refuse_with({ErrorCode::gateway_upstream_timeout, "The provider took too long.", 7});
  const Said said = execute(get_x, {good_key});
  EXPECT_EQ(said.http.status, 200);
  EXPECT_EQ(said.structured()["execution_status"], "refused");
  EXPECT_EQ(said.structured()["http_status"], 504);
  EXPECT_EQ(said.structured()["error"]["retry"]["after_seconds"], 7);
  EXPECT_EQ(said.structured()["credits_charged"], 0);
}

TEST_F(MessageRoutesTest, AReplyThatIsTooLongNamesTheWayOverHttp) {
  base::Error ours = {ErrorCode::gateway_upstream_response_too_large, "Too large."};
  refuse_with(ours);
  EXPECT_EQ(execute(get_x, {good_key}).structured()["error"]["message"], "Too large.");
  ours.fault = base::Fault::gateway;
  refuse_with(ours);
  const Json error =
      execute({{"method", "GET"}, {"path", "/v1/gateway/x"}, {"query", "a=1"}}, {good_key})
          .structured()["error"];
  EXPECT_EQ(error["code"], "gateway.upstream_response_too_large");
  EXPECT_EQ(error["fault"], "gateway");
  EXPECT_NE(
      error["message"].get<std::string>().find("GET https://api.example.com/v1/gateway/x?a=1"),
      std::string::npos);
}

// Regression: the base64 of a compressed body could not be told from that of the plain body.
TEST_F(MessageRoutesTest, ACompressedReplyNamesItsCoding) {
  backend_.on_serve = [this](const exchange::Invocation&, exchange::ReplyWriter& writer) {
    const HeaderField fields[] = {{"Content-Type", "application/json"},
                                  {"Content-Encoding", "gzip"}};
    exchange::ReplyHead head;
    head.headers = fields;
    writer.reply(head, "\x1f\x8b");
    return served(exchange::Ending::replied);
  };
  const Json structured = execute(get_x, {good_key}).structured();
  EXPECT_EQ(structured["content_encoding"], "gzip");
  EXPECT_EQ(structured["body"]["base64"], "H4s=");
}

TEST_F(MessageRoutesTest, AReplyThatIsTooLongButPaidForComesWithItsReceipt) {
  const Json receipt = {{"success", true}};
  base::Error kept = {ErrorCode::gateway_upstream_response_too_large, "It is kept."};
  kept.fault = base::Fault::gateway;
  refuse_with(kept, "", "x402", {{"PAYMENT-RESPONSE", text::base64(receipt.dump())}});
  const Said said = execute(get_x, {}, "/x402");
  const std::string message = said.structured()["error"]["message"];
  EXPECT_TRUE(message.starts_with("It is kept.")) << message;
  EXPECT_NE(message.find("GET https://api.example.com/v1/gateway/x"), std::string::npos);
  EXPECT_EQ(said.json["result"]["_meta"]["x402/payment-response"], receipt);
}

TEST_F(MessageRoutesTest, AChallengeIsTheBarePaymentRequired) {
  const Json challenge = {{"x402Version", 2}, {"accepts", Json::array()}};
  refuse_with({support::x402_code("x402.payment_required"), "Payment required"}, challenge.dump(),
              "x402", {{"PAYMENT-REQUIRED", text::base64(challenge.dump())}});
  const Said said = execute(get_x, {}, "/x402");
  EXPECT_EQ(said.structured(), challenge);
  EXPECT_EQ(Json::parse(said.json["result"]["content"][0]["text"].get<std::string>()), challenge);
  const Json meta = said.json["result"]["_meta"];
  EXPECT_EQ(meta["x402/error"], challenge);
  EXPECT_EQ(meta["turnpike/execution"]["execution_status"], "payment_required");
  EXPECT_EQ(said.json["result"]["isError"], true);
}

TEST_F(MessageRoutesTest, APaymentInMetaIsThePaymentHeader) {
  const Json settled = {{"success", true}, {"transaction", "0x1"}};
  reply_with(200, "application/json", "{}", "x402",
             {{"PAYMENT-RESPONSE", text::base64(settled.dump())}});
  const Json payment = {{"x402Version", 2}, {"payload", {{"signature", "0x"}}}};
  const Said said = execute(get_x, {}, "/x402", {{"x402/payment", payment}});
  EXPECT_EQ(said.json["result"]["_meta"]["x402/payment-response"], settled);
  EXPECT_EQ(said.structured()["execution_status"], "registry_x402_route_executed");
  EXPECT_EQ(seen_headers_,
            std::vector<std::string>{"payment-signature: " + text::base64(payment.dump())});
  execute(get_x, {}, "/x402", {{"x402/payment", text::base64(payment.dump())}});
  EXPECT_EQ(seen_headers_,
            std::vector<std::string>{"payment-signature: " + text::base64(payment.dump())});
  execute(get_x, {"PAYMENT-SIGNATURE: e30="}, "/x402");
  EXPECT_EQ(seen_headers_, std::vector<std::string>{"PAYMENT-SIGNATURE: e30="});
}

// A client that took this for a challenge would pay a second time.
TEST_F(MessageRoutesTest, AnUnknownSettlementLooksLikeNoChallenge) {
  refuse_with({support::x402_code("x402.settlement_unknown"), "Send the same request again.", 2},
              {}, "x402");
  const Said said = execute(get_x, {}, "/x402", {{"x402/payment", Json::object()}});
  EXPECT_EQ(said.structured()["execution_status"], "x402_error");
  EXPECT_EQ(said.structured()["error"]["retry"]["advice"], "same_request");
  EXPECT_FALSE(said.structured().contains("accepts"));
  EXPECT_FALSE(said.json["result"].contains("_meta"));
}

TEST_F(MessageRoutesTest, HealthRoutesAreFreeAtBothDoors) {
  for (const char* target : {"/", "/x402"}) {
    for (const auto& [path, status] : std::vector<std::pair<std::string, int>>{
             {"/healthz", 200}, {"/readyz", 503}, {"/version", 200}}) {
      const Said said = execute({{"method", "GET"}, {"path", path}}, {}, target);
      EXPECT_EQ(said.http.status, 200);
      EXPECT_EQ(said.structured()["execution_status"], "free_health_executed");
      EXPECT_EQ(said.structured()["http_status"], status);
      EXPECT_EQ(said.structured()["credits_charged"], 0);
    }
  }
  EXPECT_EQ(execute({{"method", "POST"}, {"path", "/healthz"}}).http.status, 401);
  EXPECT_EQ(execute({{"method", "GET"}, {"path", "/healthz"}, {"query", "a"}})
                .structured()["error"]["code"],
            "request.malformed");
}

TEST_F(MessageRoutesTest, AReplyThatBreaksOffIsNotTold) {
  backend_.on_serve = [](const exchange::Invocation&, exchange::ReplyWriter& writer) {
    writer.begin({}, std::nullopt);
    writer.write("half of it");
    writer.cut();
    return served(exchange::Ending::cut, ErrorCode::billing_settlement_unknown);
  };
  const Said said = execute(get_x, {good_key});
  EXPECT_EQ(said.structured()["error"]["code"], "billing.settlement_unknown");
  EXPECT_EQ(said.http.body.find("half of it"), std::string::npos);
}

TEST_F(MessageRoutesTest, AStreamedReplyIsGathered) {
  backend_.on_serve = [](const exchange::Invocation&, exchange::ReplyWriter& writer) {
    writer.begin({}, std::nullopt);
    writer.write("one ");
    writer.finish("two");
    return served(exchange::Ending::replied);
  };
  EXPECT_EQ(execute(get_x, {good_key}).structured()["body"], "one two");
}

TEST_F(MessageRoutesTest, UnknownToolsAndMalformedCallsAreProtocolErrors) {
  EXPECT_EQ(legacy("tools/call", {{"name", "nothing"}}).code(), -32602);
  EXPECT_EQ(legacy("tools/call").code(), -32602);
  EXPECT_EQ(legacy("tools/call", {{"name", "service.route.execute"}, {"arguments", 7}}).code(),
            -32602);
  EXPECT_EQ(legacy("tools/list", {{"cursor", 7}}).code(), -32602);
  EXPECT_EQ(legacy("tools/list", {{"cursor", "x"}}).code(), -32602);
  EXPECT_EQ(legacy("prompts/list").code(), -32601) << "none are offered here";
}

// ---- long calls ---------------------------------------------------------------------------------

// The client keeps the POST open and cancels it with another one.
TEST_F(MessageRoutesTest, ACancelledCallEndsAsThatOfACallerWhoLeft) {
  for (const Json& id : {Json(7), Json("a")}) {
    wait_in_serve();
    auto caller = begin_call(id);
    wait_until_entered();
    const Said said = post(cancelled(id), {good_key});
    EXPECT_EQ(said.http.status, 202);
    EXPECT_EQ(said.http.body, "");
    const wire::RawReply reply = caller.read_reply();
    EXPECT_EQ(wake_, runtime::Wake::cancelled);
    EXPECT_EQ(standing_, exchange::Standing::gone);
    const Json answer = Json::parse(reply.body);
    EXPECT_EQ(answer["id"], id);
    EXPECT_EQ(answer["error"]["code"], -32800);
    // The connection's fiber is cancelled for good, so it serves no further request.
    EXPECT_TRUE(reply.has("Connection: close")) << reply.head;
    EXPECT_TRUE(caller.is_closed_by_peer());
  }
}

TEST_F(MessageRoutesTest, OnlyTheCredentialOfACallCanCancelIt) {
  wait_in_serve();
  auto caller = begin_call(7);
  wait_until_entered();
  EXPECT_EQ(post(cancelled(7)).http.status, 202);
  EXPECT_EQ(post(cancelled(7), {"Authorization: Bearer down"}).http.status, 202);
  EXPECT_EQ(post(cancelled(7), {"Authorization: Bearer bad"}).http.status, 401);
  EXPECT_EQ(post(cancelled(7), {}, "/x402").http.status, 202);
  for (const Json& other : {Json(8), Json("7"), Json(nullptr), Json::array({7})}) {
    EXPECT_EQ(post(cancelled(other), {good_key}).http.status, 202);
  }
  EXPECT_EQ(post(R"({"jsonrpc":"2.0","method":"notifications/cancelled"})", {good_key}).http.status,
            202);
  gate_.set();
  EXPECT_EQ(Json::parse(caller.read_reply().body)["result"]["structuredContent"]["body"], "done");
  EXPECT_EQ(standing_, exchange::Standing::waiting);
  EXPECT_EQ(post(cancelled(7), {good_key}).http.status, 202) << "it is over";
}

// The result of a call that is already being charged is delivered.
TEST_F(MessageRoutesTest, ACallThatIsCancelledTooLateHasItsResult) {
  backend_.on_serve = [this](const exchange::Invocation&, exchange::ReplyWriter& writer) {
    entered_.release();
    const runtime::CancelMask mask;  // as during a settlement
    gate_.wait(runtime::Deadline::after_ms(wire::patience_ms));
    writer.reply({}, "done");
    return served(exchange::Ending::replied);
  };
  auto caller = begin_call(7);
  wait_until_entered();
  post(cancelled(7), {good_key});
  gate_.set();
  EXPECT_EQ(Json::parse(caller.read_reply().body)["result"]["structuredContent"]["body"], "done");
}

// Clients give up a request from which they receive nothing.
TEST_F(MessageRoutesTest, ACallThatLastsTellsItsProgressToWhoAskedForIt) {
  for (const Json& token : {Json(3), Json("t\"")}) {
    wait_in_serve();
    gate_.reset();
    auto caller = begin_call(7, {{"progressToken", token}}, stream_headers);
    const auto head = caller.read_past("\r\n\r\n");
    ASSERT_TRUE(head);
    EXPECT_NE(head->find("Content-Type: text/event-stream\r\n"), std::string::npos) << *head;
    EXPECT_NE(head->find("X-Accel-Buffering: no\r\n"), std::string::npos);
    EXPECT_NE(head->find("X-Request-Id: "), std::string::npos);
    double before = 0;
    for (int at = 0; at < 3; ++at) {
      const Json event = next_event(caller);
      EXPECT_EQ(event["method"], "notifications/progress");
      EXPECT_EQ(event["params"]["progressToken"], token);
      EXPECT_GT(event["params"]["progress"].get<double>(), before);
      before = event["params"]["progress"];
    }
    gate_.set();
    Json event = next_event(caller);
    while (event.contains("method")) event = next_event(caller);
    EXPECT_EQ(event["id"], 7);
    EXPECT_EQ(event["result"]["structuredContent"]["body"], "done");
    EXPECT_TRUE(caller.read_past("0\r\n\r\n"));
    caller.send("GET /healthz HTTP/1.1\r\nHost: " + address_ + "\r\n\r\n");
    EXPECT_EQ(caller.read_reply().status, 200) << "the connection is used again";
  }
}

TEST_F(MessageRoutesTest, ACancelledCallEndsItsStream) {
  wait_in_serve();
  auto caller = begin_call(7, {{"progressToken", 1}}, stream_headers);
  next_event(caller);
  post(cancelled(7), {good_key});
  Json event = next_event(caller);
  while (event.contains("method")) event = next_event(caller);
  EXPECT_EQ(event["error"]["code"], -32800);
  EXPECT_TRUE(caller.read_past("0\r\n\r\n"));
  EXPECT_TRUE(caller.is_closed_by_peer());
}

TEST_F(MessageRoutesTest, AClientThatLeavesItsStreamIsACallerWhoLeft) {
  wait_in_serve();
  auto caller = begin_call(7, {{"progressToken", 1}}, stream_headers);
  next_event(caller);
  caller.close();
  while (!runtime_is_idle()) std::this_thread::yield();
  EXPECT_EQ(wake_, runtime::Wake::cancelled);
  EXPECT_EQ(standing_, exchange::Standing::gone);
}

TEST_F(MessageRoutesTest, WithoutATokenOrAStreamOrBeforeTheFirstIntervalTheAnswerIsOne) {
  reply_with(200, "application/json", "{}");
  const Json token = {{"progressToken", 1}};
  const std::string streams = "Accept: application/json, text/event-stream";
  const Said quick = execute(get_x, {good_key, streams}, "/", token);
  EXPECT_EQ(quick.http.header("content-type"), "application/json");
  struct Case {
    Json meta;
    std::string accept;
  };
  for (const Case& one : {Case{token, ""}, Case{token, "Accept: application/json\r\n"},
                          Case{Json::object(), streams + "\r\n"},
                          Case{Json{{"progressToken", true}}, streams + "\r\n"}}) {
    backend_.on_serve = [](const exchange::Invocation&, exchange::ReplyWriter& writer) {
      runtime::sleep_until(runtime::Deadline::after_ms(4 * progress_interval_ms));
      writer.reply({}, "done");
      return served(exchange::Ending::replied);
    };
    auto caller = begin_call(7, one.meta, good_key + "\r\n" + one.accept);
    const wire::RawReply reply = caller.read_reply();
    EXPECT_TRUE(reply.has("Content-Type: application/json\r\n")) << reply.head;
    EXPECT_TRUE(reply.has("Content-Length: "));
  }
}

TEST_F(MessageRoutesTest, WithoutAProgramReadsSaySo) {
  for (const Json& call : {Json{{"name", "service.capabilities.list"}},
                           Json{{"name", "service.capabilities.get"},
                                {"arguments", {{"capability_id", "route-1"}}}}}) {
    const Said said = legacy("tools/call", call);
    EXPECT_EQ(said.structured()["error"]["code"], "registry.unavailable");
    EXPECT_EQ(said.json["result"]["isError"], true);
  }
}

// ---- with an authorization server ---------------------------------------------------------------

class WithAuthorizationServer : public MessageRoutesTest {
 protected:
  WithAuthorizationServer() : MessageRoutesTest("https://mcp.example.com/metadata") {}
};

TEST_F(WithAuthorizationServer, ChallengesPointToIt) {
  const std::string pointer = R"(resource_metadata="https://mcp.example.com/metadata")";
  const Said missing = execute(get_x);
  EXPECT_EQ(missing.http.header("www-authenticate"), "Bearer " + pointer);
  EXPECT_EQ(
      missing.json["result"]["_meta"]["mcp/www_authenticate"][0],
      R"(Bearer error="invalid_token", error_description="A credential is required", )" + pointer);
  EXPECT_EQ(legacy("tools/list", Json::object(), {"Authorization: Bearer bad"})
                .http.header("www-authenticate"),
            R"(Bearer error="invalid_token", error_description="The credential is not valid", )" +
                pointer);
  EXPECT_EQ(legacy("ping", Json::object(), {"Authorization: Bearer turnpike_sk_v1_dev_x"})
                .http.header("www-authenticate"),
            R"(Bearer error="invalid_token")");
}

}  // namespace
}  // namespace turnpike::hosts::mcp

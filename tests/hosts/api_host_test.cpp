#include "hosts/api/api_host.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/host_fixture.h"
#include "hosts/status_table.h"
#include "support/x402_lane.h"
#include "wire/raw_socket.h"

namespace turnpike::tests {
namespace {

using base::ErrorCode;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class ApiHostTest : public HostFixture {};

// ---- fixed routes -------------------------------------------------------------------------------

TEST_F(ApiHostTest, HealthHoldsWithoutAProgram) {
  const HttpReply reply = get("/healthz");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, R"({"status":"ok"})");
  EXPECT_EQ(reply.header("cache-control"), "no-store");
  EXPECT_TRUE(base::is_uuid(reply.header("x-request-id")));
}

TEST_F(ApiHostTest, ReadinessShowsEveryCheckAndWhatIsRelaxed) {
  backend_.set_health({{{"registry", true, "gen_1"}, {"database", true, ""}},
                       {"Commits are not waited for by a standby."}});
  HttpReply reply = get("/readyz");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(json::parse(reply.body), json::parse(R"({"status": "ready",
    "checks": [{"name": "registry", "ready": true, "detail": "gen_1"},
               {"name": "database", "ready": true}],
    "relaxed": ["Commits are not waited for by a standby."]})"));

  backend_.set_health({{{"registry", true, ""}, {"database", false, "It does not answer."}}, {}});
  reply = get("/readyz");
  EXPECT_EQ(reply.status, 503);
  const json body = json::parse(reply.body);
  EXPECT_EQ(body["status"], "not_ready");
  EXPECT_EQ(body["checks"][1]["detail"], "It does not answer.");
}

TEST_F(ApiHostTest, VersionTellsBuildAndAbi) {
  start({.cors_origins = {}, .build = {"0.1.0", "abc1234", "development"}, .reference = {}});
  const json body = json::parse(get("/version").body);
  EXPECT_EQ(body["version"], "0.1.0");
  EXPECT_EQ(body["build"], "abc1234");
  EXPECT_EQ(body["environment"], "development");
  EXPECT_EQ(body["api_version"], "0.2.36");
  EXPECT_TRUE(body["abi"].is_number_integer());
  EXPECT_TRUE(body["generation"].is_null()) << "no program is installed";
}

TEST_F(ApiHostTest, ItsOwnDocumentsComeBeforeThoseOfLanes) {
  start({.cors_origins = {}, .build = {}, .reference = {}});
  const HttpReply own = get("/.well-known/mcp.json");
  EXPECT_EQ(own.status, 200);
  EXPECT_EQ(json::parse(own.body)["transport"]["endpoint"], "https://mcp.example.com");
  EXPECT_EQ(own.header("cache-control"), "public, max-age=300");
  EXPECT_EQ(own.header("access-control-allow-origin"), "*") << "though no page may call the host";
  EXPECT_EQ(get("/.well-known/mcp.json", {"If-None-Match: " + own.header("etag")}).status, 304);
  EXPECT_EQ(call({.method = "HEAD", .target = "/.well-known/mcp.json"}).status, 200);
  const HttpReply of_a_lane = get("/.well-known/did.json");
  EXPECT_EQ(of_a_lane.header("content-type"), "application/did+json");
  // Without this header, a page that verifies receipts could not read the document.
  EXPECT_EQ(of_a_lane.header("access-control-allow-origin"), "*");
  EXPECT_EQ(of_a_lane.header("cache-control"), "public, max-age=60");
  EXPECT_EQ(get("/.well-known/did.json", {"If-None-Match: " + of_a_lane.header("etag")}).status,
            304);
  for (const char* path : {"/.well-known/oauth-protected-resource", "/.well-known/none"}) {
    EXPECT_EQ(code_of(get(path)), "request.not_found") << path;
  }
}

TEST_F(ApiHostTest, WhatNeedsTheRegistryIsUnavailableWithoutOne) {
  for (const char* target : {"/openapi.json", "/v1/capabilities",
                             "/v1/capabilities/route-00112233445566778899aabbccddeeff",
                             "/v1/operation-pricing-inventory"}) {
    const HttpReply reply = get(target);
    EXPECT_EQ(reply.status, 503) << target;
    EXPECT_EQ(code_of(reply), "registry.unavailable") << target;
    EXPECT_EQ(reply.header("retry-after"), "5") << target;
    EXPECT_EQ(reply.header("cache-control"), "no-store") << target;
  }
}

TEST_F(ApiHostTest, UnknownPathsAre404) {
  for (const char* target : {"/", "/nothing", "/v1", "/v1/gateway", "/healthz/", "/v2/x"}) {
    const HttpReply reply = get(target);
    EXPECT_EQ(reply.status, 404) << target;
    EXPECT_EQ(code_of(reply), "request.not_found") << target;
  }
}

TEST_F(ApiHostTest, OtherMethodsAre405WithAllow) {
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "TRACE", "QUERY"}) {
    HttpReply reply = call({.method = method, .target = "/healthz"});
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_EQ(code_of(reply), "request.method_not_allowed");
    EXPECT_EQ(reply.header("allow"), "GET, HEAD, OPTIONS");
    reply = call({.method = method, .target = "/v1/auth/context"});
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_EQ(reply.header("allow"), "GET, OPTIONS");
  }
  EXPECT_EQ(call({.method = "HEAD", .target = "/v1/auth/context"}).status, 405);
}

TEST_F(ApiHostTest, PublicReadsAnswerHeadWithTheHeadersOfGet) {
  for (const char* target : {"/healthz", "/readyz", "/version", "/v1/capabilities"}) {
    const HttpReply get_reply = get(target);
    const HttpReply reply = call({.method = "HEAD", .target = target});
    EXPECT_EQ(reply.status, get_reply.status) << target;
    EXPECT_TRUE(reply.body.empty()) << target;
    EXPECT_EQ(reply.header("content-length"), std::to_string(get_reply.body.size())) << target;
    EXPECT_EQ(reply.header("content-type"), "application/json");
  }
}

TEST_F(ApiHostTest, UnknownQueryNamesAre400) {
  for (const char* target :
       {"/healthz?x=1", "/readyz?x", "/version?v=1", "/openapi.json?a=b", "/reference?a=b",
        "/v1/capabilities?page=2", "/v1/capabilities/route-1?x=1",
        "/v1/operation-pricing-inventory?x", "/v1/capabilities?limit=1&limit=2"}) {
    const HttpReply reply = get(target);
    EXPECT_EQ(reply.status, 400) << target;
    EXPECT_EQ(code_of(reply), "request.query_rejected") << target;
  }
  EXPECT_EQ(get("/healthz?").status, 200) << "an empty query names nothing";
}

TEST_F(ApiHostTest, BadPageParametersAreRefusedBeforeTheRegistryIsAsked) {
  EXPECT_EQ(code_of(get("/v1/capabilities?limit=0")), "catalog.limit_invalid");
  EXPECT_EQ(code_of(get("/v1/capabilities?method=get")), "catalog.filter_invalid");
}

TEST_F(ApiHostTest, FixedRoutesTakeNoBody) {
  const HttpReply reply = call({.target = "/healthz", .headers = {}, .body = "x"});
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(code_of(reply), "request.body_not_allowed");
}

TEST_F(ApiHostTest, TheReferenceIsNotFoundWhereItIsNotInstalled) {
  const HttpReply reply = get("/reference");
  EXPECT_EQ(reply.status, 404);
  EXPECT_THAT(reply.body, HasSubstr("not installed"));
}

// ---- account routes -----------------------------------------------------------------------------

TEST_F(ApiHostTest, AuthContextNamesWhoTheKeySpeaksFor) {
  const HttpReply reply = get("/v1/auth/context", {"Authorization: Bearer good"});
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, R"({"principal_id":"key:key_good","billing_account_id":"acc_good",)"
                        R"("actor_subject_id":null})");
  EXPECT_EQ(reply.header("cache-control"), "private, no-store");
}

TEST_F(ApiHostTest, AccountRoutesRefuseEveryOtherCredential) {
  struct Case {
    std::vector<std::string> headers;
    int status;
    std::string code;
  };
  const std::vector<Case> cases = {
      {{}, 401, "auth.credential_required"},
      {{"Authorization: Bearer wrong"}, 401, "auth.credential_invalid"},
      {{"Authorization: Basic Z29vZA=="}, 401, "auth.credential_invalid"},
      {{"Authorization: good"}, 401, "auth.credential_invalid"},
      {{"Authorization: Bearer staging"}, 401, "auth.wrong_environment"},
      {{"Authorization: Bearer down"}, 503, "auth.unavailable"},
      {{"X-Service-Api-Key: good"}, 401, "auth.credential_invalid"},
      {{"Authorization: Bearer good", "Authorization: Bearer good"},
       400,
       "auth.credential_conflict"},
      {{"Authorization: Bearer good", "PAYMENT-SIGNATURE: e30="}, 400, "auth.credential_conflict"},
      {{"PAYMENT-SIGNATURE: e30="}, 400, "x402.not_payable"},
  };
  for (const char* target :
       {"/v1/auth/context", "/v1/billing-accounts/acc_good/credit-balance",
        "/v1/billing-accounts/acc_good/billing?collection=usage",
        "/v1/billing-accounts/acc_good/usage", "/v1/billing-accounts/acc_good/free-quotas"}) {
    for (const Case& one : cases) {
      const HttpReply reply = get(target, one.headers);
      const std::string what = one.headers.empty() ? "none" : one.headers[0];
      EXPECT_EQ(reply.status, one.status) << target << " " << what;
      EXPECT_EQ(code_of(reply), one.code) << target << " " << what;
      EXPECT_EQ(reply.header("cache-control"), "private, no-store");
      EXPECT_EQ(reply.header("www-authenticate"),
                one.status == 401 ? "Bearer error=\"invalid_token\"" : "")
          << what;
    }
  }
}

TEST_F(ApiHostTest, AccountRoutesTakeNoQuery) {
  for (const char* target :
       {"/v1/auth/context?x=1", "/v1/billing-accounts/acc_good/credit-balance?x=1",
        "/v1/billing-accounts/acc_good/free-quotas?x=1"}) {
    const HttpReply reply = get(target, {"Authorization: Bearer good"});
    EXPECT_EQ(reply.status, 400) << target;
    EXPECT_EQ(code_of(reply), "request.query_rejected") << target;
  }
}

TEST_F(ApiHostTest, CreditBalanceIsACanonicalString) {
  for (const std::int64_t credits : {0ll, 1ll, 1000ll, 9'007'199'254'740'993ll}) {
    ledger_.credits = credits;
    const HttpReply reply = get("/v1/billing-accounts/acc_good/credit-balance",
                                {"Authorization: Bearer good", "X-Service-Api-Key: ignored"});
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, R"({"billingAccountId":"acc_good","meterKey":"request_count",)"
                          R"("creditBalance":")" +
                              std::to_string(credits) +
                              R"(","generatedAt":"2026-11-21T06:29:00.123Z"})");
    EXPECT_EQ(reply.header("cache-control"), "private, no-store");
  }
}

TEST_F(ApiHostTest, FreeQuotasNeedTheRegistryAndTheOwnAccount) {
  const auto quotas_of = [this](const std::string& account, const std::string& token) {
    return get("/v1/billing-accounts/" + account + "/free-quotas",
               {"Authorization: Bearer " + token});
  };
  HttpReply reply = quotas_of("acc_good", "good");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(code_of(reply), "registry.unavailable");
  reply = quotas_of("acc_other", "good");
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(code_of(reply), "account.forbidden");
  EXPECT_EQ(code_of(quotas_of("acc_suspended", "suspended")), "account.suspended");
}

// The routes below an account, each with a valid query.
std::string account_route(const std::string& account, const std::string& route) {
  return "/v1/billing-accounts/" + account + route;
}
constexpr const char* account_reads[] = {"/credit-balance", "/billing?collection=usage",
                                         "/billing?collection=allocations",
                                         "/billing?collection=invoices", "/usage"};

TEST_F(ApiHostTest, AKeyReadsItsOwnAccountAlone) {
  for (const char* route : account_reads) {
    const auto read = [&](const std::string& account) {
      return get(account_route(account, route), {"Authorization: Bearer good"});
    };
    for (const char* account : {"acc_other", "acc_goo", "acc_goodd", "ACC_GOOD", "acc_good%20"}) {
      EXPECT_EQ(code_of(read(account)), "account.forbidden") << account << route;
    }
    for (const char* account : {"%zz", "acc_good%00", "acc_good%", "acc_good%4"}) {
      EXPECT_EQ(code_of(read(account)), "request.path_malformed") << account << route;
    }
    EXPECT_EQ(read("acc%5Fgood").status, 200) << route;
  }
}

TEST_F(ApiHostTest, AccountsThatAreNotActiveHaveNoBooks) {
  const std::vector<std::tuple<std::string, int, std::string>> cases = {
      {"suspended", 403, "account.suspended"},
      {"closed", 403, "account.closed"},
      {"provisioning", 503, "account.provisioning"},
      {"failed", 502, "account.absent"}};
  for (const char* route : account_reads) {
    for (const auto& [token, status, code] : cases) {
      const HttpReply reply =
          get(account_route("acc_" + token, route), {"Authorization: Bearer " + token});
      EXPECT_EQ(reply.status, status) << token << route;
      EXPECT_EQ(code_of(reply), code) << token << route;
      EXPECT_EQ(reply.header("retry-after"), status == 503 ? "2" : "") << token << route;
    }
  }
}

TEST_F(ApiHostTest, ACallTellsItsOutcomeToItsOwnAccountAlone) {
  const auto call = [&](std::string_view id, const std::string& token = "good") {
    return get("/v1/calls/" + std::string(id), {"Authorization: Bearer " + token});
  };
  const HttpReply charged = call(ScriptedCalls::charged);
  EXPECT_EQ(charged.status, 200);
  EXPECT_EQ(charged.header("cache-control"), "private, no-store");
  EXPECT_EQ(charged.body,
            R"({"request_id":"019a0000-0000-7000-8000-00000000000a","status":"final",)"
            R"("client_request_id":null,"occurred_at":"2023-11-14T22:13:20.123Z",)"
            R"("outcome":"charged","outcome_reason":"success","credit_cost":2,"credits_charged":2,)"
            R"("credits_restored":1,"price_version":0,"method":"GET","route_id":"route-1",)"
            R"("route_revision":0,"lane":"credits","generation":"gen_1","api_key_id":null,)"
            R"("upstream_status":200,"upstream_ms":0,"ledger_entry":{"stream":65,"seq":7,)"
            R"("message_id":"019a0000-0000-7000-8000-00000000000a"}})");
  EXPECT_EQ(call("019A0000-0000-7000-8000-00000000000A").body, charged.body);
  EXPECT_EQ(call(ScriptedCalls::pending).body,
            R"({"request_id":"019a0000-0000-7000-8000-00000000000b","status":"pending"})");
  for (const std::string_view id :
       {std::string_view("019a0000-0000-7000-8000-00000000000c"), std::string_view("x")}) {
    const HttpReply absent = call(id);
    EXPECT_EQ(absent.status, 404) << id;
    EXPECT_THAT(absent.body, HasSubstr("billing.message_not_found"));
    EXPECT_THAT(absent.body, HasSubstr(R"("advice":"never")"));
    EXPECT_EQ(absent.header("cache-control"), "private, no-store");
  }
  const HttpReply young = call(call("x").header("x-request-id"));
  EXPECT_EQ(young.status, 404) << "it may still run, on this node or another";
  EXPECT_THAT(young.body, HasSubstr(R"("advice":"after_delay")"));
  EXPECT_EQ(young.header("retry-after"), "1");
  EXPECT_EQ(call(ScriptedCalls::charged, "other").status, 404) << "another account's";
  for (const auto& [token, status] : {std::pair{"suspended", 403},
                                      {"closed", 403},
                                      {"unknown", 401},
                                      {"staging", 401},
                                      {"failed", 502},
                                      {"provisioning", 503},
                                      {"down", 503}}) {
    EXPECT_EQ(call(ScriptedCalls::charged, token).status, status) << token;
  }
  EXPECT_EQ(call(std::string(ScriptedCalls::charged) + "?x=1").status, 400);
  calls_.is_unavailable = true;
  EXPECT_EQ(call(ScriptedCalls::charged).status, 503);
}

TEST_F(ApiHostTest, FailuresOfTheBooksKeepTheirStatus) {
  for (const auto& [code, status] : {std::pair{ErrorCode::account_read_failed, 500},
                                     {ErrorCode::account_absent, 502},
                                     {ErrorCode::billing_ledger_unavailable, 503}}) {
    ledger_.error = statements_.error = static_cast<int>(code);
    for (const char* route : account_reads) {
      if (std::string_view(route).ends_with("invoices")) continue;  // there are none to read
      const HttpReply reply = get(account_route("acc_good", route), {"Authorization: Bearer good"});
      EXPECT_EQ(reply.status, status) << route;
      EXPECT_EQ(code_of(reply), base::info_of(code).name) << route;
      EXPECT_EQ(reply.header("cache-control"), "private, no-store") << route;
    }
  }
}

TEST_F(ApiHostTest, AccountReadsAnswerGetAlone) {
  for (const char* route : account_reads) {
    for (const char* method : {"HEAD", "POST", "PUT", "DELETE"}) {
      const HttpReply reply = call({.method = method,
                                    .target = account_route("acc_good", route),
                                    .headers = {"Authorization: Bearer good"}});
      EXPECT_EQ(reply.status, 405) << method << route;
      EXPECT_EQ(reply.header("allow"), "GET, OPTIONS") << method << route;
    }
  }
}

// ---- gateway routes -----------------------------------------------------------------------------

TEST_F(ApiHostTest, AReplyCarriesBodyAndFacts) {
  const HttpReply reply = get("/v1/gateway/reply");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, R"({"answer":42})");
  EXPECT_EQ(reply.header("content-type"), "application/json");
  EXPECT_EQ(reply.header("turnpike-generation"), "gen_1");
  EXPECT_EQ(reply.header("turnpike-lane"), "credits");
  EXPECT_EQ(reply.header("turnpike-credits-charged"), "1");
  EXPECT_EQ(reply.header("turnpike-credits-remaining"), "41");
  EXPECT_EQ(reply.header("turnpike-reply-from"), "provider");
  EXPECT_EQ(reply.header("server-timing"), "gateway;dur=0.250, upstream;dur=1.500");
  EXPECT_EQ(reply.header("cache-control"), "private, no-store");
  EXPECT_TRUE(base::is_uuid(reply.header("x-request-id")));

  const LoggedRequest logged = access_log_.wait_for(reply.header("x-request-id"));
  EXPECT_EQ(logged.endpoint, "gateway");
  EXPECT_EQ(logged.status, 200);
  EXPECT_EQ(logged.lane, "credits");
  EXPECT_EQ(logged.route, "route-00000000000000000000000000000001");
  EXPECT_EQ(logged.reply_bytes, reply.body.size());
  EXPECT_TRUE(logged.is_whole);
  EXPECT_FALSE(logged.error);
  // The record names the account, the key and the operation.
  EXPECT_EQ(logged.account_id, "acc_good");
  EXPECT_EQ(logged.key_id, "key_good");
  EXPECT_EQ(logged.provider, "acme");
  EXPECT_EQ(logged.operation, "GET /v1/gateway/{script}");
  EXPECT_EQ(logged.reason, "");
}

TEST_F(ApiHostTest, TheCallReachesTheExchangeUnchanged) {
  const HttpReply reply =
      call({.method = "POST",
            .target = "/v1/gateway/a%2Fb/c:free?x=1&x=2&undeclared=%41",
            .headers = {"Content-Type: application/json; charset=utf-8",
                        "X-Request-Id: client-7.a_B", "Idempotency-Key: once !~"},
            .body = std::string("{\"k\":\"\0v\"}", 10)});
  // A space is not a visible character, so the key is refused.
  EXPECT_EQ(code_of(reply), "request.malformed");
  EXPECT_THAT(reply.body, HasSubstr("header.idempotency-key"));

  const HttpReply echoed =
      call({.method = "POST",
            .target = "/v1/gateway/a%2Fb/c:free?x=1&x=2&undeclared=%41",
            .headers = {"Content-Type: application/json; charset=utf-8",
                        "X-Request-Id: client-7.a_B", "Idempotency-Key: once!~"},
            .body = R"({"k": "v"})"});
  ASSERT_EQ(echoed.status, 200) << echoed.body;
  EXPECT_EQ(json::parse(echoed.body), (json{{"method", "POST"},
                                            {"path", "/v1/gateway/a%2Fb/c:free"},
                                            {"query", "x=1&x=2&undeclared=%41"},
                                            {"content_type", "application/json; charset=utf-8"},
                                            {"client_request_id", "client-7.a_B"},
                                            {"idempotency_key", "once!~"},
                                            {"has_body", true},
                                            {"body", R"({"k": "v"})"}}));
  EXPECT_NE(echoed.header("x-request-id"), "client-7.a_B") << "the id of the reply is ours";
  EXPECT_EQ(access_log_.wait_for(echoed.header("x-request-id")).client_request_id, "client-7.a_B");
}

TEST_F(ApiHostTest, BodiesInMemoryAreBoundedTogether) {
  start({.cors_origins = {}, .build = {}, .reference = {}, .bodies_bytes_max = 1'000});
  const auto post = [&](std::size_t bytes, std::vector<std::string> headers = {}) {
    return call({.method = "POST",
                 .target = "/v1/gateway/x",
                 .headers = std::move(headers),
                 .body = std::string(bytes, 'x')});
  };
  EXPECT_EQ(post(750).status, 200);
  const HttpReply refused = post(751);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(code_of(refused), "gateway.overloaded");
  EXPECT_EQ(post(750).status, 200) << "it was given back";

  // Announced bytes take no budget; received bytes do, except for a reserved part.
  auto slow = wire::RawSocket::connect(address_);
  slow.send(
      "POST /v1/gateway/x HTTP/1.1\r\nHost: h\r\nContent-Length: 900\r\n"
      "Expect: 100-continue\r\n\r\n");
  ASSERT_TRUE(slow.read_past("100 Continue\r\n\r\n")) << "it is being read";
  EXPECT_EQ(post(750).status, 200);
  slow.send(std::string(700, 'x'));
  int status = 200;
  for (int at = 0; at < 10'000 && status == 200; ++at) status = post(100).status;
  EXPECT_EQ(status, 503);
  EXPECT_EQ(post(100, {"Authorization: Bearer  bad"}).status, 503);
  EXPECT_EQ(post(100, {"Authorization: Bearer suspended"}).status, 503);
  EXPECT_EQ(post(100, {"Authorization: Bearer  good"}).status, 200);
  EXPECT_EQ(post(251, {"Authorization: Bearer good"}).status, 503);
}

TEST_F(ApiHostTest, ClientRequestIdsOutOfFormAreDropped) {
  for (const std::string& id :
       {std::string(129, 'a'), std::string("a b"), std::string("a/b"), std::string("\xC3\xA9")}) {
    const HttpReply reply = get("/v1/gateway/echo", {"X-Request-Id: " + id});
    ASSERT_EQ(reply.status, 200);
    EXPECT_EQ(json::parse(reply.body)["client_request_id"], "") << id;
  }
  const HttpReply longest = get("/v1/gateway/echo", {"X-Request-Id: " + std::string(128, 'a')});
  EXPECT_EQ(json::parse(longest.body)["client_request_id"], std::string(128, 'a'));
}

TEST_F(ApiHostTest, IdempotencyKeysAreBoundedAndSingle) {
  EXPECT_EQ(get("/v1/gateway/echo", {"Idempotency-Key: " + std::string(255, 'k')}).status, 200);
  for (const std::vector<std::string>& headers :
       {std::vector<std::string>{"Idempotency-Key: " + std::string(256, 'k')},
        {"Idempotency-Key: a", "Idempotency-Key: a"},
        {"Idempotency-Key: \xC3\xA9"},
        {"Idempotency-Key:"}}) {
    const HttpReply reply = get("/v1/gateway/echo", headers);
    EXPECT_EQ(reply.status, 400) << headers[0];
    EXPECT_EQ(code_of(reply), "request.malformed");
  }
}

TEST_F(ApiHostTest, BodiesOverTheBoundAreRefused) {
  EXPECT_EQ(call({.method = "POST",
                  .target = "/v1/gateway/echo",
                  .headers = {},
                  .body = std::string(1024, 'x')})
                .status,
            200);
  const HttpReply reply = call({.method = "POST",
                                .target = "/v1/gateway/echo",
                                .headers = {},
                                .body = std::string(1025, 'x')});
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(code_of(reply), "request.body_too_large");
}

TEST_F(ApiHostTest, EveryErrorCodeIsRendered) {
  for (const base::ErrorInfo& info : base::all_errors()) {
    const HttpReply reply = get("/v1/gateway/refuse/" + std::string(info.name));
    EXPECT_EQ(reply.status, hosts::call_status(info.code)) << info.name;
    EXPECT_EQ(code_of(reply), info.name);
    const json error = json::parse(reply.body)["error"];
    const bool can_wait = info.advice == base::Advice::after_delay;
    EXPECT_EQ(error["fault"], base::name_of(info.fault));
    EXPECT_EQ(error["retry"]["advice"], base::name_of(info.advice));
    EXPECT_EQ(reply.header("retry-after"), can_wait ? "7" : "") << info.name;
    EXPECT_EQ(error["retry"].contains("after_seconds"), can_wait) << info.name;
    // oauth.invalid_client gets no challenge, since the caller is a client of the authorization
    // server.
    const bool has_challenge =
        reply.status == 401 && info.code != base::ErrorCode::oauth_invalid_client;
    EXPECT_EQ(!reply.header("www-authenticate").empty(), has_challenge) << info.name;
    EXPECT_EQ(reply.header("turnpike-reply-from"), "gateway");
    EXPECT_EQ(reply.header("turnpike-generation"), "gen_1");
    EXPECT_EQ(reply.header("turnpike-credits-charged"), "") << "no lane, no charge";
    EXPECT_EQ(reply.header("cache-control"), "no-store");
    const LoggedRequest logged = access_log_.wait_for(reply.header("x-request-id"));
    EXPECT_EQ(logged.error, info.code);
    EXPECT_EQ(logged.reason, "plugin acme: nobody listens");
    EXPECT_THAT(reply.body, Not(HasSubstr("nobody listens"))) << "for the operator alone";
  }
}

TEST_F(ApiHostTest, HeadOnAGatewayRouteIs405) {
  const HttpReply reply = call({.method = "HEAD", .target = "/v1/gateway/reply"});
  EXPECT_EQ(reply.status, 405);
  EXPECT_EQ(reply.header("allow"), "GET");
  EXPECT_TRUE(reply.body.empty());
}

TEST_F(ApiHostTest, ALanesOwnAnswerReplacesTheEnvelope) {
  const HttpReply reply = get("/v1/gateway/challenge");
  EXPECT_EQ(reply.status, 402);
  EXPECT_EQ(reply.body, R"({"x402Version":2})");
  EXPECT_EQ(reply.header("payment-required"), "e30=");
  EXPECT_EQ(reply.header("turnpike-lane"), "x402");
}

TEST_F(ApiHostTest, LongRepliesAreStreamedWhole) {
  HttpReply reply = get("/v1/gateway/long");
  EXPECT_TRUE(reply.is_whole);
  EXPECT_EQ(reply.body, std::string(30'000, 'x'));
  EXPECT_EQ(reply.header("content-length"), "30000");
  EXPECT_EQ(reply.header("turnpike-credits-charged"), "1");
  reply = get("/v1/gateway/chunked");
  EXPECT_TRUE(reply.is_whole);
  EXPECT_EQ(reply.body, std::string(30'000, 'x'));
}

TEST_F(ApiHostTest, ACutReplyNeverLooksWhole) {
  for (const char* target : {"/v1/gateway/cut", "/v1/gateway/cut-chunked"}) {
    const HttpReply reply = get(target);
    EXPECT_FALSE(reply.is_whole) << target;
    EXPECT_LT(reply.body.size(), 30'000u) << target;
    if (reply.status != 0) {
      EXPECT_FALSE(access_log_.wait_for(reply.header("x-request-id")).is_whole);
    }
  }
}

TEST_F(ApiHostTest, WhenTheCallerIsGoneNothingIsSent) {
  const HttpReply reply = get("/v1/gateway/gone");
  EXPECT_EQ(reply.status, 0);
  const LoggedRequest logged = access_log_.wait_for("");
  EXPECT_EQ(logged.status, 0);
  EXPECT_FALSE(logged.is_whole);
}

TEST_F(ApiHostTest, AnExceptionIs500AndTellsNothing) {
  const HttpReply reply = get("/v1/gateway/throw");
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(code_of(reply), "gateway.internal");
  EXPECT_THAT(reply.body, Not(HasSubstr("secret")));
  EXPECT_THAT(access_log_.wait_for(reply.header("x-request-id")).reason, HasSubstr("secret"));
  EXPECT_EQ(get("/healthz").status, 200) << "the host goes on";
}

TEST_F(ApiHostTest, ManyUpstreamHeadersPassAndNoSharedCacheMayKeepThem) {
  const HttpReply reply = get("/v1/gateway/many-headers");
  EXPECT_EQ(reply.status, 200);
  for (int at = 0; at < 90; ++at) {
    EXPECT_EQ(reply.header("x-upstream-" + std::to_string(at)), "v");
  }
  EXPECT_EQ(reply.header("cache-control"), "private, max-age=60");
  EXPECT_EQ(reply.header("turnpike-generation"), "gen_1");
  const std::set<std::string> lines(reply.header_lines.begin(), reply.header_lines.end());
  EXPECT_EQ(lines.size(), reply.header_lines.size()) << "no field twice";
}

TEST_F(ApiHostTest, WhatAnUpstreamAllowsSharedCachesHoldsForNoReply) {
  const std::pair<const char*, const char*> cases[] = {
      {"public,max-age=9", "private, max-age=9"},
      {"s-maxage=9,no-transform,,PUBLIC", "private, no-transform"},
      {"private,max-age=5", "private, max-age=5"},
      {"privateer", "private, privateer"},
      {"no-store", "private, no-store"},
      {"private=\"x\",public", "private, no-store"},
      {"", "private, no-store"}};
  for (const auto& [said, expected] : cases) {
    const HttpReply reply = get("/v1/gateway/caching?" + std::string(said));
    EXPECT_EQ(reply.header("cache-control"), expected) << said;
  }
}

TEST_F(ApiHostTest, EveryRequestHasAnIdOfItsOwn) {
  std::set<std::string> ids;
  for (int at = 0; at < 50; ++at) ids.insert(get("/healthz").header("x-request-id"));
  EXPECT_EQ(ids.size(), 50u);
}

// ---- browsers -----------------------------------------------------------------------------------

TEST_F(ApiHostTest, PreflightsAreAnsweredHere) {
  for (const char* target : {"/v1/gateway/throw", "/v1/capabilities", "/nothing"}) {
    const HttpReply reply =
        call({.method = "OPTIONS",
              .target = target,
              .headers = {"Origin: https://app.example", "Access-Control-Request-Method: POST"}});
    EXPECT_EQ(reply.status, 204) << target;
    EXPECT_EQ(reply.header("access-control-allow-origin"), "https://app.example");
    EXPECT_EQ(reply.header("access-control-allow-methods"), reply.header("allow"));
    EXPECT_THAT(reply.header("access-control-allow-headers"), HasSubstr("Authorization"));
  }
  const HttpReply other = call({.method = "OPTIONS",
                                .target = "/v1/gateway/reply",
                                .headers = {"Origin: https://evil.example"}});
  EXPECT_EQ(other.status, 204);
  EXPECT_EQ(other.header("access-control-allow-origin"), "");
}

TEST_F(ApiHostTest, AllowedOriginsSeeRepliesAndErrors) {
  for (const char* target : {"/v1/gateway/reply", "/v1/gateway/refuse/auth.credential_invalid",
                             "/v1/gateway/long", "/healthz", "/nothing"}) {
    const HttpReply reply = get(target, {"Origin: https://app.example"});
    EXPECT_EQ(reply.header("access-control-allow-origin"), "https://app.example") << target;
    EXPECT_THAT(reply.header("access-control-expose-headers"), HasSubstr("X-Request-Id"));
    EXPECT_EQ(get(target, {"Origin: https://evil.example"}).header("access-control-allow-origin"),
              "");
  }
}

// ---- what the wire refuses ----------------------------------------------------------------------

TEST_F(ApiHostTest, RefusalsOfTheWireHaveTheEnvelope) {
  const HttpReply reply = get("/healthz", {"Bad Header: x"});
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(code_of(reply), "request.malformed");
  const HttpReply too_long = get("/" + std::string(base::limits::request_path_bytes_max, 'a'));
  EXPECT_EQ(too_long.status, 414);
  EXPECT_EQ(code_of(too_long), "request.target_too_long");
}

}  // namespace
}  // namespace turnpike::tests

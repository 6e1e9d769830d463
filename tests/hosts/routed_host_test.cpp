// Features of the kit of hosts beyond those that today's hosts use, over real sockets, on a host
// built from a table of rows: forms, raw bodies, cookies, pages, redirects, validators, all kinds
// of callers, and refusals in every form.
#include "hosts/routed_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hosts/cookie.h"
#include "hosts/form.h"
#include "hosts/host_fixture.h"
#include "hosts/openapi_frame.h"
#include "hosts/page.h"

namespace turnpike::hosts {
namespace {

using base::ErrorCode;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using tests::HttpReply;

constexpr std::string_view own_origin = "https://here.example";

struct Rooms {
  const Cookie& session;
  const Origins& partners;
};

void echo_form(const Rooms&, Turn& turn, const Asked& asked) {
  const std::string body =
      json{{"a", asked.form.find("a").value_or("(none)")}, {"fields", asked.form.size()}}.dump();
  turn.reply({.body = body});
}

void echo_raw(const Rooms&, Turn& turn, const Asked& asked) {
  const std::string body = json{
      {"method", turn.request.method()},
      {"plugin", asked.parameters[0]},
      {"path", asked.parameters[1]},
      {"query", turn.request.query()},
      {"signature", turn.request.find("x-signature").value_or("")},
      {"body", asked.body}}.dump();
  turn.reply({.status = 202, .body = body});
}

void go(const Rooms& rooms, Turn& turn, const Asked& asked) {
  const auto to = Location::read(asked.query.find("to").value_or("/"), rooms.partners);
  if (!to) {
    turn.refuse({ErrorCode::request_malformed, "There is nothing to go on to."});
    return;
  }
  ReplyFields fields;
  const std::string cookie = rooms.session.set("ses_1", 60);
  fields.add("Set-Cookie", cookie);
  turn.redirect(*to, fields);
}

void who(const Rooms&, Turn& turn, const Asked& asked) {
  turn.reply({.body = text_of(*asked.caller)});
}

constexpr Parameter to_query[] = {
    {.name = "to", .description = "Where.", .schema = R"({"type":"string"})"}};

constexpr Route<Rooms> routes[] = {
    {.facts = {.method = "GET",
               .path = "/page",
               .endpoint = "page",
               .answers_head = true,
               .cache_control = "private, no-cache",
               .has_etag = true,
               .page_policy = page_policy,
               .refusal_form = as_page},
     .answer =
         [](const Rooms&, Turn& turn, const Asked&) {
           turn.reply({.content_type = page_type, .body = "<!doctype html><title>A</title>"});
         }},
    {.facts = {.method = "POST",
               .path = "/form",
               .endpoint = "form",
               .body = BodyForm::form,
               .body_bytes_max = 64,
               .form_fields_max = 2,
               .described = {.operation_id = "sendForm", .tag = "Test", .body_schema = "Form"}},
     .answer = echo_form},
    {.facts = {.method = "POST",
               .path = "/token",
               .endpoint = "token",
               .body = BodyForm::form,
               .body_bytes_max = 64,
               .takes_any_origin = true,
               .refusal_form = as_oauth_error},
     .answer = echo_form},
    {.facts = {.method = "POST",
               .path = "/plugins/{name}/{path...}",
               .endpoint = "plugin",
               .takes_any_query = true,
               .body = BodyForm::raw,
               .body_bytes_max = 64,
               .takes_any_origin = true,
               .takes_any_method = true,
               .described = {.operation_id = "hook", .tag = "Test"}},
     .answer = echo_raw},
    {.facts = {.method = "GET", .path = "/go", .endpoint = "go", .query = to_query}, .answer = go},
    {.facts = {.method = "GET",
               .path = "/me",
               .endpoint = "me",
               .callers = Callers::person(),
               .cache_control = "private, no-store",
               .described = {.operation_id = "getMe", .tag = "Test"}},
     .answer = who},
    {.facts = {.method = "PATCH",
               .path = "/me",
               .endpoint = "me",
               .callers = Callers::person(),
               .body = BodyForm::json,
               .body_bytes_max = 64,
               .cache_control = "private, no-store"},
     .answer = who},
    {.facts = {.method = "POST",
               .path = "/correct",
               .endpoint = "correct",
               .callers = Callers::operators(identity::Authority::usage_correct),
               .takes_any_origin = true},
     .answer = who},
};

const CookieFacts session_cookie{.name = "__Host-session"};

// A person has a session in a cookie or as "Bearer s-..."; "Bearer op" is an operator without
// authorities, "Bearer corrector" one with the authority, "Bearer key" an API key.
Result<Caller, base::Error> authenticate(const Cookie& cookie, Headers headers) {
  using identity::make_principal;
  auto session = cookie.read(headers);
  if (!session.ok()) return std::move(session).error();
  const identity::Bearer bearer = identity::read_bearer(headers);
  if (*session || bearer.token.starts_with("s-")) {
    return make_principal({.kind = PrincipalKind::person,
                           .standing = identity::Standing::signed_in,
                           .id = session->value_or(bearer.token)});
  }
  if (bearer.token == "key") return make_principal({.id = "k", .account_id = "acc"});
  if (bearer.token == "op") {
    return make_principal({.kind = PrincipalKind::operator_credential, .id = "o"});
  }
  if (bearer.token == "corrector") {
    return make_principal({.kind = PrincipalKind::operator_credential,
                           .authorities = {identity::Authority::usage_correct},
                           .id = "c"});
  }
  return base::Error{ErrorCode::auth_credential_required, "Who are you?"};
}

HostRules rules_with(const Cookie& cookie) {
  return {
      .cors = Cors(Origins({}), {}),
      .authenticates = {PrincipalKind::person, PrincipalKind::operator_credential},
      .authenticate =
          [&cookie](const Presented& presented) { return authenticate(cookie, presented.headers); },
      .own_origin = std::string(own_origin)};
}

class TableHost final : public wire::Handler {
 public:
  TableHost(const HostParts& parts, const Cookie& cookie, const Origins& partners)
      : rooms_{cookie, partners},
        host_(parts, bind_routes<Rooms>(routes, rooms_), rules_with(cookie)) {}
  void handle(wire::Request& request, wire::Responder& responder) noexcept override {
    host_.handle(request, responder);
  }
  void refuse(const base::Error& error, wire::Request& request,
              wire::Responder& responder) noexcept override {
    host_.refuse(error, request, responder);
  }

 private:
  const Rooms rooms_;
  RoutedHost host_;
};

class RoutedHostTest : public tests::HostFixture {
 protected:
  void SetUp() override {
    runtime_ = std::make_unique<runtime::Runtime>(runtime::RuntimeOptions{});
    table_host_ = std::make_unique<TableHost>(HostParts{*runtime_, clock_, random_, access_log_},
                                              cookie_, partners_);
    server_ = wire::make_server(*runtime_, {}, *log_);
    const auto started =
        server_->start({{.name = "t", .address = "127.0.0.1:0", .handler = table_host_.get()}});
    ASSERT_TRUE(started.ok()) << started.error();
    address_ = (*started)[0].address;
  }
  void TearDown() override {
    HostFixture::TearDown();
    table_host_.reset();
  }
  HttpReply post_form(const std::string& target, const std::string& body,
                      const std::string& header = "Origin: https://here.example") {
    return call(
        {.method = "POST",
         .target = target,
         .headers = {"Content-Type: application/x-www-form-urlencoded; charset=utf-8", header},
         .body = body});
  }

  const Cookie cookie_{session_cookie};
  const Origins partners_{{"https://partner.example"}};
  std::unique_ptr<TableHost> table_host_;
};

TEST_F(RoutedHostTest, AFormIsReadIntoItsFields) {
  const HttpReply reply = post_form("/form", "a=1+%2B+%C3%A9&b=");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(json::parse(reply.body), json({{"a", "1 + é"}, {"fields", 2}}));
  EXPECT_EQ(reply.header("cache-control"), "no-store");
}

TEST_F(RoutedHostTest, WhatIsNoFormOfTheRowIsRefused) {
  EXPECT_EQ(code_of(post_form("/form", "a=1&a=2")), "request.body_rejected");
  EXPECT_EQ(code_of(post_form("/form", "a=1&b=2&c=3")), "request.body_rejected");
  const HttpReply long_one = post_form("/form", "a=" + std::string(63, 'x'));
  EXPECT_EQ(long_one.status, 413);
  EXPECT_EQ(code_of(long_one), "request.body_too_large");
  const HttpReply json_one =
      call({.method = "POST",
            .target = "/form",
            .headers = {"Content-Type: application/json", "Origin: https://here.example"},
            .body = "{}"});
  EXPECT_EQ(json_one.status, 415);
  EXPECT_EQ(code_of(json_one), "request.media_type_rejected");
  EXPECT_THAT(json_one.body, HasSubstr("application/x-www-form-urlencoded"));
  const HttpReply coded =
      call({.method = "POST",
            .target = "/form",
            .headers = {"Content-Type: application/x-www-form-urlencoded", "Content-Encoding: gzip",
                        "Origin: https://here.example"},
            .body = "a=1"});
  EXPECT_EQ(code_of(coded), "request.content_coding_rejected");
}

// Cookies are sent only by browsers, and browsers state the origin of a request.
TEST_F(RoutedHostTest, OnAHostWithCookiesOnlyItsOwnPagesChangeAnything) {
  EXPECT_EQ(post_form("/form", "a=1", "Sec-Fetch-Site: same-origin").status, 200);
  for (const char* header :
       {"X-None: 1", "Origin: https://evil.example", "Origin: null", "Origin: http://here.example",
        "Origin: https://here.example:8404", "Sec-Fetch-Site: same-site",
        "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: none",
        "Origin: https://evil.example\r\nSec-Fetch-Site: same-origin",
        "Origin: https://here.example\r\nOrigin: https://evil.example"}) {
    const HttpReply reply = post_form("/form", "a=1", header);
    EXPECT_EQ(reply.status, 403) << header;
    EXPECT_EQ(code_of(reply), "auth.origin_rejected") << header;
  }
  EXPECT_EQ(get("/me", {"Cookie: __Host-session=p", "Origin: https://evil.example"}).status, 200)
      << "reading changes nothing, and pages of other origins see nothing of the reply";
  EXPECT_EQ(post_form("/token", "a=1", "Origin: https://evil.example").status, 200)
      << "the row needs no cookie";
}

TEST_F(RoutedHostTest, ARawBodyComesAsItWasSent) {
  const HttpReply reply = call(
      {.method = "PUT",
       .target = "/plugins/card/events/1?b=%7E&b",
       .headers = {"Content-Type: application/x-thing", "Content-Encoding: gzip", "X-Signature: s"},
       .body = "not gzip"});
  EXPECT_EQ(reply.status, 202) << reply.body;
  EXPECT_EQ(json::parse(reply.body), json({{"method", "PUT"},
                                           {"plugin", "card"},
                                           {"path", "events/1"},
                                           {"query", "b=%7E&b"},
                                           {"signature", "s"},
                                           {"body", "not gzip"}}));
  EXPECT_EQ(get("/plugins/card/").status, 202) << "neither a body nor a rest of the path";
  const HttpReply long_one = call(
      {.method = "POST", .target = "/plugins/card/x", .headers = {}, .body = std::string(65, 'x')});
  EXPECT_EQ(code_of(long_one), "request.body_too_large");
}

TEST_F(RoutedHostTest, APageHasTheFieldsThatKeepItToItself) {
  const HttpReply page = get("/page");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.header("cache-control"), "private, no-cache");
  const HttpReply unchanged = get("/page", {"If-None-Match: " + page.header("etag")});
  EXPECT_EQ(unchanged.status, 304);
  EXPECT_EQ(unchanged.body, "");
  const HttpReply refused = get("/page?x=1");
  EXPECT_EQ(refused.status, 400);
  for (const HttpReply& reply : {page, unchanged, refused}) {
    EXPECT_THAT(reply.header("content-security-policy"), HasSubstr("default-src 'none'"));
    EXPECT_THAT(reply.header("content-security-policy"), HasSubstr("frame-ancestors 'none'"));
    EXPECT_THAT(reply.header("content-security-policy"), Not(HasSubstr("unsafe")));
    EXPECT_EQ(reply.header("x-content-type-options"), "nosniff");
    EXPECT_EQ(reply.header("x-frame-options"), "DENY");
    EXPECT_EQ(reply.header("strict-transport-security"), "max-age=31536000");
    EXPECT_EQ(reply.header("referrer-policy"), "same-origin")
        << "with no-referrer the page's own forms would be of no origin";
  }
}

TEST_F(RoutedHostTest, RefusalsHaveTheFormOfTheRowAndOneHead) {
  const HttpReply page = get("/page?%3Cscript%3E=1");
  EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.header("cache-control"), "no-store") << "what is kept of the page is not of this";
  EXPECT_THAT(page.body, Not(HasSubstr("<script>")));
  EXPECT_THAT(page.body, HasSubstr(page.header("x-request-id")));
  EXPECT_FALSE(page.header("etag").size());

  const HttpReply oauth = post_form("/token", "a=1&a=2");
  EXPECT_EQ(oauth.status, 400);
  EXPECT_EQ(oauth.header("cache-control"), "no-store");
  const json error = json::parse(oauth.body);
  EXPECT_EQ(error["error"], "invalid_request");
  EXPECT_EQ(error.size(), 2u);
  EXPECT_TRUE(error["error_description"].is_string());

  const HttpReply wrong_method = get("/token");
  EXPECT_EQ(wrong_method.status, 405);
  EXPECT_EQ(wrong_method.header("allow"), "POST, OPTIONS");
  EXPECT_EQ(json::parse(wrong_method.body)["error"], "invalid_request");

  const HttpReply private_one = get("/me");
  EXPECT_EQ(code_of(private_one), "auth.credential_required");
  EXPECT_EQ(private_one.header("cache-control"), "private, no-store");
  EXPECT_THAT(private_one.header("www-authenticate"), HasSubstr("Bearer"));
}

TEST_F(RoutedHostTest, ACallerIsOfTheKindThatTheRowTakes) {
  EXPECT_EQ(get("/me", {"Cookie: other={\"a\": 1}; __Host-session=p1; z"}).body, "user:p1");
  EXPECT_EQ(get("/me", {"Authorization: Bearer s-2"}).body, "user:s-2");
  const HttpReply key = get("/me", {"Authorization: Bearer key"});
  EXPECT_EQ(key.status, 403);
  EXPECT_EQ(code_of(key), "auth.human_required");
  EXPECT_EQ(code_of(get("/me", {"Cookie: __Host-session=a; __Host-session=b"})),
            "request.malformed");

  const auto correct = [&](const std::string& token) {
    return call(
        {.method = "POST", .target = "/correct", .headers = {"Authorization: Bearer " + token}});
  };
  EXPECT_EQ(correct("corrector").body, "operator:c");
  EXPECT_EQ(code_of(correct("op")), "auth.authority_missing");
  EXPECT_EQ(code_of(correct("s-1")), "auth.credential_invalid");
}

TEST_F(RoutedHostTest, ARedirectLeadsNowhereElse) {
  const HttpReply reply = get("/go?to=/account%3Fa=1");
  EXPECT_EQ(reply.status, 303);
  EXPECT_EQ(reply.header("location"), "/account?a=1");
  EXPECT_EQ(reply.header("set-cookie"),
            "__Host-session=ses_1; Path=/; Max-Age=60; Secure; HttpOnly; SameSite=Lax");
  EXPECT_EQ(reply.body, "");
  EXPECT_EQ(get("/go?to=https://partner.example/x").header("location"),
            "https://partner.example/x");
  EXPECT_EQ(get("/go?to=https://evil.example/").status, 400);
}

TEST_F(RoutedHostTest, ItsOpenApiDocumentTellsBodiesAndCallers) {
  std::vector<const RouteFacts*> facts;
  for (const auto& route : routes) facts.push_back(&route.facts);
  const json document = json::parse(openapi_frame(R"({"components": {}})", facts));
  const json form = document["paths"]["/form"]["post"]["requestBody"];
  EXPECT_EQ(form["required"], true);
  EXPECT_EQ(form["content"][std::string(form_type)]["schema"]["$ref"], "#/components/schemas/Form");
  const json raw = document["paths"]["/plugins/{name}/{path...}"]["post"]["requestBody"];
  EXPECT_EQ(raw["required"], false);
  EXPECT_TRUE(raw["content"].contains("*/*"));
  const json me = document["paths"]["/me"]["get"];
  EXPECT_FALSE(me.contains("requestBody"));
  EXPECT_EQ(me["security"], json::parse(R"([{"Session": []}])"));
}

class RowsTest : public testing::Test {
 protected:
  void refuse(const RouteFacts& facts, const HostRules& rules, const std::string& why) {
    try {
      RouteTable table({&facts}, rules, access_log_);
      ADD_FAILURE() << "the row was taken";
    } catch (const std::logic_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  }
  const Cookie cookie_{session_cookie};
  tests::RecordingAccessLog access_log_;
};

TEST_F(RowsTest, ARowThatCannotWorkEndsTheStart) {
  const HostRules nobody{.cors = Cors(Origins({}), {})};
  for (const Callers callers : {Callers::api_key(), Callers::account(), Callers::person(),
                                Callers::operators(identity::Authority::usage_correct)}) {
    refuse({.method = "GET", .path = "/", .endpoint = "a", .callers = callers}, nobody,
           "nobody authenticates");
  }
  refuse({.method = "GET", .path = "/", .endpoint = "a", .callers = Callers::account()},
         rules_with(cookie_), "nobody authenticates");
  refuse({.method = "POST", .path = "/", .endpoint = "a", .body = BodyForm::raw}, nobody,
         "has no bound");
  refuse({.method = "POST",
          .path = "/",
          .endpoint = "a",
          .callers = Callers::person(),
          .takes_any_origin = true},
         rules_with(cookie_), "any origin could act for a person");
}

}  // namespace
}  // namespace turnpike::hosts

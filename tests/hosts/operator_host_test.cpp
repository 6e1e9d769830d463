// The operator host over real sockets and a real database: every status of the corrections route,
// the console, and the routes for texts on the status.
#include "hosts/operator/operator_host.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "base/log.h"
#include "base/sources.h"
#include "hosts/host_fixture.h"
#include "hosts/http_client.h"
#include "hosts/operator/status_words.h"
#include "identity/token.h"
#include "storage/engine/database.h"
#include "support/paths.h"
#include "support/stores.h"
#include "text/time_text.h"

namespace turnpike::tests {
namespace {

using base::ErrorCode;
using nlohmann::json;

// Forwards corrections unless told to fail.
class FailingCorrections final : public ledger::CorrectionStore {
 public:
  explicit FailingCorrections(ledger::CorrectionStore& real) : real_(real) {}
  std::atomic<bool> fails = false;
  Result<std::vector<ledger::MadeCorrection>, base::Error> list(
      const ledger::CorrectionQuery& query) override {
    return real_.list(query);
  }
  Result<ledger::Correction, base::Error> correct(
      const ledger::CorrectionRequest& request) override {
    if (!fails) return real_.correct(request);
    return base::Error{ErrorCode::billing_ledger_unavailable, "Made by the test.", 1};
  }

 private:
  ledger::CorrectionStore& real_;
};

// The process's own facts, scripted.
class ScriptedConsole final : public hosts::operators::ConsoleSource {
 public:
  std::int64_t started_at_ms() const override { return 1; }
  std::vector<std::string> warnings() const override { return {"a <b>warning</b>"}; }
  std::vector<ledger::OpenCall> unknown_calls(std::size_t) const override {
    return {{{"acc_1", "m<1>", 7}, 125'000}};
  }
  hosts::operators::RegistryNews news() const override { return {}; }
  std::string stream() const override { return "st_1"; }
  std::vector<hosts::operators::UpstreamNow> upstreams() const override { return {}; }
  Result<hosts::operators::ProgramChanges, base::Error> changes(std::string_view,
                                                                std::string_view) const override {
    return base::Error{ErrorCode::request_not_found, "There is none."};
  }
};

class OperatorHostTest : public testing::Test {
 protected:
  void SetUp() override {
    node_ = store_.open();
    corrections_.emplace(node_->corrections());
    operators_.emplace(node_->operators(), identity::Environment::development, store_.clock,
                       store_.random);
    const auto created = operators_->create("Ops", {identity::Authority::usage_correct});
    secret_ = created->secret;
    operator_id_ = created->credential.id;
    runtime_ = std::make_unique<runtime::Runtime>(runtime::RuntimeOptions{.loops = 2});
    auto site = site::Site::load({.directory = support::source_path("site")});
    ASSERT_TRUE(site.ok()) << site.error();
    pages_.emplace(hosts::Pages::Parts{backend_, nullptr, clock_, {}}, *std::move(site));
    host_.emplace(hosts::operators::OperatorHostParts{
        *runtime_, *metrics_, *operators_, *corrections_, node_->status(),
        {*pages_, backend_, console_, node_->audit(), node_->accounts(), node_->keys(),
         node_->members(), node_->ledger(), node_->usage(), node_->reports(), node_->manifest()},
        clock_, random_, *log_, *access_log_});
    server_ = wire::make_server(*runtime_, {}, *log_);
    const auto started =
        server_->start({{.name = "operator", .address = "127.0.0.1:0", .handler = &*host_}});
    ASSERT_TRUE(started.ok()) << started.error();
    address_ = (*started)[0].address;
    charge("m1", 5);
  }
  void TearDown() override {
    if (server_) server_->drain(std::chrono::milliseconds(2'000));
    server_.reset();
    runtime_->stop(runtime::Deadline::after_ms(2'000), runtime::Deadline::never());
  }

  void charge(const std::string& message, ledger::Credits units) {
    const auto account = node_->accounts().create("Test");
    ASSERT_TRUE(node_->accounts().activate(account->id, {100, 86'400'000}).ok());
    account_ = account->id;
    ASSERT_TRUE(node_->ledger().start().ok());
    const ledger::LeaseRequest requests[] = {
        {.account_id = account_, .calls = {units}, .hold_ms = 30'000, .settle_ms = 90'000}};
    const auto answers = node_->ledger().open_leases()->acquire(requests);
    ASSERT_TRUE(answers.ok());
    const ledger::LeaseGrant& grant = answers->front().grants.at(0);
    const std::vector<ledger::LeaseShare> shares{{grant.lease_id, grant.epoch, units}};
    ledger::UsageFact fact;
    fact.message_id = message;
    fact.account_id = account_;
    const ledger::SettleEntry entries[] = {{&fact, shares}};
    ASSERT_TRUE((*node_->ledger().open_stream())->settle(1, entries)->committed());
  }

  [[nodiscard]] std::string path(const std::string& message = "m1") const {
    return "/internal/v1/billing-accounts/" + account_ + "/usage/" + message + "/corrections";
  }
  static json body() {
    return {{"reason", "too slow"}, {"kind", "refund"}, {"credits", "3"}, {"reference", "T-1"}};
  }
  [[nodiscard]] std::vector<std::string> headers(const std::string& key = "k1") const {
    return {"Authorization: Bearer " + secret_, "Idempotency-Key: " + key,
            "Content-Type: application/json"};
  }
  HttpReply correct(const json& body, const std::string& key = "k1") {
    return call({"POST", path(), headers(key), body.dump()});
  }
  HttpReply call(const HttpCall& what) { return http_call(address_, what); }

  // Checks the status and the common headers of a refusal, and returns its code.
  std::string refusal(const HttpReply& reply, int status) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(reply.header("content-type"), "application/json");
    EXPECT_EQ(reply.header("cache-control"), "no-store");
    EXPECT_EQ(reply.header("www-authenticate").empty(), status != 401);
    const json error = json::parse(reply.body).at("error");
    EXPECT_EQ(error.at("request_id"), reply.header("x-request-id"));
    return error.at("code");
  }
  // The locations of the problems in a 400.
  static std::vector<std::string> locations(const HttpReply& reply) {
    std::vector<std::string> all;
    const json envelope = json::parse(reply.body);
    for (const json& field : envelope.at("error").at("fields")) {
      all.push_back(field.at("location"));
    }
    return all;
  }

  support::TestStore store_{storage::Engine::sqlite};
  base::SystemClock clock_;
  base::SystemRandom random_;
  std::unique_ptr<base::Log> log_ = base::make_silent_log();
  std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  std::unique_ptr<hosts::AccessLog> access_log_ = hosts::make_access_log(*log_, *metrics_);
  std::unique_ptr<storage::Node> node_;
  std::optional<FailingCorrections> corrections_;
  ScriptedBackend backend_;
  ScriptedConsole console_;
  std::optional<hosts::Pages> pages_;
  std::optional<identity::Operators> operators_;
  std::unique_ptr<runtime::Runtime> runtime_;
  std::optional<hosts::operators::OperatorHost> host_;
  std::unique_ptr<wire::Server> server_;
  std::string address_;
  std::string secret_;
  std::string operator_id_;
  std::string account_;
};

TEST_F(OperatorHostTest, AReceiptTellsWhatWasRestoredAndByWhom) {
  const HttpReply reply = correct(body());
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.header("cache-control"), "no-store");
  EXPECT_TRUE(base::is_uuid(reply.header("x-request-id")));
  const json receipt = json::parse(reply.body);
  EXPECT_EQ(receipt.size(), 7u);
  EXPECT_TRUE(receipt.at("correctionId").get<std::string>().starts_with("cor_"));
  EXPECT_EQ(receipt.at("originalMessageId"), "m1");
  EXPECT_EQ(receipt.at("kind"), "refund");
  EXPECT_EQ(receipt.at("creditsRestored"), "3");
  EXPECT_TRUE(receipt.at("allocationId").get<std::string>().starts_with("alc_"));
  EXPECT_EQ(receipt.at("recordedAt"), text::rfc3339(store_.clock.now_ms()));
  EXPECT_EQ(receipt.at("operatorId"), operator_id_);
  EXPECT_EQ(node_->ledger().balance(account_)->credits, 98);
}

TEST_F(OperatorHostTest, ARepeatGivesTheSameReceiptByteForByte) {
  const HttpReply first = correct(body());
  store_.clock.move_ms(60'000);
  const HttpReply second = correct(body());
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(node_->ledger().balance(account_)->credits, 98);
}

TEST_F(OperatorHostTest, WithoutAnOperatorCredentialItIs401) {
  const auto refused = [&](const std::string& header) {
    std::vector<std::string> sent = headers();
    sent[0] = header;
    return refusal(call({"POST", path(), sent, body().dump()}), 401);
  };
  EXPECT_EQ(refused("X-None: 1"), "auth.credential_required");
  EXPECT_EQ(refused("Authorization: Basic " + secret_), "auth.credential_invalid");
  EXPECT_EQ(refused("Authorization: Bearer " + secret_ + "x"), "auth.credential_invalid");
  EXPECT_EQ(refused("Authorization: Bearer"), "auth.credential_invalid");
  EXPECT_EQ(refused("Authorization: Bearer " +
                    identity::make_token(identity::Environment::development, random_)),
            "auth.credential_invalid");
  EXPECT_EQ(refused("Authorization: Bearer " +
                    identity::make_token(identity::Environment::production, random_,
                                         identity::TokenKind::operator_credential)),
            "auth.wrong_environment");
  ASSERT_TRUE(node_->operators().revoke(operator_id_).ok());
  EXPECT_EQ(refused("Authorization: Bearer " + secret_), "auth.credential_invalid");
  EXPECT_EQ(node_->ledger().balance(account_)->credits, 95);
}

// All hosts share this rule.
TEST_F(OperatorHostTest, TheSchemeIsOfAnyCaseAndOneOrMoreSpacesFollow) {
  for (const char* scheme : {"Bearer ", "bearer ", "BEARER  ", "Bearer     "}) {
    std::vector<std::string> sent = headers();  // always the same correction
    sent[0] = "Authorization: " + std::string(scheme) + secret_;
    EXPECT_EQ(call({"POST", path(), sent, body().dump()}).status, 200) << scheme;
  }
}

// Regression: the part of a body before a NUL byte was booked as a correction.
TEST_F(OperatorHostTest, ABodyWithANulByteIsNoCorrection) {
  for (const std::string_view rest :
       {std::string_view("\0", 1), std::string_view("\0garbage{", 9)}) {
    const std::string cut = body().dump() + std::string(rest);
    EXPECT_EQ(refusal(call({"POST", path(), headers(), cut}), 400), "request.body_rejected");
  }
  EXPECT_EQ(node_->ledger().balance(account_)->credits, 95);
}

TEST_F(OperatorHostTest, TwoCredentialsAre400) {
  std::vector<std::string> sent = headers();
  sent.push_back(sent[0]);
  EXPECT_EQ(refusal(call({"POST", path(), sent, body().dump()}), 400), "auth.credential_conflict");
}

TEST_F(OperatorHostTest, WithoutTheExactAuthorityItIs403) {
  // This build creates no credential with unknown authorities, but an older or newer build may.
  storage::Database database(store_.settings());
  database.with([](storage::Connection& connection) {
    connection.run_once("UPDATE operator_credential SET authorities = 'usage.corrections usage'");
  });
  EXPECT_EQ(refusal(correct(body()), 403), "auth.authority_missing");
}

TEST_F(OperatorHostTest, AnotherPayloadUnderTheKeyIs409) {
  ASSERT_EQ(correct(body()).status, 200);
  json other = body();
  other["credits"] = "1";
  EXPECT_EQ(refusal(correct(other), 409), "idempotency.conflict");
}

TEST_F(OperatorHostTest, RestoringMoreThanWasChargedIs409) {
  ASSERT_EQ(correct(body()).status, 200);
  EXPECT_EQ(refusal(correct(body(), "k2"), 409), "billing.correction_exceeds_charge");
}

TEST_F(OperatorHostTest, UnknownMessagesAndAccountsAre404) {
  EXPECT_EQ(refusal(call({"POST", path("m9"), headers(), body().dump()}), 404),
            "billing.message_not_found");
  account_ = "acc_none";
  EXPECT_EQ(refusal(correct(body()), 404), "billing.message_not_found");
}

TEST_F(OperatorHostTest, OtherPathsAre404AndOtherMethods405) {
  for (const std::string& target :
       {std::string("/internal/v1"), path() + "/", path(""), path("a/b"), "/x" + path(),
        std::string("/internal/v1/billing-accounts//usage/m1/corrections"),
        std::string("/internal/v1/billing-accounts/corrections")}) {
    EXPECT_EQ(refusal(call({"POST", target, headers(), body().dump()}), 404), "request.not_found")
        << target;
  }
  const HttpReply get = call({"GET", path(), headers(), ""});
  EXPECT_EQ(refusal(get, 405), "request.method_not_allowed");
  EXPECT_EQ(get.header("allow"), "POST, OPTIONS");
  EXPECT_EQ(refusal(call({"POST", "/metrics", {}, ""}), 405), "request.method_not_allowed");
}

TEST_F(OperatorHostTest, QueryParametersAre400) {
  EXPECT_EQ(refusal(call({"POST", path() + "?dry_run=1", headers(), body().dump()}), 400),
            "request.query_rejected");
}

TEST_F(OperatorHostTest, TheIdempotencyKeyIsNeededOnceAndInItsForm) {
  const auto refused = [&](std::vector<std::string> keys) {
    std::vector<std::string> sent = {headers()[0], headers()[2]};
    for (const std::string& key : keys) sent.push_back("Idempotency-Key: " + key);
    const HttpReply reply = call({"POST", path(), sent, body().dump()});
    EXPECT_EQ(refusal(reply, 400), "request.malformed");
    EXPECT_EQ(locations(reply), std::vector<std::string>{"header.idempotency-key"});
  };
  refused({});
  refused({""});
  refused({"k1", "k1"});
  refused({"a b"});
  refused({std::string(256, 'k')});
  EXPECT_EQ(correct(body(), std::string(255, 'k')).status, 200);
}

TEST_F(OperatorHostTest, ABodyThatIsNoCorrectionIs400NamingEachPointer) {
  const auto refused = [&](const std::string& body) {
    const HttpReply reply = call({"POST", path(), headers(), body});
    EXPECT_EQ(refusal(reply, 400), "request.body_rejected") << body;
    return locations(reply);
  };
  using Locations = std::vector<std::string>;
  EXPECT_EQ(refused("{"), Locations{""});
  EXPECT_EQ(refused(""), Locations{""});
  EXPECT_EQ(refused("[]"), Locations{""});
  EXPECT_EQ(refused("{}"), (Locations{"/kind", "/credits", "/reason"}));
  EXPECT_EQ(refused(R"({"reason":"a","kind":"refund","credits":"1","credits":"1"})"),
            Locations{"/credits"});
  EXPECT_EQ(refused(R"({"reason":"a","kind":"refund","credits":1})"), Locations{"/credits"});
  EXPECT_EQ(refused(R"({"reason":"a","kind":"refund","credits":"1","note":"x"})"),
            Locations{"/note"});
  EXPECT_EQ(
      refused(json{{"reason", std::string(501, 'a')}, {"kind", "void"}, {"credits", "1"}}.dump()),
      Locations{"/reason"});
}

TEST_F(OperatorHostTest, ABodyIsTakenUpToItsBoundAndNoFurther) {
  std::string text = body().dump();
  text += std::string(base::limits::operator_body_bytes_max - text.size(), ' ');
  EXPECT_EQ(call({"POST", path(), headers(), text}).status, 200);
  EXPECT_EQ(refusal(call({"POST", path(), headers("k2"), text + " "}), 413),
            "request.body_too_large");
}

// Regression: both were answered with 400, and a compressed body was reported as invalid JSON.
TEST_F(OperatorHostTest, AnotherContentTypeOrCodingIs415) {
  std::vector<std::string> sent = headers();
  sent[2] = "Content-Type: text/plain";
  EXPECT_EQ(refusal(call({"POST", path(), sent, body().dump()}), 415),
            "request.media_type_rejected");
  sent = headers();
  sent.push_back("Content-Encoding: gzip");
  EXPECT_EQ(refusal(call({"POST", path(), sent, body().dump()}), 415),
            "request.content_coding_rejected");
  sent = headers();
  sent[2] = "Content-Type: Application/JSON; charset=utf-8";
  EXPECT_EQ(call({"POST", path(), sent, body().dump()}).status, 200);
}

TEST_F(OperatorHostTest, WithoutItsStoreItIs503AndSaysWhenToComeBack) {
  corrections_->fails = true;
  const HttpReply reply = correct(body());
  EXPECT_EQ(refusal(reply, 503), "billing.ledger_unavailable");
  EXPECT_EQ(reply.header("retry-after"), "1");
}

TEST_F(OperatorHostTest, ShowsMetricsFibersAndHealth) {
  EXPECT_EQ(call({"GET", "/healthz"}).body, R"({"status":"ok"})");
  EXPECT_EQ(call({"GET", "/metrics"}).status, 200);
  EXPECT_TRUE(json::parse(call({"GET", "/debug/fibers"}).body).contains("fibers"));
}

// ---- the console --------------------------------------------------------------------------------

class OperatorConsole : public OperatorHostTest {
 protected:
  void SetUp() override {
    OperatorHostTest::SetUp();
    const auto created = operators_->create(
        "Ann <script>", {identity::Authority::console_read, identity::Authority::status_annotate});
    reader_secret_ = created->secret;
    reader_id_ = created->credential.id;
  }
  HttpReply post(const std::string& target, const std::string& form,
                 std::vector<std::string> headers = {}) {
    headers.push_back("Content-Type: application/x-www-form-urlencoded");
    headers.push_back("Sec-Fetch-Site: same-origin");
    return call({"POST", target, headers, form});
  }
  // Signs in; returns the Cookie field of the new session.
  std::string sign_in() {
    const HttpReply reply = post("/console/login", "credential=" + reader_secret_);
    EXPECT_EQ(reply.status, 303) << reply.body;
    const std::string set = reply.header("set-cookie");
    EXPECT_NE(set.find("; HttpOnly"), set.npos);
    EXPECT_NE(set.find("; SameSite=Strict"), set.npos);
    EXPECT_NE(set.find("; Path=/console"), set.npos);
    return "Cookie: " + set.substr(0, set.find(';'));
  }
  HttpReply page(const std::string& cookie, const std::string& target = "/console") {
    return call({"GET", target, {cookie}});
  }
  static std::string page_token(const HttpReply& reply) {
    const std::string mark = "name=\"csrf\" content=\"";
    const std::size_t at = reply.body.find(mark) + mark.size();
    return reply.body.substr(at, reply.body.find('"', at) - at);
  }
  std::string reader_secret_;
  std::string reader_id_;
};

TEST_F(OperatorConsole, StrangersAreSentToSignInAndBack) {
  EXPECT_EQ(call({"GET", "/"}).header("location"), "/console");
  const HttpReply reply = call({"GET", "/console/ledger?account=a"});
  EXPECT_EQ(reply.status, 303);
  EXPECT_EQ(reply.header("location"),
            "/console/login?return_to=%2Fconsole%2Fledger%3Faccount%3Da");
  EXPECT_EQ(reply.header("cache-control"), "no-store");
  const HttpReply login = call({"GET", reply.header("location")});
  EXPECT_EQ(login.status, 200);
  EXPECT_NE(login.body.find("value=\"/console/ledger?account=a\""), login.body.npos);
  EXPECT_NE(login.header("content-security-policy").find("default-src 'none'"),
            std::string::npos);
  for (const char* elsewhere : {"https%3A%2F%2Fevil.example", "%2F%2Fevil.example", "%2Fmetrics",
                                "%2Fconsole%2Flogin", "%2Fconsole.evil"}) {
    EXPECT_NE(call({"GET", "/console/login?return_to=" + std::string(elsewhere)})
                  .body.find("name=\"return_to\" value=\"/console\""),
              std::string::npos)
        << elsewhere;
  }
}

TEST_F(OperatorConsole, ASessionReadsPagesAndItsSignOutEndsIt) {
  const std::string cookie = sign_in();
  const HttpReply overview = page(cookie);
  ASSERT_EQ(overview.status, 200) << overview.body;
  EXPECT_NE(overview.body.find("2 min"), overview.body.npos);
  EXPECT_NE(overview.body.find("a &lt;b&gt;warning&lt;/b&gt;"), overview.body.npos);
  EXPECT_EQ(overview.body.find("<script>"), overview.body.npos);
  EXPECT_EQ(overview.body.find(reader_secret_), overview.body.npos);
  for (const char* path : {"/console/providers", "/console/revenue", "/console/errors",
                           "/console/ledger", "/console/generations", "/console/sweeps",
                           "/console/accounts"}) {
    const HttpReply reply = page(cookie, path);
    EXPECT_EQ(reply.status, 200) << path << reply.body;
    EXPECT_EQ(reply.header("cache-control"), "no-store") << path;
  }
  EXPECT_EQ(page(cookie, "/console/accounts/" + account_).status, 200);
  EXPECT_EQ(page(cookie, "/console/accounts/acc_none").status, 404);
  EXPECT_EQ(page(cookie, "/console/none").status, 404);
  EXPECT_EQ(post("/console/sign-out", "csrf=wrong", {cookie}).status, 403);
  EXPECT_EQ(page(cookie).status, 200);
  const HttpReply out = post("/console/sign-out", "csrf=" + page_token(overview), {cookie});
  EXPECT_EQ(out.header("location"), "/console/login");
  EXPECT_EQ(page(cookie).status, 303);
  const auto events = node_->audit().list({});
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ(events->front().action, "session.end");
  EXPECT_EQ(events->back().action, "session.begin");
  EXPECT_EQ(events->back().actor.principal, "operator:" + reader_id_);
}

TEST_F(OperatorConsole, ARevokedCredentialEndsItsSessionsAtOnce) {
  const std::string cookie = sign_in();
  EXPECT_EQ(page(cookie).status, 200);
  ASSERT_TRUE(node_->operators().revoke(reader_id_).ok());
  const HttpReply reply = page(cookie);
  EXPECT_EQ(reply.status, 303);
  EXPECT_NE(reply.header("set-cookie").find("Max-Age=0"), std::string::npos);
  EXPECT_EQ(post("/console/login", "credential=" + reader_secret_).status, 401);
}

TEST_F(OperatorConsole, WrongCredentialsAreSlowedAndCountedAndNobodyIsLockedOut) {
  const std::string cookie = sign_in();
  for (int wrong = 0; wrong < 10; ++wrong) {
    EXPECT_EQ(post("/console/login", "credential=turnpike_op_v1_dev_wrong").status, 401);
  }
  EXPECT_EQ(post("/console/login", "credential=" + reader_secret_).status, 429);
  EXPECT_EQ(page(cookie).status, 200) << "who is in stays";
  store_.clock.move_ms(60'000);
  EXPECT_EQ(post("/console/login", "credential=" + reader_secret_).status, 303);
  bool is_told = false;
  const auto events = node_->audit().list({});
  for (const auto& event : *events) {
    is_told |= event.outcome == identity::AuditOutcome::refused &&
               event.method == "operator_credential";
    EXPECT_EQ(event.detail.find("turnpike_op"), std::string::npos);
  }
  EXPECT_TRUE(is_told);
}

TEST_F(OperatorConsole, OtherAuthoritiesOpenNoSession) {
  EXPECT_EQ(post("/console/login", "credential=" + secret_).status, 403);
  EXPECT_EQ(call({"GET", "/console", {"Authorization: Bearer " + reader_secret_}}).status, 303)
      << "a credential is no session";
}

TEST_F(OperatorConsole, PagesOfOthersChangeNothing) {
  const std::string cookie = sign_in();
  const std::string token = page_token(page(cookie));
  const std::string form = "scope=gateway&severity=degraded&note=Slow&csrf=" + token;
  const auto sent = [&](const std::string& field) {
    return call({"POST", "/console/incidents",
                 {cookie, "Content-Type: application/x-www-form-urlencoded", field}, form})
        .status;
  };
  EXPECT_EQ(sent("Origin: http://127.0.0.1:1"), 403);
  EXPECT_EQ(sent("Origin: null"), 403);
  EXPECT_EQ(sent("Sec-Fetch-Site: same-site"), 403);
  EXPECT_EQ(sent("X-None: 1"), 403);
  EXPECT_TRUE(node_->status().recent_incidents(0)->empty());
  EXPECT_EQ(sent("Origin: http://" + address_), 303);
  EXPECT_EQ(node_->status().recent_incidents(0)->size(), 1u);
  // A sign-in from another origin is refused, too.
  EXPECT_EQ(call({"POST", "/console/login",
                  {"Content-Type: application/x-www-form-urlencoded",
                   "Origin: http://evil.example"},
                  "credential=" + reader_secret_})
                .status,
            403);
}

TEST_F(OperatorConsole, AFormNeedsTheAuthorityOfItsRoute) {
  const std::string cookie = sign_in();
  const HttpReply ledger = page(cookie, "/console/ledger");
  EXPECT_EQ(ledger.body.find("action=\"/console/corrections\""), ledger.body.npos);
  const std::string form = "account=" + account_ +
                           "&message=m1&kind=refund&credits=1&reason=slow&form_key=k&csrf=" +
                           page_token(ledger);
  EXPECT_EQ(post("/console/corrections", form, {cookie}).status, 403);
  EXPECT_EQ(node_->ledger().balance(account_)->credits, 95);
}

TEST_F(OperatorConsole, ACorrectionIsMadeOnceHoweverOftenTheFormIsSent) {
  const auto both = operators_->create(
      "Both", {identity::Authority::console_read, identity::Authority::usage_correct});
  reader_secret_ = both->secret;
  const std::string cookie = sign_in();
  const std::string form = "account=" + account_ +
                           "&message=m1&kind=refund&credits=2&reason=too+slow&form_key=k1&csrf=" +
                           page_token(page(cookie));
  for (int sent = 0; sent < 2; ++sent) {
    EXPECT_EQ(post("/console/corrections", form, {cookie}).status, 303);
  }
  EXPECT_EQ(node_->ledger().balance(account_)->credits, 97);
  EXPECT_NE(page(cookie, "/console/ledger").body.find("too slow"), std::string::npos);
}

TEST_F(OperatorConsole, WordsAreSaidByTheSameRulesAndShown) {
  const std::string cookie = sign_in();
  const std::string token = page_token(page(cookie));
  const HttpReply refused =
      post("/console/incidents", "scope=nothing&severity=degraded&note=x&csrf=" + token, {cookie});
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("it names no component"), refused.body.npos);
  ASSERT_EQ(post("/console/incidents",
                 "scope=gateway&severity=major_outage&note=%3Cscript%3Ealert(1)%3C%2Fscript%3E"
                 "&csrf=" + token,
                 {cookie})
                .status,
            303);
  ASSERT_EQ(post("/console/maintenance",
                 "scope=gateway&starts_at=2027-01-31T18%3A00&ends_at=2099-01-31T19%3A00&note=Move"
                 "&csrf=" + token,
                 {cookie})
                .status,
            303);
  const std::string id = node_->status().recent_incidents(0)->front().incident.id;
  EXPECT_EQ(post("/console/incidents/" + id + "/notes", "note=More&csrf=" + token, {cookie}).status,
            303);
  const HttpReply shown = page(cookie, "/console/providers");
  EXPECT_NE(shown.body.find("&lt;script&gt;alert(1)"), shown.body.npos);
  EXPECT_EQ(shown.body.find("<script>alert"), shown.body.npos);
  EXPECT_NE(shown.body.find("2027-01-31 18:00 UTC"), shown.body.npos);
  EXPECT_EQ(
      post("/console/incidents/" + id + "/resolve", "note=Over&csrf=" + token, {cookie}).status,
      303);
  EXPECT_EQ(node_->status().incident(id)->value().incident.state,
            status::IncidentState::resolved);
  const std::string maintenance = node_->status().maintenance(0)->front().id;
  EXPECT_EQ(post("/console/maintenance/" + maintenance + "/cancel", "csrf=" + token, {cookie})
                .status,
            303);
  EXPECT_TRUE(node_->status().maintenance(0)->empty());
}

// ---- texts on the status ------------------------------------------------------------------------

class OperatorWords : public OperatorHostTest {
 protected:
  void SetUp() override {
    OperatorHostTest::SetUp();
    const auto created = operators_->create("Words", {identity::Authority::status_annotate});
    word_secret_ = created->secret;
    word_operator_ = "operator:" + created->credential.id;
  }
  HttpReply say(const std::string& path, const json& body) {
    return call({"POST", "/internal/v1/status/" + path,
                 {"Authorization: Bearer " + word_secret_, "Content-Type: application/json"},
                 body.dump()});
  }
  static json incident() {
    return {{"scope", "provider:weather"}, {"severity", "degraded"}, {"note", "Too old."}};
  }
  static json maintenance() {
    return {{"scope", "gateway"},
            {"starts_at", "2027-01-31T18:00:00Z"},
            {"ends_at", "2027-01-31T19:00:00Z"},
            {"note", "The database is moved."}};
  }
  std::string word_secret_;
  std::string word_operator_;
};

TEST_F(OperatorWords, AnIncidentIsOpenedAnnotatedAndResolved) {
  const HttpReply opened = say("incidents", incident());
  ASSERT_EQ(opened.status, 200) << opened.body;
  json shown = json::parse(opened.body);
  const std::string id = shown.at("incident_id");
  EXPECT_EQ(shown.at("source"), "operators");
  EXPECT_EQ(shown.at("state"), "open");
  EXPECT_EQ(shown.at("scope"), "provider:weather");
  EXPECT_EQ(shown.at("resolution"), nullptr);
  EXPECT_EQ(shown.at("notes").at(0).at("operator"), word_operator_);
  const HttpReply noted = say("incidents/" + id + "/notes", {{"note", "They know."}});
  ASSERT_EQ(noted.status, 200) << noted.body;
  EXPECT_EQ(json::parse(noted.body).at("notes").at(1).at("note"), "They know.");
  const HttpReply resolved = say("incidents/" + id + "/resolve", {{"note", "Fresh again."}});
  ASSERT_EQ(resolved.status, 200) << resolved.body;
  EXPECT_EQ(json::parse(resolved.body).at("state"), "resolved");
  EXPECT_EQ(refusal(say("incidents/" + id + "/resolve", {{"note", "Again."}}), 404),
            "status.incident_not_found");
  EXPECT_EQ(refusal(say("incidents/inc_none/notes", {{"note", "Hm."}}), 404),
            "status.incident_not_found");
  const auto events = node_->audit().list({});
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 3u) << "one for each word that was taken";
  EXPECT_EQ(events->front().action, "incident.resolve");
  EXPECT_EQ(events->front().actor.principal, word_operator_);
  EXPECT_EQ(events->front().actor.address, "127.0.0.1");
  EXPECT_EQ(events->front().actor.request_id, resolved.header("x-request-id"));
}

TEST_F(OperatorWords, MaintenanceIsAnnouncedAndCancelled) {
  const HttpReply announced = say("maintenance", maintenance());
  ASSERT_EQ(announced.status, 200) << announced.body;
  const std::string id = json::parse(announced.body).at("maintenance_id");
  EXPECT_EQ(json::parse(announced.body).at("starts_at"), "2027-01-31T18:00:00.000Z");
  const auto listed = node_->status().maintenance(0);
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->front().id, id);
  const HttpCall cancel = {"POST", "/internal/v1/status/maintenance/" + id + "/cancel",
                           {"Authorization: Bearer " + word_secret_}};
  EXPECT_EQ(call(cancel).status, 200);
  EXPECT_EQ(refusal(call(cancel), 404), "status.maintenance_not_found");
}

TEST_F(OperatorWords, WhatIsWrongInABodyIsToldAtItsPlace) {
  json body = incident();
  body["scope"] = "provider:";
  body["severity"] = "operational";
  body["note"] = "";
  HttpReply reply = say("incidents", body);
  EXPECT_EQ(refusal(reply, 400), "request.body_rejected");
  EXPECT_THAT(locations(reply), testing::UnorderedElementsAre("/scope", "/severity", "/note"));
  body = maintenance();
  body["starts_at"] = "tomorrow";
  body["note"] = std::string(501, 'x');
  reply = say("maintenance", body);
  EXPECT_EQ(refusal(reply, 400), "request.body_rejected");
  EXPECT_THAT(locations(reply), testing::UnorderedElementsAre("/starts_at", "/note"));
  body = maintenance();
  body["ends_at"] = body["starts_at"];
  reply = say("maintenance", body);
  EXPECT_THAT(locations(reply), testing::ElementsAre("/ends_at"));
  body["ends_at"] = "2027-01-31T18:00:00.001Z";
  EXPECT_EQ(say("maintenance", body).status, 200) << "a millisecond is enough";
  body["note"] = std::string(500, 'x');
  EXPECT_EQ(say("maintenance", body).status, 200);
}

TEST_F(OperatorWords, ScopesHaveTheFormOfComponents) {
  for (const char* scope : {"gateway", "pricing", "lane:x402", "provider:weather",
                            "operation:weather-now:GET"}) {
    EXPECT_TRUE(hosts::operators::is_scope(scope)) << scope;
  }
  for (const char* scope : {"", "Gateway", "gateway:", "lane:", "provider:a b", "operation:a",
                            "operation::GET", "operation:a:get", "operation:a:", "upstream:a"}) {
    EXPECT_FALSE(hosts::operators::is_scope(scope)) << scope;
  }
}

TEST_F(OperatorWords, NoOtherAuthorityWillDo) {
  EXPECT_EQ(refusal(call({"POST", "/internal/v1/status/incidents", headers(), incident().dump()}),
                    403),
            "auth.authority_missing");
  EXPECT_EQ(refusal(call({"POST", path(),
                          {"Authorization: Bearer " + word_secret_, "Idempotency-Key: k",
                           "Content-Type: application/json"},
                          body().dump()}),
                    403),
            "auth.authority_missing");
  EXPECT_TRUE(node_->audit().list({})->empty());
}

}  // namespace
}  // namespace turnpike::tests

#include "http/upstream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <turnpike/helpers/probe.h>

#include "scripted_host.h"

namespace turnpike::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view credential = "hush-4711";

using Answer = ScriptedHost::Answer;
using Fields = std::vector<Settings::Field>;

const Failure unsent{FailureKind::transport, "connection refused", {}, false};
const Failure maybe_sent{FailureKind::transport, "connection reset", {}, true};

// One upstream with three operations: 0 GET, 1 POST, and 2 a POST marked `retry: safe`.
class HttpUpstreamTest : public ::testing::Test {
 protected:
  void bind(Fields fields, bool probe_uses_credential = false) {
    fields.push_back({"base_url", scalar("https://api.example.com")});
    const Settings settings = map(std::move(fields));
    const Settings path = map({{"path", scalar("/items/{id}")}});
    const Settings safe = map({{"path", scalar("/items/{id}")}, {"retry", scalar("safe")}});
    const BoundOperation operations[] = {
        {"route-1", Method::get, "/x/{id}", path_names, &path, 0, {}},
        {"route-2", Method::post, "/x/{id}", path_names, &path, 0, {}},
        {"route-3", Method::post, "/y/{id}", path_names, &safe, 0, {}}};
    auto configuration =
        read_configuration({"acme", settings, operations, {}, probe_uses_credential});
    ASSERT_TRUE(configuration.ok()) << configuration.error().message;
    upstream_ = std::make_unique<HttpUpstream>(*std::move(configuration), host_);
  }
  void bind_with_credential(std::string_view header_or_query) {
    bind({{"credential", map({{std::string(header_or_query), scalar("X-Key")},
                              {"value", secret(std::string(credential))}})}});
  }

  Done execute(std::uint32_t operation = 0, std::string_view query = {},
               std::vector<HeaderField> headers = {}) {
    sink_ = RecordingSink();
    UpstreamRequest request;
    request.operation = operation;
    request.method = operation == 0 ? Method::get : Method::post;
    request.path = "/x/7";
    request.query = query;
    request.parameters = {&id_, 1};
    if (operation != 0) {
      request.content_type = "application/json";
      request.body = "{\"a\": 1}";
    }
    request.headers = headers;
    request.reply_bytes_max = 1000;
    return upstream_->execute(request, sink_, call_);
  }

  ScriptedHost host_;
  ScriptedCall call_{host_.scripted_clock, 30'000};
  RecordingSink sink_;
  PathParameter id_{"id", "7%2F8", "7/8"};
  std::unique_ptr<HttpUpstream> upstream_;
};

TEST_F(HttpUpstreamTest, ForwardsQueryBodyAndReplyByteForByte) {
  bind({{"connect_timeout_ms", scalar("250")},
        {"connections_max", scalar("7")},
        {"headers", map({{"X-Version", scalar("2")}})},
        {"user_agent", scalar("acme-proxy/1")}});
  host_.script = {{422, {{"Content-Type", "text/plain"}, {"X-Odd", "v"}}, "no such thing", {}}};
  ASSERT_TRUE(execute(1, "a=1&a=1&b=%20+&&c").ok());
  ASSERT_EQ(host_.seen.size(), 1u);
  const auto& seen = host_.seen[0];
  EXPECT_EQ(seen.method, Method::post);
  EXPECT_EQ(seen.url, "https://api.example.com/items/7%2F8?a=1&a=1&b=%20+&&c");
  EXPECT_EQ(seen.body, "{\"a\": 1}");
  EXPECT_THAT(seen.values_of("content-type"), ElementsAre("application/json"));
  EXPECT_THAT(seen.values_of("x-version"), ElementsAre("2"));
  EXPECT_THAT(seen.values_of("user-agent"), ElementsAre("acme-proxy/1"));
  EXPECT_EQ(seen.options.connect_timeout_ms, 250u);
  EXPECT_EQ(seen.options.connections_max, 7u);
  EXPECT_EQ(seen.options.reply_bytes_max, 1000u);
  EXPECT_FALSE(seen.options.allow_private_addresses);
  EXPECT_FALSE(seen.options.fresh_connection);
  EXPECT_EQ(seen.deadline_ns, call_.deadline_ns());
  EXPECT_EQ(sink_.status, 422);
  EXPECT_EQ(sink_.text, "no such thing");
  EXPECT_EQ(sink_.headers.size(), 2u);
}

TEST_F(HttpUpstreamTest, CallersCredentialsStayHere) {
  bind_with_credential("header");
  host_.script = {{200, {}, "ok", {}}};
  ASSERT_TRUE(execute(0, {},
                      {{"Authorization", "Bearer theirs"},
                       {"Cookie", "theirs"},
                       {"X-Service-Api-Key", "theirs"},
                       {"PAYMENT-SIGNATURE", "theirs"},
                       {"x-key", "theirs"},
                       {"Host", "theirs"},
                       {"Content-Length", "9"},
                       {"User-Agent", "theirs"},
                       {"Accept-Language", "de"}})
                  .ok());
  const auto& seen = host_.seen[0];
  for (const OwnedHeader& header : seen.headers) EXPECT_NE(header.value, "theirs") << header.name;
  EXPECT_THAT(seen.values_of("accept-language"), ElementsAre("de"));
  EXPECT_THAT(seen.values_of("x-key"), ElementsAre(std::string(credential)));
  EXPECT_THAT(seen.values_of("content-length"), IsEmpty());
}

TEST_F(HttpUpstreamTest, ACredentialInTheQueryReplacesTheCallersOwn) {
  bind_with_credential("query");
  host_.script = {{200, {}, "", {}}, {200, {}, "", {}}};
  ASSERT_TRUE(execute(0, "a=1&x-key=theirs&X%2dKEY=theirs&b").ok());
  EXPECT_EQ(host_.seen[0].url, "https://api.example.com/items/7%2F8?a=1&b&X-Key=hush-4711");
  ASSERT_TRUE(execute(0).ok());
  EXPECT_EQ(host_.seen[1].url, "https://api.example.com/items/7%2F8?X-Key=hush-4711");
}

// The credential must not leak, whatever the upstream or the client does with it.
TEST_F(HttpUpstreamTest, TheCredentialIsInNoReplyHeaderFailureLogOrCounter) {
  for (const char* place : {"header", "query"}) {
    bind_with_credential(place);
    const std::string text(credential);
    host_.script = {{302, {{"Location", "https://x/?X-Key=" + text}, {"X-Safe", "1"}}, "", {}},
                    {0, {}, {}, Failure{FailureKind::contract, "bad " + text + text, {}, true}},
                    {500, {{"X-Debug", text}}, "", {}},
                    {0, {}, {}, Failure{FailureKind::contract, "probe " + text, {}, true}}};
    for (int failure = 0; failure < 12; ++failure) {
      host_.script.push_back({0, {}, {}, Failure{FailureKind::timeout, text, {}, true}});
    }
    std::string outputs;
    for (int round = 0; round < 16; ++round) {
      const Done done = round == 3 ? upstream_->probe(call_) : execute();
      if (!done.ok()) outputs += done.error().message + done.error().where + "\n";
      for (const OwnedHeader& header : sink_.headers) outputs += header.name + header.value + "\n";
      outputs += std::string(upstream_->state(0).reason) + "\n";
    }
    for (const std::string& line : host_.logged) outputs += line + "\n";
    for (const auto& [name, count] : host_.counted) outputs += name;
    EXPECT_THAT(outputs, Not(HasSubstr(text))) << place;
    EXPECT_THAT(outputs, HasSubstr("bad [credential][credential]"));
    EXPECT_THAT(outputs, HasSubstr("X-Safe1"));
    EXPECT_THAT(outputs, HasSubstr("circuit breaker opened for GET /x/{id} at acme"));
  }
}

TEST_F(HttpUpstreamTest, AMissingCredentialIsAStateAndNoCall) {
  bind({{"credential", map({{"header", scalar("X-Key")}, {"value", secret("")}})}});
  EXPECT_EQ(upstream_->state(0).condition, Condition::credential_missing);
  const Done done = execute();
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, FailureKind::credential);
  EXPECT_THAT(host_.seen, IsEmpty());
  host_.script = {{200, {}, "", {}}};
  EXPECT_TRUE(upstream_->probe(call_).ok()) << "it needs none";
  bind({{"credential", map({{"header", scalar("X-Key")}, {"value", secret("")}})}}, true);
  EXPECT_FALSE(upstream_->probe(call_).ok());
  EXPECT_EQ(host_.seen.size(), 1u);
}

TEST_F(HttpUpstreamTest, AGetThatWasNotSentIsRepeatedOnAFreshConnection) {
  bind({});
  host_.script = {{0, {}, {}, unsent}, {200, {}, "ok", {}}};
  ASSERT_TRUE(execute().ok());
  ASSERT_EQ(host_.seen.size(), 2u);
  EXPECT_TRUE(host_.seen[1].options.fresh_connection);
  EXPECT_THAT(call_.slept_ms, ElementsAre(25u));  // half the backoff: the jitter is 0
  EXPECT_EQ(sink_.text, "ok");
  EXPECT_EQ(host_.counted["http_retries"], 1u);
}

TEST_F(HttpUpstreamTest, NothingElseIsRepeatedUnlessTheRouteSaysSo) {
  bind({});
  host_.script = {{0, {}, {}, maybe_sent}};
  EXPECT_FALSE(execute(0).ok());  // the upstream may have seen it
  EXPECT_EQ(host_.seen.size(), 1u);
  host_.script = {{0, {}, {}, unsent}};
  EXPECT_FALSE(execute(1).ok());  // a POST
  EXPECT_EQ(host_.seen.size(), 2u);
  host_.script = {{0, {}, {}, Failure{FailureKind::contract, "odd", {}, false}}};
  EXPECT_FALSE(execute(0).ok());  // it would fail again
  EXPECT_EQ(host_.seen.size(), 3u);
  host_.script = {{0, {}, {}, maybe_sent}, {200, {}, "ok", {}}};
  EXPECT_TRUE(execute(2).ok());  // a POST marked safe
  EXPECT_EQ(host_.seen.size(), 5u);
  host_.script = {{200, {}, "par", maybe_sent}};
  EXPECT_FALSE(execute(2).ok());  // the caller already has the head
  EXPECT_EQ(host_.seen.size(), 6u);
}

TEST_F(HttpUpstreamTest, RepeatsEndAtTheirNumberAndTheDeadline) {
  bind({{"retry", map({{"attempts_max", scalar("4")}, {"backoff_ms", scalar("100")}})}});
  for (int answer = 0; answer < 9; ++answer) host_.script.push_back({0, {}, {}, unsent});
  EXPECT_FALSE(execute().ok());
  EXPECT_EQ(host_.seen.size(), 4u);
  EXPECT_THAT(call_.slept_ms, ElementsAre(50u, 100u, 200u));

  bind({{"total_timeout_ms", scalar("60")},
        {"retry", map({{"attempts_max", scalar("4")}, {"backoff_ms", scalar("100")}})}});
  host_.seen.clear();
  call_.slept_ms.clear();
  EXPECT_FALSE(execute().ok());
  EXPECT_EQ(host_.seen.size(), 2u);  // a second wait would exceed the 60 ms
  EXPECT_EQ(host_.seen[0].deadline_ns, host_.seen[1].deadline_ns);
  EXPECT_LT(host_.seen[0].deadline_ns, call_.deadline_ns());
  EXPECT_THAT(call_.slept_ms, ElementsAre(50u));
}

TEST_F(HttpUpstreamTest, AShorterTimeoutMovesOnWithTheDeadline) {
  bind({{"total_timeout_ms", scalar("60")}});
  std::int64_t after_ns = 0;
  host_.script.push_back({200, {}, "ok", {}, [&](const Call& call) {
                            call_.extend_ms(500);
                            after_ns = call.deadline_ns();
                          }});
  ASSERT_TRUE(execute().ok());
  EXPECT_EQ(after_ns, host_.seen[0].deadline_ns + 500'000'000);
}

TEST_F(HttpUpstreamTest, RetriesStopWithTheirBudget) {
  bind({{"retry", map({{"budget_percent", scalar("10")}})},
        {"breaker", map({{"failures", scalar("10000")}})}});
  for (int answer = 0; answer < 400; ++answer) host_.script.push_back({0, {}, {}, unsent});
  for (int round = 0; round < 100; ++round) EXPECT_FALSE(execute().ok());
  // The initial burst of 10, plus one retry for every ten calls.
  EXPECT_GE(host_.counted["http_retries"], 19u);
  EXPECT_LE(host_.counted["http_retries"], 20u);
}

TEST_F(HttpUpstreamTest, ABreakerOpensBlocksTriesAndCloses) {
  bind({{"breaker", map({{"failures", scalar("3")}, {"open_ms", scalar("1000")}})},
        {"retry", map({{"attempts_max", scalar("1")}})}});
  host_.script = {{503, {}, "", {}}, {0, {}, {}, maybe_sent}};
  EXPECT_TRUE(execute().ok());  // a 503 is a reply but counts as a failure
  EXPECT_FALSE(execute().ok());
  EXPECT_EQ(upstream_->state(0).condition, Condition::ready);
  host_.script = {{502, {}, "", {}}};
  EXPECT_TRUE(execute().ok());
  EXPECT_EQ(upstream_->state(0).condition, Condition::blocked);
  EXPECT_EQ(upstream_->state(0).reason, "The upstream keeps failing; it is tried again shortly.");
  EXPECT_EQ(upstream_->state(0).retry_after_seconds, 1u);
  EXPECT_THAT(host_.logged, ElementsAre("circuit breaker opened for GET /x/{id} at acme "
                                        "(https://api.example.com): 3 of 3 calls failed within "
                                        "10000 ms; the last: status 502"));
  const Done refused = execute();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, FailureKind::unavailable);
  EXPECT_FALSE(refused.error().maybe_sent);
  EXPECT_EQ(host_.seen.size(), 3u);

  host_.scripted_clock.move_ms(1000);
  EXPECT_EQ(upstream_->state(0).condition, Condition::ready);
  host_.script = {{0, {}, {}, maybe_sent}};
  EXPECT_FALSE(execute().ok());  // the trial fails
  EXPECT_EQ(upstream_->state(0).condition, Condition::blocked);
  EXPECT_EQ(host_.logged.size(), 1u) << "what goes on is told now and then";
  host_.scripted_clock.move_ms(60'000);
  host_.script = {{0, {}, {}, maybe_sent}};
  EXPECT_FALSE(execute().ok());
  EXPECT_THAT(host_.logged.back(), HasSubstr("it still fails; the last: connection reset"));
  host_.scripted_clock.move_ms(1000);
  host_.script = {{200, {}, "", {}}, {200, {}, "", {}}};
  EXPECT_TRUE(execute().ok());
  EXPECT_TRUE(execute().ok());
  EXPECT_EQ(upstream_->state(0).condition, Condition::ready);
  EXPECT_EQ(host_.counted["http_breaker_opened"], 3u);
  EXPECT_EQ(host_.logged.back(),
            "circuit breaker closed for GET /x/{id} at acme (https://api.example.com)");
}

// A caller who finds input that makes one operation answer 500 or break the connection must not
// block the provider for everyone.
TEST_F(HttpUpstreamTest, WhatOneOperationAnswersBlocksNoOther) {
  bind({{"breaker", map({{"failures", scalar("3")}})}});
  for (int round = 0; round < 50; ++round) host_.script.push_back({500, {}, "", {}});
  for (int round = 0; round < 50; ++round) EXPECT_TRUE(execute(0).ok());
  EXPECT_EQ(upstream_->state(0).condition, Condition::ready);

  for (const Answer& failing : {Answer{503, {}, "", {}}, Answer{0, {}, {}, maybe_sent},
                                Answer{0, {}, {}, Failure{FailureKind::timeout, "", {}, true}}}) {
    bind({{"breaker", map({{"failures", scalar("3")}})}});
    host_.script.assign(3, failing);
    for (int round = 0; round < 3; ++round) (void)execute(1);
    EXPECT_EQ(upstream_->state(1).condition, Condition::blocked);
    EXPECT_EQ(upstream_->state(0).condition, Condition::ready);
    host_.script = {{200, {}, "", {}}};
    EXPECT_TRUE(execute(0).ok());
  }
}

TEST_F(HttpUpstreamTest, AFewFailuresAmongManyCallsOpenNothing) {
  bind({});
  for (int round = 0; round < 400; ++round) {
    host_.script.push_back({round % 4 == 0 ? 503 : 200, {}, "", {}});
  }
  while (!host_.script.empty()) EXPECT_TRUE(execute().ok());
  EXPECT_EQ(upstream_->state(0).condition, Condition::ready);
}

TEST_F(HttpUpstreamTest, TheOperatorSaysWhichStatusesAreFailures) {
  bind({{"breaker",
         map({{"failures", scalar("2")}, {"statuses", list({scalar("500"), scalar("503")})}})}});
  host_.script = {{500, {}, "", {}}, {503, {}, "", {}}};
  EXPECT_TRUE(execute(1).ok());
  EXPECT_TRUE(execute(1).ok());
  EXPECT_EQ(upstream_->state(1).condition, Condition::blocked);
  host_.script.assign(9, {502, {}, "", {}});
  for (int round = 0; round < 9; ++round) EXPECT_TRUE(execute(0).ok());
  EXPECT_EQ(upstream_->state(0).condition, Condition::ready);
  EXPECT_EQ(upstream_->state(2).condition, Condition::ready);
}

TEST_F(HttpUpstreamTest, AnUpstreamThatCannotBeReachedIsBlockedAsAWhole) {
  bind({{"breaker", map({{"failures", scalar("3")}})},
        {"retry", map({{"attempts_max", scalar("1")}})}});
  host_.script.assign(3, {0, {}, {}, unsent});
  for (std::uint32_t operation = 0; operation < 3; ++operation) {
    EXPECT_FALSE(execute(operation).ok());
  }
  for (std::uint32_t operation = 0; operation < 3; ++operation) {
    EXPECT_EQ(upstream_->state(operation).condition, Condition::blocked);
    EXPECT_EQ(upstream_->state(operation).reason,
              "The upstream cannot be reached; it is tried again shortly.");
    EXPECT_EQ(upstream_->state(operation).retry_after_seconds, 10u);
  }
  EXPECT_THAT(host_.logged, ElementsAre("circuit breaker opened for acme (https://api.example.com)"
                                        ": 3 of 3 calls failed within 10000 ms; the last: "
                                        "connection refused"));
  host_.scripted_clock.move_ms(10'000);
  host_.script = {{500, {}, "", {}}};
  EXPECT_TRUE(execute(2).ok()) << "it answers again, whatever it says";
  for (std::uint32_t operation = 0; operation < 3; ++operation) {
    EXPECT_EQ(upstream_->state(operation).condition, Condition::ready);
  }
}

TEST_F(HttpUpstreamTest, WhatIsNotTheUpstreamsFaultOpensNoBreaker) {
  bind({{"breaker", map({{"failures", scalar("1")}, {"percent", scalar("1")}})}});
  for (FailureKind kind : {FailureKind::cancelled, FailureKind::too_large, FailureKind::redirect,
                           FailureKind::unavailable, FailureKind::contract}) {
    host_.script = {{0, {}, {}, Failure{kind, "", {}, true}}};
    EXPECT_FALSE(execute().ok());
    EXPECT_EQ(upstream_->state(0).condition, Condition::ready);
  }
  // No connection became free because other callers hold them.
  host_.script = {{0, {}, {}, Failure{FailureKind::timeout, "", {}, false}}};
  EXPECT_FALSE(execute(1).ok());
  EXPECT_EQ(upstream_->state(1).condition, Condition::ready);
  host_.script = {{404, {}, "", {}}};
  EXPECT_TRUE(execute().ok());
  EXPECT_EQ(upstream_->state(0).condition, Condition::ready);
}

TEST_F(HttpUpstreamTest, AReplyThatItsCallerTookTooSlowlyIsNoFailure) {
  bind({{"breaker", map({{"failures", scalar("1")}, {"percent", scalar("1")}})}});
  const auto slowly = [this](const Call&) { call_.extend_ms(20'000); };
  host_.script = {{200, {}, "par", maybe_sent, slowly}};
  EXPECT_FALSE(execute().ok());
  EXPECT_EQ(upstream_->state(0).condition, Condition::ready);
  host_.script = {{200, {}, "par", maybe_sent}};
  EXPECT_FALSE(execute().ok());
  EXPECT_EQ(upstream_->state(0).condition, Condition::blocked);
}

TEST_F(HttpUpstreamTest, ADotSegmentNeverReachesTheUpstream) {
  bind({});
  id_.raw = "%2e%2E";
  const Done done = execute();
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, FailureKind::contract);
  EXPECT_THAT(host_.seen, IsEmpty());
}

TEST_F(HttpUpstreamTest, ProbesAsConfiguredAndClosesTheBreakerOfTheUpstreamAlone) {
  bind({{"probe", map({{"path", scalar("/health")}, {"expected_status", scalar("204")}})},
        {"retry", map({{"attempts_max", scalar("1")}})},
        {"breaker", map({{"failures", scalar("1")}})}});
  host_.script = {{503, {}, "", {}}, {0, {}, {}, unsent}, {204, {}, "", {}}, {200, {}, "", {}}};
  EXPECT_TRUE(execute(1).ok());
  EXPECT_FALSE(execute(2).ok());
  EXPECT_EQ(upstream_->state(0).condition, Condition::blocked);
  EXPECT_TRUE(upstream_->probe(call_).ok());
  EXPECT_EQ(host_.seen.back().url, "https://api.example.com/health");
  EXPECT_EQ(upstream_->state(0).condition, Condition::ready);
  EXPECT_EQ(upstream_->state(1).condition, Condition::blocked) << "/health is another operation";
  EXPECT_THAT(host_.logged.back(), HasSubstr("circuit breaker closed for acme"));
  const Done wrong = upstream_->probe(call_);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message, "the probe GET /health was answered with status 200");
}

// Every node probes 1,440 times a day, so a credential is sent only if the registry asks for it.
TEST_F(HttpUpstreamTest, AProbeCarriesNoSecretUnlessTheRegistrySaysSo) {
  const auto bind_with = [this](const char* place, bool sends) {
    bind({{"credential", map({{place, scalar("X-Key")}, {"value", secret("hush-4711")}})},
          {"headers", map({{"X-Version", scalar("2")}, {"X-Other", secret("hush-4712")}})}},
         sends);
  };
  const auto sent = [this] {
    std::string text = host_.seen.back().url;
    for (const OwnedHeader& header : host_.seen.back().headers) text += header.value;
    return text;
  };
  host_.script.assign(4, {200, {}, "", {}});
  for (const char* place : {"header", "query"}) {
    bind_with(place, false);
    EXPECT_TRUE(upstream_->probe(call_).ok());
    EXPECT_THAT(sent(), Not(HasSubstr("hush")));
    EXPECT_THAT(host_.seen.back().values_of("x-version"), ElementsAre("2"));
    EXPECT_THAT(host_.seen.back().values_of("user-agent"), ElementsAre("turnpike"));
    bind_with(place, true);
    EXPECT_TRUE(upstream_->probe(call_).ok());
    EXPECT_THAT(sent(), HasSubstr("hush-4711"));
    EXPECT_THAT(sent(), HasSubstr("hush-4712"));
  }
}

TEST_F(HttpUpstreamTest, AProbeThatIsRefusedIsNoSignOfHealth) {
  for (const int status : {401, 402, 403, 429, 500, 503}) {
    bind({{"breaker", map({{"failures", scalar("1")}})},
          {"retry", map({{"attempts_max", scalar("1")}})}});
    host_.script = {{0, {}, {}, unsent}, {status, {}, "", {}}};
    EXPECT_FALSE(execute().ok());
    const Done probed = upstream_->probe(call_);
    ASSERT_FALSE(probed.ok()) << status;
    EXPECT_THAT(probed.error().message, HasSubstr("status " + std::to_string(status)));
    EXPECT_EQ(probed.error().message.find("probe.expected_status") != std::string::npos,
              status <= 403);
    EXPECT_EQ(probed.error().kind, FailureKind::contract) << "no credential was refused";
    EXPECT_EQ(refused_status(probed.error()), status);
    EXPECT_EQ(upstream_->state(0).condition, Condition::blocked) << status;
  }
  bind({{"probe", map({{"expected_status", scalar("401")}})}});
  host_.script = {{401, {}, "", {}}, {200, {}, "", {}}};
  EXPECT_TRUE(upstream_->probe(call_).ok()) << "what the operator expects";
  EXPECT_FALSE(upstream_->probe(call_).ok());
}

TEST_F(HttpUpstreamTest, AProbeWithTheCredentialTellsThatItIsRefused) {
  bind({{"credential", map({{"header", scalar("X-Key")}, {"value", secret("hush-4711")}})}}, true);
  host_.script = {{401, {}, "", {}}, {500, {}, "", {}}};
  const Done refused = upstream_->probe(call_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, FailureKind::credential);
  EXPECT_EQ(refused.error().message, "the probe GET / was answered with status 401");
  EXPECT_EQ(refused_status(refused.error()), 401);
  EXPECT_EQ(upstream_->probe(call_).error().kind, FailureKind::contract);
}

TEST_F(HttpUpstreamTest, PrivateAddressesAreAskedForOnlyWhenAllowed) {
  bind({{"allow_private_addresses", scalar("true")}});
  host_.script = {{200, {}, "", {}}};
  ASSERT_TRUE(execute().ok());
  EXPECT_TRUE(host_.seen[0].options.allow_private_addresses);
}

}  // namespace
}  // namespace turnpike::http

#include "x402/remote/facilitator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include <turnpike/helpers/mistakes.h>

#include "plugins/http/scripted_host.h"
#include "support/sdk_fakes.h"
#include "x402/protocol/encoding.h"
#include "x402/remote/json_http.h"

namespace turnpike::x402 {
namespace {

using http::ScriptedCall;
using http::ScriptedHost;
using nlohmann::json;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using Outcome = Settlement::Outcome;

constexpr std::string_view network = "eip155:84532";
constexpr std::string_view solana = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
constexpr std::string_view payer = "0xBD4CB17A050eED94BCA4C327c203B9a11dB0213d";
const std::string hash = "0x" + std::string(64, 'a');
const std::string other_hash = "0x" + std::string(64, 'b');
constexpr std::string_view signature =
    "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW";
constexpr std::string_view one_fee_payer = "CKPKJWNdJEqa81x7CkZ14BVPiY6y16Sxs7owznqtWYp5";
constexpr std::string_view other_fee_payer = "9xAXssX9j7vuK99c7cFwqbixzL3bFrzPy9PUhCtDPAYJ";

Settlement settlement_of(const json& body, std::string_view of_network, bool& is_typed) {
  const auto text = JsonText::parse(body.dump());
  EXPECT_TRUE(text.ok());
  return read_settlement(text->root(), of_network, is_typed);
}

Failure failure_of(FailureKind kind, bool maybe_sent) {
  return {kind, "secret text", {}, maybe_sent};
}

ScriptedHost::Answer answer(int status, const json& body) { return {status, {}, body.dump()}; }
ScriptedHost::Answer failed(FailureKind kind, bool maybe_sent) {
  return {0, {}, {}, failure_of(kind, maybe_sent)};
}

json kind(std::string_view scheme, std::string_view kind_network) {
  return {{"x402Version", 2}, {"scheme", scheme}, {"network", kind_network}};
}
json supported(std::vector<json> kinds) {
  return {{"kinds", std::move(kinds)}, {"extensions", json::array()}, {"signers", json::object()}};
}
json settled_body() {
  return {{"success", true}, {"transaction", hash}, {"network", network}, {"payer", payer}};
}
json failed_body(std::string_view reason, std::string_view transaction = "") {
  return {{"success", false},
          {"errorReason", reason},
          {"transaction", transaction},
          {"network", network}};
}

std::vector<FacilitatorSettings> settings_of(const Settings& settings) {
  auto read = read_facilitators(settings);
  EXPECT_TRUE(read.ok()) << read.error().where << ": " << read.error().message;
  return *std::move(read);
}

class FacilitatorsTest : public ::testing::Test {
 protected:
  FacilitatorsTest() { use({"https://one.example", "https://two.example"}); }

  void use(const std::vector<std::string>& urls) {
    std::vector<Settings> items;
    for (const std::string& url : urls) items.push_back(map({{"url", scalar(url)}}));
    facilitators_.emplace(settings_of(list(std::move(items))), host_);
  }
  void learn(const json& one, const json& two) {
    host_.script = {answer(200, one), answer(200, two)};
    EXPECT_TRUE(facilitators_->refresh_supported(call_));
    host_.seen.clear();
  }
  Verification verify() { return facilitators_->verify(request_, true, call_); }
  Settlement settle(std::string_view first = {}) {
    return facilitators_->settle(request_, call_, first);
  }
  std::vector<std::string> asked() const {
    std::vector<std::string> urls;
    for (const auto& seen : host_.seen) urls.push_back(seen.url);
    return urls;
  }

  ScriptedHost host_;
  ScriptedCall call_{host_.scripted_clock, 100'000'000};
  std::optional<Facilitators> facilitators_;
  FacilitatorRequest request_{
      R"({"x402Version":2})", R"({"scheme":"exact"})", "exact", network, {}};
};

// Forged payments cause a bounded number of questions; good payments do not count towards it.
TEST_F(FacilitatorsTest, UnprovenPaymentsAreVerifiedSoManyTimesAMinute) {
  facilitators_.emplace(settings_of(list({map({{"url", scalar("https://one.example")},
                                               {"unproven_per_minute", scalar("2")}})})),
                        host_);
  const auto unproven = [this](const char* reply) {
    host_.script = {{200, {}, reply}};
    const auto outcome = facilitators_->verify(request_, false, call_).outcome;
    host_.script.clear();
    return outcome;
  };
  const char* const good = R"({"isValid":true})";
  const char* const bad = R"({"isValid":false,"invalidReason":"invalid_exact_evm_signature"})";
  using enum Verification::Outcome;
  for (int time = 0; time < 5; ++time) EXPECT_EQ(unproven(good), valid);
  EXPECT_EQ(unproven(bad), invalid);
  EXPECT_EQ(unproven(bad), invalid);
  const std::size_t asked = host_.seen.size();
  EXPECT_EQ(unproven(good), too_many);
  EXPECT_EQ(host_.seen.size(), asked);
  host_.script = {{200, {}, good}};
  EXPECT_EQ(verify().outcome, valid) << "a proven one is verified all the same";
  host_.scripted_clock.move_ms(30'000);
  EXPECT_EQ(unproven(good), valid);
}

// Its answer is logged, and nothing is offered for a facilitator that refuses our credentials.
TEST_F(FacilitatorsTest, OneThatRefusesOurCredentialsSupportsNothing) {
  use({"https://one.example"});
  host_.script = {answer(200, supported({kind("exact", network)}))};
  ASSERT_TRUE(facilitators_->refresh_supported(call_));
  EXPECT_TRUE(facilitators_->supports("exact", network));
  host_.script = {{401, {}, R"({"error":"no such token"})"}};
  EXPECT_EQ(verify().outcome, Verification::Outcome::unavailable);
  EXPECT_THAT(host_.logged, Contains(HasSubstr("refuses our credentials: status 401")));
  EXPECT_FALSE(facilitators_->supports("exact", network));
  EXPECT_EQ(facilitators_->refusing_us(), 1u);
  host_.scripted_clock.move_ms(Facilitators::refuses_us_ms);
  EXPECT_TRUE(facilitators_->supports("exact", network));
  EXPECT_EQ(facilitators_->refusing_us(), 0u);
}

TEST_F(FacilitatorsTest, WhatKeepsFailingIsToldWithWhatWasAnswered) {
  use({"https://one.example"});
  for (int time = 0; time < 3; ++time) {
    host_.script = {{418, {}, "<html>"}};
    (void)verify();
  }
  EXPECT_THAT(host_.logged, Contains(HasSubstr("last at verify: status 418, no VerifyResponse")));
  EXPECT_THAT(host_.logged, Each(Not(HasSubstr("<html>"))));
}

TEST_F(FacilitatorsTest, WhyOneCannotBeReachedIsTold) {
  use({"https://one.example"});
  for (int time = 0; time < 3; ++time) {
    host_.script = {
        {0, {}, {}, Failure{FailureKind::transport, "its address is private", {}, false}}};
    (void)verify();
  }
  EXPECT_THAT(host_.logged,
              Contains(HasSubstr("last at verify: transport: its address is private")));
}

// --- settings ---

TEST(FacilitatorSettings, AreReadWithTheirSecrets) {
  const auto read = settings_of(
      list({map({{"url", scalar("https://x402.example/platform/v2/")},
                 {"networks", list({scalar("eip155:8453"), scalar("solana:*")})},
                 {"headers", map({{"all", map({{"Authorization", secret("Bearer hush\n")}})},
                                  {"settle", map({{"authorization", secret("Bearer more")}})}})},
                 {"verify_timeout_ms", scalar("2000")},
                 {"settle_timeout_ms", scalar("120000")},
                 {"allow_private_addresses", scalar("true")}}),
            map({{"url", scalar("http://facilitator.example:4022")}})}));
  ASSERT_THAT(read, SizeIs(2));
  EXPECT_EQ(read[0].url.text, "https://x402.example/platform/v2");
  EXPECT_EQ(read[0].url.origin, "https://x402.example");
  EXPECT_THAT(read[0].networks, ElementsAre("eip155:8453", "solana:*"));
  ASSERT_THAT(read[0].verify_headers, SizeIs(1));
  EXPECT_EQ(read[0].verify_headers[0].value, "Bearer hush");
  ASSERT_THAT(read[0].settle_headers, SizeIs(1));
  EXPECT_EQ(read[0].settle_headers[0].value, "Bearer more");
  ASSERT_THAT(read[0].supported_headers, SizeIs(1));
  EXPECT_EQ(read[0].verify_timeout_ms, 2000u);
  EXPECT_EQ(read[0].settle_timeout_ms, 120'000u);
  EXPECT_TRUE(read[0].allow_private_addresses);
  EXPECT_EQ(read[1].verify_timeout_ms, 10'000u);
  EXPECT_EQ(read[1].settle_timeout_ms, 90'000u);
  EXPECT_FALSE(read[1].allow_private_addresses);
  EXPECT_FALSE(read[1].lacks_secret);
}

TEST(FacilitatorSettings, WhatIsWrongIsSaidWithItsPlace) {
  const auto problem = [](Settings settings) {
    const auto read = read_facilitators(settings);
    EXPECT_FALSE(read.ok());
    return read.ok() ? "" : read.error().where + ": " + read.error().message;
  };
  const auto with = [&problem](std::string key, Settings value) {
    return problem(list({map({{"url", scalar("https://a")}, {std::move(key), std::move(value)}})}));
  };
  EXPECT_THAT(problem(scalar("https://a")), HasSubstr("expected a list"));
  EXPECT_THAT(problem(list({})), HasSubstr("expected a list of 1 to 16"));
  EXPECT_THAT(problem(list({map({})})), HasSubstr("[0].url: is required"));
  for (const char* url :
       {"a.example", "ftp://a", "https://", "https:///a", "https://u:p@a", "https://a?b",
        "https://a#b", "https://a b", "https://:80", "https://ä"}) {
    EXPECT_THAT(problem(list({map({{"url", scalar(url)}})})), HasSubstr("[0].url: ")) << url;
  }
  // URLs of endpoints, and addresses that are never contacted.
  for (const char* endpoint : {"/verify", "/settle", "/supported", "/verify/"}) {
    const std::string url = std::string("https://a/x402") + endpoint;
    EXPECT_THAT(problem(list({map({{"url", scalar(url)}})})), HasSubstr("leave \"/")) << url;
  }
  for (const char* host :
       {"localhost", "127.0.0.1:8", "10.1.2.3", "172.31.0.1", "192.168.0.9:80", "169.254.1.1",
        "100.64.0.1", "[::1]:80", "[fd00::1]", "[fe80::1]", "[::ffff:10.0.0.1]"}) {
    const std::string url = std::string("https://") + host + "/x402";
    EXPECT_THAT(problem(list({map({{"url", scalar(url)}})})),
                HasSubstr("[0].url: has an address that is private"))
        << url;
    const Settings allowed =
        list({map({{"url", scalar(url)}, {"allow_private_addresses", scalar("true")}})});
    EXPECT_TRUE(read_facilitators(allowed).ok()) << url;
  }
  EXPECT_TRUE(read_facilitators(list({map({{"url", scalar("https://172.32.0.1")}})})).ok());
  EXPECT_THAT(with("unproven_per_minute", scalar("0")), HasSubstr("[0].unproven_per_minute: "));
  EXPECT_THAT(problem(list({map({{"url", secret("https://hush")}})})),
              ::testing::AllOf(HasSubstr("[0].url: expected a URL"), Not(HasSubstr("hush"))));
  EXPECT_THAT(
      problem(list({map({{"url", scalar("https://a")}}), map({{"url", scalar("https://a/")}})})),
      HasSubstr("[1].url: is in the list twice"));
  EXPECT_THAT(with("netwroks", list({})), HasSubstr("did you mean `networks`?"));
  EXPECT_THAT(with("networks", list({scalar("base")})),
              HasSubstr("[0].networks[0]: expected a CAIP-2"));
  EXPECT_THAT(with("networks", scalar("eip155:1")), HasSubstr("[0].networks: expected a list"));
  EXPECT_THAT(with("verify_timeout_ms", scalar("0")), HasSubstr("[0].verify_timeout_ms: "));
  EXPECT_THAT(with("settle_timeout_ms", scalar("1s")), HasSubstr("[0].settle_timeout_ms: "));
  EXPECT_THAT(with("allow_private_addresses", scalar("yes")), HasSubstr("true or false"));
  EXPECT_THAT(with("headers", map({{"Authorization", scalar("x")}})),
              HasSubstr("[0].headers.Authorization: unknown key"));
  EXPECT_THAT(with("headers", map({{"verify", map({{"Host", scalar("x")}})}})),
              HasSubstr("[0].headers.verify.Host: is a header that the gateway sets"));
  EXPECT_THAT(with("headers", map({{"all", map({{"A B", scalar("x")}})}})),
              HasSubstr("is no header name"));
  EXPECT_THAT(with("headers", map({{"all", map({{"A", secret("hush\r\nB: c")}})}})),
              ::testing::AllOf(HasSubstr("bytes"), Not(HasSubstr("hush"))));
}

TEST(FacilitatorSettings, AllMistakesAreToldAtOnce) {
  const auto read = read_facilitators(
      list({map({{"url", scalar("https://localhost/verify")},
                 {"networks", list({scalar("eip155:1"), scalar("base"), scalar("x")})},
                 {"headers", map({{"all", map({{"Host", scalar("x")}})},
                                  {"verify", map({{"Authorization", scalar("x")}})},
                                  {"setle", map({})}})},
                 {"cdp_key", map({{"name", scalar("x")}})},
                 {"verify_timeout_ms", scalar("0")},
                 {"settle_timeout_ms", scalar("0")},
                 {"unproven_per_minute", scalar("0")}}),
            scalar("https://two.example"),
            map({{"url", scalar("three")}, {"allow_private_addresses", scalar("yes")}}),
            map({{"url", scalar("https://four.example")}}),
            map({{"url", scalar("https://four.example")}})}));
  ASSERT_FALSE(read.ok());
  std::vector<std::string> problems;
  for (const Mistake& mistake : split_mistakes(read.error())) {
    problems.push_back(mistake.where + ": " + mistake.message);
  }
  EXPECT_THAT(
      problems,
      UnorderedElementsAre(
          HasSubstr("[0].url: has an address that is private"),
          HasSubstr("[0].url: is the URL that `/verify`"), HasSubstr("[0].networks[1]: "),
          HasSubstr("[0].networks[2]: "), HasSubstr("[0].headers.all.Host: "),
          "[0].headers.setle: unknown key; did you mean `settle`?", "[0].cdp_key.name: unknown key",
          HasSubstr("[0].cdp_key.id: "), HasSubstr("[0].cdp_key.secret: "),
          HasSubstr("[0].cdp_key: makes Authorization"), HasSubstr("[0].verify_timeout_ms: "),
          HasSubstr("[0].settle_timeout_ms: "), HasSubstr("[0].unproven_per_minute: "),
          "[1]: expected a map", HasSubstr("[2].url: "), HasSubstr("[2].allow_private_addresses: "),
          HasSubstr("[4].url: is in the list twice")));
}

TEST_F(FacilitatorsTest, OneWithoutItsSecretIsNeverAsked) {
  facilitators_.emplace(
      settings_of(list({map({{"url", scalar("https://one.example")},
                             {"headers", map({{"all", map({{"Authorization", secret("")}})}})}}),
                        map({{"url", scalar("https://two.example")}})})),
      host_);
  host_.script = {answer(200, supported({kind("exact", network)})),
                  answer(200, {{"isValid", true}}), answer(200, settled_body())};
  EXPECT_TRUE(facilitators_->refresh_supported(call_));
  EXPECT_EQ(verify().outcome, Verification::Outcome::valid);
  EXPECT_EQ(settle("https://one.example").outcome, Outcome::settled);
  EXPECT_THAT(asked(), Each(HasSubstr("two.example")));
  EXPECT_TRUE(facilitators_->state()[0].lacks_secret);
}

// --- tokens for each request ---

// The seed and public key of RFC 8032, section 7.1, test 1.
constexpr std::string_view cdp_secret =
    "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DXWpgBgrEKt9VL/tPJZAc6DuFy89qmIyWvAhpo9wdRGg==";
constexpr std::string_view cdp_id = "12345678-1234-1234-1234-123456789abc";

Settings cdp_key(std::string secret_text = std::string(cdp_secret)) {
  return map({{"id", scalar(std::string(cdp_id))}, {"secret", secret(std::move(secret_text))}});
}

TEST(CdpKeys, MakeTheTokensOfTheirMakersOwnLibrary) {
  support::CountingRandom random;
  const auto key = CdpKey::read(cdp_key(std::string(cdp_secret) + "\n"));
  ASSERT_TRUE(key.ok());
  const std::string bearer = (*key)->bearer(
      "POST", "https://api.cdp.coinbase.com/platform/v2/x402/settle", 1'800'000'000, random);
  // The result of generateJwt in @coinbase/cdp-sdk 1.57.0 for that time and the nonce 01 02 ... 10.
  EXPECT_EQ(
      bearer,
      "Bearer "
      "eyJhbGciOiJFZERTQSIsImtpZCI6IjEyMzQ1Njc4LTEyMzQtMTIzNC0xMjM0LTEyMzQ1Njc4OWFiYyIsInR5cCI6"
      "IkpXVCIsIm5vbmNlIjoiMDEwMjAzMDQwNTA2MDcwODA5MGEwYjBjMGQwZTBmMTAifQ.eyJzdWIiOiIxMjM0NTY3O"
      "C0xMjM0LTEyMzQtMTIzNC0xMjM0NTY3ODlhYmMiLCJpc3MiOiJjZHAiLCJ1cmlzIjpbIlBPU1QgYXBpLmNkcC5jb"
      "2luYmFzZS5jb20vcGxhdGZvcm0vdjIveDQwMi9zZXR0bGUiXSwiaWF0IjoxODAwMDAwMDAwLCJuYmYiOjE4MDAwM"
      "DAwMDAsImV4cCI6MTgwMDAwMDEyMH0.xChqiqOyFaYAIDbIgUqPZdyOl1bDDEPIEPB_BITnFOe8LhAMJl7EKymBo"
      "1G480BYfojBYYbHEgC9PSFwnoLUAQ");
}

TEST_F(FacilitatorsTest, EachRequestHasATokenOfItsOwn) {
  support::CountingRandom random;
  host_.randomness = &random;
  facilitators_.emplace(
      settings_of(list({map({{"url", scalar("https://one.example/base")},
                             {"headers", map({{"all", map({{"A", scalar("b")}})}})},
                             {"cdp_key", cdp_key()}})})),
      host_);
  host_.script = {answer(200, supported({kind("exact", network)})),
                  failed(FailureKind::transport, true), answer(200, {{"isValid", true}}),
                  answer(200, settled_body())};
  EXPECT_TRUE(facilitators_->refresh_supported(call_));
  EXPECT_EQ(verify().outcome, Verification::Outcome::valid);
  EXPECT_EQ(settle().outcome, Outcome::settled);
  std::vector<std::string> named;
  std::set<std::string> tokens;
  for (const auto& seen : host_.seen) {
    EXPECT_THAT(seen.values_of("a"), ElementsAre("b"));
    const auto values = seen.values_of("Authorization");
    ASSERT_THAT(values, SizeIs(1));
    tokens.insert(values[0]);
    const std::size_t begin = values[0].find('.') + 1;
    const std::string claims = values[0].substr(begin, values[0].rfind('.') - begin);
    named.push_back(json::parse(*base64url_decode(claims, claims.size()))["uris"][0]);
  }
  EXPECT_THAT(named, ElementsAre("GET one.example/base/supported", "POST one.example/base/verify",
                                 "POST one.example/base/verify", "POST one.example/base/settle"));
  EXPECT_THAT(tokens, SizeIs(4));
}

TEST_F(FacilitatorsTest, AKeyThatIsMissingOrWrongSignsNothing) {
  const auto with = [](Settings key, Settings headers) {
    return read_facilitators(list({map({{"url", scalar("https://a")},
                                        {"headers", std::move(headers)},
                                        {"cdp_key", std::move(key)}})}));
  };
  const auto missing = with(cdp_key(""), map({}));
  ASSERT_TRUE(missing.ok());
  EXPECT_TRUE(missing.value()[0].lacks_secret);
  std::string of_another(cdp_secret);
  of_another[80] = 'A';
  for (const std::string& wrong : {std::string("hush"), of_another}) {
    const auto read = with(cdp_key(wrong), map({}));
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().where, "[0].cdp_key.secret");
    EXPECT_THAT(read.error().message, Not(HasSubstr(wrong)));
  }
  EXPECT_FALSE(with(map({{"id", scalar("x")}, {"secret", scalar("y")}}), map({})).ok());
  const auto twice = with(cdp_key(), map({{"verify", map({{"authorization", scalar("x")}})}}));
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().where, "[0].cdp_key");
}

// --- one exchange ---

TEST(ExchangeJson, GivesNoBodyThatReadersDifferIn) {
  ScriptedHost host;
  ScriptedCall call(host.scripted_clock, 5'000);
  JsonRequest request;
  request.url = "https://one.example/settle";
  const auto is_read = [&](std::string text) {
    host.script = {{200, {}, std::move(text)}};
    const auto reply = exchange_json(host, request, call);
    EXPECT_TRUE(reply.ok());
    return reply.ok() && reply->body().kind() != JsonKind::absent;
  };
  EXPECT_TRUE(is_read(R"({"a": {"b": 1}, "b": [{"b": 2}, {"b": 3}]})"));
  EXPECT_FALSE(is_read(R"({"success": false, "success": true})"));
  EXPECT_FALSE(is_read(R"([{"a": 1, "\u0061": 2}])"));
  const auto nested = [](int depth) {
    return std::string(std::size_t(depth), '[') + std::string(std::size_t(depth), ']');
  };
  EXPECT_TRUE(is_read(nested(JsonLimits().depth)));
  EXPECT_FALSE(is_read(nested(JsonLimits().depth + 1)));
  EXPECT_FALSE(is_read(std::string(60'000, '[')));
  for (const char* text : {"", " ", "{", "<html>", "{}{}", "nul", "\"\xff\"", "{'a': 1}", "NaN"}) {
    EXPECT_FALSE(is_read(text)) << text;
  }
}

TEST(ExchangeJson, EndsAtTheEarlierDeadlineAndCarriesItsOptions) {
  ScriptedHost host;
  ScriptedCall call(host.scripted_clock, 5'000);
  const std::vector<OwnedHeader> headers = {{"X-Key", "hush"}};
  JsonRequest request;
  request.url = "https://one.example/verify";
  request.headers = headers;
  request.body = "{}";
  request.timeout_ms = 2'000;
  host.script = {{200, {}, "{}"}, {200, {}, "{}"}};
  ASSERT_TRUE(exchange_json(host, request, call).ok());
  request.timeout_ms = 9'000;
  request.fresh_connection = true;
  request.allow_private_addresses = true;
  ASSERT_TRUE(exchange_json(host, request, call).ok());
  const std::int64_t now_ns = host.scripted_clock.monotonic_ns();
  EXPECT_EQ(host.seen[0].deadline_ns, now_ns + 2'000'000'000);
  EXPECT_EQ(host.seen[1].deadline_ns, call.deadline_ns());
  EXPECT_FALSE(host.seen[0].options.fresh_connection);
  EXPECT_FALSE(host.seen[0].options.allow_private_addresses);
  EXPECT_EQ(host.seen[0].options.reply_bytes_max, json_reply_bytes_max);
  EXPECT_TRUE(host.seen[1].options.fresh_connection);
  EXPECT_TRUE(host.seen[1].options.allow_private_addresses);
  EXPECT_THAT(host.seen[0].values_of("content-type"), ElementsAre("application/json"));
  EXPECT_THAT(host.seen[0].values_of("x-key"), ElementsAre("hush"));
}

TEST(ExchangeJson, RedirectsAndTooLongRepliesAreFailuresThatMayHaveActed) {
  ScriptedHost host;
  ScriptedCall call(host.scripted_clock, 5'000);
  JsonRequest request;
  request.url = "https://one.example/settle";
  const std::string at_limit = "\"" + std::string(json_reply_bytes_max - 2, 'x') + "\"";
  host.script = {{307, {{"Location", "https://two.example"}}, settled_body().dump()},
                 {200, {}, at_limit},
                 {200, {}, at_limit + " "}};
  const auto redirected = exchange_json(host, request, call);
  ASSERT_FALSE(redirected.ok());
  EXPECT_EQ(redirected.error().kind, FailureKind::redirect);
  EXPECT_TRUE(redirected.error().maybe_sent);
  EXPECT_TRUE(exchange_json(host, request, call).ok());
  const auto too_long = exchange_json(host, request, call);
  ASSERT_FALSE(too_long.ok());
  EXPECT_EQ(too_long.error().kind, FailureKind::too_large);
  EXPECT_TRUE(too_long.error().maybe_sent);
}

// --- settlements ---

// Every reply that these members can form, at every status, checked against an independent
// statement of what must never be concluded from it.
TEST_F(FacilitatorsTest, ASettlementIsToldAsDefiniteOnlyWhenTheReplySaysSo) {
  const json absent = "absent";
  const std::vector<json> successes = {true, false, "true", 1, nullptr, absent};
  const std::vector<json> transactions = {hash, "", "0x12", signature, nullptr, 7, absent};
  const std::vector<json> networks = {network, "eip155:8453", "", nullptr, 84532, absent};
  const std::vector<json> reasons = {"insufficient_funds",
                                     "settlement_pending",
                                     "invalid_exact_evm_nonce_already_used",
                                     "duplicate_settlement",
                                     "permit2_invalid_nonce",
                                     "invalid_exact_evm_transaction_failed",
                                     "unexpected_settle_error",
                                     "invalid_transaction_state",
                                     "settle_exact_svm_transaction_confirmation_timed_out",
                                     "Error: socket hang up <script>",
                                     "",
                                     nullptr,
                                     5,
                                     absent};
  const std::vector<std::string> used = {"invalid_exact_evm_nonce_already_used",
                                         "duplicate_settlement", "permit2_invalid_nonce"};
  const auto put = [](json& body, const char* name, const json& value) {
    if (value != "absent") body[name] = value;
  };
  int settled = 0;
  int refused = 0;
  for (const json& success : successes) {
    for (const json& transaction : transactions) {
      for (const json& reply_network : networks) {
        for (const json& reason : reasons) {
          json body = {{"errorMessage", "stack trace"}, {"later", {{"member", 1}}}};
          put(body, "success", success);
          put(body, "transaction", transaction);
          put(body, "network", reply_network);
          put(body, "errorReason", reason);
          bool is_typed = false;
          const Settlement got = settlement_of(body, network, is_typed);
          const std::string text = body.dump();
          const bool typed = success.is_boolean() && transaction.is_string() &&
                             transaction != absent && reply_network.is_string() &&
                             reply_network != absent && reason != 5;
          EXPECT_EQ(is_typed, typed) << text;
          const bool is_settled =
              typed && success == true && transaction == hash && reply_network == network;
          EXPECT_EQ(got.outcome == Outcome::settled, is_settled) << text;
          const bool says_no = typed && success == false;
          const bool is_used = says_no && std::count(used.begin(), used.end(), reason) != 0;
          EXPECT_EQ(got.outcome == Outcome::already_used, is_used) << text;
          const bool is_ours = reply_network == network || reply_network == "";
          EXPECT_EQ(got.outcome == Outcome::pending,
                    says_no && reason == "settlement_pending" && transaction == hash && is_ours)
              << text;
          const bool has_plain_reason = reason == "insufficient_funds" || reason == "" ||
                                        reason == nullptr || reason == absent;
          EXPECT_EQ(got.outcome == Outcome::refused,
                    says_no && transaction == "" && is_ours && has_plain_reason)
              << text;
          EXPECT_NE(got.outcome, Outcome::not_sent);
          EXPECT_TRUE(got.transaction.empty() || got.transaction == hash) << text;
          EXPECT_TRUE(got.reason.empty() || is_reason_code(got.reason)) << got.reason;
          settled += is_settled ? 1 : 0;
          refused += got.outcome == Outcome::refused ? 1 : 0;
        }
      }
    }
  }
  EXPECT_EQ(settled, 13);  // every reason except the mistyped one
  EXPECT_EQ(refused, 8);
}

TEST_F(FacilitatorsTest, AReplysMembersDecideWhateverItsStatus) {
  use({"https://one.example"});
  const struct {
    std::string body;
    Outcome expected;
  } cases[] = {
      {settled_body().dump(), Outcome::settled},
      {failed_body("insufficient_funds").dump(), Outcome::refused},
      {failed_body("invalid_exact_evm_nonce_already_used").dump(), Outcome::already_used},
      {failed_body("invalid_exact_evm_transaction_failed", hash).dump(), Outcome::unknown},
      {R"({"error":"not found"})", Outcome::unknown},
      {R"({"success":true})", Outcome::unknown},
      {R"({"success":false})", Outcome::unknown},
      {R"({"success":false,"success":true,"transaction":")" + hash +
           R"(","network":"eip155:84532"})",
       Outcome::unknown},
      {"<html>ok</html>", Outcome::unknown},
      {"", Outcome::unknown},
      {"null", Outcome::unknown},
      {"[]", Outcome::unknown},
      {"true", Outcome::unknown},
  };
  for (const auto& [body, expected] : cases) {
    for (const int status :
         {200, 201, 202, 204, 400, 401, 402, 403, 404, 409, 429, 500, 502, 503}) {
      host_.script = {{status, {{"Retry-After", "1"}}, body}};
      EXPECT_EQ(settle().outcome, expected) << status << " " << body;
      EXPECT_THAT(host_.script, IsEmpty());
    }
    for (const int status : {301, 302, 303, 307, 308}) {
      host_.script = {{status, {{"Location", "https://two.example"}}, body}};
      EXPECT_EQ(settle().outcome, Outcome::unknown) << status << " " << body;
    }
    // A reply that breaks off proves nothing.
    host_.script = {{200, {}, body, failure_of(FailureKind::transport, true)}};
    EXPECT_EQ(settle().outcome, Outcome::unknown) << body;
  }
}

TEST_F(FacilitatorsTest, OnlyWhatCertainlyNeverLeftIsSentToAnother) {
  for (const FailureKind kind :
       {FailureKind::timeout, FailureKind::transport, FailureKind::contract, FailureKind::too_large,
        FailureKind::redirect, FailureKind::credential, FailureKind::unavailable,
        FailureKind::cancelled, FailureKind::plugin_fault}) {
    host_.seen.clear();
    host_.script = {failed(kind, true), answer(200, settled_body())};
    const Settlement lost = settle();
    EXPECT_EQ(lost.outcome, Outcome::unknown) << name_of(kind);
    EXPECT_THAT(host_.seen, SizeIs(1)) << name_of(kind);
    EXPECT_EQ(lost.facilitator, asked()[0].substr(0, asked()[0].rfind('/')));

    host_.seen.clear();
    host_.script = {failed(kind, false), answer(200, settled_body())};
    EXPECT_EQ(settle().outcome, Outcome::settled) << name_of(kind);
    EXPECT_THAT(host_.seen, SizeIs(2)) << name_of(kind);

    host_.script = {failed(kind, false), failed(kind, false)};
    const Settlement unsent = settle();
    EXPECT_EQ(unsent.outcome, Outcome::not_sent) << name_of(kind);
    EXPECT_EQ(unsent.facilitator, "");
  }
}

TEST_F(FacilitatorsTest, ASettlementSendsTheTextsAsTheyAreOnAFreshConnection) {
  host_.script = {answer(200, settled_body())};
  const Settlement settlement = settle();
  ASSERT_EQ(settlement.outcome, Outcome::settled);
  EXPECT_EQ(settlement.transaction, hash);
  EXPECT_EQ(settlement.network, network);
  EXPECT_EQ(settlement.payer, payer);
  EXPECT_EQ(settlement.facilitator, "https://one.example");
  const auto& seen = host_.seen.at(0);
  EXPECT_EQ(seen.url, "https://one.example/settle");
  EXPECT_EQ(seen.method, Method::post);
  EXPECT_TRUE(seen.options.fresh_connection);
  EXPECT_EQ(seen.deadline_ns, host_.scripted_clock.monotonic_ns() + 90'000'000'000);
  EXPECT_EQ(seen.body, R"({"x402Version":2,"paymentPayload":{"x402Version":2},)"
                       R"("paymentRequirements":{"scheme":"exact"}})");
}

TEST_F(FacilitatorsTest, APendingOneIsAskedOnceMoreAndOnlyAConfirmationCounts) {
  const ScriptedHost::Answer pending = answer(500, failed_body("settlement_pending", hash));
  json other = settled_body();
  other["transaction"] = other_hash;
  host_.script = {pending, answer(200, other)};
  EXPECT_EQ(settle().transaction, other_hash);  // a replaced transaction has another hash
  ASSERT_THAT(asked(), ElementsAre("https://one.example/settle", "https://one.example/settle"));
  EXPECT_EQ(host_.seen[0].body, host_.seen[1].body);
  for (const ScriptedHost::Answer& second :
       {pending, answer(200, failed_body("insufficient_funds")),
        answer(200, failed_body("invalid_exact_evm_nonce_already_used")),
        answer(200, failed_body("settlement_pending", other_hash)),
        ScriptedHost::Answer{200, {}, "<html>"}, failed(FailureKind::timeout, true),
        failed(FailureKind::transport, false)}) {
    host_.seen.clear();
    host_.script = {pending, second};
    const Settlement settlement = settle("https://one.example");
    EXPECT_EQ(settlement.outcome, Outcome::pending);
    EXPECT_EQ(settlement.transaction, hash);
    EXPECT_THAT(host_.seen, SizeIs(2));
  }
}

TEST_F(FacilitatorsTest, ASettlementTakesNoLongerThanItsTimeout) {
  const std::int64_t end_ns = host_.scripted_clock.monotonic_ns() + 90'000'000'000;
  const auto pending_after = [this](std::int64_t ms) {
    ScriptedHost::Answer pending = answer(200, failed_body("settlement_pending", hash));
    pending.then = [this, ms](const Call&) { host_.scripted_clock.move_ms(ms); };
    return pending;
  };
  host_.script = {pending_after(60'000), answer(200, settled_body())};
  EXPECT_EQ(settle().outcome, Outcome::settled);
  EXPECT_EQ(host_.seen.at(0).deadline_ns, end_ns);
  EXPECT_EQ(host_.seen.at(1).deadline_ns, end_ns);
  host_.script = {pending_after(90'000), answer(200, settled_body())};
  EXPECT_EQ(settle().outcome, Outcome::pending);
  EXPECT_THAT(host_.seen, SizeIs(3));
}

TEST_F(FacilitatorsTest, SolanaTransactionsAreSignatures) {
  bool is_typed = false;
  json body = settled_body();
  body["network"] = solana;
  EXPECT_EQ(settlement_of(body, solana, is_typed).outcome, Outcome::unknown);
  body["transaction"] = signature;
  body["payer"] = one_fee_payer;
  EXPECT_EQ(settlement_of(body, solana, is_typed).outcome, Outcome::settled);
  body["transaction"] = "0OIl" + std::string(signature.substr(4));  // not base58 digits
  EXPECT_EQ(settlement_of(body, solana, is_typed).outcome, Outcome::unknown);
  body["network"] = "tezos:NetXdQprcVkpaWU";
  EXPECT_EQ(settlement_of(body, "tezos:NetXdQprcVkpaWU", is_typed).outcome, Outcome::unknown);
}

TEST_F(FacilitatorsTest, LogsHoldNeitherBodiesNorHeadersNorPaths) {
  facilitators_.emplace(
      settings_of(
          list({map({{"url", scalar("https://one.example/path-key")},
                     {"headers", map({{"all", map({{"Authorization", secret("hush")}})}})}})})),
      host_);
  for (int round = 0; round < 4; ++round) {
    host_.script = {{500, {}, "body-text"}, failed(FailureKind::timeout, true)};
    settle();
    settle();
  }
  ASSERT_THAT(host_.logged, Not(IsEmpty()));
  for (const char* never : {"hush", "path-key", "body-text", "secret text"}) {
    EXPECT_THAT(host_.logged, Each(Not(HasSubstr(never))));
  }
  EXPECT_THAT(host_.logged[0], HasSubstr("https://one.example for request request has an unknown"));
}

// --- verifications ---

TEST_F(FacilitatorsTest, VerificationsAreDecidedByIsValid) {
  use({"https://one.example"});
  using enum Verification::Outcome;
  const struct {
    std::string body;
    Verification::Outcome expected;
    std::string reason;
  } cases[] = {
      {R"({"isValid":true})", valid, ""},
      {R"({"isValid":true,"payer":null,"invalidReason":null,"extra":{}})", valid, ""},
      {R"({"isValid":true,"invalidReason":"insufficient_funds"})", valid, ""},
      {R"({"isValid":false,"invalidReason":"insufficient_funds"})", invalid, "insufficient_funds"},
      {R"({"isValid":false,"invalidReason":"<b>Error at 10.0.0.7</b>"})", invalid,
       "facilitator_refused"},
      {R"({"isValid":false})", invalid, "facilitator_refused"},
      {R"({"isValid":false,"invalidReason":"unexpected_verify_error"})", unavailable, ""},
      {R"({"isValid":"true"})", unavailable, ""},
      {R"({"isValid":1})", unavailable, ""},
      {R"({"isValid":null})", unavailable, ""},
      {R"({"isValid":true,"payer":5})", unavailable, ""},
      {R"({"isValid":false,"invalidReason":[]})", unavailable, ""},
      {R"({"isValid":false,"isValid":true})", unavailable, ""},
      {R"({"error":"x"})", unavailable, ""},
      {R"([true])", unavailable, ""},
      {"<html>", unavailable, ""},
      {"", unavailable, ""},
  };
  for (const auto& [body, expected, reason] : cases) {
    for (const int status : {200, 400, 402, 412, 500}) {
      host_.script = {{status, {}, body}};
      const Verification got = verify();
      EXPECT_EQ(got.outcome, expected) << status << body;
      EXPECT_EQ(got.reason, reason) << status << body;
    }
    host_.script = {{302, {}, body}};
    EXPECT_EQ(verify().outcome, unavailable);
  }
  EXPECT_EQ(host_.counted["facilitator_verify_valid"], 15u);
  EXPECT_GT(host_.counted["facilitator_verify_unavailable"], 0u);
}

TEST_F(FacilitatorsTest, APayerIsPassedOnOnlyInItsForm) {
  host_.script = {answer(200, {{"isValid", true}, {"payer", payer}}),
                  answer(200, {{"isValid", true}, {"payer", "0x12 <script>"}})};
  EXPECT_EQ(verify().payer, payer);
  EXPECT_EQ(verify().payer, "");
}

TEST_F(FacilitatorsTest, AVerificationGoesToTheNextWhenOneCannotAnswer) {
  for (const ScriptedHost::Answer& down :
       {failed(FailureKind::transport, false), failed(FailureKind::timeout, true),
        ScriptedHost::Answer{503, {}, "busy"},
        answer(200, {{"isValid", false}, {"invalidReason", "unexpected_verify_error"}})}) {
    use({"https://one.example", "https://two.example"});
    host_.seen.clear();
    host_.script = {down, answer(200, {{"isValid", true}})};
    EXPECT_EQ(verify().outcome, Verification::Outcome::valid);
    EXPECT_THAT(asked(), ElementsAre("https://one.example/verify", "https://two.example/verify"));
  }
}

TEST_F(FacilitatorsTest, AConnectionThatWasClosedWhileIdleCostsNoVerification) {
  use({"https://one.example"});
  host_.script = {failed(FailureKind::transport, true), answer(200, {{"isValid", true}})};
  EXPECT_EQ(verify().outcome, Verification::Outcome::valid);
  EXPECT_FALSE(host_.seen[0].options.fresh_connection);
  EXPECT_TRUE(host_.seen[1].options.fresh_connection);
}

TEST_F(FacilitatorsTest, NobodyIsAskedAfterTheCallersDeadline) {
  host_.script = {failed(FailureKind::timeout, true), answer(200, {{"isValid", true}})};
  host_.script[0].then = [this](const Call&) { host_.scripted_clock.move_ms(100'000'000); };
  EXPECT_EQ(verify().outcome, Verification::Outcome::unavailable);
  EXPECT_THAT(host_.seen, SizeIs(1));
}

// --- health and order ---

TEST_F(FacilitatorsTest, OneThatKeepsFailingStandsBehindForAWhile) {
  learn(supported({kind("exact", network)}), supported({kind("exact", network)}));
  for (std::uint32_t round = 0; round < Facilitators::failures_max; ++round) {
    host_.script = {failed(FailureKind::timeout, true), answer(200, {{"isValid", true}})};
    verify();
  }
  EXPECT_TRUE(facilitators_->state()[0].is_behind);
  EXPECT_FALSE(facilitators_->state()[1].is_behind);
  EXPECT_THAT(host_.logged, SizeIs(1));
  host_.seen.clear();
  host_.script = {answer(200, settled_body())};
  settle();
  EXPECT_THAT(asked(), ElementsAre("https://two.example/settle"));
  host_.scripted_clock.move_ms(Facilitators::behind_ms);
  host_.seen.clear();
  host_.script = {answer(200, settled_body())};
  settle();
  EXPECT_THAT(asked(), ElementsAre("https://one.example/settle"));
  EXPECT_EQ(facilitators_->state()[0].failures, 0u);
  EXPECT_THAT(host_.logged.back(), HasSubstr("works again"));
}

TEST_F(FacilitatorsTest, ARefusalIsNoFailure) {
  for (std::uint32_t round = 0; round < 2 * Facilitators::failures_max; ++round) {
    host_.script = {answer(400, failed_body("insufficient_funds"))};
    settle();
    host_.script = {answer(400, {{"isValid", false}})};
    verify();
  }
  EXPECT_FALSE(facilitators_->state()[0].is_behind);
}

TEST_F(FacilitatorsTest, TheOneThatWasAskedLastIsAskedAgain) {
  host_.script = {answer(200, settled_body())};
  settle("https://two.example");
  EXPECT_THAT(asked(), ElementsAre("https://two.example/settle"));
}

TEST_F(FacilitatorsTest, OneThatSupportsOtherKindsOnlyIsNotAsked) {
  learn(supported({kind("exact", "eip155:8453")}), supported({kind("exact", network)}));
  host_.script = {answer(200, settled_body())};
  settle();
  EXPECT_THAT(asked(), ElementsAre("https://two.example/settle"));
}

TEST_F(FacilitatorsTest, NetworksThatTheOperatorLeftOutAreNotSent) {
  facilitators_.emplace(settings_of(list({map({{"url", scalar("https://one.example")},
                                               {"networks", list({scalar("eip155:1")})}})})),
                        host_);
  EXPECT_EQ(settle().outcome, Outcome::not_sent);
  EXPECT_EQ(verify().outcome, Verification::Outcome::unavailable);
  EXPECT_THAT(host_.seen, IsEmpty());
  request_.network = "eip155:1";
  host_.script = {answer(200, {{"isValid", true}})};
  EXPECT_EQ(verify().outcome, Verification::Outcome::valid);
}

TEST_F(FacilitatorsTest, OnlyTheOneWithTheFeePayersKeyIsAsked) {
  json one = kind("exact", solana);
  one["extra"] = {{"feePayer", one_fee_payer}};
  json two = kind("exact", solana);
  json two_supported = supported({two});
  two_supported["signers"] = {{"solana:*", {other_fee_payer}}};
  learn(supported({one}), two_supported);
  request_.network = solana;
  ASSERT_TRUE(facilitators_->extra_of("exact", solana));
  EXPECT_EQ(facilitators_->extra_of("exact", solana)->fee_payer, one_fee_payer);
  for (const auto& [account, url] : {std::pair{one_fee_payer, "https://one.example/verify"},
                                     std::pair{other_fee_payer, "https://two.example/verify"}}) {
    request_.fee_payer = account;
    host_.seen.clear();
    host_.script = {failed(FailureKind::transport, false)};
    verify();
    EXPECT_THAT(asked(), ElementsAre(url));
  }
}

// --- what is supported ---

TEST_F(FacilitatorsTest, EarlierOnesWinAndOldKindsAreForgotten) {
  EXPECT_FALSE(facilitators_->supports("exact", network));
  EXPECT_FALSE(facilitators_->state()[0].age_ms);
  learn(supported({kind("exact", "eip155:*"), kind("upto", network)}),
        supported({kind("exact", solana)}));
  EXPECT_TRUE(facilitators_->supports("exact", network));
  EXPECT_TRUE(facilitators_->supports("upto", network));
  EXPECT_TRUE(facilitators_->supports("exact", solana));
  EXPECT_FALSE(facilitators_->supports("escrow", network));
  host_.scripted_clock.move_ms(Facilitators::kinds_kept_ms);
  host_.script = {failed(FailureKind::transport, false), answer(200, supported({}))};
  EXPECT_FALSE(facilitators_->refresh_supported(call_));
  EXPECT_TRUE(facilitators_->supports("exact", network));  // still kept
  EXPECT_FALSE(facilitators_->supports("exact", solana));  // withdrawn
  EXPECT_EQ(facilitators_->state()[0].age_ms, Facilitators::kinds_kept_ms);
  host_.scripted_clock.move_ms(1);
  EXPECT_FALSE(facilitators_->supports("exact", network));
}

TEST_F(FacilitatorsTest, OtherVersionsAndMistypedKindsAreLeftOut) {
  use({"https://one.example"});
  json version_1 = kind("exact", "eip155:1");
  version_1["x402Version"] = 1;
  json mistyped = kind("exact", "eip155:2");
  mistyped["scheme"] = 5;
  json with_null = kind("exact", "eip155:3");
  with_null["extra"] = nullptr;
  host_.script = {answer(200, supported({version_1, mistyped, "text", with_null}))};
  EXPECT_TRUE(facilitators_->refresh_supported(call_));
  EXPECT_FALSE(facilitators_->supports("exact", "eip155:1"));
  EXPECT_FALSE(facilitators_->supports("exact", "eip155:2"));
  EXPECT_TRUE(facilitators_->supports("exact", "eip155:3"));
  for (const ScriptedHost::Answer& wrong :
       {ScriptedHost::Answer{200, {}, "{}"}, ScriptedHost::Answer{200, {}, R"({"kinds":{}})"},
        ScriptedHost::Answer{500, {}, supported({}).dump()},
        ScriptedHost::Answer{301, {}, supported({}).dump()}}) {
    host_.script = {wrong};
    EXPECT_FALSE(facilitators_->refresh_supported(call_));
    EXPECT_TRUE(facilitators_->supports("exact", "eip155:3"));
  }
}

TEST_F(FacilitatorsTest, RetryAfterIsHonouredAFewTimes) {
  use({"https://one.example"});
  const auto busy = [](std::vector<OwnedHeader> headers) {
    return ScriptedHost::Answer{429, std::move(headers), "busy"};
  };
  host_.script = {busy({{"retry-after", "7"}}), busy({{"Retry-After", "86400"}}),
                  answer(200, supported({kind("exact", network)}))};
  EXPECT_TRUE(facilitators_->refresh_supported(call_));
  EXPECT_THAT(call_.slept_ms, ElementsAre(7'000, 30'000));
  call_.slept_ms.clear();
  host_.script = {busy({}), busy({{"Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"}}), busy({}),
                  answer(200, supported({}))};
  EXPECT_FALSE(facilitators_->refresh_supported(call_));
  EXPECT_THAT(call_.slept_ms, ElementsAre(1'000, 2'000));
  EXPECT_THAT(host_.script, SizeIs(1));
}

}  // namespace
}  // namespace turnpike::x402

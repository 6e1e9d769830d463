// The judgement of a reply by a look: one case for each reason, and hostile replies.
#include "status/judge.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <turnpike/helpers/probe.h>

#include "crypto/digest.h"

namespace turnpike::status {
namespace {

using registry::Expectation;
using registry::JsonKind;
using ::testing::AllOf;
using ::testing::Field;
using ::testing::SizeIs;

constexpr std::int64_t now_ms = 1'763'706'540'000;  // 2025-11-21T06:29:00Z
constexpr std::string_view now_text = "2025-11-21T06:29:00Z";

Expectation expecting(std::vector<std::pair<std::string, JsonKind>> kinds) {
  Expectation expect;
  expect.kinds = std::move(kinds);
  expect.hash = "sha256:1";
  return expect;
}

Expectation fresh_within(std::uint32_t seconds, std::string at = {}) {
  Expectation expect = expecting({});
  expect.fresh_within_seconds = seconds;
  expect.fresh_at = std::move(at);
  return expect;
}

ReplySeen reply_with(std::string body, int status = 200) {
  ReplySeen reply;
  reply.status = status;
  reply.content_types = 1;
  reply.content_type = "application/json; charset=utf-8";
  reply.body = std::move(body);
  return reply;
}

Look judged(const ReplySeen& reply, const Expectation& expect = {}, Done done = Unit{},
            bool is_late = false) {
  return judge(registry::default_response(), expect, reply, done, is_late, now_ms);
}

Done failing(FailureKind kind) { return Failure{kind, "no", {}, false}; }

auto is(LookResult result, Reason reason) {
  return AllOf(Field("result", &Look::result, result), Field("reason", &Look::reason, reason));
}
auto fails(Reason reason) { return is(LookResult::fail, reason); }
const auto passes = is(LookResult::pass, Reason::none);

TEST(Judge, ADeclaredSuccessPasses) {
  const Look look = judged(reply_with("not even JSON"));
  EXPECT_THAT(look, passes);
  EXPECT_EQ(look.status, 200u);
  EXPECT_EQ(look.expect_hash, "");
  EXPECT_EQ(look.body_sha256, "") << "nothing is expected of the body";
}

TEST(Judge, AStatusThatIsNoSuccessTellsWhy) {
  for (const auto& [status, reason] :
       {std::pair{401, Reason::credential}, {402, Reason::credential}, {403, Reason::credential},
        {429, Reason::rate_limited}, {404, Reason::status}, {301, Reason::status},
        {500, Reason::status}, {201, Reason::status}}) {
    // The sink ends such a reply, which the guard reports as cancelled.
    const Look look = judged(reply_with("", status), {}, failing(FailureKind::cancelled));
    EXPECT_THAT(look, fails(reason)) << status;
    EXPECT_EQ(look.status, static_cast<std::uint32_t>(status));
  }
}

TEST(Judge, AContentTypeMustBeAllowed) {
  ReplySeen reply = reply_with("<html>");
  reply.content_type = "text/html";
  EXPECT_THAT(judged(reply), fails(Reason::content_type));
  reply.content_type = "application/json";
  reply.content_types = 2;
  EXPECT_THAT(judged(reply), fails(Reason::content_type));
  reply.content_types = 0;
  reply.content_type = "";
  EXPECT_THAT(judged(reply), fails(Reason::content_type));
}

TEST(Judge, AReplyThatIsTooLongOrLateOrBrokenFails) {
  ReplySeen reply = reply_with("{}");
  reply.is_too_large = true;
  EXPECT_THAT(judged(reply, {}, failing(FailureKind::cancelled)),
              fails(Reason::response_too_large));
  EXPECT_THAT(judged(reply_with("{}"), {}, Unit{}, true), fails(Reason::timeout));
  EXPECT_THAT(judged(reply_with("{}"), {}, failing(FailureKind::transport)),
              fails(Reason::unreachable));
  EXPECT_THAT(judged(ReplySeen()), fails(Reason::plugin_fault)) << "done without a head";
}

TEST(Judge, AReplyThatIsTooLongToBeReadSaysNothing) {
  ReplySeen reply = reply_with("{");
  reply.is_body_cut = true;
  const Look look =
      judged(reply, expecting({{"", JsonKind::object}}), failing(FailureKind::cancelled));
  EXPECT_THAT(look, is(LookResult::unknown, Reason::response_too_large));
  EXPECT_EQ(look.body_sha256, "") << "of a part of it";
}

TEST(Judge, EachKindOfFailureHasItsReason) {
  const std::vector<std::pair<FailureKind, Reason>> reasons = {
      {FailureKind::timeout, Reason::timeout},
      {FailureKind::transport, Reason::unreachable},
      {FailureKind::contract, Reason::protocol},
      {FailureKind::too_large, Reason::response_too_large},
      {FailureKind::redirect, Reason::status},
      {FailureKind::credential, Reason::credential},
      {FailureKind::unavailable, Reason::blocked},
      {FailureKind::invalid_settings, Reason::plugin_fault},
      {FailureKind::plugin_fault, Reason::plugin_fault}};
  for (const auto& [kind, reason] : reasons) {
    EXPECT_THAT(judged(ReplySeen(), {}, failing(kind)), fails(reason));
    EXPECT_THAT(judge_probe(failing(kind), false), fails(reason));
  }
  EXPECT_THAT(judged(ReplySeen(), {}, failing(FailureKind::cancelled)),
              is(LookResult::unknown, Reason::stopping));
}

TEST(Judge, KindsAreAsExpectedOrTheDifferenceIsTold) {
  const Expectation expect = expecting({{"", JsonKind::object},
                                        {"/data", JsonKind::array},
                                        {"/data/0/id", JsonKind::string},
                                        {"/next", JsonKind::null},
                                        {"/ok", JsonKind::boolean},
                                        {"/total", JsonKind::number}});
  const std::string body = R"({"data":[{"id":"x"}],"next":null,"ok":false,"total":-1.5e3})";
  const Look look = judged(reply_with(body), expect);
  EXPECT_THAT(look, passes);
  EXPECT_EQ(look.expect_hash, "sha256:1");
  EXPECT_EQ(look.body_sha256, crypto::sha256_hex(body));

  const auto difference = [&](const std::string& changed) {
    const Look other = judged(reply_with(changed), expect);
    EXPECT_THAT(other, fails(Reason::contract)) << changed;
    EXPECT_EQ(other.body_sha256, crypto::sha256_hex(changed));
    return other.difference;
  };
  EXPECT_EQ(difference(R"({"data":[{"id":7}],"next":null,"ok":false,"total":1})"),
            "/data/0/id should be string, is number");
  EXPECT_EQ(difference(R"({"data":[],"next":null,"ok":false,"total":1})"),
            "/data/0/id should be string, is missing");
  EXPECT_EQ(difference(R"({"data":[{"id":"x"}],"next":"n","ok":false,"total":{}})"),
            "/next should be null, is string, and 1 more");
  EXPECT_EQ(difference("[]"), "the reply should be object, is array, and 5 more");
}

TEST(Judge, ABodyThatIsNoJsonIsNoMatchForKinds) {
  const Expectation expect = expecting({{"/a", JsonKind::null}});
  for (const char* body : {"", "{", R"({"a":null}x)", R"({"a":null)", "nul", "<html>"}) {
    EXPECT_EQ(judged(reply_with(body), expect).difference, "the reply is no JSON") << body;
  }
  // A NUL does not end the text.
  EXPECT_EQ(judged(reply_with(std::string("{\"a\":null}\0", 11)), expect).difference,
            "the reply is no JSON");
  // Nesting uses no stack.
  const std::string deep(200'000, '[');
  EXPECT_EQ(judged(reply_with(deep), expect).difference, "the reply is no JSON");
  EXPECT_EQ(judged(reply_with(deep + std::string(200'000, ']')), expect).difference,
            "the reply is no JSON");
}

TEST(Judge, ADifferenceIsBounded) {
  const Expectation expect = expecting({{"/" + std::string(250, 'x'), JsonKind::null}});
  EXPECT_THAT(judged(reply_with("{}"), expect).difference, SizeIs(difference_bytes_max));
  // The text is not cut within a character.
  const std::string text = std::string(196, 'x') + "\xC3\xA4\xC3\xA4\xC3\xA4";
  EXPECT_EQ(bounded_difference(text), std::string(196, 'x') + "...");
}

TEST(Judge, WhatTheReplyTellsMustBeFresh) {
  const Expectation expect = fresh_within(60, "/at");
  const auto told = [&](const std::string& at) {
    return judged(reply_with("{\"at\":" + at + "}"), expect);
  };
  for (const char* fresh : {R"("2025-11-21T06:28:00Z")", R"("2025-11-21T06:28:00.999999Z")",
                            R"("2025-11-21 07:28:00+01:00")", R"("2025-11-21t03:58:00-02:30")",
                            "1763706480", "1763706480000", "1763706480.5", "1763706540000",
                            R"("2025-11-21T06:30:00Z")"}) {
    EXPECT_THAT(told(fresh), passes) << fresh;
  }
  for (const char* old : {R"("2025-11-21T06:27:59Z")", R"("2025-11-21T06:28:00+00:01")",
                          "1763706479", "1763706479999", "0"}) {
    EXPECT_THAT(told(old), fails(Reason::freshness)) << old;
  }
  for (const char* no_time : {"null", "true", "[]", R"("soon")", R"("2025-11-21")",
                              R"("2025-11-21T06:28:00")", R"("2025-11-31T06:28:00Z")",
                              R"("2025-11-21T06:28:00.Z")", R"("2025-11-21T06:28:00+24:00")",
                              "-5", "1e300"}) {
    const Look look = told(no_time);
    EXPECT_THAT(look, fails(Reason::contract)) << no_time;
    EXPECT_EQ(look.difference, "/at tells no time");
  }
  EXPECT_EQ(judged(reply_with("{}"), expect).difference, "/at tells no time");
}

TEST(Judge, OrItsLastModifiedMustBe) {
  ReplySeen reply = reply_with("{}");
  EXPECT_EQ(judged(reply, fresh_within(60)).difference, "Last-Modified tells no time");
  reply.last_modified = "Fri, 21 Nov 2025 06:28:00 GMT";
  EXPECT_THAT(judged(reply, fresh_within(60)), passes);
  EXPECT_THAT(judged(reply, fresh_within(59)), fails(Reason::freshness));
  for (const char* odd : {"Fri, 21 Nov 2025 06:28:00 UTC", "Fri, 21 Now 2025 06:28:00 GMT",
                          "Fri, 41 Nov 2025 06:28:00 GMT", "21 Nov 2025"}) {
    EXPECT_FALSE(http_date_ms(odd)) << odd;
  }
  EXPECT_EQ(http_date_ms("Fri, 21 Nov 2025 06:29:00 GMT"), now_ms);
  EXPECT_EQ(told_time_ms("\"" + std::string(now_text) + "\""), now_ms);
}

TEST(JudgeProbe, NoRefusalIsAPass) {
  EXPECT_THAT(judge_probe(Unit{}, false), passes);
  const auto probed = [](int status, bool sent_credential) {
    return judge_probe(turnpike::judge_probe(status, "GET /", sent_credential), sent_credential);
  };
  for (const bool sent : {false, true}) {
    for (const int status : {200, 204, 301, 404, 499}) EXPECT_THAT(probed(status, sent), passes);
    EXPECT_THAT(probed(429, sent), fails(Reason::rate_limited));
    EXPECT_THAT(probed(500, sent), fails(Reason::status));
    EXPECT_THAT(probed(599, sent), fails(Reason::status));
  }
  for (const int status : {401, 402, 403}) {
    EXPECT_THAT(probed(status, true), fails(Reason::credential)) << status;
    const Look look = probed(status, false);
    EXPECT_THAT(look, is(LookResult::unknown, Reason::status)) << "it says nothing of the service";
    EXPECT_EQ(look.status, static_cast<std::uint32_t>(status));
  }
}

TEST(JudgeProbe, ReadsNoStatusOutOfOtherFailures) {
  for (const char* where : {"", "status", "status ", "status 7", "status 4010", "status 401x",
                            "base_url"}) {
    EXPECT_EQ(refused_status(Failure{FailureKind::contract, "", where, true}), 0) << where;
  }
  EXPECT_EQ(refused_status(Failure{FailureKind::invalid_settings, "", "status 401", true}), 0);
}

}  // namespace
}  // namespace turnpike::status

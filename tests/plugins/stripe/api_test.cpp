#include "stripe/api.h"

#include <optional>

#include "plugins/stripe/world.h"

namespace turnpike::stripe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class ApiTest : public StripeTest {
 protected:
  ApiTest() { settings_.api_key = key; }
  static Ask post(NewKey new_key = NewKey::never) {
    return {Method::post, "/v1/things", Form().add("a[b]", "c"), "step", new_key};
  }
  Result<Reply> send(const Ask& ask) {
    auto reply = api_.send(ask, call_);
    if (!reply.ok()) expect_no_secret(reply.error().message);
    return reply;
  }
  Failure failure(const Ask& ask) {
    auto reply = send(ask);
    EXPECT_FALSE(reply.ok());
    return reply.ok() ? Failure{} : std::move(reply).error();
  }
  void answer_times(int times, const Answer& each) {
    for (int time = 0; time < times; ++time) answer(each);
  }

  StripeSettings settings_;
  const Api api_{settings_, host_};
};

TEST_F(ApiTest, SendsWhatStripeWants) {
  answer(json("{}"));
  ASSERT_TRUE(send(post()).ok());
  EXPECT_EQ(sent().method, Method::post);
  EXPECT_EQ(sent().url, "https://api.stripe.com/v1/things");
  EXPECT_EQ(sent().body, "a%5Bb%5D=c");
  EXPECT_THAT(sent().values_of("Authorization"), ElementsAre("Bearer " + key));
  EXPECT_THAT(sent().values_of("Stripe-Version"), ElementsAre("2026-10-28.endive"));
  EXPECT_THAT(sent().values_of("Content-Type"), ElementsAre("application/x-www-form-urlencoded"));
  EXPECT_THAT(sent().values_of("Idempotency-Key"), ElementsAre("step"));
  EXPECT_GT(sent().options.reply_bytes_max, 0U);
  EXPECT_FALSE(sent().options.allow_private_addresses);

  answer(json(R"({"id":"x"})", 200, {{"Date", "Sun, 06 Nov 1994 08:49:37 GMT"}}));
  const auto got = api_.get("/v1/things", Form().add("expand[0]", "x"), call_);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->date_ms, 784'111'777'000);
  EXPECT_EQ(got->root().id(), "x");
  EXPECT_EQ(sent(1).method, Method::get);
  EXPECT_EQ(sent(1).url, "https://api.stripe.com/v1/things?expand%5B0%5D=x");
  EXPECT_EQ(sent(1).body, "");
  EXPECT_THAT(sent(1).values_of("Content-Type"), IsEmpty());
  EXPECT_THAT(sent(1).values_of("Idempotency-Key"), IsEmpty());
}

TEST_F(ApiTest, AnotherBaseMayBePrivate) {
  settings_.api_base = "http://127.0.0.1:1";
  settings_.is_own_base = true;
  answer(json("{}"));
  ASSERT_TRUE(send(post()).ok());
  EXPECT_EQ(sent().url, "http://127.0.0.1:1/v1/things");
  EXPECT_TRUE(sent().options.allow_private_addresses);
}

struct RetryRow {
  const char* name;
  int status;
  const char* should_retry;  // null: no such header
  bool is_repeated;
};

class RetryTest : public ApiTest, public ::testing::WithParamInterface<RetryRow> {};

INSTANTIATE_TEST_SUITE_P(
    Rule, RetryTest,
    ::testing::Values(
        RetryRow{"refused", 400, nullptr, false}, RetryRow{"refused_and_told", 400, "true", true},
        RetryRow{"unknown_key", 401, nullptr, false}, RetryRow{"declined", 402, nullptr, false},
        RetryRow{"declined_and_told", 402, "true", true},
        RetryRow{"forbidden", 403, nullptr, false}, RetryRow{"not_found", 404, nullptr, false},
        RetryRow{"in_use", 409, nullptr, true}, RetryRow{"in_use_and_told", 409, "false", false},
        RetryRow{"dependency", 424, nullptr, false}, RetryRow{"limited", 429, nullptr, false},
        RetryRow{"limited_and_told", 429, "true", true}, RetryRow{"failed", 500, nullptr, true},
        RetryRow{"failed_and_told", 500, "false", false},
        RetryRow{"unavailable", 503, nullptr, true}, RetryRow{"redirected", 302, nullptr, false},
        RetryRow{"told_nonsense", 500, "perhaps", true}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(RetryTest, IsThatOfStripesLibrary) {
  const RetryRow& row = GetParam();
  std::vector<OwnedHeader> headers;
  if (row.should_retry != nullptr) headers.push_back({"Stripe-Should-Retry", row.should_retry});
  answer_times(row.is_repeated ? attempts_max : 1,
               json(R"({"error":{"type":"api_error"}})", row.status, headers));
  const auto reply = send(post());
  // Only a permanent refusal is a reply, even if Stripe says that it should be retried.
  EXPECT_EQ(reply.ok(), row.status == 400 || row.status == 402 || row.status == 404);
  for (std::size_t at = 0; at < host_.seen.size(); ++at) EXPECT_EQ(key_sent(at), "step");
  EXPECT_THAT(call_.slept_ms, SizeIs(row.is_repeated ? attempts_max - 1 : 0));
}

TEST_F(ApiTest, WhatFailsOnceAndThenWorksHasWorked) {
  for (const Answer& first :
       {broken(FailureKind::transport, true), broken(FailureKind::transport, false),
        json("{}", 500), json("{}", 409)}) {
    answer(first);
    answer(json(R"({"id":"x"})"));
    const auto reply = send(post());
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(reply->root().id(), "x");
  }
  EXPECT_THAT(host_.seen, SizeIs(8));
}

TEST_F(ApiTest, BrokenConnectionsAreRepeatedUnderTheSameKey) {
  answer_times(attempts_max, broken(FailureKind::transport, true));
  const Failure said = failure(post(NewKey::for_errors));
  EXPECT_EQ(said.kind, FailureKind::transport);
  EXPECT_THAT(said.message, StartsWith("POST /v1/things: "));
  for (std::size_t at = 0; at < 3; ++at) EXPECT_EQ(key_sent(at), "step");
  for (const FailureKind kind : {FailureKind::timeout, FailureKind::cancelled,
                                 FailureKind::contract, FailureKind::too_large}) {
    answer(broken(kind, false));
    EXPECT_EQ(failure(post()).kind, kind);
  }
}

TEST_F(ApiTest, WhatAnyAttemptMayHaveSentMayHaveBeenSent) {
  answer(broken(FailureKind::transport, true));
  answer_times(2, broken(FailureKind::transport, false));
  EXPECT_TRUE(failure(post()).maybe_sent);
  answer_times(3, broken(FailureKind::transport, false));
  EXPECT_FALSE(failure(post()).maybe_sent);
  answer(json("{}", 500));
  answer(json("{}", 429));
  EXPECT_TRUE(failure(post()).maybe_sent);
}

TEST_F(ApiTest, WaitsLongerEachTimeAndNoLongerThanTheCall) {
  answer_times(3, json("{}", 500));
  failure(post());
  EXPECT_THAT(call_.slept_ms, ElementsAre(250, 500));  // the test's jitter is 0
  host_.scripted_clock.move_ms(9'200);              // less than a second is left
  call_.slept_ms.clear();
  answer(json("{}", 500));
  EXPECT_EQ(failure(post()).kind, FailureKind::unavailable);
  EXPECT_THAT(call_.slept_ms, SizeIs(1));
}

TEST_F(ApiTest, FailuresAreOfTheirKind) {
  struct Row {
    int status;
    FailureKind kind;
    bool maybe_sent;
  };
  for (const Row& row :
       {Row{401, FailureKind::credential, false}, Row{403, FailureKind::credential, false},
        Row{429, FailureKind::unavailable, false}, Row{302, FailureKind::redirect, true},
        Row{418, FailureKind::contract, true}, Row{424, FailureKind::unavailable, true}}) {
    answer(json("{}", row.status));
    const Failure said = failure(post());
    EXPECT_EQ(said.kind, row.kind) << row.status;
    EXPECT_EQ(said.maybe_sent, row.maybe_sent) << row.status;
    EXPECT_THAT(said.message, HasSubstr("status " + std::to_string(row.status)));
    EXPECT_THAT(said.message, HasSubstr("request req_1"));
  }
  answer_times(3, json("{}", 409));
  EXPECT_EQ(failure(post()).kind, FailureKind::unavailable);
}

TEST_F(ApiTest, RepliesThatAreNoObjectsAreNoAnswers) {
  for (const char* body : {"", "<html>", "[]", "7", "{\"a\":1}x"}) {
    for (const int status : {200, 400, 402}) {
      answer(json(body, status));
      const Failure said = failure(post());
      EXPECT_EQ(said.kind, FailureKind::contract) << status << body;
      EXPECT_TRUE(said.maybe_sent);
    }
  }
}

TEST_F(ApiTest, MessagesNameCodesAndNothingThatPeopleMayRead) {
  answer(refusal(400, R"("type":"invalid_request_error","code":"resource_missing",
      "param":"line_items[0]","message":"card 4242424242424242 of rk_test_topSECRETkey")"));
  const auto reply = send(post());
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->summary(),
            "status 400, invalid_request_error, resource_missing at line_items[0], request req_1");
  answer(refusal(400, R"("type":"Oh 4242","code":"4242 SECRET","param":"4242 SECRET")"));
  const auto other = send(post());
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->summary(), "status 400, no_type, request req_1");
  Answer forged = json("{}", 418);
  forged.headers[0].value = "req 4242 SECRET";
  answer(forged);
  EXPECT_EQ(failure(post()).message, "POST /v1/things: status 418");
}

TEST_F(ApiTest, AMissingPermissionIsNamed) {
  answer(json("<html>", 403));
  EXPECT_THAT(failure(post()).message, StartsWith("the api_key lacks a permission; POST"));
  answer(refusal(403, R"("type":"invalid_request_error","message":"The provided key )"
                      R"('rk_test_*SECRET' lacks it. Having 'rak_refund_write' would")"));
  EXPECT_THAT(failure(post()).message,
              StartsWith("the api_key lacks the permission rak_refund_write; POST /v1/things"));
}

TEST_F(ApiTest, AKeptErrorIsPassedByUnderAnotherKey) {
  const Answer kept =
      json("{}", 500, {{"Idempotent-Replayed", "true"}, {"Stripe-Should-Retry", "false"}});
  for (const NewKey new_key : {NewKey::for_kept_errors, NewKey::for_errors}) {
    host_.seen.clear();
    answer(kept);
    answer(json(R"({"id":"x"})"));
    ASSERT_TRUE(send(post(new_key)).ok());
    EXPECT_EQ(key_sent(0), "step");
    EXPECT_EQ(key_sent(1), "step.0000000000000000");  // from the test's random bytes
  }
  host_.seen.clear();
  answer(kept);
  EXPECT_TRUE(failure(post(NewKey::never)).maybe_sent);
  EXPECT_THAT(host_.seen, SizeIs(1));
}

TEST_F(ApiTest, AFreshErrorAsksForAnotherKeyOnlyWhereTwoDoNoHarm) {
  answer(json("{}", 500));
  answer(json("{}"));
  ASSERT_TRUE(send(post(NewKey::for_kept_errors)).ok());
  EXPECT_EQ(key_sent(1), "step");
  answer(json("{}", 500));
  answer(json("{}"));
  ASSERT_TRUE(send(post(NewKey::for_errors)).ok());
  EXPECT_EQ(key_sent(3), "step.0000000000000000");
}

TEST_F(ApiTest, AKeyOfOtherParametersIsNoRefusal) {
  const Answer refused = refusal(400, R"("type":"idempotency_error")");
  answer(refused);
  answer(json("{}"));
  ASSERT_TRUE(send(post(NewKey::for_kept_errors)).ok());
  EXPECT_EQ(key_sent(1), "step.0000000000000000");
  answer(refused);
  const Failure said = failure(post(NewKey::never));
  EXPECT_EQ(said.kind, FailureKind::contract);
  EXPECT_TRUE(said.maybe_sent);
}

TEST(HttpDate, IsReadAsItIsWritten) {
  EXPECT_EQ(read_http_date("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
  EXPECT_EQ(read_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), 784'111'777);
  EXPECT_EQ(read_http_date("Tue, 29 Feb 2028 23:59:60 GMT"), 1'835'481'600);
  for (const char* text : {"", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 nov 1994 08:49:37 GMT",
                           "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
                           "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 anF 1994 08:49:37 GMT",
                           "Sun, 06 Nov 19x4 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT"}) {
    EXPECT_FALSE(read_http_date(text)) << text;
  }
}

}  // namespace
}  // namespace turnpike::stripe

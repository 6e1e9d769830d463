// Webhooks and the list of events.
#include "plugins/stripe/world.h"
#include "stripe/events.h"
#include "stripe/signature.h"

namespace turnpike::stripe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string completed =
    R"({"id":"evt_1","object":"event","type":"checkout.session.completed","livemode":false,)"
    R"("data":{"object":{"id":"cs_1","metadata":{"turnpike_purchase":"pur_1"}}}})";

class NewsTest : public StripeTest {
 protected:
  static std::string signed_by(const std::string& secret, const std::string& body,
                               const std::string& time = "1790000000") {
    return "t=" + time + ",v1=" + signature_of(secret, time, body);
  }
  Notice notice(const std::string& body, std::vector<HeaderField> headers) {
    IntakeRequest request;
    request.path = "webhook";
    request.headers = headers;
    request.body = body;
    const auto said = stripe().notice(request, call_);
    EXPECT_TRUE(said.ok());
    return said.ok() ? *said : Notice{};
  }
  Notice notice(const std::string& body) {
    const std::string signature = signed_by(webhook_secret, body);
    return notice(body, {{"stripe-SIGNATURE", signature}});
  }
};

TEST_F(NewsTest, ASignedEventIsAHint) {
  const Notice said = notice(completed);
  EXPECT_EQ(said.reply.status, 200);
  EXPECT_FALSE(said.after_credit);
  ASSERT_THAT(said.hints, SizeIs(1));
  EXPECT_EQ(said.hints[0].of, Hint::Of::reference);
  EXPECT_EQ(said.hints[0].id, "cs_1");
  EXPECT_EQ(host_.counted["events_told"], 1U);
  EXPECT_THAT(host_.seen, IsEmpty());  // Stripe is not asked
}

TEST_F(NewsTest, EitherSecretOfARotationWillDo) {
  bind(with({{"webhook_secrets", list({secret("whsec_new"), secret(webhook_secret)})}}));
  EXPECT_EQ(notice(completed).reply.status, 200);
  const std::string by_new = signed_by("whsec_new", completed);
  EXPECT_EQ(notice(completed, {{"Stripe-Signature", by_new}}).reply.status, 200);
}

TEST_F(NewsTest, WhatIsNotSignedIsRefusedWithoutAWordInTheLog) {
  const std::string right = signed_by(webhook_secret, completed);
  const std::string forged = signed_by("whsec_other", completed);
  const std::string old = signed_by(webhook_secret, completed, "1789999699");
  const std::vector<std::vector<HeaderField>> refused = {
      {},
      {{"Stripe-Signature", ""}},
      {{"Stripe-Signature", forged}},
      {{"Stripe-Signature", old}},
      {{"X-Signature", right}},
      {{"Stripe-Signature", right}, {"Stripe-Signature", right}}};
  for (const auto& headers : refused) {
    const Notice said = notice(completed, headers);
    EXPECT_EQ(said.reply.status, 400);
    EXPECT_THAT(said.hints, IsEmpty());
    expect_no_secret(said.reply.body);
  }
  EXPECT_EQ(notice(completed + " ", {{"Stripe-Signature", right}}).reply.status, 400);
  EXPECT_EQ(host_.counted["webhooks_refused"], refused.size() + 1);
  EXPECT_THAT(host_.logged, IsEmpty());
  bind(map({{"api_key", secret(key)}}));
  EXPECT_EQ(notice(completed).reply.status, 400);  // without a secret no webhook is accepted
}

TEST_F(NewsTest, SignedEventsThatAreNotForUsAreTaken) {
  EXPECT_EQ(notice(R"({"id":"evt_1","type":"invoice.paid"})").reply.status, 200);
  EXPECT_EQ(host_.counted["events_unused"], 1U);
  EXPECT_EQ(notice(R"({"id":"evt_1","type":"payment_intent.succeeded"})").reply.status, 200);
  EXPECT_EQ(host_.counted["events_foreign"], 1U);
  for (const char* body : {"", "no json", "{}", "[1]"}) {
    EXPECT_EQ(notice(body).reply.status, 400) << body;
  }
  EXPECT_EQ(host_.counted["events_strange"], 4U);
}

TEST_F(NewsTest, TheIntakeIsOneBoundedPath) {
  const auto paths = StripeProcessor().offers().intake;
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].path, "webhook");
  EXPECT_FALSE(paths[0].takes_get);
  EXPECT_EQ(paths[0].body_bytes_max, 256U * 1024);
}

class ChangesTest : public NewsTest {
 protected:
  static std::string page(const std::vector<std::string>& events, bool has_more) {
    std::string data;
    for (const std::string& event : events) data += (data.empty() ? "" : ",") + event;
    return R"({"object":"list","data":[)" + data + R"(],"has_more":)" +
           (has_more ? "true" : "false") + "}";
  }
  static std::string refund_event(const std::string& number) {
    return R"({"id":"evt_)" + number + R"(","type":"refund.created","livemode":false,)" +
           R"("data":{"object":{"payment_intent":"pi_)" + number + R"("}}})";
  }
  Changes changes(std::int64_t since_ms, const std::string& cursor = {}) {
    const auto page = stripe().changes(since_ms, cursor, call_);
    EXPECT_TRUE(page.ok()) << (page.ok() ? "" : page.error().message);
    return page.ok() ? *page : Changes{};
  }
  static std::vector<std::string> ids(const Changes& changes) {
    std::vector<std::string> all;
    for (const Hint& hint : changes.hints) all.push_back(hint.id);
    return all;
  }
};

TEST_F(ChangesTest, PagesGoBackUntilTheMomentIsReached) {
  answer(json(page({refund_event("3"), completed, refund_event("2")}, true)));
  const Changes first = changes(1'789'990'000'123);
  EXPECT_THAT(ids(first), ElementsAre("pi_2", "cs_1", "pi_3"));
  EXPECT_FALSE(first.cursor.empty());
  EXPECT_EQ(path_sent(), "/v1/events");
  EXPECT_THAT(query_sent(), Contains(Pair("created[gte]", "1789990000")));
  EXPECT_THAT(query_sent(), Contains(Pair("types[0]", "checkout.session.completed")));
  EXPECT_THAT(query_sent(), SizeIs(event_types().size() + 2));

  host_.scripted_clock.move_ms(60'000);  // later events belong to the next round
  answer(json(page({refund_event("1")}, false)));
  const Changes last = changes(1'789'990'000'123, first.cursor);
  EXPECT_THAT(query_sent(1), Contains(Pair("starting_after", "evt_2")));
  EXPECT_EQ(last.cursor, "");
  EXPECT_EQ(last.until_ms, 1'790'000'000'000 - 600'000);
  EXPECT_EQ(first.until_ms, last.until_ms);
}

TEST_F(ChangesTest, TheSlowerClockCountsAndTimeDoesNotRunBackwards) {
  answer(json(page({}, false), 200, {{"Date", "Mon, 21 Sep 2026 14:00:00 GMT"}}));
  EXPECT_EQ(changes(0).until_ms, 1'789'999'200'000 - 600'000);
  EXPECT_THAT(query_sent(), SizeIs(event_types().size() + 1));  // from the beginning
  answer(json(page({}, false), 200, {{"Date", "Mon, 21 Sep 2026 18:00:00 GMT"}}));
  EXPECT_EQ(changes(0).until_ms, 1'790'000'000'000 - 600'000);
  answer(json(page({}, false)));
  EXPECT_EQ(changes(1'790'000'000'000).until_ms, 1'790'000'000'000);
}

TEST_F(ChangesTest, OtherCursorsAreRefused) {
  for (const char* cursor : {"x", "1", "1.", "1.a-b", "-1.evt_1", ".evt_1", "1.evt_1&limit=1"}) {
    EXPECT_FALSE(stripe().changes(0, cursor, call_).ok()) << cursor;
  }
  EXPECT_THAT(host_.seen, IsEmpty());
}

TEST_F(ChangesTest, APageThatFailsIsAFailure) {
  answer(json("{}", 429));
  EXPECT_FALSE(stripe().changes(0, {}, call_).ok());
  answer(refusal(400, R"("type":"invalid_request_error")"));
  EXPECT_FALSE(stripe().changes(0, {}, call_).ok());
  answer(json(R"({"data":[{"id":"a/b"}],"has_more":true})"));
  EXPECT_FALSE(stripe().changes(0, {}, call_).ok());
}

}  // namespace
}  // namespace turnpike::stripe

// Refunds, disputes, and cancellation.
#include "plugins/stripe/world.h"
#include "stripe/verdicts.h"

namespace turnpike::stripe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class MoneyBackTest : public StripeTest {
 protected:
  static std::string list_of(const std::string& items, bool has_more = false) {
    return R"({"data":[)" + items + R"(],"has_more":)" + (has_more ? "true" : "false") + "}";
  }
  static std::string refund(const std::string& status, int amount, const std::string& more = {}) {
    return R"({"id":"re_1","object":"refund","status":")" + status + R"(","amount":)" +
           std::to_string(amount) + more + "}";
  }
  static std::string dispute(const std::string& id, const std::string& status) {
    return R"({"id":")" + id + R"(","object":"dispute","status":")" + status + "\"}";
  }
  Payment look_up(const std::string& refunds, const std::string& disputes) {
    answer(json(R"({"id":"pi_1","object":"payment_intent","status":"succeeded","amount":1000,)"
                R"("amount_received":1000,"currency":"usd"})"));
    answer(json(refunds));
    answer(json(disputes));
    const auto payment = stripe().look_up("pi_1", call_);
    EXPECT_TRUE(payment.ok()) << (payment.ok() ? "" : payment.error().message);
    return payment.ok() ? *payment : Payment{};
  }
  Refunded refunded() {
    const auto done = stripe().refund("pi_1", {"USD", 500}, "ref_1", call_);
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    return done.ok() ? *done : Refunded{};
  }
};

TEST_F(MoneyBackTest, RefundsAreSummed) {
  EXPECT_EQ(look_up(list_of(refund("succeeded", 100) + "," + refund("pending", 20) + "," +
                            refund("requires_action", 3) + "," + refund("failed", 400) + "," +
                            refund("canceled", 400)),
                    list_of(""))
                .refunded,
            123);
  // The refunded amount is at most the paid one.
  EXPECT_EQ(look_up(list_of(refund("succeeded", 900) + "," + refund("succeeded", 900)), list_of(""))
                .refunded,
            1000);
  EXPECT_EQ(look_up(list_of(refund("succeeded", -5)), list_of("")).refunded, 0);
}

TEST_F(MoneyBackTest, AllPagesAreRead) {
  answer(json(R"({"id":"pi_1","object":"payment_intent","status":"succeeded","amount":1000,)"
              R"("amount_received":1000,"currency":"usd"})"));
  answer(json(list_of(refund("succeeded", 1), true)));
  answer(json(list_of(refund("succeeded", 2))));
  answer(json(list_of("")));
  const auto payment = stripe().look_up("pi_1", call_);
  ASSERT_TRUE(payment.ok());
  EXPECT_EQ(payment->refunded, 3);
  EXPECT_THAT(query_sent(2), Contains(Pair("starting_after", "re_1")));
  // An incomplete list is a failure.
  answer(json(R"({"id":"pi_1","object":"payment_intent","status":"succeeded","amount":1000,)"
              R"("amount_received":1000,"currency":"usd"})"));
  answer(json(list_of("", true)));
  EXPECT_FALSE(stripe().look_up("pi_1", call_).ok());
}

TEST_F(MoneyBackTest, DisputesAreWhatTheirStatusSays) {
  const std::pair<const char*, Dispute> rows[] = {{"warning_needs_response", Dispute::inquiry},
                                                  {"warning_under_review", Dispute::inquiry},
                                                  {"warning_closed", Dispute::inquiry},
                                                  {"prevented", Dispute::inquiry},
                                                  {"needs_response", Dispute::open},
                                                  {"under_review", Dispute::open},
                                                  {"appeal_needs_response", Dispute::open},
                                                  {"appeal_under_review", Dispute::open},
                                                  {"something_new", Dispute::open},
                                                  {"won", Dispute::won},
                                                  {"lost", Dispute::lost}};
  for (const auto& [status, meaning] : rows) {
    const Payment payment = look_up(list_of(""), list_of(dispute("du_1", status)));
    EXPECT_EQ(payment.dispute, meaning) << status;
    EXPECT_EQ(payment.dispute_id, "du_1");
    EXPECT_EQ(payment.progress, Progress::paid);
  }
}

TEST_F(MoneyBackTest, OfSeveralDisputesTheWorstCounts) {
  const Payment payment = look_up(
      list_of(""), list_of(dispute("du_1", "warning_closed") + "," +
                           dispute("du_2", "needs_response") + "," + dispute("du_3", "won")));
  EXPECT_EQ(payment.dispute, Dispute::open);
  EXPECT_EQ(payment.dispute_id, "du_2");
}

TEST_F(MoneyBackTest, ARefundIsAskedForUnderItsKey) {
  answer(json(list_of(refund("succeeded", 500, R"(,"metadata":{"turnpike_refund":"ref_0"})"))));
  answer(json(refund("pending", 500)));
  const Refunded done = refunded();
  EXPECT_EQ(done.reference, "re_1");
  EXPECT_EQ(done.refusal, "");
  EXPECT_EQ(path_sent(1), "/v1/refunds");
  EXPECT_EQ(key_sent(1), "ref_1");
  EXPECT_THAT(form_sent(1), ElementsAre(Pair("payment_intent", "pi_1"), Pair("amount", "500"),
                                        Pair("metadata[turnpike_refund]", "ref_1"),
                                        Pair("metadata[turnpike_deployment]", "dep_1")));
}

// Stripe forgets idempotency keys but not refunds.
TEST_F(MoneyBackTest, ARefundThatIsThereIsNotAskedForAgain) {
  answer(json(list_of(refund("succeeded", 500, R"(,"metadata":{"turnpike_refund":"ref_1"})"))));
  EXPECT_EQ(refunded().reference, "re_1");
  answer(json(list_of(refund("failed", 500,
                             R"(,"failure_reason":"expired_or_canceled_card",)"
                             R"("metadata":{"turnpike_refund":"ref_1"})"))));
  EXPECT_EQ(refunded().refusal, "expired_or_canceled_card");
  EXPECT_THAT(host_.seen, SizeIs(2));
}

TEST_F(MoneyBackTest, ARefusedRefundGivesNothingBack) {
  answer(json(list_of("")));
  answer(refusal(400, R"("type":"invalid_request_error","code":"charge_already_refunded")"));
  EXPECT_EQ(refunded().refusal, "charge_already_refunded");
  EXPECT_THAT(host_.logged, SizeIs(1));
  answer(json(list_of("")));
  answer(json(refund("failed", 500)));
  EXPECT_EQ(refunded().refusal, "refund_failed");
}

// A second refund would move money twice, so the key is not replaced.
TEST_F(MoneyBackTest, ARefundOfWhichNothingIsKnownIsAFailure) {
  for (const bool is_kept : {false, true}) {
    host_.seen.clear();
    answer(json(list_of("")));
    std::vector<OwnedHeader> headers;
    if (is_kept) headers.push_back({"Idempotent-Replayed", "true"});
    for (int time = 0; time < attempts_max; ++time) answer(json("{}", 500, headers));
    const auto done = stripe().refund("pi_1", {"USD", 500}, "ref_1", call_);
    ASSERT_FALSE(done.ok());
    EXPECT_TRUE(done.error().maybe_sent);
    for (std::size_t at = 1; at < host_.seen.size(); ++at) EXPECT_EQ(key_sent(at), "ref_1");
  }
  EXPECT_FALSE(stripe().refund("ch_1", {"USD", 500}, "ref_1", call_).ok());
}

TEST_F(MoneyBackTest, WhatIsOpenIsEnded) {
  answer(json(R"({"id":"cs_1","status":"expired"})"));
  EXPECT_TRUE(stripe().cancel("cs_1", call_).ok());
  EXPECT_EQ(path_sent(0), "/v1/checkout/sessions/cs_1/expire");
  answer(json(R"({"id":"pi_1","status":"canceled"})"));
  EXPECT_TRUE(stripe().cancel("pi_1", call_).ok());
  EXPECT_EQ(path_sent(1), "/v1/payment_intents/pi_1/cancel");
  EXPECT_EQ(sent(1).method, Method::post);
  // It was too late to cancel. The result is looked up later.
  answer(refusal(400, R"("type":"invalid_request_error")"));
  EXPECT_TRUE(stripe().cancel("cs_1", call_).ok());
  answer(refusal(404, R"("type":"invalid_request_error")"));
  EXPECT_FALSE(stripe().cancel("cs_1", call_).ok());
  EXPECT_FALSE(stripe().cancel("in_1", call_).ok());
}

}  // namespace
}  // namespace turnpike::stripe

// How Stripe's payments and setups map to the processor slot's terms.
#include "plugins/stripe/world.h"
#include "stripe/verdicts.h"

namespace turnpike::stripe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LookUpTest : public StripeTest {
 protected:
  static std::string session(const std::string& status, const std::string& payment_status,
                             const std::string& intent = "null") {
    return R"({"id":"cs_1","object":"checkout.session","mode":"payment","status":")" + status +
           R"(","payment_status":")" + payment_status +
           R"(","amount_subtotal":1000,"amount_total":1190,"currency":"usd","payment_intent":)" +
           intent + R"(,"metadata":{"turnpike_purchase":"pur_1"}})";
  }
  static std::string intent(const std::string& status, const std::string& more = {}) {
    return R"({"id":"pi_1","object":"payment_intent","amount":1000,"amount_received":0,)"
           R"("currency":"usd","latest_charge":null,"last_payment_error":null,"status":")" +
           status + "\"" + more + "}";
  }
  Payment look_up(const std::string& reference = "cs_1") {
    const auto payment = stripe().look_up(reference, call_);
    EXPECT_TRUE(payment.ok()) << (payment.ok() ? "" : payment.error().message);
    return payment.ok() ? *payment : Payment{};
  }
  Payment look_up_of(const std::string& body, const std::string& reference = "cs_1") {
    answer(json(body));
    return look_up(reference);
  }
  Failure failure(const std::string& reference = "cs_1") {
    const auto payment = stripe().look_up(reference, call_);
    EXPECT_FALSE(payment.ok());
    return payment.ok() ? Failure{} : payment.error();
  }
};

TEST_F(LookUpTest, ASessionThatIsOpenIsOpen) {
  const Payment payment = look_up_of(session("open", "unpaid"));
  EXPECT_EQ(payment.progress, Progress::open);
  EXPECT_EQ(payment.net, 1000);
  EXPECT_EQ(payment.total, 1190);
  EXPECT_EQ(payment.tax(), 190);
  EXPECT_EQ(payment.currency, "USD");
  EXPECT_EQ(payment.payment, "");
  EXPECT_EQ(payment.purchase_id, "pur_1");
  EXPECT_EQ(path_sent(), "/v1/checkout/sessions/cs_1");
  EXPECT_THAT(query_sent(), ElementsAre(Pair("expand[0]", "payment_intent.latest_charge")));
  // After a declined card, the customer may use another on the same page.
  EXPECT_EQ(look_up_of(session("open", "unpaid",
                               intent("requires_payment_method",
                                      R"(,"last_payment_error":{"code":"card_declined"})")))
                .progress,
            Progress::open);
}

TEST_F(LookUpTest, ASessionEndsInOneWay) {
  EXPECT_EQ(look_up_of(session("expired", "unpaid")).progress, Progress::expired);
  EXPECT_EQ(look_up_of(session("complete", "unpaid", intent("processing"))).progress,
            Progress::processing);
  // A session is paid only once payment_status says so.
  EXPECT_EQ(look_up_of(session("complete", "unpaid", intent("succeeded"))).progress,
            Progress::processing);
  EXPECT_EQ(look_up_of(session("complete", "unpaid")).progress, Progress::processing);
  EXPECT_EQ(look_up_of(session("complete", "unpaid", intent("canceled"))).progress,
            Progress::cancelled);
  const Payment failed = look_up_of(
      session("complete", "unpaid",
              intent("requires_payment_method",
                     R"(,"last_payment_error":{"code":"payment_intent_payment_attempt_failed"})")));
  EXPECT_EQ(failed.progress, Progress::declined);
  EXPECT_EQ(failed.code, "payment_intent_payment_attempt_failed");
  const Payment free = look_up_of(session("complete", "no_payment_required"));
  EXPECT_EQ(free.progress, Progress::declined);
  EXPECT_EQ(free.code, "no_payment_required");
}

TEST_F(LookUpTest, APaidSessionTellsItsPayment) {
  for (const std::string& shown : {std::string("\"pi_1\""), intent("succeeded")}) {
    answer(json(session("complete", "paid", shown)));
    answer_nothing_followed();
    const Payment payment = look_up();
    EXPECT_EQ(payment.progress, Progress::paid);
    EXPECT_EQ(payment.payment, "pi_1");
    EXPECT_EQ(payment.net, 1000);
    EXPECT_EQ(payment.total, 1190);
    EXPECT_EQ(payment.refunded, 0);
    EXPECT_EQ(payment.dispute, Dispute::none);
  }
  EXPECT_EQ(path_sent(1), "/v1/refunds");
  EXPECT_THAT(query_sent(1), ElementsAre(Pair("payment_intent", "pi_1"), Pair("limit", "100")));
  EXPECT_EQ(path_sent(2), "/v1/disputes");
}

TEST_F(LookUpTest, WhatIsNoSuchSessionIsNoAnswer) {
  for (const std::string& body :
       {std::string("{}"), session("strange", "paid"), session("complete", "paid"),
        intent("succeeded"),
        std::string(R"({"object":"checkout.session","mode":"setup","status":"complete"})"),
        std::string(R"({"object":"checkout.session","mode":"payment","status":"open",)"
                    R"("amount_subtotal":10.5,"amount_total":11})"),
        std::string(R"({"object":"checkout.session","mode":"payment","status":"open",)"
                    R"("amount_subtotal":-1,"amount_total":1})")}) {
    answer(json(body));
    EXPECT_EQ(failure().kind, FailureKind::contract) << body;
  }
  // A key of another Stripe account does not know the session; this must not end a purchase.
  answer(refusal(404, R"("type":"invalid_request_error","code":"resource_missing")"));
  EXPECT_THAT(failure().message, HasSubstr("resource_missing"));
}

TEST_F(LookUpTest, WhoseItIsIsToldAsStripeHasIt) {
  std::string strange = session("open", "unpaid");
  strange.replace(strange.find("pur_1"), 5, "4 /\\u0000");
  EXPECT_EQ(look_up_of(strange).purchase_id, "unknown");
  strange.replace(strange.find("4 /\\u0000"), 9, "pur_2");
  EXPECT_EQ(look_up_of(strange).purchase_id, "pur_2");
}

TEST_F(LookUpTest, AnIntentTellsWhetherItRan) {
  EXPECT_EQ(look_up_of(intent("requires_confirmation"), "pi_1").progress, Progress::never_ran);
  EXPECT_EQ(path_sent(), "/v1/payment_intents/pi_1");
  EXPECT_THAT(query_sent(), ElementsAre(Pair("expand[0]", "latest_charge")));
  EXPECT_EQ(look_up_of(intent("requires_payment_method"), "pi_1").progress, Progress::never_ran);
  EXPECT_EQ(look_up_of(intent("processing"), "pi_1").progress, Progress::processing);
  EXPECT_EQ(look_up_of(intent("canceled"), "pi_1").progress, Progress::cancelled);
  const std::string error = R"(,"last_payment_error":{"type":"card_error","code":"card_declined",)"
                            R"("decline_code":"lost_card"})";
  for (const char* status : {"requires_payment_method", "requires_confirmation"}) {
    const Payment declined = look_up_of(intent(status, error), "pi_1");
    EXPECT_EQ(declined.progress, Progress::declined);
    EXPECT_EQ(declined.decline, Decline::never);
    EXPECT_EQ(declined.code, "lost_card");
  }
  EXPECT_EQ(
      look_up_of(intent("requires_payment_method", R"(,"latest_charge":{"id":"ch_1"})"), "pi_1")
          .progress,
      Progress::declined);
  const Payment waits = look_up_of(intent("requires_action"), "pi_1");
  EXPECT_EQ(waits.progress, Progress::declined);
  EXPECT_EQ(waits.decline, Decline::needs_customer);
  for (const char* status : {"requires_capture", "new_status"}) {
    answer(json(intent(status)));
    EXPECT_EQ(failure("pi_1").kind, FailureKind::contract);
  }
}

TEST_F(LookUpTest, APaidIntentIsWorthWhatWasReceived) {
  answer(json(intent("succeeded", R"(,"amount_received":900)")));
  answer_nothing_followed();
  const Payment payment = look_up("pi_1");
  EXPECT_EQ(payment.progress, Progress::paid);
  EXPECT_EQ(payment.net, 900);
  EXPECT_EQ(payment.total, 900);
}

TEST_F(LookUpTest, OtherReferencesAreNotAskedFor) {
  for (const char* reference : {"", "x", "in_1", "cs_1/expire", "cs_1?x", "cs_1#", "cs_../x"}) {
    EXPECT_EQ(failure(reference).kind, FailureKind::contract) << reference;
  }
  EXPECT_THAT(host_.seen, IsEmpty());
}

class SetupTest : public LookUpTest {
 protected:
  static std::string setup(const std::string& status, const std::string& intent) {
    return R"({"id":"cs_1","object":"checkout.session","mode":"setup","status":")" + status +
           R"(","setup_intent":)" + intent + "}";
  }
  static std::string succeeded(const std::string& customer = "\"cus_1\"") {
    return R"({"id":"seti_1","status":"succeeded","payment_method":{"id":"pm_1","type":"card",)"
           R"("customer":)" +
           customer +
           R"(,"card":{"brand":"visa","last4":"1881","exp_month":7,"exp_year":2031,)"
           R"("fingerprint":"Xt5EWLLDS7FJjR1c"}}})";
  }
  SetupState look_up_setup(const std::string& body) {
    answer(json(body));
    const auto state = stripe().look_up_setup("cs_1", call_);
    EXPECT_TRUE(state.ok()) << (state.ok() ? "" : state.error().message);
    return state.ok() ? *state : SetupState{};
  }
};

TEST_F(SetupTest, ARemovedCardIsDetached) {
  answer(json(R"({"id":"pm_1","object":"payment_method","customer":null})"));
  EXPECT_TRUE(stripe().forget_method("pm_1", call_).ok());
  EXPECT_EQ(path_sent(), "/v1/payment_methods/pm_1/detach");
  EXPECT_EQ(sent().method, Method::post);
}

TEST_F(SetupTest, ACardThatIsNotThereAnyMoreIsForgotten) {
  const Answer missing = refusal(404, R"("code":"resource_missing")");
  const Answer refused = refusal(400, R"("type":"invalid_request_error")");
  answer(missing);
  EXPECT_TRUE(stripe().forget_method("pm_1", call_).ok());
  answer(refused);
  answer(json(R"({"id":"pm_1","object":"payment_method","customer":null})"));
  EXPECT_TRUE(stripe().forget_method("pm_1", call_).ok());
  answer(refused);
  answer(missing);
  EXPECT_TRUE(stripe().forget_method("pm_1", call_).ok());
  EXPECT_EQ(path_sent(4), "/v1/payment_methods/pm_1");
  // It is there: the refusal has another cause, and the gateway asks again.
  answer(refused);
  answer(json(R"({"id":"pm_1","object":"payment_method","customer":"cus_1"})"));
  const Done kept = stripe().forget_method("pm_1", call_);
  ASSERT_FALSE(kept.ok());
  EXPECT_THAT(kept.error().message, testing::HasSubstr("status 400"));
}

TEST_F(SetupTest, WhatIsNoCardIsNotAskedFor) {
  for (const char* method : {"", "../x", "pm_1/attach", "pm_1?x"}) {
    EXPECT_EQ(stripe().forget_method(method, call_).error().kind, FailureKind::contract) << method;
  }
  EXPECT_THAT(host_.seen, IsEmpty());
}

TEST_F(SetupTest, ASavedCardIsTold) {
  const SetupState state = look_up_setup(setup("complete", succeeded()));
  ASSERT_TRUE(state.method);
  EXPECT_EQ(state.method->reference, "pm_1");
  EXPECT_EQ(state.method->brand, "visa");
  EXPECT_EQ(state.method->last4, "1881");
  EXPECT_EQ(state.method->fingerprint, "Xt5EWLLDS7FJjR1c");
  EXPECT_EQ(state.method->expires_month, 7);
  EXPECT_EQ(state.method->expires_year, 2031);
  EXPECT_THAT(query_sent(), ElementsAre(Pair("expand[0]", "setup_intent.payment_method"),
                                        Pair("expand[1]", "payment_intent.payment_method")));
}

TEST_F(SetupTest, OtherwiseItIsOpenOrFailed) {
  for (const std::string& open : {setup("open", R"({"status":"requires_payment_method",)"
                                                R"("last_setup_error":{"code":"card_declined"}})"),
                                  setup("complete", R"({"status":"processing"})")}) {
    const SetupState state = look_up_setup(open);
    EXPECT_FALSE(state.method);
    EXPECT_EQ(state.failure, "");
  }
  EXPECT_EQ(look_up_setup(setup("expired", "null")).failure, "expired");
  EXPECT_EQ(look_up_setup(setup("complete", R"({"status":"canceled"})")).failure, "cancelled");
  EXPECT_EQ(look_up_setup(setup("complete", R"({"status":"requires_payment_method",)"
                                            R"("last_setup_error":{"code":"expired_card"}})"))
                .failure,
            "expired_card");
  EXPECT_EQ(look_up_setup(setup("complete", succeeded("null"))).failure, "payment_method_gone");
  answer(json(setup("complete", R"({"status":"succeeded","payment_method":{"customer":"c"}})")));
  EXPECT_FALSE(stripe().look_up_setup("cs_1", call_).ok());
  EXPECT_FALSE(stripe().look_up_setup("pi_1", call_).ok());
}

TEST_F(SetupTest, WhoeverPaysMayLetTheirCardBeKept) {
  const auto paid = [](const char* usage) {
    return R"({"object":"checkout.session","mode":"payment","status":"complete",)"
           R"("payment_intent":{"status":"succeeded","setup_future_usage":)" +
           std::string(usage) +
           R"(,"payment_method":{"id":"pm_2","type":"link","customer":"cus_1","link":{}}}})";
  };
  const SetupState state = look_up_setup(paid("\"off_session\""));
  ASSERT_TRUE(state.method);
  EXPECT_EQ(state.method->reference, "pm_2");
  EXPECT_EQ(state.method->brand, "link");
  EXPECT_EQ(look_up_setup(paid("null")).failure, "not_saved");
}

}  // namespace
}  // namespace turnpike::stripe

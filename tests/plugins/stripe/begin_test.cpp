// Beginning orders and setups, and charging a saved method.
#include "plugins/stripe/world.h"

namespace turnpike::stripe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class BeginTest : public StripeTest {
 protected:
  static Answer session(const std::string& members = {}) {
    return json(R"({"id":"cs_test_1","object":"checkout.session","status":"open",)"
                R"("url":"https://checkout.stripe.com/c/pay/cs_test_1",)"
                R"("expires_at":1790003600)" +
                members + "}");
  }
  Begun begin(const Order& order) {
    const auto begun = stripe().begin(order, call_);
    EXPECT_TRUE(begun.ok()) << (begun.ok() ? "" : begun.error().message);
    return begun.ok() ? *begun : Begun{};
  }
  Failure failure(const Order& order) {
    const auto begun = stripe().begin(order, call_);
    EXPECT_FALSE(begun.ok());
    if (!begun.ok()) expect_no_secret(begun.error().message);
    return begun.ok() ? Failure{} : begun.error();
  }
  static Order saved() {
    Order charged = order();
    charged.saved_method = "pm_1";
    return charged;
  }
};

TEST_F(BeginTest, APersonPaysOnAPageOfCheckout) {
  answer(session());
  const Begun begun = begin(order());
  EXPECT_EQ(begun.reference, "cs_test_1");
  EXPECT_EQ(begun.url, "https://checkout.stripe.com/c/pay/cs_test_1");
  EXPECT_EQ(begun.customer, "cus_1");
  EXPECT_EQ(begun.expires_at_ms, 1'790'003'600'000);
  EXPECT_EQ(begun.refusal, "");
  EXPECT_EQ(path_sent(), "/v1/checkout/sessions");
  EXPECT_EQ(key_sent(), "pur_1.begin");
  EXPECT_THAT(
      form_sent(),
      UnorderedElementsAre(
          Pair("mode", "payment"), Pair("customer", "cus_1"), Pair("client_reference_id", "pur_1"),
          Pair("success_url", "https://web.example.org/bought?a=1&b=2"),
          Pair("cancel_url", "https://web.example.org/not"), Pair("expires_at", "1790003600"),
          Pair("adaptive_pricing[enabled]", "false"),
          Pair("allowed_payment_method_types[0]", "card"), Pair("line_items[0][quantity]", "1"),
          Pair("line_items[0][price_data][currency]", "usd"),
          Pair("line_items[0][price_data][unit_amount]", "1000"),
          Pair("line_items[0][price_data][tax_behavior]", "exclusive"),
          Pair("line_items[0][price_data][product_data][name]", "10,000 Credits"),
          Pair("invoice_creation[enabled]", "true"),
          Pair("payment_intent_data[metadata][turnpike_purchase]", "pur_1"),
          Pair("payment_intent_data[metadata][turnpike_deployment]", "dep_1"),
          Pair("metadata[turnpike_purchase]", "pur_1"),
          Pair("metadata[turnpike_deployment]", "dep_1")));
}

TEST_F(BeginTest, SettingsChangeWhatIsAskedFor) {
  bind(with({{"tax", scalar("automatic")},
             {"invoices", scalar("false")},
             {"payment_methods", list({scalar("card"), scalar("link")})}}));
  Order saves = order();
  saves.saves_method = true;
  answer(session());
  begin(saves);
  EXPECT_THAT(form_sent(), Contains(Pair("automatic_tax[enabled]", "true")));
  EXPECT_THAT(form_sent(), Contains(Pair("customer_update[address]", "auto")));
  EXPECT_THAT(form_sent(), Contains(Pair("allowed_payment_method_types[1]", "link")));
  EXPECT_THAT(form_sent(),
              Contains(Pair("payment_intent_data[setup_future_usage]", "off_session")));
  EXPECT_THAT(form_sent(), Not(Contains(Pair("invoice_creation[enabled]", "true"))));
}

TEST_F(BeginTest, TheEndOfASessionIsWithinStripesBounds) {
  const std::int64_t now_s = 1'790'000'000;
  const std::pair<std::int64_t, std::int64_t> rows[] = {
      {now_s + 60, now_s + 31 * 60},  // earlier than Stripe's minimum
      {now_s + 31 * 60, now_s + 31 * 60},
      {now_s + 86'400, now_s + 86'340},  // later than its maximum
      {now_s + 40 * 60, now_s + 40 * 60}};
  for (const auto& [wanted_s, sent_s] : rows) {
    host_.seen.clear();
    Order until = order();
    until.expires_at_ms = wanted_s * 1'000;
    answer(session());
    begin(until);
    EXPECT_THAT(form_sent(), Contains(Pair("expires_at", std::to_string(sent_s))));
  }
}

TEST_F(BeginTest, AnAccountBecomesACustomerOnce) {
  Order first = order();
  first.customer = {};
  answer(json(R"({"id":"cus_new","object":"customer"})"));
  answer(session());
  EXPECT_EQ(begin(first).customer, "cus_new");
  EXPECT_EQ(path_sent(0), "/v1/customers");
  EXPECT_EQ(key_sent(0), "pur_1.begin.customer");
  EXPECT_THAT(form_sent(0), ElementsAre(Pair("metadata[turnpike_account]", "acc_1"),
                                        Pair("metadata[turnpike_deployment]", "dep_1")));
  EXPECT_THAT(form_sent(1), Contains(Pair("customer", "cus_new")));
}

TEST_F(BeginTest, ACustomerWhomStripeForgotIsMadeAnew) {
  answer(refusal(400, R"("type":"invalid_request_error","code":"resource_missing",)"
                      R"("param":"customer")"));
  answer(json(R"({"id":"cus_new"})"));
  answer(session());
  EXPECT_EQ(begin(order()).customer, "cus_new");
  EXPECT_THAT(form_sent(2), Contains(Pair("customer", "cus_new")));
  // A new customer is tried only once.
  answer(refusal(400, R"("code":"resource_missing","param":"customer")"));
  answer(json(R"({"id":"cus_new"})"));
  answer(refusal(400, R"("code":"resource_missing","param":"customer")"));
  EXPECT_EQ(begin(order()).refusal, "resource_missing");
}

TEST_F(BeginTest, WhatStripeRefusesForGoodIsARefusalAndLogged) {
  answer(refusal(400, R"("type":"invalid_request_error","code":"amount_too_small",)"
                      R"("param":"line_items","message":"4242")"));
  const Begun begun = begin(order());
  EXPECT_EQ(begun.refusal, "amount_too_small");
  EXPECT_EQ(begun.reference, "");
  ASSERT_THAT(host_.logged, SizeIs(1));
  EXPECT_THAT(host_.logged[0], HasSubstr("amount_too_small at line_items, request req_1"));
  answer(refusal(400, R"("type":"invalid_request_error")"));
  EXPECT_EQ(begin(order()).refusal, "invalid_request_error");
}

TEST_F(BeginTest, AfterAnErrorOfStripesTheSessionIsMadeUnderAnotherKey) {
  answer(json("{}", 500));
  answer(session());
  EXPECT_EQ(begin(order()).reference, "cs_test_1");
  EXPECT_EQ(key_sent(0), "pur_1.begin");
  EXPECT_NE(key_sent(1), key_sent(0));
}

TEST_F(BeginTest, ASessionWithoutAPlaceToPayIsNone) {
  for (const char* body :
       {R"({"id":"pi_1","url":"https://x"})", R"({"url":"https://x"})", R"({"id":"cs_1"})",
        R"({"id":"cs_1","url":"http://127.0.0.1/"})", R"({"id":"cs_1","url":"javascript:x"})"}) {
    answer(json(body));
    EXPECT_EQ(failure(order()).kind, FailureKind::contract) << body;
  }
  // With a test server as API, a payment page may be on that server.
  bind(with({{"api_base", scalar("http://127.0.0.1:1")}}));
  answer(json(R"({"id":"cs_1","url":"http://127.0.0.1:1/pay"})"));
  EXPECT_EQ(begin(order()).url, "http://127.0.0.1:1/pay");
}

TEST_F(BeginTest, OfASavedMethodAnUnconfirmedIntentIsMade) {
  answer(json(R"({"id":"pi_1","object":"payment_intent","status":"requires_confirmation"})"));
  const Begun begun = begin(saved());
  EXPECT_EQ(begun.reference, "pi_1");
  EXPECT_EQ(begun.url, "");
  EXPECT_EQ(begun.customer, "cus_1");
  EXPECT_EQ(path_sent(), "/v1/payment_intents");
  EXPECT_EQ(key_sent(), "pur_1.begin");
  EXPECT_THAT(form_sent(),
              UnorderedElementsAre(Pair("amount", "1000"), Pair("currency", "usd"),
                                   Pair("customer", "cus_1"), Pair("payment_method", "pm_1"),
                                   Pair("description", "10,000 Credits"),
                                   Pair("automatic_payment_methods[enabled]", "true"),
                                   Pair("automatic_payment_methods[allow_redirects]", "never"),
                                   Pair("metadata[turnpike_purchase]", "pur_1"),
                                   Pair("metadata[turnpike_deployment]", "dep_1")));
}

TEST_F(BeginTest, AMethodThatIsGoneIsRefused) {
  answer(refusal(400, R"("type":"invalid_request_error","code":"resource_missing",)"
                      R"("param":"payment_method")"));
  EXPECT_EQ(begin(saved()).refusal, "payment_method_gone");
  Order nobodys = saved();
  nobodys.customer = {};
  EXPECT_EQ(failure(nobodys).kind, FailureKind::contract);
}

TEST_F(BeginTest, WithTaxNoCardIsSavedOrCharged) {
  bind(with({{"tax", scalar("automatic")}}));
  Order order_of_card = order();
  order_of_card.saved_method = "pm_1";
  order_of_card.customer = "cus_1";
  EXPECT_EQ(stripe().begin_setup(order(), call_)->refusal, "tax_not_supported");
  EXPECT_EQ(stripe().begin(order_of_card, call_)->refusal, "tax_not_supported");
}

TEST_F(BeginTest, ASetupIsASessionToo) {
  Order setup = order();
  setup.purchase_id = "pms_1";
  setup.step_key = "pms_1.begin";
  answer(session());
  const auto begun = stripe().begin_setup(setup, call_);
  ASSERT_TRUE(begun.ok());
  EXPECT_EQ(begun->reference, "cs_test_1");
  EXPECT_EQ(key_sent(), "pms_1.begin");
  EXPECT_THAT(form_sent(), UnorderedElementsAre(
                               Pair("mode", "setup"), Pair("customer", "cus_1"),
                               Pair("currency", "usd"), Pair("client_reference_id", "pms_1"),
                               Pair("success_url", "https://web.example.org/bought?a=1&b=2"),
                               Pair("cancel_url", "https://web.example.org/not"),
                               Pair("allowed_payment_method_types[0]", "card"),
                               Pair("setup_intent_data[metadata][turnpike_setup]", "pms_1"),
                               Pair("setup_intent_data[metadata][turnpike_deployment]", "dep_1"),
                               Pair("metadata[turnpike_setup]", "pms_1"),
                               Pair("metadata[turnpike_deployment]", "dep_1")));
}

class ChargeTest : public BeginTest {
 protected:
  Payment charge() {
    const auto payment = stripe().charge(charged(), "pi_1", call_);
    EXPECT_TRUE(payment.ok()) << (payment.ok() ? "" : payment.error().message);
    return payment.ok() ? *payment : Payment{};
  }
  static Order charged() {
    Order charged = saved();
    charged.step_key = "pur_1.charge";
    return charged;
  }
  static std::string intent(const std::string& status) {
    return R"({"id":"pi_1","object":"payment_intent","amount":1000,"amount_received":1000,)"
           R"("currency":"usd","metadata":{"turnpike_purchase":"pur_1"},"status":")" +
           status + "\"}";
  }
};

TEST_F(ChargeTest, AConfirmedIntentIsPaid) {
  answer(json(intent("succeeded")));
  answer_nothing_followed();
  const Payment payment = charge();
  EXPECT_EQ(payment.progress, Progress::paid);
  EXPECT_EQ(payment.net, 1000);
  EXPECT_EQ(payment.total, 1000);
  EXPECT_EQ(payment.currency, "USD");
  EXPECT_EQ(payment.payment, "pi_1");
  EXPECT_EQ(payment.purchase_id, "pur_1");
  EXPECT_EQ(path_sent(), "/v1/payment_intents/pi_1/confirm");
  EXPECT_EQ(key_sent(), "pur_1.charge");
  EXPECT_THAT(form_sent(), UnorderedElementsAre(Pair("off_session", "true"),
                                                Pair("error_on_requires_action", "true")));
}

TEST_F(ChargeTest, OtherStatesAreWhatTheyAre) {
  answer(json(intent("processing")));
  EXPECT_EQ(charge().progress, Progress::processing);
  answer(json(intent("requires_action")));
  const Payment waits = charge();
  EXPECT_EQ(waits.progress, Progress::declined);
  EXPECT_EQ(waits.decline, Decline::needs_customer);
}

struct DeclineRow {
  const char* name;
  const char* error;
  Decline decline;
  const char* code;
};

class DeclineTest : public ChargeTest, public ::testing::WithParamInterface<DeclineRow> {};

INSTANTIATE_TEST_SUITE_P(
    Table, DeclineTest,
    ::testing::Values(
        DeclineRow{"funds", R"("code":"card_declined","decline_code":"insufficient_funds")",
                   Decline::later, "insufficient_funds"},
        DeclineRow{"generic", R"("code":"card_declined","decline_code":"generic_decline")",
                   Decline::later, "generic_decline"},
        DeclineRow{"no_reason", R"("code":"card_declined")", Decline::later, "card_declined"},
        DeclineRow{"processing", R"("code":"processing_error")", Decline::later,
                   "processing_error"},
        DeclineRow{"lost", R"("code":"card_declined","decline_code":"lost_card")", Decline::never,
                   "lost_card"},
        DeclineRow{"stolen", R"("code":"card_declined","decline_code":"stolen_card")",
                   Decline::never, "stolen_card"},
        DeclineRow{"pickup", R"("code":"card_declined","decline_code":"pickup_card")",
                   Decline::never, "pickup_card"},
        DeclineRow{"fraudulent", R"("code":"card_declined","decline_code":"fraudulent")",
                   Decline::never, "fraudulent"},
        DeclineRow{"expired", R"("code":"expired_card")", Decline::never, "expired_card"},
        DeclineRow{"expired_and_more", R"("code":"expired_card","decline_code":"generic_decline")",
                   Decline::never, "generic_decline"},
        DeclineRow{"revoked",
                   R"("code":"card_declined","decline_code":"revocation_of_authorization")",
                   Decline::never, "revocation_of_authorization"},
        DeclineRow{"advice_never",
                   R"("code":"card_declined","decline_code":"generic_decline",)"
                   R"("advice_code":"do_not_try_again")",
                   Decline::never, "generic_decline"},
        DeclineRow{"advice_later",
                   R"("code":"card_declined","decline_code":"insufficient_funds",)"
                   R"("advice_code":"try_again_later")",
                   Decline::later, "insufficient_funds"},
        DeclineRow{"advice_confirm",
                   R"("code":"card_declined","decline_code":"do_not_honor",)"
                   R"("advice_code":"confirm_card_data")",
                   Decline::needs_customer, "do_not_honor"},
        DeclineRow{"advice_confirm_lost",
                   R"("code":"card_declined","decline_code":"lost_card",)"
                   R"("advice_code":"confirm_card_data")",
                   Decline::never, "lost_card"},
        DeclineRow{"authentication",
                   R"("code":"authentication_required","decline_code":"authentication_required",)"
                   R"("payment_intent":{"id":"pi_1","status":"requires_payment_method"})",
                   Decline::needs_customer, "authentication_required"},
        DeclineRow{"strange_code", R"("code":"Oh 4242","decline_code":"SECRET 4242")",
                   Decline::later, "card_declined"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(DeclineTest, IsADeclineWithItsMeaning) {
  answer(refusal(
      402, std::string(R"("type":"card_error","message":"SECRET 4242",)") + GetParam().error));
  const Payment payment = charge();
  EXPECT_EQ(payment.progress, Progress::declined);
  EXPECT_EQ(payment.decline, GetParam().decline);
  EXPECT_EQ(payment.code, GetParam().code);
  EXPECT_THAT(host_.logged, IsEmpty());
}

TEST_F(ChargeTest, AMethodThatIsGoneIsToldAsSuch) {
  for (const int status : {400, 404}) {
    answer(refusal(status, R"("type":"invalid_request_error","code":"resource_missing",)"
                           R"("param":"payment_method")"));
    const Payment payment = charge();
    EXPECT_EQ(payment.progress, Progress::declined);
    EXPECT_EQ(payment.decline, Decline::method_gone);
    EXPECT_EQ(payment.code, "payment_method_gone");
  }
}

TEST_F(ChargeTest, OtherRefusalsAreDeclinesThatAreLogged) {
  answer(refusal(400, R"("type":"invalid_request_error","code":"parameter_unknown")"));
  EXPECT_EQ(charge().code, "parameter_unknown");
  answer(refusal(400, R"("type":"invalid_request_error")"));
  EXPECT_EQ(charge().code, "charge_refused");
  EXPECT_THAT(host_.logged, SizeIs(2));
}

TEST_F(ChargeTest, AnIntentThatIsPastConfirmingIsLookedUp) {
  answer(refusal(400, R"("type":"invalid_request_error",)"
                      R"("code":"payment_intent_unexpected_state")"));
  answer(json(intent("succeeded")));
  answer_nothing_followed();
  EXPECT_EQ(charge().progress, Progress::paid);
  EXPECT_EQ(path_sent(1), "/v1/payment_intents/pi_1");
}

// Whether the charge happened must be looked up; it is not reported as declined.
TEST_F(ChargeTest, WhatIsNotKnownIsAFailure) {
  for (const Answer& unknown : {json("{}", 500), broken(FailureKind::transport, true)}) {
    host_.seen.clear();
    for (int time = 0; time < attempts_max; ++time) answer(unknown);
    const auto payment = stripe().charge(charged(), "pi_1", call_);
    ASSERT_FALSE(payment.ok());
    EXPECT_TRUE(payment.error().maybe_sent);
    for (std::size_t at = 0; at < host_.seen.size(); ++at) {
      EXPECT_EQ(key_sent(at), "pur_1.charge");
    }
  }
  answer(json("{}", 429));
  const auto limited = stripe().charge(charged(), "pi_1", call_);
  ASSERT_FALSE(limited.ok());
  EXPECT_FALSE(limited.error().maybe_sent);
  answer(refusal(404, R"("type":"invalid_request_error","code":"resource_missing",)"
                      R"("param":"intent")"));
  EXPECT_FALSE(stripe().charge(charged(), "pi_1", call_).ok());
}

TEST_F(ChargeTest, OnlyIntentsAreCharged) {
  for (const char* reference : {"cs_1", "", "pi_1/../x", "pi_1?a", "pi-1"}) {
    EXPECT_FALSE(stripe().charge(charged(), reference, call_).ok()) << reference;
  }
  EXPECT_THAT(host_.seen, IsEmpty());
}

}  // namespace
}  // namespace turnpike::stripe

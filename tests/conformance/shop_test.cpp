// Shop and Reconciler on both databases, with a processor whose answers a test chooses: what a
// caller is told, how often the processor is asked, and that nothing is lost if no hint arrives.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "base/metrics.h"
#include "commerce/reconciler.h"
#include "commerce/shop.h"
#include "conformance/engines.h"
#include "conformance/fake_processor.h"
#include "runtime/pool.h"

namespace turnpike::commerce {
namespace {

using base::ErrorCode;

class OnShop : public OnEveryEngine {
 protected:
  void SetUp() override {
    OnEveryEngine::SetUp();
    if (IsSkipped()) return;
    account_ = account_with(0);
    const ProcessorTraits traits{.name = "fake",
                                 .hosts_checkout = true,
                                 .refunds = true,
                                 .lists_changes = true};
    processors_ = Processors({{"fake", "Fake", traits, &fake_}});
    desk_.emplace(Desk::Parts{node_->purchases(), node_->auto_top_ups(), processors_, pool_,
                              store_->clock, store_->random, *log_, settings_});
    auto_top_ups_.emplace(*desk_, node_->auto_top_ups(), *metrics_);
    shop_.emplace(*desk_, *auto_top_ups_);
    reconciler_.emplace(*desk_, *metrics_);
    offer_ = done(shop_->offers(account_)).front().id;
  }

  Result<Bought, base::Error> buy(const std::string& key, std::int64_t minor = 1'000) {
    return shop_->buy({account_, offer_, minor, key}, identity::operator_actor(),
                      [](const Purchase& purchase) {
                        return purchase.id + " " + purchase.url + " " +
                               std::string(name_of(purchase.state));
                      });
  }
  ErrorCode refusal(const std::string& key, std::int64_t minor = 1'000) {
    const auto bought = buy(key, minor);
    return bought.ok() ? ErrorCode::gateway_internal : bought.error().code;
  }
  Purchase only_purchase() {
    const auto all = done(node_->purchases().list({.account_id = account_}));
    EXPECT_EQ(all.size(), 1u);
    return all.front();
  }
  // Moves the clock and runs the pass that the gateway runs each second.
  void reconcile_for(std::int64_t seconds) {
    for (std::int64_t second = 0; second < seconds; ++second) {
      store_->clock.move_ms(1'000);
      reconciler_->pass();
    }
  }
  std::int64_t balance() { return done(node_->ledger().balance(account_)).credits; }

  FakeProcessor fake_;
  Processors processors_;
  runtime::BlockingPool pool_{4, 64};
  const std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  const std::unique_ptr<base::Log> log_ = base::make_silent_log();
  ShopSettings settings_{"https://shop.example/{account}/{purchase}", "https://shop.example/no"};
  std::optional<Desk> desk_;
  std::optional<AutoTopUps> auto_top_ups_;
  std::optional<Shop> shop_;
  std::optional<Reconciler> reconciler_;
  std::string account_;
  std::string offer_;
};
TURNPIKE_ON_EVERY_ENGINE(OnShop);

TEST_P(OnShop, AKeyHasTheSameReplyForEver) {
  const Bought first = done(buy("k"));
  EXPECT_FALSE(first.is_repeat);
  fake_.pay("cs_" + first.id + ".begin");
  reconcile_for(15);
  EXPECT_EQ(only_purchase().state, State::credited);
  const Bought second = done(buy("k"));
  EXPECT_TRUE(second.is_repeat);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(fake_.begins, 1);
  EXPECT_EQ(refusal("k", 2'000), ErrorCode::idempotency_conflict);
}

TEST_P(OnShop, WhatIsNotOfferedIsRefused) {
  for (const std::int64_t minor : {90, 105, 1'005, 100'010}) {
    EXPECT_EQ(refusal("k", minor), ErrorCode::purchase_amount_invalid) << minor;
  }
  offer_ = "off_none";
  EXPECT_EQ(refusal("k"), ErrorCode::purchase_offer_not_found);
  offer_ = done(shop_->offers(account_)).front().id;
  (void)done(node_->purchases().retire(1, identity::operator_actor()));
  EXPECT_EQ(refusal("k"), ErrorCode::purchase_offer_changed);
  EXPECT_THAT(done(shop_->offers(account_)), testing::IsEmpty());
  EXPECT_EQ(fake_.begins, 0);
}

TEST_P(OnShop, ARepeatHasItsReplyThoughTheOfferIsMadeNoMore) {
  const Bought first = done(buy("k"));
  (void)done(node_->purchases().retire(1, identity::operator_actor()));
  EXPECT_EQ(done(buy("k")).body, first.body);
  EXPECT_EQ(refusal("k", 2'000), ErrorCode::idempotency_conflict);
  EXPECT_EQ(refusal("another"), ErrorCode::purchase_offer_changed);
}

TEST_P(OnShop, WhatWasPaidIsListedApart) {
  const Bought first = done(buy("k"));
  (void)done(buy("unpaid"));
  const Bought third = done(buy("l"));
  for (const Bought& bought : {first, third}) fake_.pay("cs_" + bought.id + ".begin");
  reconcile_for(15);
  const PurchasePage newest = done(shop_->paid(account_, 0, 1));
  ASSERT_EQ(newest.purchases.size(), 1u);
  EXPECT_EQ(newest.purchases[0].id, third.id);
  EXPECT_TRUE(newest.has_more);
  const PurchasePage rest = done(shop_->paid(account_, newest.purchases[0].sequence, 1));
  ASSERT_EQ(rest.purchases.size(), 1u);
  EXPECT_EQ(rest.purchases[0].id, first.id);
  EXPECT_FALSE(rest.has_more);
}

TEST_P(OnShop, WhoComesBackFromPayingHasItLookedAtAFewTimes) {
  (void)done(buy("k"));
  reconcile_for(60);  // its looks are rare by now
  const int before = fake_.looks;
  for (int at = 0; at < 30; ++at) {
    (void)done(shop_->look_soon(only_purchase()));
    reconcile_for(1);
  }
  EXPECT_GE(fake_.looks, before + 10);
  EXPECT_LE(fake_.looks, before + 12);
}

TEST_P(OnShop, OneKeyAHundredTimesAtOnceIsOneCheckout) {
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::map<std::string, int> bodies;
  std::atomic<int> told_to_wait = 0;
  for (int thread = 0; thread < 20; ++thread) {
    threads.emplace_back([&] {
      for (int time = 0; time < 5; ++time) {
        const auto bought = buy("k");
        if (!bought.ok()) {
          EXPECT_EQ(bought.error().code, ErrorCode::idempotency_in_progress);
          ++told_to_wait;
          continue;
        }
        const std::lock_guard lock(mutex);
        ++bodies[bought->body];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fake_.begins, 1);
  EXPECT_EQ(bodies.size(), 1u);
  EXPECT_EQ(bodies.begin()->second + told_to_wait, 100);
}

TEST_P(OnShop, AProcessorThatIsAwayLosesNothing) {
  fake_.is_away = true;
  EXPECT_EQ(refusal("k"), ErrorCode::purchase_processor_unavailable);
  EXPECT_EQ(only_purchase().state, State::created);
  fake_.is_away = false;
  const Bought bought = done(buy("k"));
  EXPECT_TRUE(bought.is_repeat);
  EXPECT_EQ(bought.id, only_purchase().id);
  EXPECT_THAT(fake_.keys, testing::Each(bought.id + ".begin")) << "nothing was sent the first time";
}

TEST_P(OnShop, AnAnswerThatIsLostBeginsAnewAndOnlyOneCheckoutCounts) {
  fake_.loses_answer = true;
  EXPECT_EQ(refusal("k"), ErrorCode::purchase_processor_unavailable);
  fake_.loses_answer = false;
  const std::string id = done(buy("k")).id;
  EXPECT_EQ(only_purchase().reference, "cs_" + id + ".begin.1");
  // The checkout that was never shown to anyone expires. This changes nothing.
  fake_.payments.at("cs_" + id + ".begin").progress = Progress::expired;
  const Hint hints[] = {{Hint::Of::reference, "cs_" + id + ".begin"}};
  EXPECT_EQ(done(node_->purchases().hint("fake", hints)), 0u);
  fake_.pay("cs_" + id + ".begin.1");
  reconcile_for(15);
  EXPECT_EQ(balance(), 10'000);
}

TEST_P(OnShop, ARefusalIsForGood) {
  fake_.refusal = "account_closed";
  EXPECT_EQ(refusal("k"), ErrorCode::purchase_declined);
  fake_.refusal.clear();
  EXPECT_EQ(refusal("k"), ErrorCode::purchase_declined);
  EXPECT_EQ(fake_.begins, 1);
  EXPECT_EQ(only_purchase().state, State::failed);
  EXPECT_TRUE(buy("another").ok());
}

TEST_P(OnShop, WithoutAnyNoticeItIsCreditedWithinFortySeconds) {
  const Bought bought = done(buy("k"));
  reconcile_for(5);
  fake_.pay("cs_" + bought.id + ".begin");
  reconcile_for(40);
  EXPECT_EQ(balance(), 10'000);
  EXPECT_LE(fake_.looks, 4) << "and it was not asked all the time";
}

TEST_P(OnShop, WhatACrashLeftUnbegunIsBegunAndGivenUpAfterADay) {
  fake_.is_away = true;
  (void)buy("k");
  fake_.is_away = false;
  store_->clock.move_ms(50 * 60'000);
  reconcile_for(60);
  const Purchase late = only_purchase();
  EXPECT_EQ(late.state, State::awaiting_payment);
  EXPECT_EQ(fake_.keys.back(), late.id + ".begin.1") << "with time of its own, it is another step";
  EXPECT_GT(late.expires_at_ms, store_->clock.now_ms() + 50 * 60'000);
  fake_.is_away = true;
  (void)buy("never");
  store_->clock.move_ms(25 * 3'600'000ll);
  reconcile_for(2);
  const auto all = done(node_->purchases().list({.account_id = account_}));
  EXPECT_EQ(all.front().state, State::failed);
  EXPECT_EQ(all.front().failure_code, "processor_unanswered");
}

TEST_P(OnShop, AForgedNoticeCreditsNothing) {
  const Bought bought = done(buy("k"));
  ProcessorIntake intake(processors_.list().front(), *reconciler_);
  ProcessorCall call("", 1'000);
  const std::string reference = "cs_" + bought.id + ".begin";
  const int looked = fake_.looks;
  ASSERT_TRUE(intake.receive({.body = reference}, call).ok());
  EXPECT_GT(fake_.looks, looked) << "it is a reason to look";
  EXPECT_EQ(balance(), 0);
  fake_.pay(reference);
  ASSERT_TRUE(intake.receive({.body = reference}, call).ok());
  EXPECT_EQ(balance(), 10'000) << "credited before the notice was answered";
  for (int time = 0; time < 3; ++time) (void)intake.receive({.body = reference}, call);
  EXPECT_EQ(balance(), 10'000);
}

TEST_P(OnShop, ARefundIsSentUnderOneKeyUntilItIsAnswered) {
  const Bought bought = done(buy("k"));
  fake_.pay("cs_" + bought.id + ".begin");
  reconcile_for(15);
  const auto refund = done(
      node_->purchases().request_refund({bought.id, 400, "late"}, identity::operator_actor()));
  EXPECT_EQ(balance(), 6'000) << "the Credits go first";
  fake_.is_away = true;
  reconcile_for(3);
  fake_.is_away = false;
  reconcile_for(3);
  EXPECT_THAT(fake_.refund_keys, testing::Each(refund.id));
  EXPECT_GE(fake_.refund_keys.size(), 2u);
  EXPECT_EQ(fake_.refunds.size(), 1u);
  const Purchase after = only_purchase();
  EXPECT_EQ(after.refunded_minor, 400);
  EXPECT_EQ(after.wanted, 4'000);
  EXPECT_EQ(balance(), 6'000);
  EXPECT_THAT(node_->ledger().verify()->problems, testing::IsEmpty());
}

TEST_P(OnShop, WhatNobodyToldIsFoundInTheListOfChanges) {
  const Bought bought = done(buy("k"));
  const std::string reference = "cs_" + bought.id + ".begin";
  fake_.pay(reference);
  reconcile_for(15);
  // A credited purchase is never due; a refund at the processor is found in its list of changes.
  fake_.payments.at(reference).refunded = 1'000;
  fake_.changed = {{Hint::Of::payment, "pi_" + reference}, {Hint::Of::payment, "pi_of_others"}};
  fake_.until_ms = store_->clock.now_ms() + 1;
  Reconciler next(*desk_, *metrics_);  // its first pass reads the list
  store_->clock.move_ms(6 * 60'000);
  next.pass();
  next.pass();
  EXPECT_EQ(only_purchase().state, State::refunded);
  EXPECT_EQ(balance(), 0);
  ASSERT_GE(fake_.asked_since.size(), 2u);
}

TEST_P(OnShop, DocumentsArePaidOnesAndNobodyElses) {
  const Bought bought = done(buy("k"));
  const auto code = [&](const std::string& account) {
    return shop_->document(account, bought.id, PaymentDocument::invoice).error().code;
  };
  EXPECT_EQ(code(account_), ErrorCode::purchase_not_paid);
  EXPECT_EQ(code("acc_other"), ErrorCode::purchase_not_found);
  fake_.pay("cs_" + bought.id + ".begin");
  reconcile_for(15);
  EXPECT_EQ(code(account_), ErrorCode::purchase_document_absent);
}

}  // namespace
}  // namespace turnpike::commerce

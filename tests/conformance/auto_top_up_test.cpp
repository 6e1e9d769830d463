// Auto Top-Up on both databases, with a processor whose answers a test chooses: who is charged and
// how often, what pauses it, and that nothing is charged once it is off.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "base/metrics.h"
#include "commerce/auto_top_ups.h"
#include "commerce/due.h"
#include "commerce/reconciler.h"
#include "commerce/shop.h"
#include "conformance/engines.h"
#include "conformance/fake_processor.h"
#include "notices/store.h"
#include "runtime/pool.h"

namespace turnpike::commerce {
namespace {

using base::ErrorCode;
using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;

class OnTopUp : public OnEveryEngine {
 protected:
  void SetUp() override {
    OnEveryEngine::SetUp();
    if (IsSkipped()) return;
    account_ = account_with(0);
    const ProcessorTraits traits{.name = "fake",
                                 .hosts_checkout = true,
                                 .charges_saved = true,
                                 .refunds = true};
    processors_ = Processors({{"fake", "Fake", traits, &fake_}});
    desk_.emplace(Desk::Parts{node_->purchases(), store(), processors_, pool_, store_->clock,
                              store_->random, *log_, settings_});
    top_ups_.emplace(*desk_, store(), *metrics_);
    reconciler_.emplace(*desk_, *metrics_);
  }

  AutoTopUpStore& store() { return node_->auto_top_ups(); }

  // Moves the clock step by step and runs the passes that the gateway runs each second.
  void live_for(std::int64_t seconds, std::int64_t step_ms = 1'000) {
    for (std::int64_t second = 0; second < seconds; ++second) {
      store_->clock.move_ms(step_ms);
      top_ups_->pass();
      reconciler_->pass();
    }
  }

  static std::string body_of(const MethodSetup& setup) {
    return setup.id + " " + std::string(name_of(setup.standing));
  }
  Result<BegunSetup, base::Error> begin_setup(const std::string& key) {
    return top_ups_->begin_setup(account_, "fake", key, identity::operator_actor(), body_of);
  }
  // The id of a setup that succeeded.
  std::string saved(const std::string& key = "save", const std::string& fingerprint = "print") {
    const std::string id = done(begin_setup(key)).id;
    fake_.save("seti_" + id + ".setup", fingerprint);
    live_for(15);
    EXPECT_EQ(done(top_ups_->find_setup(account_, id)).standing, SetupStanding::succeeded);
    return id;
  }

  PolicyWish wish(const std::string& setup_id, std::int64_t expected, const std::string& key) {
    PolicyWish wish;
    wish.policy.account_id = account_;
    wish.policy.is_enabled = true;
    wish.policy.threshold = 2'000;
    wish.policy.minor = 1'000;
    wish.policy.monthly_limit_minor = 5'000;
    wish.policy.setup_id = setup_id;
    wish.expected_revision = expected;
    wish.idempotency_key = key;
    return wish;
  }
  WrittenPolicy turned_on(std::int64_t monthly_limit_minor = 5'000) {
    PolicyWish wanted = wish(saved(), 0, "on");
    wanted.policy.monthly_limit_minor = monthly_limit_minor;
    return done(top_ups_->replace(wanted, identity::operator_actor()));
  }
  ErrorCode refusal(PolicyWish wanted) {
    const auto written = top_ups_->replace(std::move(wanted), identity::operator_actor());
    return written.ok() ? ErrorCode::gateway_internal : written.error().code;
  }
  void turn_off(std::int64_t expected) {
    PolicyWish off = wish("", expected, "off " + std::to_string(expected));
    off.policy.is_enabled = false;
    (void)done(top_ups_->replace(off, identity::operator_actor()));
  }

  void set_status(identity::AccountStatus status) {
    (void)done(node_->accounts().set_status(account_, status));
  }

  AutoTopUp seen() { return done(top_ups_->look(account_)); }
  std::vector<Purchase> runs() {
    return done(node_->purchases().list({.account_id = account_}));
  }
  std::int64_t balance() { return done(node_->ledger().balance(account_)).credits; }

  FakeProcessor fake_;
  Processors processors_;
  runtime::BlockingPool pool_{4, 64};
  const std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  const std::unique_ptr<base::Log> log_ = base::make_silent_log();
  ShopSettings settings_{.saved_url = "https://shop.example/{account}/{setup}"};
  std::optional<Desk> desk_;
  std::optional<AutoTopUps> top_ups_;
  std::optional<Reconciler> reconciler_;
  std::string account_;
};
TURNPIKE_ON_EVERY_ENGINE(OnTopUp);

// ---- setups

TEST_P(OnTopUp, AKeyIsOneSetup) {
  const BegunSetup first = done(begin_setup("k"));
  EXPECT_FALSE(first.is_repeat);
  fake_.save("seti_" + first.id + ".setup", "print");
  live_for(15);
  const BegunSetup second = done(begin_setup("k"));
  EXPECT_TRUE(second.is_repeat);
  EXPECT_EQ(second.body, first.body) << "the same bytes for ever";
  EXPECT_THAT(fake_.setup_keys, SizeIs(1));
  EXPECT_EQ(done(top_ups_->setups(account_)).size(), 1u);
}

TEST_P(OnTopUp, ASetupThatIsNotAnsweredStandsAndIsBegunLater) {
  fake_.is_away = true;
  const BegunSetup begun = done(begin_setup("k"));
  EXPECT_FALSE(begun.is_begun);
  EXPECT_EQ(done(top_ups_->find_setup(account_, begun.id)).standing,
            SetupStanding::needs_reconciliation);
  fake_.is_away = false;
  live_for(10);
  EXPECT_EQ(done(top_ups_->find_setup(account_, begun.id)).standing,
            SetupStanding::requires_action);
  EXPECT_TRUE(done(begin_setup("k")).is_begun);
}

TEST_P(OnTopUp, ASetupWhoseAnswerIsLostIsBegunUnderANewName) {
  fake_.loses_answer = true;
  EXPECT_FALSE(done(begin_setup("k")).is_begun);
  fake_.loses_answer = false;
  live_for(10);
  ASSERT_THAT(fake_.setup_keys, SizeIs(2));
  EXPECT_EQ(fake_.setup_keys[1], fake_.setup_keys[0] + ".1");
}

TEST_P(OnTopUp, ASetupIsRefusedExpiredOrAnothers) {
  fake_.refusal = "account_closed";
  EXPECT_EQ(begin_setup("refused").error().code, ErrorCode::purchase_declined);
  fake_.refusal.clear();
  const std::string id = done(begin_setup("k")).id;
  fake_.setups["seti_" + id + ".setup"].failure = "expired";
  live_for(15);
  EXPECT_EQ(done(top_ups_->find_setup(account_, id)).failure_code, "expired");
  const std::string other = account_with(0);
  EXPECT_EQ(top_ups_->find_setup(other, id).error().code,
            ErrorCode::auto_reload_setup_not_found);
  EXPECT_EQ(top_ups_->begin_setup(account_, "none", "k2", identity::operator_actor(), body_of)
                .error()
                .code,
            ErrorCode::purchase_offer_not_found);
}

TEST_P(OnTopUp, SoManySetupsAtOnce) {
  for (int at = 0; at < 10; ++at) (void)done(begin_setup("k" + std::to_string(at)));
  EXPECT_EQ(begin_setup("one more").error().code, ErrorCode::purchase_too_many_open);
  store_->clock.move_ms(25 * hour_ms);
  EXPECT_TRUE(begin_setup("one more").ok()) << "the others have expired";
}

// ---- policies

TEST_P(OnTopUp, ThereIsNoPolicyAtFirst) {
  EXPECT_EQ(seen().policy.revision, 0);
  EXPECT_FALSE(seen().policy.is_enabled);
  EXPECT_EQ(seen().standing.state, TopUpState::off);
}

TEST_P(OnTopUp, EachReplacementIsARevisionThatNeverChanges) {
  const std::string setup = saved();
  const Policy first =
      done(top_ups_->replace(wish(setup, 0, "k"), identity::operator_actor())).policy;
  EXPECT_EQ(first.revision, 1);
  EXPECT_EQ(first.credits, 10'000);
  const WrittenPolicy repeat =
      done(top_ups_->replace(wish(setup, 0, "k"), identity::operator_actor()));
  EXPECT_TRUE(repeat.is_repeat);
  EXPECT_EQ(repeat.policy.revision, 1);
  PolicyWish other = wish(setup, 0, "k");
  other.policy.threshold = 1'000;
  EXPECT_EQ(refusal(other), ErrorCode::idempotency_conflict);
  EXPECT_EQ(refusal(wish(setup, 0, "late")), ErrorCode::auto_reload_revision_conflict);
  turn_off(1);
  EXPECT_EQ(seen().policy.revision, 2);
  const auto revisions = done(top_ups_->revisions(account_));
  ASSERT_EQ(revisions.size(), 2u);
  EXPECT_TRUE(revisions[1].is_enabled);
  EXPECT_EQ(revisions[1].minor, 1'000);
}

TEST_P(OnTopUp, OfTwoWhoReplaceOneRevisionOneIsTold) {
  const std::string setup = saved();
  std::atomic<int> written = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const auto answer = top_ups_->replace(wish(setup, 0, "k" + std::to_string(thread)),
                                            identity::operator_actor());
      if (answer.ok()) {
        ++written;
      } else if (answer.error().code == ErrorCode::auto_reload_revision_conflict) {
        ++refused;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(written, 1);
  EXPECT_EQ(refused, 3);
}

TEST_P(OnTopUp, WhatCannotBeTurnedOn) {
  EXPECT_EQ(refusal(wish("pms_none", 0, "a")), ErrorCode::auto_reload_method_conflict);
  const std::string open = done(begin_setup("open")).id;
  EXPECT_EQ(refusal(wish(open, 0, "b")), ErrorCode::auto_reload_method_conflict);
  const std::string setup = saved();
  PolicyWish small = wish(setup, 0, "c");
  small.policy.threshold = 10'001;
  EXPECT_EQ(refusal(small), ErrorCode::auto_reload_below_threshold);
  PolicyWish odd = wish(setup, 0, "d");
  odd.policy.minor = 1'005;
  EXPECT_EQ(refusal(odd), ErrorCode::purchase_amount_invalid);
  const std::string mine = account_;
  account_ = account_with(0);
  EXPECT_EQ(refusal(wish(setup, 0, "e")), ErrorCode::auto_reload_method_conflict)
      << "it is another account's";
  account_ = mine;
  (void)done(node_->purchases().retire(1, identity::operator_actor()));
  EXPECT_EQ(refusal(wish(setup, 0, "f")), ErrorCode::purchase_offer_not_found);
  turn_off(0);
  EXPECT_EQ(seen().policy.revision, 1) << "off is possible whatever is sold";
}

// ---- runs

TEST_P(OnTopUp, AnAccountWithFewCreditsIsChargedOnce) {
  (void)turned_on();
  live_for(30);
  EXPECT_EQ(balance(), 10'000);
  ASSERT_THAT(runs(), SizeIs(1));
  const Purchase run = runs().front();
  EXPECT_EQ(run.state, State::credited);
  EXPECT_EQ(run.origin, ledger::Origin::auto_top_up);
  EXPECT_EQ(run.policy_revision, 1);
  EXPECT_THAT(fake_.charges, testing::ElementsAre(run.id + ".charge"));
  EXPECT_THAT(fake_.charged_methods, Each(run.saved_method));
  EXPECT_EQ(seen().spent_minor, 1'000);
  EXPECT_EQ(seen().last_run->id, run.id);
  const auto allocations = done(node_->ledger().allocations(account_));
  EXPECT_EQ(allocations.back().origin, ledger::Origin::auto_top_up);
}

TEST_P(OnTopUp, ManyScansOfManyNodesAreOneRun) {
  (void)turned_on();
  fake_.is_away = true;  // so that the run stays open
  const auto offers = offers_in_force(done(node_->purchases().terms()), processors_);
  store_->clock.move_ms(10'000);
  std::vector<std::thread> threads;
  std::atomic<int> opened = 0;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&] {
      for (int time = 0; time < 5; ++time) {
        const auto runs = store().open_runs({offers, {}}, 0);
        ASSERT_TRUE(runs.ok()) << runs.error().message;
        if (*runs) opened += static_cast<int>(**runs);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(opened, 1);
  EXPECT_THAT(runs(), SizeIs(1));
  fake_.is_away = false;
  live_for(20);
  EXPECT_THAT(fake_.charges, SizeIs(1));
  EXPECT_EQ(balance(), 10'000);
}

TEST_P(OnTopUp, AChargeWhoseAnswerIsLostIsNotSentAgain) {
  (void)turned_on();
  fake_.loses_charge = true;
  live_for(30);
  EXPECT_THAT(fake_.charges, SizeIs(1)) << "a look found that it was paid";
  EXPECT_EQ(balance(), 10'000);
}

TEST_P(OnTopUp, AChargeThatNeverRanIsSentAgainUnderANewName) {
  (void)turned_on();
  fake_.is_charging_away = true;
  live_for(8);
  fake_.is_charging_away = false;
  live_for(60);
  ASSERT_GE(fake_.charges.size(), 2u);
  EXPECT_EQ(fake_.charges[1], fake_.charges[0] + ".1");
  EXPECT_EQ(balance(), 10'000);
  EXPECT_EQ(seen().standing.failures, 0) << "what was not answered is no decline";
}

TEST_P(OnTopUp, ADeadCardIsChargedThreeTimesInThirtyDays) {
  fake_.decline = Decline::later;
  (void)turned_on();
  live_for(30 * 24 * 4, hour_ms / 4);
  EXPECT_THAT(fake_.charges, SizeIs(3));
  EXPECT_EQ(seen().standing.state, TopUpState::paused_failure);
  EXPECT_EQ(seen().standing.reason, "card_declined");
  EXPECT_EQ(balance(), 0);
}

TEST_P(OnTopUp, ACardThatNeedsItsOwnerIsChargedOnce) {
  fake_.decline = Decline::needs_customer;
  (void)turned_on();
  live_for(30 * 24, hour_ms);
  EXPECT_THAT(fake_.charges, SizeIs(1));
  EXPECT_EQ(seen().standing.state, TopUpState::paused_failure);
}

TEST_P(OnTopUp, HoweverOftenItIsResumedACardIsNotHammered) {
  fake_.decline = Decline::later;
  (void)turned_on();
  for (int day = 0; day < 28; ++day) {
    live_for(24, hour_ms);
    (void)done(store().resume(account_, identity::operator_actor()));
  }
  EXPECT_THAT(fake_.charges, SizeIs(card_declines_max));
  live_for(24, hour_ms);
  EXPECT_EQ(seen().standing.reason, "card_declined_too_often");
}

TEST_P(OnTopUp, ADayOfErrorsIsNoDecline) {
  (void)turned_on();
  fake_.is_charging_away = true;
  live_for(23 * 60, minute_ms);
  EXPECT_EQ(seen().standing.state, TopUpState::active);
  EXPECT_EQ(seen().standing.failures, 0);
  EXPECT_THAT(runs(), SizeIs(1)) << "while it is not known, there is no second run";
  fake_.is_charging_away = false;
  live_for(2 * 60, minute_ms);
  EXPECT_EQ(balance(), 10'000);
}

TEST_P(OnTopUp, WhatNobodyKnowsTheEndOfPausesAfterADay) {
  (void)turned_on();
  fake_.is_charging_away = true;
  live_for(25 * 60, minute_ms);
  EXPECT_EQ(seen().standing.state, TopUpState::paused_failure);
  EXPECT_EQ(seen().standing.reason, "charge_unknown");
  EXPECT_THAT(runs(), SizeIs(1));
}

TEST_P(OnTopUp, NothingIsChargedOnceItIsOff) {
  (void)turned_on();
  fake_.is_charging_away = true;
  live_for(8);
  const std::size_t sent = fake_.charges.size();
  turn_off(1);
  fake_.is_charging_away = false;
  live_for(120);
  EXPECT_THAT(fake_.charges, SizeIs(sent));
  EXPECT_EQ(runs().front().state, State::cancelled);
  EXPECT_EQ(balance(), 0);
  EXPECT_EQ(seen().standing.state, TopUpState::off);
}

TEST_P(OnTopUp, ARunThatWasBegunIsNotChargedOnceItIsOff) {
  (void)turned_on();
  fake_.is_away = true;
  live_for(4);
  ASSERT_THAT(runs(), SizeIs(1));
  turn_off(1);
  fake_.is_away = false;
  live_for(120);
  EXPECT_THAT(fake_.charges, IsEmpty());
  EXPECT_EQ(runs().front().state, State::cancelled);
}

TEST_P(OnTopUp, TheMonthlyLimitHoldsAndGoesOnNextMonth) {
  (void)turned_on(1'500);
  live_for(20);
  EXPECT_EQ(balance(), 10'000);
  const std::string allocation = done(node_->ledger().allocations(account_)).back().id;
  (void)node_->ledger().void_allocation(allocation);
  live_for(20);
  EXPECT_EQ(seen().standing.state, TopUpState::paused_limit);
  EXPECT_THAT(runs(), SizeIs(1));
  live_for(32, day_ms);
  EXPECT_THAT(runs(), SizeIs(2));
  EXPECT_EQ(seen().standing.state, TopUpState::active);
}

TEST_P(OnTopUp, AMethodThatIsGonePausesAtOnce) {
  const Policy policy = turned_on().policy;
  live_for(20);
  const MethodSetup setup = done(top_ups_->find_setup(account_, policy.setup_id));
  fake_.setups[setup.reference] = {.failure = "payment_method_gone"};
  const Hint hint{Hint::Of::method, setup.method.reference};
  EXPECT_EQ(done(node_->purchases().hint("fake", std::span(&hint, 1))), 1u);
  live_for(2);
  EXPECT_EQ(seen().standing.state, TopUpState::needs_payment_method);
  const std::string another = saved("another", "other");
  EXPECT_EQ(done(top_ups_->replace(wish(another, 1, "k"), identity::operator_actor()))
                .policy.revision,
            2);
  EXPECT_EQ(seen().standing.state, TopUpState::active);
}

TEST_P(OnTopUp, ARemovedMethodIsChargedNoMoreAndForgottenAtTheService) {
  const std::string id = turned_on().policy.setup_id;
  fake_.is_away = true;
  live_for(4);
  ASSERT_THAT(runs(), SizeIs(1));
  const MethodSetup removed =
      done(top_ups_->remove(account_, id, identity::operator_actor()));
  EXPECT_FALSE(removed.is_usable());
  EXPECT_EQ(seen().standing.state, TopUpState::needs_payment_method);
  EXPECT_EQ(seen().standing.reason, "payment_method_removed");
  live_for(10);
  EXPECT_EQ(done(top_ups_->find_setup(account_, id)).removal, Removal::wanted);

  fake_.is_away = false;
  live_for(120);
  EXPECT_THAT(fake_.charges, IsEmpty());
  EXPECT_EQ(runs().front().state, State::cancelled);
  EXPECT_EQ(done(top_ups_->find_setup(account_, id)).removal, Removal::done);
  EXPECT_EQ(done(top_ups_->remove(account_, id, identity::operator_actor())).removal,
            Removal::done);
  live_for(30);
  EXPECT_THAT(fake_.forgotten, testing::ElementsAre(removed.method.reference));
  EXPECT_EQ(refusal(wish(id, 1, "again")), ErrorCode::auto_reload_method_conflict);
  const std::string another = saved("another", "other");
  EXPECT_TRUE(top_ups_->replace(wish(another, 1, "k"), identity::operator_actor()).ok());
  EXPECT_EQ(seen().standing.state, TopUpState::active);
}

// A look that began before the removal must not bring the method back.
TEST_P(OnTopUp, ALookThatIsLateFindsTheMethodRemoved) {
  const std::string id = saved();
  const MethodSetup before = done(top_ups_->find_setup(account_, id));
  (void)done(top_ups_->remove(account_, id, identity::operator_actor()));
  EXPECT_FALSE(done(store().advance_setup(after_setup_look(before, {.method = before.method}), -1))
                   .has_value());
  EXPECT_EQ(seen().standing.state, TopUpState::off) << "no policy charges it";
  live_for(5);
  const MethodSetup after = done(top_ups_->find_setup(account_, id));
  EXPECT_FALSE(after.is_usable());
  EXPECT_EQ(after.removal, Removal::done);
}

TEST_P(OnTopUp, WhatIsNoMethodCannotBeRemoved) {
  const std::string open = done(begin_setup("open")).id;
  const auto refusal_of = [&](const std::string& account, const std::string& id) {
    return top_ups_->remove(account, id, identity::operator_actor()).error().code;
  };
  EXPECT_EQ(refusal_of(account_, open), ErrorCode::auto_reload_method_conflict);
  EXPECT_EQ(refusal_of(account_, "pms_none"), ErrorCode::auto_reload_setup_not_found);
  const std::string id = saved();
  EXPECT_EQ(refusal_of(account_with(0), id), ErrorCode::auto_reload_setup_not_found);
  EXPECT_TRUE(done(top_ups_->find_setup(account_, id)).is_usable());
}

TEST_P(OnTopUp, ARefundOfARunPauses) {
  (void)turned_on();
  live_for(20);
  const Purchase run = runs().front();
  fake_.payments.at(run.reference).refunded = 500;
  (void)done(node_->purchases().hurry(run.id));
  live_for(5);
  EXPECT_EQ(seen().standing.state, TopUpState::paused_failure);
  EXPECT_EQ(seen().standing.reason, "refunded");
  EXPECT_EQ(balance(), 5'000);
}

TEST_P(OnTopUp, ALockedAccountIsNotCharged) {
  (void)turned_on();
  live_for(20);
  const Purchase run = runs().front();
  Payment& payment = fake_.payments.at(run.reference);
  payment.dispute = Dispute::open;
  payment.dispute_id = "dp_1";
  (void)done(node_->purchases().hurry(run.id));
  live_for(5);
  EXPECT_EQ(balance(), 0);
  (void)done(store().resume(account_, identity::operator_actor()));
  live_for(20);
  EXPECT_THAT(runs(), SizeIs(1));
  EXPECT_EQ(refusal(wish(run.setup_id, 1, "k")), ErrorCode::purchase_account_locked);
}

TEST_P(OnTopUp, AccountsThatMayNotRunKeepNobodyFromBeingFound) {
  (void)turned_on();
  set_status(identity::AccountStatus::suspended);
  live_for(30);
  EXPECT_THAT(runs(), IsEmpty());
  EXPECT_GT(seen().standing.next_attempt_ms, store_->clock.now_ms()) << "not in each scan";
  EXPECT_EQ(seen().standing.state, TopUpState::active);
  set_status(identity::AccountStatus::active);
  live_for(90);
  EXPECT_EQ(balance(), 10'000);
  set_status(identity::AccountStatus::closed);
  const std::string allocation = done(node_->ledger().allocations(account_)).back().id;
  (void)node_->ledger().void_allocation(allocation);
  live_for(90);
  EXPECT_EQ(seen().standing.state, TopUpState::off);
  EXPECT_THAT(fake_.charges, SizeIs(1));
}

TEST_P(OnTopUp, WhoTurnsItOnAgainWaitsForNothing) {
  (void)turned_on();
  fake_.is_away = true;
  live_for(4);
  turn_off(1);
  fake_.is_away = false;
  PolicyWish again = wish(done(top_ups_->setups(account_)).front().id, 2, "again");
  (void)done(top_ups_->replace(again, identity::operator_actor()));
  live_for(60);
  EXPECT_EQ(balance(), 10'000);
  EXPECT_THAT(fake_.charges, SizeIs(1));
}

TEST_P(OnTopUp, APauseIsToldOnce) {
  (void)done(node_->notices().create({.account_id = account_,
                                      .url = "https://example.com/hook",
                                      .description = "",
                                      .types = {notices::EventType::auto_top_up_paused},
                                      .secret = std::string(32, 's')},
                                     identity::operator_actor()));
  fake_.decline = Decline::needs_customer;
  (void)turned_on();
  live_for(120);
  auto told = done(node_->notices().deliveries({.account_id = account_}));
  ASSERT_THAT(told, SizeIs(1));
  const auto due = done(node_->notices().take_due(60'000, 10));
  ASSERT_THAT(due, SizeIs(1));
  EXPECT_THAT(due.front().data, testing::HasSubstr(runs().front().id));
  EXPECT_THAT(due.front().data, testing::HasSubstr("card_declined"));
  (void)done(store().resume(account_, identity::operator_actor()));
  (void)done(store().pause(account_, identity::operator_actor()));
  EXPECT_THAT(done(node_->notices().deliveries({.account_id = account_})), SizeIs(2));
}

TEST_P(OnTopUp, OperatorsPauseAndResume) {
  EXPECT_FALSE(done(store().pause(account_, identity::operator_actor())))
      << "there is nothing to pause";
  (void)turned_on();
  (void)done(store().pause(account_, identity::operator_actor()));
  live_for(20);
  EXPECT_THAT(runs(), IsEmpty());
  EXPECT_EQ(done(store().list({.paused_only = true})).size(), 1u);
  EXPECT_EQ(done(store().counts()).paused, 1);
  (void)done(store().resume(account_, identity::operator_actor()));
  live_for(20);
  EXPECT_EQ(balance(), 10'000);
  EXPECT_EQ(done(store().counts()).active, 1);
  const auto verified = node_->ledger().verify(nullptr);
  ASSERT_TRUE(verified.ok());
  EXPECT_THAT(verified->problems, IsEmpty());
}

}  // namespace
}  // namespace turnpike::commerce

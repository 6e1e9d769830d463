// The rules of Auto Top-Up: when an account is charged, and the effect of declines.
#include "commerce/auto_top_up.h"

#include <gtest/gtest.h>

#include "commerce/due.h"
#include "support/sdk_fakes.h"

namespace turnpike::commerce {
namespace {

using base::ErrorCode;

constexpr std::int64_t now = 1'772'366'400'000;  // 2026-03-01T12:00:00Z

Policy policy_of() {
  Policy policy;
  policy.is_enabled = true;
  policy.threshold = 2'000;
  policy.minor = 1'000;
  policy.credits = 10'000;
  policy.monthly_limit_minor = 5'000;
  policy.setup_id = "pms_1";
  return policy;
}

TopUpStanding active() { return {.state = TopUpState::active}; }

RunDecision decide(const RunFacts& facts, const TopUpStanding& standing = active(),
                   const Policy& policy = policy_of(), const Terms& terms = {}) {
  return decide_run(policy, standing, facts, &terms, {}, now);
}

TEST(AutoTopUp, APolicyMustCloseItsGapInOneCharge) {
  Policy policy = policy_of();
  EXPECT_FALSE(problem_of(policy, {}));
  policy.threshold = 10'000;
  EXPECT_FALSE(problem_of(policy, {})) << "as much as the threshold is enough";
  policy.threshold = 10'001;
  EXPECT_EQ(problem_of(policy, {})->code, ErrorCode::auto_reload_below_threshold);
  policy = policy_of();
  policy.minor = 1'005;
  EXPECT_EQ(problem_of(policy, {})->code, ErrorCode::purchase_amount_invalid);
  policy = policy_of();
  policy.monthly_limit_minor = 999;
  EXPECT_EQ(problem_of(policy, {})->code, ErrorCode::request_body_rejected);
}

TEST(AutoTopUp, RunsBelowTheThresholdAlone) {
  EXPECT_EQ(decide({.balance = 1'999}).credits, 10'000);
  EXPECT_FALSE(decide({.balance = 2'000}).credits);
  EXPECT_FALSE(decide({.balance = 0, .pending = 2'000}).credits) << "it was paid for already";
}

TEST(AutoTopUp, WhatIsOffOrLockedDoesNotRun) {
  Policy off = policy_of();
  off.is_enabled = false;
  EXPECT_FALSE(decide({}, active(), off).credits);
  for (const TopUpState state :
       {TopUpState::off, TopUpState::paused_failure, TopUpState::needs_payment_method}) {
    EXPECT_FALSE(decide({}, {.state = state}).credits);
  }
  RunFacts locked;
  locked.may_buy = false;
  EXPECT_FALSE(decide(locked).credits);
  EXPECT_EQ(decide(locked).standing, active()) << "nor is it paused by that";
  EXPECT_FALSE(decide({}, {.state = TopUpState::active, .next_attempt_ms = now + 1}).credits);
}

TEST(AutoTopUp, TheMonthlyLimitPausesUntilTheNextMonth) {
  RunFacts facts;
  facts.spent_minor = 4'000;
  EXPECT_TRUE(decide(facts).credits);
  facts.spent_minor = 4'001;
  const RunDecision decision = decide(facts);
  EXPECT_FALSE(decision.credits);
  EXPECT_EQ(decision.standing.state, TopUpState::paused_limit);
  EXPECT_EQ(decision.standing.next_attempt_ms, next_month_ms(now));
  EXPECT_EQ(next_month_ms(now), 1'775'001'600'000) << "2026-04-01T00:00:00Z";
  const Terms terms;
  const auto later = decide_run(policy_of(), decision.standing, {}, &terms, {},
                                next_month_ms(now));
  EXPECT_TRUE(later.credits) << "it goes on by itself";
  EXPECT_EQ(later.standing.state, TopUpState::active);
  EXPECT_EQ(later.standing.reason, "");
}

TEST(AutoTopUp, SoManyRunsADay) {
  RunFacts facts;
  facts.runs_today = 10;
  facts.oldest_today_ms = now - 1'000;
  const RunDecision decision = decide(facts);
  EXPECT_EQ(decision.standing.state, TopUpState::paused_limit);
  EXPECT_EQ(decision.standing.next_attempt_ms, now - 1'000 + day_ms);
}

TEST(AutoTopUp, NobodyPaysMoreThanWasAgreedTo) {
  Terms dearer;
  dearer.unit_credits = 900;
  EXPECT_EQ(decide({}, active(), policy_of(), dearer).standing.reason, "offer_changed");
  Terms cheaper;
  cheaper.unit_credits = 1'100;
  EXPECT_EQ(decide({}, active(), policy_of(), cheaper).credits, 11'000);
  EXPECT_EQ(decide_run(policy_of(), active(), {}, nullptr, {}, now).standing.reason,
            "offer_retired");
}

TEST(AutoTopUp, ACardIsNotHammered) {
  RunFacts facts;
  facts.card_declines = card_declines_max;
  EXPECT_EQ(decide(facts).standing.reason, "card_declined_too_often");
}

TEST(AutoTopUp, DeclinesPauseAtLast) {
  TopUpStanding standing = active();
  standing = after_run(standing, RunEnd::declined, Decline::later, "card_declined", 3, now);
  EXPECT_EQ(standing.state, TopUpState::active);
  EXPECT_EQ(standing.next_attempt_ms, now + hour_ms);
  standing = after_run(standing, RunEnd::declined, Decline::later, "card_declined", 3, now);
  EXPECT_EQ(standing.next_attempt_ms, now + 6 * hour_ms);
  standing = after_run(standing, RunEnd::declined, Decline::later, "card_declined", 3, now);
  EXPECT_EQ(standing.state, TopUpState::paused_failure);
  EXPECT_EQ(standing.reason, "card_declined");
  EXPECT_EQ(standing.failures, 3);
}

TEST(AutoTopUp, ASuccessForgetsDeclines) {
  TopUpStanding standing = active();
  standing = after_run(standing, RunEnd::declined, Decline::later, "card_declined", 3, now);
  standing = after_run(standing, RunEnd::credited, Decline::none, "", 3, now);
  EXPECT_EQ(standing.failures, 0);
  EXPECT_EQ(standing.next_attempt_ms, 0);
}

TEST(AutoTopUp, SomeDeclinesPauseAtOnce) {
  const auto after = [](Decline decline, std::string_view code) {
    return after_run(active(), RunEnd::declined, decline, code, 3, now);
  };
  EXPECT_EQ(after(Decline::needs_customer, "authentication_required").state,
            TopUpState::paused_failure);
  EXPECT_EQ(after(Decline::never, "lost_card").reason, "lost_card");
  EXPECT_EQ(after(Decline::method_gone, "payment_method_gone").state,
            TopUpState::needs_payment_method);
}

TEST(AutoTopUp, WhatWasNotAnsweredIsNoDecline) {
  const TopUpStanding after =
      after_run(active(), RunEnd::unanswered, Decline::none, "processor_unanswered", 3, now);
  EXPECT_EQ(after.state, TopUpState::active);
  EXPECT_EQ(after.failures, 0);
  EXPECT_EQ(after.next_attempt_ms, now + hour_ms);
}

TEST(AutoTopUp, MoneyBackPausesAndAPauseIsNotUndone) {
  const auto back = after_run(active(), RunEnd::money_back, Decline::none, "disputed", 3, now);
  EXPECT_EQ(back.state, TopUpState::paused_failure);
  EXPECT_EQ(back.reason, "disputed");
  const TopUpStanding off{.state = TopUpState::off};
  EXPECT_EQ(after_run(off, RunEnd::declined, Decline::later, "card_declined", 3, now), off);
  const auto credited = after_run(back, RunEnd::credited, Decline::none, "", 3, now);
  EXPECT_EQ(credited.state, TopUpState::paused_failure);
}

TEST(AutoTopUp, EveryPauseHasItsSentence) {
  for (const char* reason :
       {"monthly_limit", "runs_per_day", "payment_method_gone", "offer_retired", "offer_changed",
        "card_declined_too_often", "charge_unknown", "refunded", "disputed", "operator",
        "card_declined"}) {
    EXPECT_FALSE(pause_text({.state = TopUpState::paused_failure, .reason = reason}).empty());
  }
}

TEST(MethodSetup, IsSavedOnceThePersonSavedIt) {
  MethodSetup setup;
  setup = after_setup_begin(setup, {.reference = "seti_1", .url = "https://x", .customer = "c"});
  EXPECT_EQ(setup.standing, SetupStanding::requires_action);
  EXPECT_EQ(after_setup_look(setup, {}).standing, SetupStanding::requires_action);
  EXPECT_EQ(after_setup_look(setup, {.failure = "expired"}).standing, SetupStanding::failed);
  setup = after_setup_look(setup, {.method = SavedMethod{.reference = "pm_1",
                                                         .brand = "visa",
                                                         .last4 = "4242",
                                                         .fingerprint = "f"}});
  EXPECT_TRUE(setup.is_usable());
  EXPECT_TRUE(after_setup_look(setup, {.method = setup.method}).is_usable());
  EXPECT_FALSE(after_setup_look(setup, {.failure = "payment_method_gone"}).is_usable());
}

TEST(MethodSetup, SaysWhyItIsOfNoUse) {
  MethodSetup setup;
  setup.standing = SetupStanding::succeeded;
  EXPECT_EQ(setup_failure_code(setup), "");
  setup.is_gone = true;
  EXPECT_EQ(setup_failure_code(setup), "payment_method_gone");
  setup.removal = Removal::wanted;
  EXPECT_EQ(setup_failure_code(setup), "payment_method_removed");
  EXPECT_EQ(setup_failure_code(after_removal(setup)), "payment_method_removed");
  EXPECT_NE(setup_failure_text("payment_method_removed").find("removed"), std::string::npos);
  for (const Removal each : {Removal::none, Removal::wanted, Removal::done}) {
    EXPECT_EQ(removal(name_of(each)), each);
  }
  EXPECT_EQ(removal("else"), std::nullopt);
}

TEST(MethodSetup, IsLookedAtUntilADayAfterItExpired) {
  support::ConstantRandom random;
  MethodSetup setup;
  setup.standing = SetupStanding::requires_action;
  setup.expires_at_ms = now;
  EXPECT_GT(setup_due_after(setup, now, random), now);
  EXPECT_EQ(setup_due_after(setup, now + 25 * hour_ms, random), -1);
  setup.standing = SetupStanding::succeeded;
  EXPECT_EQ(setup_due_after(setup, now, random), -1);
}

}  // namespace
}  // namespace turnpike::commerce

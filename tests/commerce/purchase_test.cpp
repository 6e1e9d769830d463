// The rules of commerce/purchase.h: the meaning of a look, and the time of the next one.
#include "commerce/purchase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/stores.h"

namespace turnpike::commerce {
namespace {

constexpr std::int64_t now_ms = 1'800'000'000'000;
constexpr std::int64_t second_ms = 1'000;
constexpr std::int64_t hour_ms = 3'600'000;

Purchase purchase_in(State state) {
  Purchase purchase;
  purchase.id = "pur_0000000000000000000001";
  purchase.account_id = "acc_1";
  purchase.currency = "USD";
  purchase.minor = 1'000;
  purchase.credits = 10'000;
  purchase.state = state;
  purchase.reference = "cs_1";
  purchase.created_at_ms = now_ms;
  purchase.expires_at_ms = now_ms + hour_ms;
  if (was_paid(state)) purchase.payment = "pi_1";
  return purchase;
}

Payment paid() {
  Payment payment;
  payment.progress = Progress::paid;
  payment.currency = "USD";
  payment.net = 1'000;
  payment.total = 1'190;
  payment.payment = "pi_1";
  return payment;
}

TEST(Look, PaidIsCreditedFromWhateverWasBefore) {
  for (const State before : {State::created, State::awaiting_payment, State::failed, State::expired,
                             State::cancelled, State::paid}) {
    const Step step = after_look(purchase_in(before), paid(), now_ms);
    EXPECT_TRUE(step.credits) << name_of(before);
    EXPECT_EQ(step.next.state, State::credited) << name_of(before);
    EXPECT_EQ(step.next.payment, "pi_1");
    EXPECT_EQ(step.next.tax_minor, 190);
    EXPECT_EQ(step.next.failure_code, "");
  }
  for (const State before : {State::credited, State::refunded, State::disputed}) {
    EXPECT_FALSE(after_look(purchase_in(before), paid(), now_ms).credits) << name_of(before);
  }
}

TEST(Look, WhatDoesNotFitIsNotCredited) {
  const auto with = [](auto change) {
    Payment payment = paid();
    change(payment);
    return after_look(purchase_in(State::awaiting_payment), payment, now_ms);
  };
  const Step steps[] = {
      with([](Payment& payment) { payment.net = 999; }),
      with([](Payment& payment) { payment.currency = "EUR"; }),
      with([](Payment& payment) { payment.purchase_id = "pur_0000000000000000000002"; })};
  for (const Step& step : steps) {
    EXPECT_FALSE(step.credits);
    EXPECT_EQ(step.next.state, State::paid);
    EXPECT_NE(step.next.conflict, "");
  }
  Purchase twice = purchase_in(State::paid);
  twice.payment = "pi_0";
  EXPECT_THAT(after_look(twice, paid(), now_ms).next.conflict, testing::HasSubstr("twice"));
}

TEST(Look, WhatIsNotPaidEndsAsTheProcessorSays) {
  Payment payment;
  const auto state_after = [&](Progress progress) {
    payment.progress = progress;
    return after_look(purchase_in(State::awaiting_payment), payment, now_ms).next.state;
  };
  EXPECT_EQ(state_after(Progress::open), State::awaiting_payment);
  EXPECT_EQ(state_after(Progress::processing), State::awaiting_payment);
  EXPECT_EQ(state_after(Progress::declined), State::failed);
  EXPECT_EQ(state_after(Progress::expired), State::expired);
  EXPECT_EQ(state_after(Progress::cancelled), State::cancelled);
  // A credited purchase stays credited, even if a later look reports no money.
  payment.progress = Progress::expired;
  for (const State before : {State::credited, State::refunded, State::disputed, State::paid}) {
    EXPECT_EQ(after_look(purchase_in(before), payment, now_ms).next.state, before);
  }
}

TEST(Look, ACodeOfTheProcessorIsKeptIfItIsAWord) {
  Payment payment;
  payment.progress = Progress::declined;
  payment.code = "card_declined";
  const Purchase before = purchase_in(State::awaiting_payment);
  EXPECT_EQ(after_look(before, payment, now_ms).next.failure_code, "card_declined");
  payment.code = "<script>";
  EXPECT_EQ(after_look(before, payment, now_ms).next.failure_code, "declined");
}

TEST(Look, RefundsTakeTheirShareOfTheCredits) {
  Payment payment = paid();
  payment.refunded = 595;  // half of the total
  const Step half = after_look(purchase_in(State::credited), payment, now_ms);
  EXPECT_EQ(half.next.state, State::credited);
  EXPECT_EQ(half.next.wanted, 5'000);
  EXPECT_TRUE(half.claws);
  EXPECT_FALSE(half.voids);
  const Step again = after_look(half.next, payment, now_ms);
  EXPECT_FALSE(again.claws) << "a repeat takes nothing";
  payment.refunded = 1;
  EXPECT_EQ(after_look(purchase_in(State::credited), payment, now_ms).next.wanted, 8);
  payment.refunded = payment.total;
  const Step all = after_look(half.next, payment, now_ms);
  EXPECT_EQ(all.next.state, State::refunded);
  EXPECT_EQ(all.next.wanted, 10'000);
  EXPECT_TRUE(all.voids);
}

TEST(Look, PaidAndRefundedAtOnceIsCreditedAndTakenBack) {
  Payment payment = paid();
  payment.refunded = payment.total;
  const Step step = after_look(purchase_in(State::awaiting_payment), payment, now_ms);
  EXPECT_TRUE(step.credits);
  EXPECT_TRUE(step.voids);
  EXPECT_EQ(step.next.state, State::refunded);
}

TEST(Look, ADisputeLocksAndOneThatIsWonGivesBack) {
  Payment payment = paid();
  payment.dispute = Dispute::inquiry;
  EXPECT_EQ(after_look(purchase_in(State::credited), payment, now_ms).next.state, State::credited)
      << "no money moved";
  payment.dispute = Dispute::open;
  payment.dispute_id = "dp_1";
  Step step = after_look(purchase_in(State::credited), payment, now_ms);
  EXPECT_EQ(step.next.state, State::disputed);
  EXPECT_TRUE(step.next.locks_account);
  EXPECT_TRUE(step.voids);
  EXPECT_EQ(step.next.wanted, 10'000);
  step.next.clawed = 7'000;  // the rest was spent before
  payment.dispute = Dispute::lost;
  const Step lost = after_look(step.next, payment, now_ms);
  EXPECT_EQ(lost.next.state, State::disputed);
  EXPECT_EQ(lost.next.failure_code, "dispute_lost");
  payment.dispute = Dispute::won;
  payment.refunded = 119;  // a tenth was already refunded
  const Step won = after_look(step.next, payment, now_ms);
  EXPECT_EQ(won.next.state, State::credited);
  EXPECT_FALSE(won.next.locks_account);
  EXPECT_EQ(won.restores, 6'000);
  EXPECT_EQ(won.next.wanted, 1'000);
}

TEST(Due, LooksBecomeRarerAndEnd) {
  support::SeededRandom random(7);
  const auto pause = [&](const Purchase& purchase, std::int64_t at_ms) {
    const std::int64_t due_ms = due_after(purchase, at_ms, random);
    return due_ms < 0 ? due_ms : due_ms - at_ms;
  };
  Purchase purchase = purchase_in(State::awaiting_payment);
  std::int64_t last = 0;
  for (purchase.looks = 0; purchase.looks < 5; ++purchase.looks) {
    const std::int64_t next = pause(purchase, now_ms);
    EXPECT_GT(next, last);
    last = next;
  }
  purchase.looks = 50;
  EXPECT_NEAR(double(pause(purchase, now_ms)), 600.0 * second_ms, 120.0 * second_ms);
  EXPECT_NEAR(double(pause(purchase, purchase.expires_at_ms + hour_ms)), double(hour_ms),
              hour_ms / 5.0);
  EXPECT_EQ(pause(purchase, purchase.expires_at_ms + 31 * 24 * hour_ms), -1);
  EXPECT_EQ(pause(purchase_in(State::credited), now_ms), -1);
  Purchase clawing = purchase_in(State::credited);
  clawing.is_claw_settled = false;
  EXPECT_EQ(pause(clawing, now_ms), second_ms);
  EXPECT_GT(pause(purchase_in(State::created), now_ms), 0);
  EXPECT_EQ(pause(purchase_in(State::failed), now_ms), -1);
}

TEST(Allocations, AreNamedByWhatTheyAreFor) {
  EXPECT_EQ(allocation_of("pur_abc"), "alc_abc");
  EXPECT_NE(restoring_allocation_of("pur_abc", "dp_1"), restoring_allocation_of("pur_abc", "dp_2"));
  EXPECT_NE(restoring_allocation_of("pur_abc", "dp_1"), restoring_allocation_of("pur_abd", "dp_1"));
}

}  // namespace
}  // namespace turnpike::commerce

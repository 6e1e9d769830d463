// Conformance of PurchaseStore: opening under a key, steps and what they move in the books, due
// purchases, refunds. purchase_model_test.cpp runs long random histories of purchases.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "commerce/purchase.h"
#include "conformance/engines.h"
#include "identity/audit.h"
#include "storage/engine/database.h"

namespace turnpike::commerce {
namespace {

using base::ErrorCode;

constexpr char processor[] = "manual";
constexpr std::int64_t lease_ms = 10'000;

class Purchases : public OnEveryEngine {
 protected:
  void SetUp() override {
    OnEveryEngine::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(node_->ledger().start().ok());
    leases_ = node_->ledger().open_leases();
    account_ = account_with(0);
  }
  PurchaseStore& store() { return node_->purchases(); }

  NewPurchase wanted(const std::string& key, std::int64_t minor = 1'000) {
    NewPurchase wanted;
    wanted.account_id = account_;
    wanted.offer_id = "off_1";
    wanted.currency = "USD";
    wanted.minor = minor;
    wanted.credits = minor * 10;
    wanted.validity_days = 365;
    wanted.processor = processor;
    wanted.expires_at_ms = store_->clock.now_ms() + 3'600'000;
    wanted.key_digest = key;
    wanted.request_digest = std::to_string(minor);
    wanted.open_max = 20;
    wanted.lease_ms = lease_ms;
    return wanted;
  }
  Purchase open(const std::string& key) {
    return done(store().open(wanted(key), identity::operator_actor())).purchase;
  }
  ErrorCode refusal(const NewPurchase& wanted) {
    const auto opened = store().open(wanted, identity::operator_actor());
    return opened.ok() ? ErrorCode::gateway_internal : opened.error().code;
  }
  Purchase begun(const std::string& key) {
    const Purchase purchase = open(key);
    return take(after_begin(purchase, {.reference = "ref-" + key, .url = "https://pay.example/"}));
  }
  Purchase credited(const std::string& key) { return look(begun(key), paid(key)); }
  static Payment paid(const std::string& key) {
    Payment payment;
    payment.progress = Progress::paid;
    payment.currency = "USD";
    payment.net = payment.total = 1'000;
    payment.payment = "pay-" + key;
    return payment;
  }
  Purchase take(const Step& step) {
    const auto taken = done(store().advance(step, -1));
    EXPECT_TRUE(taken.has_value()) << "the row has changed";
    return taken.value_or(step.next);
  }
  Purchase look(const Purchase& purchase, const Payment& payment) {
    return take(after_look(purchase, payment, store_->clock.now_ms()));
  }
  Purchase now(const std::string& id) { return *done(store().find(id)); }
  ledger::Allocation allocation(const std::string& id) {
    for (const auto& each : done(node_->ledger().allocations(account_))) {
      if (each.id == id) return each;
    }
    ADD_FAILURE() << "no allocation " << id;
    return {};
  }
  std::int64_t balance() { return done(node_->ledger().balance(account_)).credits; }
  // Leases units to a node; close() returns them.
  ledger::LeaseReturn lease(Credits units) {
    const ledger::LeaseRequest requests[] = {
        {.account_id = account_, .calls = {units}, .hold_ms = 30'000, .settle_ms = 90'000}};
    const auto answers = leases_->acquire(requests);
    EXPECT_TRUE(answers.ok() && !answers->front().grants.empty());
    const auto& grant = answers->front().grants.front();
    return {grant.lease_id, grant.epoch};
  }
  void close(const ledger::LeaseReturn& lease) {
    const ledger::LeaseReturn all[] = {lease};
    ASSERT_TRUE(leases_->close(all).ok());
  }
  void expect_sound_books() {
    const auto verified = node_->ledger().verify();
    ASSERT_TRUE(verified.ok());
    EXPECT_THAT(verified->problems, testing::IsEmpty());
  }

  std::unique_ptr<ledger::LeaseStore> leases_;
  std::string account_;
};
TURNPIKE_ON_EVERY_ENGINE(Purchases);

// ---- terms --------------------------------------------------------------------------------------

TEST_P(Purchases, TheBaseOfferIsThereAndRevisionsNeverChange) {
  const auto first = done(store().terms());
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(offer_id(first[0].terms, "x"), offer_id(Terms{}, "x"));
  Terms dearer;
  dearer.unit_credits = 900;
  const auto made = done(store().publish(dearer, "manual", identity::operator_actor()));
  EXPECT_EQ(made.revision, 2);
  EXPECT_EQ(made.retired_at_ms, -1);
  ASSERT_TRUE(done(store().retire(1, identity::operator_actor())).has_value());
  EXPECT_FALSE(done(store().retire(9, identity::operator_actor())).has_value());
  const auto all = done(store().terms());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].terms.unit_credits, 900);
  EXPECT_EQ(all[0].processor, "manual");
  EXPECT_GE(all[1].retired_at_ms, 0);
}

// ---- opening ------------------------------------------------------------------------------------

TEST_P(Purchases, AKeyIsOnePurchaseForEver) {
  const auto first = done(store().open(wanted("k"), identity::operator_actor()));
  EXPECT_FALSE(first.is_repeat);
  EXPECT_TRUE(first.is_leased);
  const auto second = done(store().open(wanted("k"), identity::operator_actor()));
  EXPECT_TRUE(second.is_repeat);
  EXPECT_FALSE(second.is_leased) << "the first one works on it";
  EXPECT_EQ(second.purchase.id, first.purchase.id);
  EXPECT_EQ(refusal(wanted("k", 2'000)), ErrorCode::idempotency_conflict);
  store_->clock.move_ms(lease_ms + 1);
  EXPECT_TRUE(done(store().open(wanted("k"), identity::operator_actor())).is_leased)
      << "the first one is gone";
  EXPECT_EQ(done(store().list({.account_id = account_})).size(), 1u);
}

TEST_P(Purchases, ManyWhoOpenAtOnceOpenOne) {
  std::atomic<int> leased = 0;
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::set<std::string> ids;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&] {
      const auto opened = store().open(wanted("k"), identity::operator_actor());
      if (!opened.ok()) return;
      leased += opened->is_leased ? 1 : 0;
      const std::lock_guard lock(mutex);
      ids.insert(opened->purchase.id);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ids.size(), 1u);
  EXPECT_EQ(leased, 1);
}

TEST_P(Purchases, TooManyOpenAndALockAreRefused) {
  for (int at = 0; at < 20; ++at) open("k" + std::to_string(at));
  EXPECT_EQ(refusal(wanted("one more")), ErrorCode::purchase_too_many_open);
  EXPECT_TRUE(done(store().open(wanted("k3"), identity::operator_actor())).is_repeat)
      << "what is open already is answered all the same";
}

TEST_P(Purchases, AClosedOrSuspendedAccountBuysNothing) {
  ASSERT_TRUE(node_->accounts().set_status(account_, identity::AccountStatus::suspended).ok());
  EXPECT_EQ(refusal(wanted("k")), ErrorCode::account_suspended);
  ASSERT_TRUE(node_->accounts().set_status(account_, identity::AccountStatus::closed).ok());
  EXPECT_EQ(refusal(wanted("k")), ErrorCode::account_closed);
}

TEST_P(Purchases, TheFirstReplyStays) {
  const Purchase purchase = begun("k");
  EXPECT_EQ(done(store().keep_reply(purchase.id, "{\"a\":1}")), "{\"a\":1}");
  EXPECT_EQ(done(store().keep_reply(purchase.id, "{\"a\":2}")), "{\"a\":1}");
  EXPECT_EQ(now(purchase.id).reply, "{\"a\":1}");
}

// ---- crediting ----------------------------------------------------------------------------------

TEST_P(Purchases, PaidIsCreditedOnceWhoeverSeesIt) {
  const Purchase purchase = begun("k");
  const Step step = after_look(purchase, paid("k"), store_->clock.now_ms());
  std::atomic<int> taken = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&] {
      const auto advanced = store().advance(step, -1);
      if (advanced.ok() && *advanced) ++taken;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(balance(), 10'000);
  const auto made = allocation(allocation_of(purchase.id));
  EXPECT_EQ(made.origin, ledger::Origin::purchase);
  EXPECT_EQ(made.units, 10'000);
  EXPECT_EQ(made.expires_at_ms - made.created_at_ms, 365 * day_ms);
  const Purchase after = now(purchase.id);
  EXPECT_EQ(after.state, State::credited);
  EXPECT_EQ(after.due_ms, -1);
  EXPECT_EQ(look(after, paid("k")).state, State::credited) << "a repeat credits nothing";
  EXPECT_EQ(balance(), 10'000);
  expect_sound_books();
}

TEST_P(Purchases, AClosedAccountIsPaidAndNotCredited) {
  const Purchase purchase = begun("k");
  ASSERT_TRUE(node_->accounts().set_status(account_, identity::AccountStatus::closed).ok());
  const Purchase after = look(purchase, paid("k"));
  EXPECT_EQ(after.state, State::paid);
  EXPECT_NE(after.conflict, "");
  EXPECT_EQ(done(store().standing()).paid_not_credited, 1);
  expect_sound_books();
}

TEST_P(Purchases, AnOperatorResolvesWhatDoesNotFit) {
  const Purchase purchase = begun("k");
  Payment odd = paid("k");
  odd.net = odd.total = 990;
  EXPECT_EQ(look(purchase, odd).state, State::paid);
  EXPECT_EQ(balance(), 0);
  EXPECT_EQ(done(store().resolve(purchase.id, identity::operator_actor())).state, State::credited);
  EXPECT_EQ(balance(), 10'000);
  EXPECT_FALSE(store().resolve(purchase.id, identity::operator_actor()).ok());
  expect_sound_books();
}

TEST_P(Purchases, TwoPurchasesCannotHaveOnePayment) {
  credited("a");
  const Purchase other = begun("b");
  EXPECT_FALSE(store().advance(after_look(other, paid("a"), store_->clock.now_ms()), -1).ok());
  EXPECT_EQ(now(other.id).state, State::awaiting_payment);
  EXPECT_EQ(balance(), 10'000);
  expect_sound_books();
}

// ---- what is due --------------------------------------------------------------------------------

TEST_P(Purchases, WhatIsDueIsTakenByOne) {
  const Purchase purchase = open("k");
  EXPECT_THAT(done(store().take_due(lease_ms, 10)), testing::IsEmpty()) << "its opener has it";
  store_->clock.move_ms(lease_ms + 1);
  EXPECT_EQ(done(store().take_due(lease_ms, 10)).size(), 1u);
  EXPECT_THAT(done(store().take_due(lease_ms, 10)), testing::IsEmpty());
  store_->clock.move_ms(lease_ms + 1);
  ASSERT_EQ(done(store().take_due(lease_ms, 10)).size(), 1u) << "whoever took it is gone";
  ASSERT_TRUE(done(store().advance(Step{now(purchase.id)}, store_->clock.now_ms() + 5'000)));
  EXPECT_THAT(done(store().take_due(lease_ms, 10)), testing::IsEmpty());
  store_->clock.move_ms(5'000);
  EXPECT_EQ(done(store().take_due(lease_ms, 10)).size(), 1u);
}

TEST_P(Purchases, AHintThatComesWhileItIsWorkedOnIsNotLost) {
  const Purchase purchase = begun("k");
  const Hint hints[] = {{Hint::Of::reference, "ref-k"},
                        {Hint::Of::purchase, "pur_none"},
                        {Hint::Of::payment, ""}};
  EXPECT_EQ(done(store().hint(processor, hints)), 1u);
  EXPECT_EQ(done(store().hint("another", hints)), 0u);
  ASSERT_EQ(done(store().take_due(lease_ms, 10)).size(), 1u);
  const Purchase taken = now(purchase.id);
  EXPECT_EQ(done(store().hint(processor, hints)), 1u) << "while somebody looks";
  ASSERT_TRUE(done(store().advance(Step{taken}, store_->clock.now_ms() + 60'000)));
  EXPECT_EQ(done(store().take_due(lease_ms, 10)).size(), 1u) << "due again at once";
}

TEST_P(Purchases, ChangesAreReadByOneFromWhereTheyWereReadTo) {
  const std::int64_t now_ms = store_->clock.now_ms();
  const auto first = done(store().take_changes(processor, now_ms - 1, lease_ms));
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(done(store().take_changes(processor, now_ms - 1, lease_ms)).has_value());
  ASSERT_TRUE(store().keep_changes(processor, {now_ms + 5}).ok());
  EXPECT_FALSE(done(store().take_changes(processor, now_ms - 1, lease_ms)).has_value())
      << "they were read since";
  store_->clock.move_ms(10'000);
  const auto next = done(store().take_changes(processor, store_->clock.now_ms() - 1, lease_ms));
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->since_ms, now_ms + 5);
}

// ---- taking back --------------------------------------------------------------------------------

TEST_P(Purchases, ARefundTakesItsShareAtOnce) {
  Payment payment = paid("k");
  const Purchase purchase = credited("k");
  payment.refunded = 250;
  const Purchase after = look(purchase, payment);
  EXPECT_EQ(after.wanted, 2'500);
  EXPECT_EQ(after.clawed, 2'500);
  EXPECT_EQ(after.lost, 0);
  EXPECT_TRUE(after.is_claw_settled);
  EXPECT_EQ(balance(), 7'500);
  payment.refunded = 1'000;
  const Purchase all = look(after, payment);
  EXPECT_EQ(all.state, State::refunded);
  EXPECT_EQ(all.clawed, 10'000);
  EXPECT_EQ(balance(), 0);
  expect_sound_books();
}

TEST_P(Purchases, LeasedUnitsAreTakenWhenTheyComeBackAndSpentOnesAreLost) {
  Payment payment = paid("k");
  const Purchase purchase = credited("k");
  const auto held = lease(8'000);
  payment.refunded = 500;
  Purchase after = look(purchase, payment);
  EXPECT_EQ(after.wanted, 5'000);
  EXPECT_EQ(after.clawed, 2'000);
  EXPECT_FALSE(after.is_claw_settled);
  EXPECT_GE(after.due_ms, 0);
  close(held);
  after = take(Step{after, false, true});
  EXPECT_TRUE(after.is_claw_settled);
  EXPECT_EQ(after.clawed, 5'000);
  EXPECT_EQ(after.lost, 0);
  EXPECT_EQ(balance(), 5'000);
  expect_sound_books();
}

TEST_P(Purchases, ADisputeVoidsLocksAndGivesBackWhenItIsWon) {
  Payment payment = paid("k");
  Purchase purchase = credited("k");
  payment.dispute = Dispute::open;
  payment.dispute_id = "dp_1";
  purchase = look(purchase, payment);
  EXPECT_EQ(purchase.state, State::disputed);
  EXPECT_EQ(balance(), 0);
  EXPECT_TRUE(done(store().is_locked(account_)));
  EXPECT_EQ(refusal(wanted("x")), ErrorCode::purchase_account_locked);
  payment.dispute = Dispute::won;
  purchase = look(purchase, payment);
  EXPECT_EQ(purchase.state, State::credited);
  EXPECT_EQ(balance(), 10'000);
  EXPECT_FALSE(done(store().is_locked(account_)));
  purchase = look(purchase, payment);
  EXPECT_EQ(balance(), 10'000) << "a repeat gives nothing";
  expect_sound_books();
  // A second dispute takes back what the first one returned.
  payment.dispute = Dispute::lost;
  payment.dispute_id = "dp_2";
  purchase = look(purchase, payment);
  EXPECT_EQ(purchase.state, State::disputed);
  EXPECT_EQ(purchase.failure_code, "dispute_lost");
  EXPECT_EQ(balance(), 0);
  EXPECT_EQ(purchase.clawed, 10'000);
  EXPECT_EQ(done(store().unlock(account_, identity::operator_actor())), 1u);
  EXPECT_FALSE(done(store().is_locked(account_)));
  expect_sound_books();
}

TEST_P(Purchases, AnOperatorsRefundTakesCreditsFirstAndGivesThemBackIfRefused) {
  const Purchase purchase = credited("k");
  const auto refund =
      done(store().request_refund({purchase.id, 300, "late"}, identity::operator_actor()));
  EXPECT_EQ(refund.wanted, 3'000);
  EXPECT_EQ(balance(), 7'000);
  ASSERT_EQ(done(store().refunds_to_send(10)).size(), 1u);
  const auto too_much =
      store().request_refund({purchase.id, 701, ""}, identity::operator_actor());
  EXPECT_EQ(too_much.error().code, ErrorCode::purchase_amount_invalid);
  ASSERT_TRUE(store().end_refund(refund.id, RefundState::refused, "charge_expired").ok());
  ASSERT_TRUE(store().end_refund(refund.id, RefundState::refused, "charge_expired").ok());
  EXPECT_EQ(balance(), 10'000) << "once, however often it is told";
  EXPECT_THAT(done(store().refunds_to_send(10)), testing::IsEmpty());
  expect_sound_books();
  const auto second =
      done(store().request_refund({purchase.id, 1'000, ""}, identity::operator_actor()));
  EXPECT_EQ(balance(), 0);
  ASSERT_TRUE(store().end_refund(second.id, RefundState::sent, "re_1").ok());
  Payment payment = paid("k");
  payment.refunded = 1'000;
  EXPECT_EQ(look(now(purchase.id), payment).state, State::refunded);
  EXPECT_EQ(balance(), 0);
  expect_sound_books();
}

TEST_P(Purchases, AuditFindsWhatWasChangedByHand) {
  const Purchase purchase = credited("k");
  storage::Database database(store_->settings());
  const auto problems_after = [&](const std::string& sql) {
    database.with([&](storage::Connection& connection) { connection.run_once(sql); });
    return node_->ledger().verify()->problems;
  };
  EXPECT_THAT(problems_after("UPDATE purchase SET credits = credits + 1"),
              testing::Contains(testing::HasSubstr("credited without an allocation")));
  EXPECT_THAT(problems_after("UPDATE purchase SET credits = credits - 1, state = 'failed'"),
              testing::Contains(testing::HasSubstr("has an allocation, and is not credited")));
  EXPECT_THAT(problems_after("UPDATE purchase SET state = 'credited', wanted = 5, clawed = 5"),
              testing::Contains(testing::HasSubstr("does not account for")));
  EXPECT_THAT(problems_after("UPDATE purchase SET id = 'pur_x', wanted = 0, clawed = 0"),
              testing::Contains(testing::HasSubstr("was bought by no purchase")));
}

}  // namespace
}  // namespace turnpike::commerce

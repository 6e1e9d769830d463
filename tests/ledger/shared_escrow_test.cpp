// What nodes share: the last units of an account, the caps of a key, and changes by operators.
#include <thread>

#include "identity/accounts.h"
#include "ledger/fixture.h"
#include "text/time_text.h"

namespace turnpike::ledger {
namespace {

using base::ErrorCode;

class SharedEscrow : public OnLedger {
 protected:
  // Makes calls on `ledger` until the rest cannot pay one more. Returns the charged Credits.
  Credits spend(EscrowLedger& ledger, const Payer& payer, Credits units, ErrorCode until) {
    Credits charged = 0;
    while (true) {
      auto answer = ledger.hold(payer, units, soon());
      if (!answer) {
        if (answer.error().code == ErrorCode::billing_credits_reserved) continue;
        EXPECT_EQ(answer.error().code, until) << answer.error().message;
        return charged;
      }
      const std::string message = new_message();
      const auto settled =
          ledger.settle(*std::move(answer), fact_of(std::string(payer.account_id), message, true));
      if (const auto* charge = std::get_if<Settled>(&settled)) charged += charge->charged;
      EXPECT_TRUE(std::holds_alternative<Settled>(settled));
    }
  }
  std::string capped_key(const std::string& account, std::optional<Credits> per_day,
                         std::optional<Credits> per_month) {
    identity::ApiKeys keys(node_->keys(), identity::Environment::development, random_);
    const std::string key = keys.create(account, "capped")->key.id;
    EXPECT_TRUE(keys.change(key, {.caps = identity::SpendCaps{per_day, per_month}})->has_value());
    return key;
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, SharedEscrow, testing::ValuesIn(support::engines),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(SharedEscrow, TwoNodesSpendALowBalanceToExactlyZero) {
  const std::string account = account_with(60);
  start_ledger();
  const Peer peer = start_peer();
  std::atomic<Credits> charged = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      EscrowLedger& ledger = caller % 2 == 0 ? *ledger_ : *peer.ledger;
      charged += spend(ledger, {account}, 1, ErrorCode::billing_credits_exhausted);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(charged, 60);
  EXPECT_EQ(sums(account).charged, 60);
  EXPECT_EQ(sums(account).balance(), 0);
}

// The remaining Credits include units that other nodes lease and units leased for capped keys.
TEST_P(SharedEscrow, WhatIsLeftIsTheAccountsOnWhicheverNode) {
  const std::string account = account_with(60);
  const std::string key = capped_key(account, 20, std::nullopt);
  start_ledger();
  const Peer peer = start_peer();
  const auto left_after = [&](EscrowLedger& ledger, const Payer& payer, Credits units) {
    auto taken = ledger.hold(payer, units, soon());
    EXPECT_TRUE(taken.ok());
    const auto settled = ledger.settle(*std::move(taken), fact_of(account, new_message(), true));
    return std::get<Settled>(settled).remaining;
  };
  EXPECT_EQ(left_after(*ledger_, {account}, 2), 58);
  EXPECT_EQ(left_after(*peer.ledger, {account}, 3), 55);
  EXPECT_EQ(left_after(*peer.ledger, {account, key}, 5), 50);
}

// The answer covers the requested accounts and no others.
TEST_P(SharedEscrow, WhatIsElsewhereIsToldForEachAccountOfARound) {
  const std::string first = account_with(60), second = account_with(400);
  const std::string stranger = account_with(7'000);
  start_ledger();
  const Peer peer = start_peer();
  const LeaseRequest theirs[] = {request(first, 5), request(second, 30), request(stranger, 700)};
  ASSERT_EQ(peer.node->ledger().open_leases()->acquire(theirs)->size(), 3u);
  ASSERT_GE(sums(first).leased, 5);
  const LeaseRequest ours[] = {request(second, 1), request(first, 1)};
  const auto answers = node_->ledger().open_leases()->acquire(ours);
  ASSERT_EQ(answers->size(), 2u);
  const auto left = [](const LeaseAnswer& answer) {
    Credits units = answer.elsewhere;
    for (const LeaseGrant& grant : answer.grants) units += grant.units;
    return units;
  };
  EXPECT_EQ(left(answers->at(0)), 400);
  EXPECT_EQ(left(answers->at(1)), 60);
}

TEST_P(SharedEscrow, CallsOfSeveralPricesLeaveNothingThatAnyOfThemCouldPay) {
  const std::string account = account_with(101);
  start_ledger();
  const Peer peer = start_peer();
  std::atomic<Credits> charged = 0;
  std::thread large(
      [&] { charged += spend(*ledger_, {account}, 7, ErrorCode::billing_credits_exhausted); });
  std::thread larger(
      [&] { charged += spend(*peer.ledger, {account}, 9, ErrorCode::billing_credits_exhausted); });
  large.join();
  larger.join();
  EXPECT_EQ(charged, sums(account).charged);
  EXPECT_LT(sums(account).balance(), 7);
}

TEST_P(SharedEscrow, UnitsThatAnIdleNodeReservedArePaidWithInTheSameCall) {
  const std::string account = account_with(40);
  start_ledger();
  const Peer peer = start_peer();
  { const auto reserved = peer.ledger->hold({account}, 40, soon()); }
  EXPECT_EQ(sums(account).leased, 40);
  EXPECT_TRUE(std::holds_alternative<Settled>(settle(held(account, 40), account)));
  EXPECT_EQ(sums(account).charged, 40);
}

TEST_P(SharedEscrow, UnitsThatAnotherNodeHoldsAre429AfterTheWaitAnd402OnceSpent) {
  const std::string account = account_with(2);
  start_ledger();
  const Peer peer = start_peer();
  auto theirs = peer.ledger->hold({account}, 2, soon());
  ASSERT_TRUE(theirs.ok());
  const std::int64_t before_ns = runtime::now_ns();
  EXPECT_EQ(refusal(account, 1), ErrorCode::billing_credits_reserved);
  EXPECT_GE(runtime::now_ns() - before_ns, settings_.recall_wait_ms * 1'000'000);
  ASSERT_TRUE(std::holds_alternative<Settled>(
      peer.ledger->settle(*std::move(theirs), fact_of(account, new_message(), true))));
  EXPECT_TRUE(
      eventually([&] { return refusal(account, 1) == ErrorCode::billing_credits_exhausted; }));
}

TEST_P(SharedEscrow, UnitsReleasedWhileACallWaitsPayIt) {
  const std::string account = account_with(2);
  settings_.recall_wait_ms = 10'000;
  start_ledger();
  const Peer peer = start_peer();
  auto theirs = peer.ledger->hold({account}, 2, soon());
  ASSERT_TRUE(theirs.ok());
  std::thread other([&] {
    eventually([&] { return !node_->ledger().open_leases()->tend(0)->recalls.empty(); });
    theirs = Hold();
  });
  EXPECT_TRUE(hold(account, 2).ok());
  other.join();
}

TEST_P(SharedEscrow, LeaseIsRenewedWhenNothingIsLeftToLease) {
  const std::string account = account_with(4);
  settings_.lease_hold_ms = 1'000;
  start_ledger();
  { const Hold all = held(account, 4); }
  EXPECT_EQ(sums(account).remaining, 0);
  const Hold long_call = held(account, 1);
  const auto until = runtime::Deadline::after_ms(2 * settings_.lease_hold_ms + 500);
  while (!until.passed()) {
    const auto short_call = hold(account, 3);
    ASSERT_TRUE(short_call.ok()) << short_call.error().message;
  }
}

TEST_P(SharedEscrow, LongerCallsGetMoreTimeFromTheLeaseThereIs) {
  const std::string account = account_with(4);
  settings_.lease_hold_ms = 1'000;
  settings_.settle_margin_ms = 1'000;
  start_ledger();
  { const Hold all = held(account, 4); }
  const auto slow = hold(account, 4, 60'000);
  ASSERT_TRUE(slow.ok()) << slow.error().message;
  store_->clock.move_ms(50'000);
  EXPECT_EQ(sums(account).leased, 4);
  EXPECT_EQ(node_->ledger().open_leases()->tend(store_->clock.now_ms())->reclaimed, 0u);
}

TEST_P(SharedEscrow, LeaseShrinksWhenTheRateFalls) {
  const std::string account = account_with(100'000'000);
  settings_.lease_hold_ms = 1'000;
  start_ledger();
  { const Hold large = held(account, 10'000'000); }
  EXPECT_GE(sums(account).leased, 10'000'000);
  EXPECT_TRUE(eventually([&] {
    const Hold small = held(account, 1);
    return sums(account).leased < 5'000'000;  // these calls alone could not spend that much
  }));
}

TEST_P(SharedEscrow, TwoCallsThatDrawDirectlyDoNotTakeEachOthersUnits) {
  const std::string account = account_with(6);
  settings_.heartbeat_ms = 60'000;  // this node learns nothing by itself
  settings_.batch_wait_us = 200'000;
  start_ledger();
  Hold first = held(account, 3);
  Hold second = held(account, 3);
  const auto other = store_->open(storage::Role::gateway, "other");
  ASSERT_TRUE(other->ledger().start().ok());
  const auto others = other->ledger().open_leases();
  store_->clock.move_ms(settings_.lease_hold_ms + settings_.settle_margin_ms + 10'000);
  ASSERT_EQ(others->tend(store_->clock.now_ms())->reclaimed, 1u);
  const LeaseRequest requests[] = {request(account, 1)};
  ASSERT_EQ((*others->acquire(requests))[0].grants.size(), 1u);  // leaves five for the two calls
  std::atomic<int> charged = 0;
  const auto finish = [&](Hold hold) {
    charged += std::holds_alternative<Settled>(settle(std::move(hold), account)) ? 1 : 0;
  };
  std::thread one([&] { finish(std::move(first)); });
  std::thread two([&] { finish(std::move(second)); });
  one.join();
  two.join();
  EXPECT_EQ(charged, 1);
  EXPECT_EQ(sums(account).charged, 3);
}

TEST_P(SharedEscrow, VoidedCreditsTakeNoNewCallsAndAdmittedOnesSettle) {
  const std::string account = account_with(0);
  const std::string allocation = grant(account, 50, 86'400'000);
  start_ledger();
  Hold admitted = held(account, 5);
  ASSERT_TRUE(node_->ledger().void_allocation(allocation)->has_value());
  EXPECT_TRUE(
      eventually([&] { return refusal(account, 1) == ErrorCode::billing_credits_exhausted; }));
  EXPECT_TRUE(std::holds_alternative<Settled>(settle(std::move(admitted), account)));
  EXPECT_TRUE(eventually([&] { return sums(account).leased == 0; }));
  EXPECT_EQ(sums(account).charged, 5);
  EXPECT_EQ(sums(account).voided, 45);
}

TEST_P(SharedEscrow, CapHoldsAcrossNodesToTheUnit) {
  const std::string account = account_with(1'000);
  const std::string key = capped_key(account, 40, std::nullopt);
  start_ledger();
  const Peer peer = start_peer();
  std::atomic<Credits> charged = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      EscrowLedger& ledger = caller % 2 == 0 ? *ledger_ : *peer.ledger;
      charged += spend(ledger, {account, key}, 1, ErrorCode::billing_key_cap_reached);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(charged, 40);
  EXPECT_EQ(sums(account).charged, 40);
  EXPECT_TRUE(hold(account, 100).ok());  // calls with other keys are not capped
}

TEST_P(SharedEscrow, CapRefusalTellsWhenTheWindowEnds) {
  const std::string account = account_with(1'000);
  const std::string key = capped_key(account, 5, 8);
  start_ledger();
  ASSERT_EQ(spend(*ledger_, {account, key}, 1, ErrorCode::billing_key_cap_reached), 5);
  const base::Error today = ledger_->hold({account, key}, 1, soon()).error();
  const std::int64_t midnight = utc_day(store_->clock.now_ms()).ends_at_ms;
  EXPECT_EQ(today.retry_after_seconds, (midnight - store_->clock.now_ms()) / 1'000);
  EXPECT_NE(today.message.find(text::rfc3339(midnight)), std::string::npos) << today.message;
  store_->clock.move_ms(midnight - store_->clock.now_ms());
  EXPECT_TRUE(eventually([&] { return ledger_->hold({account, key}, 1, soon()).ok(); }));
  EXPECT_EQ(spend(*ledger_, {account, key}, 1, ErrorCode::billing_key_cap_reached), 3);
  const base::Error month = ledger_->hold({account, key}, 1, soon()).error();
  const std::int64_t next_month = utc_month(store_->clock.now_ms()).ends_at_ms;
  EXPECT_NE(month.message.find(text::rfc3339(next_month)), std::string::npos) << month.message;
  EXPECT_EQ(sums(account).charged, 8);
}

TEST_P(SharedEscrow, EmptyAccountIs402EvenForACappedKey) {
  const std::string account = account_with(3);
  const std::string key = capped_key(account, 100, std::nullopt);
  start_ledger();
  EXPECT_EQ(spend(*ledger_, {account, key}, 1, ErrorCode::billing_credits_exhausted), 3);
}

TEST_P(SharedEscrow, UnitsOfTheAccountsOwnLeasePayACappedCall) {
  const std::string account = account_with(10);
  const std::string key = capped_key(account, 10, std::nullopt);
  start_ledger();
  { const Hold all = held(account, 10); }
  EXPECT_TRUE(ledger_->hold({account, key}, 10, soon()).ok());
}

TEST_P(SharedEscrow, StoreThatIsSilentCountsAsCutOff) {
  const std::string account = account_with(10);
  settings_.believed_ms = 200;
  start_ledger();
  ASSERT_TRUE(eventually([&] { return hold(account, 1).ok(); }));
  faulty_->silent = true;
  EXPECT_TRUE(eventually([&] { return !ledger_->health().available; }));
  EXPECT_LT(quickest_refusal_ns(account, ErrorCode::billing_ledger_unavailable), 100'000'000);
  faulty_->silent = false;
  EXPECT_TRUE(eventually([&] { return hold(account, 1).ok(); }));
}

TEST_P(SharedEscrow, NodeThatRunsOnRestoredBooksEnds) {
  const std::string account = account_with(10);
  start_ledger();
  ASSERT_TRUE(hold(account, 1).ok());
  ASSERT_TRUE(store_->open(storage::Role::tool)->ledger().restored().ok());
  EXPECT_TRUE(eventually([&] { return fatal_ == 1; }));
  EXPECT_FALSE(hold(account, 1).ok());
  EXPECT_EQ(sums(account).leased, 0);
}

TEST_P(SharedEscrow, ClockThatJumpsBackRefusesNobody) {
  const std::string account = account_with(10);
  start_ledger();
  ASSERT_TRUE(hold(account, 1).ok());
  store_->clock.move_ms(-2 * 86'400'000);
  EXPECT_TRUE(hold(account, 10).ok());
  EXPECT_FALSE(ledger_->health().expiry_paused);
  EXPECT_EQ(sums(account).expired, 0);
}

}  // namespace
}  // namespace turnpike::ledger

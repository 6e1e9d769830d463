// Idempotency-Keys through the whole ledger: the answer to a repeat after the first call is
// charged, refused, unknown, or unknown and then proven (ledger/replay.h).
#include <optional>
#include <thread>

#include "ledger/calls.h"
#include "ledger/fixture.h"

namespace turnpike::ledger {
namespace {

using base::ErrorCode;
using Kind = ClaimAnswer::Kind;
using How = ReplyToKeep::How;

class EscrowLedgerReplayTest : public OnLedger {
 protected:
  void SetUp() override {
    OnLedger::SetUp();
    if (IsSkipped()) return;
    account_ = account_with(10);
    settings_.commit_budget_ms = 1'000;
  }

  Claim claim(const std::string& request_id) const {
    KeyedCall call;
    call.scope = account_;
    call.key = "key";
    call.request_id = request_id;
    call.method = "GET";
    call.path = "/v1/gateway/a";
    call.ends_in_ms = 60'000;
    return claim_of(call);
  }
  // The answer to a repeat of the call: the body of its reply, or the code of the refusal.
  std::string repeated() {
    const auto answer = ledger_->claim(claim("repeat"));
    if (!answer.ok()) return std::string(base::info_of(answer.error().code).name);
    if (answer->kind == Kind::replay) return answer->reply.body;
    ledger_->free(claim("repeat"));
    return "claimed";
  }
  Settlement settle_keyed(Hold call, const std::string& message, How how = How::with_charge) {
    auto reply = std::make_unique<ReplyToKeep>();
    reply->key_digest = claim(message).key_digest;
    reply->request_id = message;
    reply->how = how;
    if (how == How::with_charge) reply->reply = {200, {}, "the reply"};
    return ledger_->settle(std::move(call), fact_of(account_, message, true), std::move(reply));
  }
  // A claimed call, or one without a key, whose settlement has an unknown outcome.
  std::string leave_unknown(Fault fault, std::optional<How> how = How::with_charge) {
    const std::string message = new_message();
    EXPECT_TRUE(!how || ledger_->claim(claim(message)).ok());
    Hold call = held(account_, 1);
    faulty_->prober_blocked = true;
    faulty_->fault = fault;
    EXPECT_TRUE(std::holds_alternative<SettlementUnknown>(
        how ? settle_keyed(std::move(call), message, *how)
            : settle(std::move(call), account_, message)));
    EXPECT_TRUE(ledger_->is_settling(account_, message));
    EXPECT_FALSE(ledger_->is_settling("acc_other", message));
    return message;
  }

  CallState look(const std::string& message) { return look(account_, message); }
  CallState look(const std::string& account, const std::string& message) {
    PooledCalls calls(node_->usage(), *ledger_, *pool_);
    return *calls.call(account, message, runtime::Deadline::after_ms(10'000));
  }

  std::string account_;
};
INSTANTIATE_TEST_SUITE_P(Engines, EscrowLedgerReplayTest, testing::ValuesIn(support::engines),
                         [](const auto& each) { return support::name_of(each.param); });

TEST_P(EscrowLedgerReplayTest, ARepeatGetsTheStoredReplyAndNoSecondCharge) {
  start_ledger();
  const std::string message = new_message();
  ASSERT_EQ(ledger_->claim(claim(message))->kind, Kind::claimed);
  EXPECT_EQ(repeated(), "idempotency.in_progress");
  EXPECT_TRUE(std::holds_alternative<Settled>(settle_keyed(held(account_, 1), message)));
  EXPECT_EQ(repeated(), "the reply");
  crash_ledger();
  start_ledger();
  EXPECT_EQ(repeated(), "the reply") << "also after a crash";
  EXPECT_EQ(sums(account_).charged, 1);
}

TEST_P(EscrowLedgerReplayTest, KeyedAndUnkeyedCallsShareABatch) {
  settings_.batch_wait_us = 200'000;
  start_ledger();
  ASSERT_EQ(ledger_->claim(claim("first"))->kind, Kind::claimed);
  std::thread other(
      [&] { EXPECT_TRUE(std::holds_alternative<Settled>(settle(held(account_, 1), account_))); });
  EXPECT_TRUE(std::holds_alternative<Settled>(settle_keyed(held(account_, 1), "first")));
  other.join();
  EXPECT_EQ(repeated(), "the reply");
  EXPECT_EQ(sums(account_).charged, 2);
}

TEST_P(EscrowLedgerReplayTest, AnUnknownSettlementThatHadCommittedIsReplayed) {
  start_ledger();
  const std::string message = leave_unknown(Fault::unknown_committed);
  faulty_->prober_blocked = false;
  EXPECT_TRUE(eventually([&] { return !ledger_->is_settling(account_, message); }));
  EXPECT_EQ(repeated(), "the reply");
  EXPECT_EQ(sums(account_).charged, 1);
  EXPECT_FALSE(look(message).record->usage.restored.has_value());
}

TEST_P(EscrowLedgerReplayTest, AnUnknownSettlementWhoseReplyNobodyCanHaveIsGivenBack) {
  start_ledger();
  Credits charged = 0;
  for (const std::optional<How> how : {std::optional<How>(), std::optional(How::too_large)}) {
    const std::string message = leave_unknown(Fault::unknown_committed, how);
    faulty_->corrections_fail = true;
    faulty_->prober_blocked = false;
    EXPECT_TRUE(eventually([&] { return sums(account_).charged == charged + 1; }));
    EXPECT_TRUE(look(message).is_pending) << "until it is given back";
    faulty_->corrections_fail = false;
    EXPECT_TRUE(eventually([&] { return !look(message).is_pending; }));
    const CallState restored = look(message);
    ASSERT_TRUE(restored.record.has_value());
    EXPECT_EQ(restored.record->usage.credits_charged, 1);
    ASSERT_TRUE(restored.record->usage.restored.has_value());
    EXPECT_EQ(restored.record->usage.restored->units, 1);
    charged = sums(account_).charged;
  }
  EXPECT_TRUE(hold(account_, 10).ok()) << "nothing is missing";
}

TEST_P(EscrowLedgerReplayTest, AnUnknownSettlementThatHadAbortedFreesItsKeyAndIsOnRecord) {
  start_ledger();
  const std::string message = leave_unknown(Fault::unknown_aborted);
  EXPECT_EQ(repeated(), "billing.ledger_unavailable") << "as every priced call meanwhile";
  faulty_->prober_blocked = false;
  EXPECT_TRUE(eventually([&] { return !ledger_->is_settling(account_, message); }));
  EXPECT_EQ(repeated(), "claimed");
  EXPECT_EQ(sums(account_).charged, 0);
  const auto known = look(message);
  ASSERT_TRUE(known.record.has_value()) << "its uncharged fact is in the books";
  EXPECT_EQ(known.record->usage.outcome_reason, settlement_failed);
  EXPECT_EQ(known.record->usage.credits_charged, 0);
  EXPECT_TRUE(hold(account_, 10).ok()) << "and its units are back";
}

TEST_P(EscrowLedgerReplayTest, ACallTellsWhatBecameOfIt) {
  start_ledger();
  const std::string message = new_message();
  ASSERT_TRUE(std::holds_alternative<Settled>(settle(held(account_, 3), account_, message)));
  const CallState charged = look(message);
  EXPECT_FALSE(charged.is_pending);
  ASSERT_TRUE(charged.record.has_value());
  EXPECT_EQ(charged.record->usage.message_id, message);
  EXPECT_EQ(charged.record->usage.request_id, message);
  EXPECT_EQ(charged.record->usage.credits_charged, 3);
  EXPECT_EQ(charged.record->usage.outcome_reason, "success");
  EXPECT_EQ(charged.record->usage.route_id, "route-1");
  EXPECT_EQ(charged.record->usage.method, "GET");
  EXPECT_GT(charged.record->stream, 0);
  EXPECT_EQ(charged.record->seq, 1);
  const std::string other = new_message();
  ledger_->release(held(account_, 1), fact_of(account_, other, false));
  const CallState released = look(other);
  ASSERT_TRUE(released.record.has_value()) << "although it is recorded lazily";
  EXPECT_EQ(released.record->usage.outcome_reason, "upstream_failure");
  EXPECT_FALSE(look(new_message()).record.has_value());
  const CallState foreign = look(account_with(0), message);
  EXPECT_FALSE(foreign.is_pending || foreign.record.has_value());
}

// A busy node may write the fact of a call long after the call has ended.
TEST_P(EscrowLedgerReplayTest, WhileAFactWaitsNobodyIsToldThatThereIsNoSuchCall) {
  const auto gate = std::make_shared<runtime::Event>();
  faulty_->before_settle = [gate] { (void)gate->wait(runtime::Deadline::never()); };
  start_ledger();
  const std::string message = new_message();
  ledger_->release(held(account_, 1), fact_of(account_, message, false));
  PooledCalls calls(node_->usage(), *ledger_, *pool_);
  const auto early = calls.call(account_, message, runtime::Deadline::after_ms(50));
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code, base::ErrorCode::billing_ledger_unavailable);
  gate->set();
  EXPECT_TRUE(look(message).record.has_value());
}

TEST_P(EscrowLedgerReplayTest, NobodyWaitsForAFactThatIsDropped) {
  start_ledger();
  Hold call = held(account_, 1);
  faulty_->fault = Fault::unavailable;
  const std::string message = new_message();
  ledger_->release(std::move(call), fact_of(account_, message, false));
  EXPECT_TRUE(ledger_->await_facts(soon()));
  EXPECT_FALSE(look(message).record.has_value());
}

TEST_P(EscrowLedgerReplayTest, AnUnknownSettlementIsPendingUntilItIsProven) {
  start_ledger();
  const std::string message = leave_unknown(Fault::unknown_committed);
  EXPECT_TRUE(look(message).is_pending);
  EXPECT_FALSE(look("acc_other", message).is_pending);
  faulty_->prober_blocked = false;
  EXPECT_TRUE(eventually([&] { return !look(message).is_pending; }));
  ASSERT_TRUE(look(message).record.has_value());
  EXPECT_EQ(look(message).record->usage.credits_charged, 1);
}

TEST_P(EscrowLedgerReplayTest, ACallWhoseKeyWasTakenOverIsRefusedAndNotCharged) {
  start_ledger();
  ASSERT_EQ(ledger_->claim(claim("slow"))->kind, Kind::claimed);
  ledger_->free(claim("slow"));
  ASSERT_EQ(ledger_->claim(claim("next"))->kind, Kind::claimed);
  const Settlement refused = settle_keyed(held(account_, 1), "slow");
  ASSERT_TRUE(std::holds_alternative<SettlementRefused>(refused));
  EXPECT_EQ(std::get<SettlementRefused>(refused).error.code, ErrorCode::idempotency_in_progress);
  EXPECT_EQ(sums(account_).charged, 0);
  EXPECT_EQ(repeated(), "idempotency.in_progress");
}

TEST_P(EscrowLedgerReplayTest, KeyedCallsAre503AtOnceWhileTheDatabaseIsDown) {
  start_ledger();
  faulty_->unreachable = true;
  EXPECT_TRUE(eventually([&] { return !ledger_->health().available; }));
  EXPECT_EQ(repeated(), "billing.ledger_unavailable");
}

}  // namespace
}  // namespace turnpike::ledger

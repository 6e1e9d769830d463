// Conformance of CorrectionStore.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "conformance/engines.h"
#include "storage/engine/database.h"

namespace turnpike::ledger {
namespace {

class CorrectionPort : public OnEveryEngine {
 protected:
  void SetUp() override {
    OnEveryEngine::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(node_->ledger().start().ok());
    leases_ = node_->ledger().open_leases();
    stream_ = *node_->ledger().open_stream();
  }

  // Settles a call of that many units, which may come from several allocations.
  void charge(const std::string& account, const std::string& message, Credits units) {
    const LeaseRequest requests[] = {
        {.account_id = account, .calls = {units}, .hold_ms = 30'000, .settle_ms = 90'000}};
    const auto answers = leases_->acquire(requests);
    ASSERT_TRUE(answers.ok());
    std::vector<LeaseShare> shares;
    for (const LeaseGrant& grant : answers->front().grants) {
      shares.push_back({grant.lease_id, grant.epoch, grant.units});
    }
    UsageFact fact;
    fact.message_id = message;
    fact.request_id = message;
    fact.account_id = account;
    fact.route_id = "route-1";
    fact.method = "GET";
    fact.lane = "credits";
    fact.outcome_reason = "success";
    const SettleEntry entries[] = {{&fact, shares}};
    ASSERT_TRUE(stream_->settle(++number_, entries)->committed());
  }
  static CorrectionRequest request(const std::string& account, const std::string& message,
                                   Credits units, const std::string& key) {
    return {account, message, CorrectionKind::refund, units, "slow", "T-1", key, "opr_1"};
  }
  Result<Correction, base::Error> correct(const CorrectionRequest& request) {
    return node_->corrections().correct(request);
  }
  base::ErrorCode refusal(const CorrectionRequest& request) {
    const auto answer = correct(request);
    return answer ? base::ErrorCode::gateway_internal : answer.error().code;
  }
  Allocation allocation(const std::string& account, const std::string& id) {
    const auto all = node_->ledger().allocations(account);
    for (const Allocation& each : *all) {
      if (each.id == id) return each;
    }
    ADD_FAILURE() << "no allocation " << id;
    return {};
  }

  std::unique_ptr<LeaseStore> leases_;
  std::unique_ptr<SettlementStream> stream_;
  std::int64_t number_ = 0;
};
TURNPIKE_ON_EVERY_ENGINE(CorrectionPort);

TEST_P(CorrectionPort, RestoresUnitsAsAnAllocationOfItsOwn) {
  const std::string account = account_with(10);
  charge(account, "m1", 4);
  const auto made = correct(request(account, "m1", 3, "k1"));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->message_id, "m1");
  EXPECT_EQ(made->units, 3);
  EXPECT_EQ(made->operator_id, "opr_1");
  EXPECT_EQ(made->recorded_at_ms, store_->clock.now_ms());
  const Allocation carried = allocation(account, made->allocation_id);
  EXPECT_EQ(carried.origin, Origin::correction);
  EXPECT_EQ(carried.units, 3);
  EXPECT_EQ(carried.status, AllocationStatus::active);
  const AccountSums books = sums(account);
  EXPECT_EQ(books.granted, 13);
  EXPECT_EQ(books.charged, 4) << "the charge itself stands";
  EXPECT_EQ(node_->ledger().balance(account)->credits, 9);
  charge(account, "m2", 9);
  EXPECT_EQ(node_->ledger().balance(account)->credits, 0) << "restored units can be spent";
}

TEST_P(CorrectionPort, TheSameRequestUnderItsKeyIsAnsweredWithTheFirstReceipt) {
  const std::string account = account_with(10);
  charge(account, "m1", 4);
  const auto first = correct(request(account, "m1", 4, "k1"));
  store_->clock.move_ms(5'000);
  CorrectionRequest again = request(account, "m1", 4, "k1");
  again.operator_id = "opr_2";
  const auto second = correct(again);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(second->id, first->id);
  EXPECT_EQ(second->allocation_id, first->allocation_id);
  EXPECT_EQ(second->recorded_at_ms, first->recorded_at_ms);
  EXPECT_EQ(second->operator_id, "opr_1") << "who made it";
  EXPECT_EQ(sums(account).granted, 14);
}

TEST_P(CorrectionPort, AnotherRequestUnderAKeyIsRefusedWhateverDiffers) {
  const std::string account = account_with(10);
  charge(account, "m1", 4);
  charge(account, "m2", 4);
  ASSERT_TRUE(correct(request(account, "m1", 1, "k1")).ok());
  CorrectionRequest other = request(account, "m1", 1, "k1");
  other.units = 2;
  EXPECT_EQ(refusal(other), base::ErrorCode::idempotency_conflict);
  other = request(account, "m1", 1, "k1");
  other.kind = CorrectionKind::voiding;
  EXPECT_EQ(refusal(other), base::ErrorCode::idempotency_conflict);
  other = request(account, "m1", 1, "k1");
  other.reason = "late";
  EXPECT_EQ(refusal(other), base::ErrorCode::idempotency_conflict);
  other = request(account, "m1", 1, "k1");
  other.reference = "";
  EXPECT_EQ(refusal(other), base::ErrorCode::idempotency_conflict);
  EXPECT_EQ(refusal(request(account, "m2", 1, "k1")), base::ErrorCode::idempotency_conflict);
  EXPECT_EQ(refusal(request(account, "none", 1, "k1")), base::ErrorCode::idempotency_conflict);
  EXPECT_EQ(sums(account).granted, 11);
  const std::string another = account_with(10);
  charge(another, "m3", 1);
  EXPECT_TRUE(correct(request(another, "m3", 1, "k1")).ok()) << "a key is one account's";
}

TEST_P(CorrectionPort, AllCorrectionsOfAMessageNeverExceedItsCharge) {
  const std::string account = account_with(10);
  charge(account, "m1", 4);
  EXPECT_EQ(refusal(request(account, "m1", 5, "k0")),
            base::ErrorCode::billing_correction_exceeds_charge);
  EXPECT_TRUE(correct(request(account, "m1", 3, "k1")).ok());
  EXPECT_EQ(refusal(request(account, "m1", 2, "k2")),
            base::ErrorCode::billing_correction_exceeds_charge);
  EXPECT_TRUE(correct(request(account, "m1", 1, "k3")).ok());
  EXPECT_EQ(refusal(request(account, "m1", 1, "k4")),
            base::ErrorCode::billing_correction_exceeds_charge);
  EXPECT_TRUE(correct(request(account, "m1", 3, "k1")).ok()) << "a receipt is still given again";
  EXPECT_EQ(sums(account).granted, 14);
  EXPECT_EQ(refusal(request(account, "m1", 0, "k5")), base::ErrorCode::request_malformed);
  EXPECT_EQ(refusal(request(account, "m1", -1, "k5")), base::ErrorCode::request_malformed);
}

TEST_P(CorrectionPort, UnknownMessagesAndThoseOfOtherAccountsAreNotFound) {
  const std::string account = account_with(10);
  const std::string other = account_with(10);
  charge(account, "m1", 4);
  EXPECT_EQ(refusal(request(account, "m9", 1, "k1")), base::ErrorCode::billing_message_not_found);
  EXPECT_EQ(refusal(request(other, "m1", 1, "k1")), base::ErrorCode::billing_message_not_found);
  EXPECT_EQ(refusal(request("acc_none", "m1", 1, "k1")),
            base::ErrorCode::billing_message_not_found);
}

TEST_P(CorrectionPort, RestoredUnitsExpireWithTheOriginalOnesButNotBeforeNinetyDays) {
  const std::string account = account_with(0);
  grant(account, 2, day_ms);
  grant(account, 2, 400 * day_ms);
  const std::int64_t now_ms = store_->clock.now_ms();
  charge(account, "m1", 2);  // paid by the first allocation only
  charge(account, "m2", 1);  // paid by the second only
  const auto soon = correct(request(account, "m1", 1, "k1"));
  EXPECT_EQ(allocation(account, soon->allocation_id).expires_at_ms, now_ms + 90 * day_ms);
  const auto late = correct(request(account, "m2", 1, "k2"));
  EXPECT_EQ(allocation(account, late->allocation_id).expires_at_ms, now_ms + 400 * day_ms);
}

TEST_P(CorrectionPort, OfSeveralAllocationsThatPaidTheLongestLivedCounts) {
  const std::string account = account_with(0);
  grant(account, 2, day_ms);
  grant(account, 2, 400 * day_ms);
  const std::int64_t now_ms = store_->clock.now_ms();
  charge(account, "m1", 3);
  const auto made = correct(request(account, "m1", 3, "k1"));
  EXPECT_EQ(allocation(account, made->allocation_id).expires_at_ms, now_ms + 400 * day_ms);
}

TEST_P(CorrectionPort, ConcurrentCorrectionsOnTwoNodesRestoreTheChargeToTheUnit) {
  const std::string account = account_with(1'000);
  charge(account, "m1", 20);
  const auto other = store_->open(storage::Role::gateway, "other");
  std::atomic<Credits> restored = 0;
  const auto run = [&](storage::Node& node, const std::string& name) {
    for (int at = 0; at < 15; ++at) {
      const auto made =
          node.corrections().correct(request(account, "m1", 3, name + std::to_string(at)));
      if (made.ok()) {
        restored += made->units;
      } else {
        EXPECT_EQ(made.error().code, base::ErrorCode::billing_correction_exceeds_charge);
      }
    }
  };
  std::thread left([&] { run(*node_, "left"); });
  std::thread right([&] { run(*other, "right"); });
  left.join();
  right.join();
  EXPECT_EQ(restored, 18) << "six of three units fit into twenty";
  EXPECT_EQ(sums(account).granted, 1'018);
}

TEST_P(CorrectionPort, ConcurrentRepeatsOnTwoNodesAreOneCorrection) {
  const std::string account = account_with(1'000);
  charge(account, "m1", 20);
  charge(account, "m2", 20);
  const auto other = store_->open(storage::Role::gateway, "other");
  for (int at = 0; at < 10; ++at) {
    const std::string key = "k" + std::to_string(at);
    // In odd rounds the second request uses the key for another message: one wins, the other
    // conflicts.
    const std::string second = at % 2 == 0 ? "m1" : "m2";
    Result<Correction, base::Error> answers[2] = {base::Error{}, base::Error{}};
    std::thread left([&] { answers[0] = correct(request(account, "m1", 1, key)); });
    std::thread right(
        [&] { answers[1] = other->corrections().correct(request(account, second, 1, key)); });
    left.join();
    right.join();
    if (at % 2 == 0) {
      ASSERT_TRUE(answers[0].ok() && answers[1].ok());
      EXPECT_EQ(answers[0]->id, answers[1]->id);
    } else {
      ASSERT_NE(answers[0].ok(), answers[1].ok());
      EXPECT_EQ((answers[0].ok() ? answers[1] : answers[0]).error().code,
                base::ErrorCode::idempotency_conflict);
    }
  }
  EXPECT_EQ(sums(account).granted, 1'010);
}

TEST_P(CorrectionPort, VerifyNamesCorrectionsThatSomeoneWroteByHand) {
  const std::string account = account_with(10);
  charge(account, "m1", 4);
  const auto made = correct(request(account, "m1", 3, "k1"));
  ASSERT_TRUE(made.ok());
  storage::Database database(store_->settings());
  const auto problems_after = [&](const std::string& change, const std::string& undo) {
    database.with([&](storage::Connection& connection) { connection.run_once(change); });
    const auto verified = node_->ledger().verify();
    database.with([&](storage::Connection& connection) { connection.run_once(undo); });
    EXPECT_TRUE(verified.ok());
    return verified->problems;
  };
  EXPECT_THAT(problems_after("UPDATE correction SET units = 5", "UPDATE correction SET units = 3"),
              testing::UnorderedElementsAre(
                  "correction " + made->id + " is not carried by an allocation of its units",
                  "message m1 was corrected by more than it was charged"));
  EXPECT_THAT(problems_after("UPDATE correction SET message_id = 'm9'",
                             "UPDATE correction SET message_id = 'm1'"),
              testing::ElementsAre("message m9 was corrected by more than it was charged"));
  EXPECT_THAT(problems_after("UPDATE correction SET allocation_id = 'alc_x'",
                             "UPDATE correction SET allocation_id = '" + made->allocation_id + "'"),
              testing::UnorderedElementsAre(
                  "correction " + made->id + " is not carried by an allocation of its units",
                  "allocation " + made->allocation_id + " corrects no message"));
  EXPECT_EQ(sums(account).granted, 13) << "and it is right again";
}

TEST(Corrections, ExpireAtTheRuleToTheMillisecond) {
  EXPECT_EQ(correction_expiry_ms(0, 5), 5 + correction_valid_ms_min);
  EXPECT_EQ(correction_expiry_ms(correction_valid_ms_min + 5, 5), 5 + correction_valid_ms_min);
  EXPECT_EQ(correction_expiry_ms(correction_valid_ms_min + 6, 5), 6 + correction_valid_ms_min);
}

TEST(Corrections, KindsAreNamed) {
  EXPECT_EQ(correction_kind("refund"), CorrectionKind::refund);
  EXPECT_EQ(correction_kind("void"), CorrectionKind::voiding);
  EXPECT_FALSE(correction_kind("voiding").has_value());
}

}  // namespace
}  // namespace turnpike::ledger

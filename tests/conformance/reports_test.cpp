// Conformance of the reads that operators make across accounts: ReportStore, the days and callers
// of UsageStore, the list of CorrectionStore, and the search of AccountStore.
#include <gmock/gmock.h>

#include "conformance/engines.h"

namespace turnpike::ledger {
namespace {

using testing::ElementsAre;

class Reports : public OnEveryEngine {
 protected:
  void SetUp() override {
    OnEveryEngine::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(node_->ledger().start().ok());
    leases_ = node_->ledger().open_leases();
    stream_ = *node_->ledger().open_stream();
  }

  // Settles a call of that account. With 0 units it is not charged.
  void call(const std::string& account, const std::string& message, const std::string& route,
            Credits units) {
    std::vector<LeaseShare> shares;
    if (units > 0) {
      const LeaseRequest requests[] = {
          {.account_id = account, .calls = {units}, .hold_ms = 30'000, .settle_ms = 90'000}};
      const auto answers = leases_->acquire(requests);
      ASSERT_TRUE(answers.ok());
      for (const LeaseGrant& grant : answers->front().grants) {
        shares.push_back({grant.lease_id, grant.epoch, grant.units});
      }
    }
    UsageFact fact;
    fact.message_id = fact.request_id = message;
    fact.account_id = account;
    fact.route_id = route;
    fact.method = "GET";
    fact.lane = "credits";
    fact.occurred_at_ms = store_->clock.now_ms();
    fact.outcome_reason = units > 0 ? "success" : "upstream_error";
    const SettleEntry entries[] = {{&fact, shares}};
    ASSERT_TRUE(stream_->settle(++number_, entries)->committed());
  }
  void index() {
    while (*node_->usage().catch_up()) {
    }
  }
  [[nodiscard]] std::int64_t today() const { return store_->clock.now_ms() / day_ms; }

  std::unique_ptr<LeaseStore> leases_;
  std::unique_ptr<SettlementStream> stream_;
  std::int64_t number_ = 0;
};
TURNPIKE_ON_EVERY_ENGINE(Reports);

TEST_P(Reports, LeasedUnitsAreThoseThatAreNotChargedYet) {
  EXPECT_EQ(node_->reports().leased()->units, 0);
  const std::string account = account_with(100);
  const LeaseRequest requests[] = {{.account_id = account,
                                    .calls = {5},
                                    .wanted = 20,
                                    .hold_ms = 30'000,
                                    .settle_ms = 90'000}};
  const auto answers = leases_->acquire(requests);
  ASSERT_TRUE(answers.ok());
  const LeaseGrant& grant = answers->front().grants.at(0);
  EXPECT_EQ(node_->reports().leased()->units, grant.units);
  EXPECT_EQ(node_->reports().leased()->leases, 1);
  UsageFact fact;
  fact.message_id = "m";
  fact.account_id = account;
  const std::vector<LeaseShare> shares{{grant.lease_id, grant.epoch, 5}};
  const SettleEntry entries[] = {{&fact, shares}};
  ASSERT_TRUE(stream_->settle(1, entries)->committed());
  // The result does not depend on whether the charge is posted to the lease yet.
  EXPECT_EQ(node_->reports().leased()->units, grant.units - 5);
}

TEST_P(Reports, IssuedUnitsAreByDayAndOrigin) {
  const std::string account = account_with(10);
  grant(account, 5, day_ms);
  store_->clock.move_ms(day_ms);
  grant(account, 7, day_ms);
  const auto issued = node_->reports().issued(today() - 1);
  ASSERT_TRUE(issued.ok());
  ASSERT_EQ(issued->size(), 2u);
  EXPECT_EQ((*issued)[0].day, today() - 1);
  EXPECT_EQ((*issued)[0].units, 15);
  EXPECT_EQ((*issued)[0].origin, Origin::operator_grant);
  EXPECT_EQ((*issued)[1].units, 7);
  EXPECT_EQ(node_->reports().issued(today())->size(), 1u);
}

TEST_P(Reports, ExpiringUnitsAreThoseThatNobodyHasTaken) {
  const std::string account = account_with(0);
  grant(account, 10, day_ms);
  grant(account, 3, day_ms);
  grant(account, 4, 5 * day_ms);
  const std::int64_t now_ms = store_->clock.now_ms();
  const auto soon = node_->reports().expiring(now_ms, now_ms + 3 * day_ms);
  ASSERT_TRUE(soon.ok());
  ASSERT_EQ(soon->size(), 1u);
  EXPECT_EQ(soon->front().day, today() + 1);
  EXPECT_EQ(soon->front().units, 13);
  EXPECT_EQ(soon->front().allocations, 2);
  EXPECT_EQ(node_->reports().expiring(now_ms, now_ms + 9 * day_ms)->size(), 2u);
}

TEST_P(Reports, HeadsAreThoseOfTheNewestStreams) {
  EXPECT_TRUE(node_->reports().heads(5)->empty());
  const std::string account = account_with(100);
  call(account, "m1", "route-1", 1);
  call(account, "m2", "route-1", 2);
  stream_ = *node_->ledger().open_stream();
  number_ = 0;
  call(account, "m3", "route-1", 3);
  const auto heads = node_->reports().heads(5);
  ASSERT_TRUE(heads.ok());
  ASSERT_EQ(heads->size(), 2u);
  EXPECT_GT((*heads)[0].stream, (*heads)[1].stream);
  EXPECT_EQ((*heads)[0].seq, 1);
  EXPECT_EQ((*heads)[1].seq, 2);
  EXPECT_EQ((*heads)[1].head.size(), 64u);
  EXPECT_EQ(node_->reports().heads(1)->size(), 1u);
}

TEST_P(Reports, ChecksAreKeptByTheirKind) {
  EXPECT_TRUE(node_->reports().checks(BookCheckKind::verified, 5)->empty());
  ASSERT_TRUE(node_->reports().record({.at_ms = 1, .facts = 2, .accounts = 3}).ok());
  ASSERT_TRUE(node_->reports()
                  .record({.at_ms = 2, .problems = 1, .first_problem = "a fact was changed"})
                  .ok());
  ASSERT_TRUE(node_->reports().record({.kind = BookCheckKind::checkpoint, .at_ms = 3}).ok());
  const auto verified = node_->reports().checks(BookCheckKind::verified, 5);
  ASSERT_EQ(verified->size(), 2u);
  EXPECT_EQ(verified->front().first_problem, "a fact was changed");
  EXPECT_EQ(verified->back().facts, 2);
  EXPECT_EQ(verified->back().accounts, 3);
  EXPECT_EQ(node_->reports().checks(BookCheckKind::verified, 1)->size(), 1u);
  EXPECT_EQ(node_->reports().checks(BookCheckKind::checkpoint, 5)->front().at_ms, 3);
}

TEST_P(Reports, DaysAndCallersCountEveryAccount) {
  const std::string one = account_with(100);
  const std::string other = account_with(100);
  call(one, "m1", "route-1", 2);
  call(one, "m2", "route-1", 0);
  call(other, "m3", "route-1", 3);
  call(other, "m4", "route-2", 4);
  index();
  const auto days = node_->usage().days(today() - 1);
  ASSERT_TRUE(days.ok());
  ASSERT_EQ(days->size(), 1u);
  EXPECT_EQ(days->front().day, today());
  EXPECT_EQ(days->front().sums.requests, 4);
  EXPECT_EQ(days->front().sums.charged, 3);
  EXPECT_EQ(days->front().sums.released, 1);
  EXPECT_EQ(days->front().sums.credits, 9);
  const auto callers = node_->usage().callers(today());
  ASSERT_EQ(callers->size(), 2u);
  EXPECT_EQ(callers->front().route_id, "route-1");
  EXPECT_EQ(callers->front().accounts, 2);
  EXPECT_EQ(callers->back().accounts, 1);
  EXPECT_TRUE(node_->usage().days(today() + 1)->empty());
  EXPECT_TRUE(node_->usage().callers(today() + 1)->empty());
}

TEST_P(Reports, CorrectionsArePagedNewestFirst) {
  const std::string account = account_with(100);
  for (const char* message : {"m1", "m2", "m3"}) {
    call(account, message, "route-1", 2);
    const CorrectionRequest request{account, message, CorrectionKind::refund,
                                    1,       "slow " + std::string(message),
                                    "T-1",   message, "opr_1"};
    ASSERT_TRUE(node_->corrections().correct(request).ok());
    store_->clock.move_ms(1);
  }
  const auto first = node_->corrections().list({.limit = 2});
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(first->size(), 2u);
  EXPECT_EQ(first->front().made.message_id, "m3");
  EXPECT_EQ(first->front().account_id, account);
  EXPECT_EQ(first->front().made.reason, "slow m3");
  EXPECT_EQ(first->front().operator_name, "");
  const Correction& last = first->back().made;
  const auto second = node_->corrections().list(
      {.before_recorded_at_ms = last.recorded_at_ms, .before_id = last.id, .limit = 2});
  ASSERT_EQ(second->size(), 1u);
  EXPECT_EQ(second->front().made.message_id, "m1");
}

TEST_P(Reports, AccountsAreFoundByNameIdOwnerAndKey) {
  using identity::AccountStatus;
  const auto made = [&](const char* name, const char* owner) {
    const auto account = node_->accounts().create(name, owner);
    store_->clock.move_ms(1);
    return account->id;
  };
  const std::string acme = made("Acme Weather", "owner-1");
  const std::string percent = made("100% _wild!_", "");
  const std::string other = made("Other", "");
  ASSERT_TRUE(node_->accounts().set_status(other, AccountStatus::suspended).ok());
  ASSERT_TRUE(node_->keys()
                  .add({.account_id = acme, .name = "k", .prefix = "turnpike_v1_dev_prefix01"})
                  .ok());
  const auto found = [&](identity::AccountQuery query) {
    std::vector<std::string> ids;
    const auto accounts = node_->accounts().search(query);
    EXPECT_TRUE(accounts.ok());
    for (const auto& account : *accounts) ids.push_back(account.id);
    return ids;
  };
  EXPECT_THAT(found({}), ElementsAre(other, percent, acme));
  EXPECT_THAT(found({.text = "aCmE"}), ElementsAre(acme));
  EXPECT_THAT(found({.text = acme}), ElementsAre(acme));
  EXPECT_THAT(found({.text = "owner-1"}), ElementsAre(acme));
  EXPECT_THAT(found({.text = "turnpike_v1_dev_prefix01"}), ElementsAre(acme));
  EXPECT_THAT(found({.text = "%"}), ElementsAre(percent)) << "it stands for itself";
  EXPECT_THAT(found({.text = "_wild!"}), ElementsAre(percent));
  EXPECT_THAT(found({.text = "c_e"}), ElementsAre());
  EXPECT_THAT(found({.text = "' OR 1=1 --"}), ElementsAre());
  EXPECT_THAT(found({.status = AccountStatus::suspended}), ElementsAre(other));
  EXPECT_THAT(found({.limit = 1}), ElementsAre(other));
  const auto last = *node_->accounts().find(other);
  EXPECT_THAT(found({.before_created_at_ms = last->created_at_ms, .before_id = other}),
              ElementsAre(percent, acme));
}

TEST_P(Reports, SweepsAreListedNewestFirstWithTheirTargets) {
  EXPECT_TRUE(node_->status().sweeps(5)->empty());
  for (const char* id : {"swp_1", "swp_2"}) {
    status::Sweep sweep;
    sweep.id = id;
    sweep.release = id;
    sweep.generation_id = "gen_1";
    sweep.started_at_ms = store_->clock.now_ms();
    sweep.targets.push_back({.target = "t"});
    ASSERT_TRUE(node_->status().begin_sweep(sweep).ok());
    store_->clock.move_ms(1);
  }
  const auto sweeps = node_->status().sweeps(5);
  ASSERT_TRUE(sweeps.ok());
  ASSERT_EQ(sweeps->size(), 2u);
  EXPECT_EQ(sweeps->front().id, "swp_2");
  EXPECT_EQ(sweeps->front().targets.size(), 1u);
  EXPECT_EQ(sweeps->back().reason, "superseded");
  EXPECT_EQ(node_->status().sweeps(1)->size(), 1u);
}

}  // namespace
}  // namespace turnpike::ledger

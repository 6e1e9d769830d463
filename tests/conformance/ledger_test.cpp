// Conformance of LedgerStore, LeaseStore and SettlementStream.
#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "conformance/engines.h"
#include "identity/accounts.h"
#include "storage/engine/database.h"
#include "storage/engine/transaction.h"
#include "storage/stores.h"

namespace turnpike::ledger {
namespace {

class LedgerPorts : public OnEveryEngine {
 protected:
  void SetUp() override {
    OnEveryEngine::SetUp();
    if (IsSkipped()) return;
    start(*node_);
  }
  void start(storage::Node& node) {
    ASSERT_TRUE(node.ledger().start().ok());
    leases_ = node.ledger().open_leases();
    stream_ = *node.ledger().open_stream();
    number_ = 0;
  }
  static LeaseRequest request(const std::string& account, Credits needed, Credits wanted = 0) {
    LeaseRequest request;
    request.account_id = account;
    if (needed > 0) request.calls = {needed};
    request.wanted = wanted;
    request.hold_ms = 30'000;
    request.settle_ms = 90'000;
    return request;
  }
  LeaseAnswer acquire(const std::string& account, Credits needed, Credits wanted = 0) {
    const LeaseRequest requests[] = {request(account, needed, wanted)};
    return done(leases_->acquire(requests)).front();
  }
  static UsageFact fact(const std::string& account, std::string_view message) {
    UsageFact fact;
    fact.message_id = message;
    fact.request_id = message;
    fact.account_id = account;
    fact.route_id = "route-1";
    fact.method = "GET";
    fact.lane = "credits";
    fact.credit_cost = 1;
    fact.outcome_reason = "success";
    return fact;
  }
  Stored<SettleAnswer> settle(const UsageFact& fact, std::vector<LeaseShare> shares) {
    const SettleEntry entries[] = {{&fact, shares}};
    return stream_->settle(++number_, entries);
  }
  // Runs `work` beside a session that has done `first`. Once `work` waits for that session, the
  // session must be able to do `then` without waiting for `work`.
  void beside(const std::string& first, const std::string& then,
              const std::function<void()>& work) {
    storage::Database database(store_->settings());
    const auto watching = database.connect();
    const auto session = database.connect();
    std::atomic<bool> is_over = false;
    std::thread node;
    {
      storage::Transaction transaction(*session, storage::TransactionKind::write,
                                       database.writer());
      transaction.run_once(first);
      node = std::thread([&] {
        work();
        is_over = true;
      });
      const auto waits = [&] {
        return watching
                   ->query_once(
                       "SELECT COUNT(*) AS n FROM pg_stat_activity WHERE"
                       " datname = current_database() AND wait_event_type = 'Lock'",
                       "i")
                   .number(0, 0) > 0;
      };
      while (!is_over && !waits()) {
      }
      EXPECT_FALSE(is_over);
      EXPECT_NO_THROW(transaction.run_once(then));
    }
    node.join();
  }
  static LeaseShare share(const LeaseGrant& grant, Credits units) {
    return {grant.lease_id, grant.epoch, units};
  }

  std::unique_ptr<LeaseStore> leases_;
  std::unique_ptr<SettlementStream> stream_;
  std::int64_t number_ = 0;
};
TURNPIKE_ON_EVERY_ENGINE(LedgerPorts);

TEST_P(LedgerPorts, GrantsAreWholePositiveAndForKnownAccounts) {
  const std::string account = account_with(0);
  const std::int64_t later = store_->clock.now_ms() + day_ms;
  const auto refused = [&](const GrantRequest& request) {
    return node_->ledger().grant(request).error().code;
  };
  EXPECT_EQ(refused({account, 0, Origin::operator_grant, later, 0}),
            base::ErrorCode::request_malformed);
  EXPECT_EQ(refused({account, -5, Origin::operator_grant, later, 0}),
            base::ErrorCode::request_malformed);
  EXPECT_EQ(refused({account, 5, Origin::operator_grant, store_->clock.now_ms(), 0}),
            base::ErrorCode::request_malformed);
  EXPECT_EQ(refused({"acc_none", 5, Origin::operator_grant, later, 0}),
            base::ErrorCode::account_absent);
  EXPECT_EQ(node_->ledger().balance(account)->credits, 0);
}

// The table is dropped, so any statement for replay would fail.
TEST_P(LedgerPorts, CallsWithoutAKeyRunNoStatementForReplay) {
  const std::string account = account_with(10);
  storage::Database(store_->settings()).connect()->run_once("DROP TABLE replay");
  const LeaseAnswer answer = acquire(account, 3);
  const auto settled = settle(fact(account, "m1"), {share(answer.grants.at(0), 3)});
  ASSERT_TRUE(settled.ok()) << settled.error().text;
  EXPECT_TRUE(settled->committed());
  EXPECT_EQ(sums(account).charged, 3);
}

TEST_P(LedgerPorts, BalanceCountsLeasedUnits) {
  const std::string account = account_with(100);
  EXPECT_EQ(acquire(account, 60).grants.size(), 1u);
  EXPECT_EQ(node_->ledger().balance(account)->credits, 100);
  EXPECT_EQ(node_->ledger().allocations(account)->front().remaining, 100);
  EXPECT_EQ(sums(account).leased, 60);
}

TEST_P(LedgerPorts, AllocationsAreDrawnSoonestExpiryFirst) {
  const std::string account = account_with(0);
  const std::string late = grant(account, 10, 3 * day_ms);
  const std::string soon = grant(account, 10, day_ms);
  const LeaseAnswer answer = acquire(account, 15);
  ASSERT_EQ(answer.grants.size(), 2u);
  EXPECT_EQ(answer.grants[0].allocation_id, soon);
  EXPECT_EQ(answer.grants[0].units, 10);
  EXPECT_EQ(answer.grants[1].allocation_id, late);
  EXPECT_EQ(answer.grants[1].units, 5);
}

TEST_P(LedgerPorts, TiesAreDrawnOldestFirstThenById) {
  const std::string account = account_with(0);
  const std::int64_t expires = store_->clock.now_ms() + day_ms;
  const auto at = [&] {
    return node_->ledger().grant({account, 10, Origin::operator_grant, expires, 0})->id;
  };
  const std::string oldest = at();
  store_->clock.move_ms(10);
  std::string second = at();
  std::string third = at();
  if (third < second) std::swap(second, third);
  const LeaseAnswer answer = acquire(account, 30);
  ASSERT_EQ(answer.grants.size(), 3u);
  EXPECT_EQ(answer.grants[0].allocation_id, oldest);
  EXPECT_EQ(answer.grants[1].allocation_id, second);
  EXPECT_EQ(answer.grants[2].allocation_id, third);
}

TEST_P(LedgerPorts, UnitsThatAreNotYetEffectiveAreNotDrawn) {
  const std::string account = account_with(0);
  const std::int64_t now = store_->clock.now_ms();
  ASSERT_TRUE(
      node_->ledger().grant({account, 10, Origin::operator_grant, now + day_ms, now + 1'000}).ok());
  EXPECT_TRUE(acquire(account, 1).grants.empty());
  store_->clock.move_ms(1'000);
  EXPECT_EQ(acquire(account, 1).grants.size(), 1u);
}

TEST_P(LedgerPorts, ExpiredUnitsAreNotDrawnAndPostToExpired) {
  const std::string account = account_with(100);
  const LeaseAnswer before = acquire(account, 30);
  store_->clock.move_ms(day_ms);
  EXPECT_TRUE(acquire(account, 1).grants.empty());
  EXPECT_EQ(acquire(account, 1).shortage->reach, 0);
  // A call that was admitted before the expiry may still settle.
  ASSERT_TRUE(settle(fact(account, "m1"), {share(before.grants[0], 1)})->committed());
  store_->clock.move_ms(200'000);
  const auto tended = leases_->tend(store_->clock.now_ms());
  EXPECT_EQ(tended->reclaimed, 1u);
  EXPECT_EQ(tended->expired, 1u);
  EXPECT_EQ(sums(account).expired, 99);
  EXPECT_EQ(sums(account).charged, 1);
  EXPECT_EQ(node_->ledger().balance(account)->credits, 0);
}

TEST_P(LedgerPorts, LeaseShrinksWithTheBalanceDownToOneCall) {
  const std::string account = account_with(100);
  EXPECT_EQ(acquire(account, 1, 1'000).grants[0].units, 25);
  EXPECT_EQ(acquire(account, 1, 1'000).grants[0].units, 18);
  EXPECT_EQ(acquire(account, 57).grants[0].units, 57);
  EXPECT_TRUE(acquire(account, 1).grants.empty());
}

TEST_P(LedgerPorts, ACallIsGrantedWholeOrNotAtAll) {
  const std::string account = account_with(10);
  acquire(account, 8);
  const LeaseAnswer answer = acquire(account, 5);
  EXPECT_TRUE(answer.grants.empty());
  EXPECT_EQ(answer.shortage->reach, 10);
  EXPECT_EQ(sums(account).remaining, 2);
  LeaseRequest several = request(account, 5);
  several.calls = {1, 5, 1};
  several.wanted = 100;  // nothing beyond the calls is granted while one of them waits
  const LeaseRequest requests[] = {several};
  const auto answers = leases_->acquire(requests);
  ASSERT_EQ((*answers)[0].grants.size(), 1u);
  EXPECT_EQ((*answers)[0].grants[0].units, 2);
  EXPECT_EQ((*answers)[0].shortage->reach, 10);
}

TEST_P(LedgerPorts, WhatTheNodeHasAlreadyCounts) {
  const std::string account = account_with(10);
  acquire(account, 7);
  LeaseRequest more = request(account, 9);
  more.free = 6;
  const LeaseRequest requests[] = {more};
  const auto answers = leases_->acquire(requests);
  ASSERT_EQ((*answers)[0].grants.size(), 1u);
  EXPECT_EQ((*answers)[0].grants[0].units, 3);
  EXPECT_EQ((*answers)[0].grants[0].unsettled, 10);
  EXPECT_FALSE((*answers)[0].shortage.has_value());
}

TEST_P(LedgerPorts, SecondGrantAddsToTheSameLease) {
  const std::string account = account_with(100);
  const LeaseAnswer first = acquire(account, 10);
  const LeaseAnswer second = acquire(account, 10);
  EXPECT_EQ(first.grants[0].lease_id, second.grants[0].lease_id);
  ASSERT_TRUE(settle(fact(account, "m1"), {share(first.grants[0], 20)})->committed());
}

TEST_P(LedgerPorts, TwoRequestsOfOneAccountInOneTransactionShareWhatIsThere) {
  const std::string account = account_with(10);
  const LeaseRequest requests[] = {request(account, 7), request(account, 7)};
  const auto answers = leases_->acquire(requests);
  EXPECT_EQ((*answers)[0].grants[0].units, 7);
  EXPECT_TRUE((*answers)[1].grants.empty());
  EXPECT_EQ((*answers)[1].shortage->reach, 10);
  EXPECT_EQ(sums(account).leased, 7);
}

TEST_P(LedgerPorts, FactAndLeaseChangeInOneTransaction) {
  const std::string account = account_with(10);
  const LeaseAnswer lease = acquire(account, 5);
  ASSERT_TRUE(settle(fact(account, "m1"), {share(lease.grants[0], 2)})->committed());
  EXPECT_EQ(sums(account).charged, 2);
  EXPECT_EQ(sums(account).leased, 3);
  EXPECT_EQ(node_->ledger().balance(account)->credits, 8);
}

TEST_P(LedgerPorts, RepeatedMessageIsAnsweredNotCharged) {
  const std::string account = account_with(10);
  const LeaseAnswer lease = acquire(account, 5);
  ASSERT_TRUE(settle(fact(account, "m1"), {share(lease.grants[0], 2)})->committed());
  const auto repeat = settle(fact(account, "m1"), {share(lease.grants[0], 2)});
  ASSERT_EQ(repeat->repeated.size(), 1u);
  EXPECT_EQ(repeat->repeated[0].charged, 2);
  EXPECT_EQ(sums(account).charged, 2);
}

TEST_P(LedgerPorts, RepeatWithinOneBatchIsFoundAndNothingIsWritten) {
  const std::string account = account_with(10);
  const LeaseAnswer lease = acquire(account, 5);
  const std::vector<LeaseShare> shares{share(lease.grants[0], 1)};
  const UsageFact one = fact(account, "same");
  const SettleEntry entries[] = {{&one, shares}, {&one, shares}};
  const auto answer = stream_->settle(++number_, entries);
  ASSERT_EQ(answer->repeated.size(), 1u);
  EXPECT_EQ(answer->repeated[0].entry, 1u);
  EXPECT_EQ(answer->repeated[0].charged, -1);
  EXPECT_EQ(sums(account).charged, 0);
}

TEST_P(LedgerPorts, LeaseNeverSettlesMoreThanItWasGranted) {
  const std::string account = account_with(10);
  const LeaseAnswer lease = acquire(account, 5);
  const auto answer = settle(fact(account, "m1"), {share(lease.grants[0], 6)});
  EXPECT_EQ(answer->lost_leases, std::vector<std::int64_t>{lease.grants[0].lease_id});
  EXPECT_EQ(sums(account).charged, 0);
}

TEST_P(LedgerPorts, OneLostLeaseRollsTheWholeBatchBack) {
  const std::string account = account_with(10);
  const std::string other = account_with(10);
  const LeaseAnswer good = acquire(account, 5);
  const LeaseAnswer lost = acquire(other, 5);
  const LeaseReturn back[] = {{lost.grants[0].lease_id, lost.grants[0].epoch}};
  ASSERT_TRUE(leases_->close(back).ok());
  const UsageFact facts[] = {fact(account, "m1"), fact(other, "m2")};
  const std::vector<LeaseShare> shares[] = {{share(good.grants[0], 1)}, {share(lost.grants[0], 1)}};
  const SettleEntry entries[] = {{&facts[0], shares[0]}, {&facts[1], shares[1]}};
  const auto answer = stream_->settle(++number_, entries);
  EXPECT_EQ(answer->lost_leases, std::vector<std::int64_t>{lost.grants[0].lease_id});
  EXPECT_EQ(sums(account).charged, 0);
  ASSERT_TRUE(settle(facts[0], shares[0])->committed());
}

TEST_P(LedgerPorts, AnotherEpochIsFenced) {
  const std::string account = account_with(10);
  LeaseGrant grant = acquire(account, 5).grants[0];
  ++grant.epoch;
  EXPECT_FALSE(settle(fact(account, "m1"), {share(grant, 1)})->committed());
  EXPECT_EQ(sums(account).charged, 0);
}

TEST_P(LedgerPorts, SeveralLeasesMayPayOneCall) {
  const std::string account = account_with(0);
  grant(account, 3, day_ms);
  grant(account, 9, 2 * day_ms);
  const LeaseAnswer leases = acquire(account, 5);
  ASSERT_EQ(leases.grants.size(), 2u);
  ASSERT_TRUE(settle(fact(account, "m1"), {share(leases.grants[0], 3), share(leases.grants[1], 2)})
                  ->committed());
  EXPECT_EQ(sums(account).charged, 5);
  const auto repeat = settle(fact(account, "m1"), {share(leases.grants[1], 0)});
  EXPECT_EQ(repeat->repeated.at(0).charged, 5);
}

TEST_P(LedgerPorts, ClosedLeaseGivesBackExactlyTheRest) {
  const std::string account = account_with(10);
  const LeaseAnswer lease = acquire(account, 6);
  ASSERT_TRUE(settle(fact(account, "m1"), {share(lease.grants[0], 2)})->committed());
  const LeaseReturn back[] = {{lease.grants[0].lease_id, lease.grants[0].epoch}};
  ASSERT_TRUE(leases_->close(back).ok());
  ASSERT_TRUE(leases_->close(back).ok());  // the second time, nothing is open
  EXPECT_EQ(sums(account).remaining, 8);
  EXPECT_FALSE(settle(fact(account, "m2"), {share(lease.grants[0], 1)})->committed());
}

TEST_P(LedgerPorts, LeasesOfADeadPredecessorReturnAtStart) {
  const std::string account = account_with(10);
  acquire(account, 6);
  stream_.reset();
  leases_.reset();
  node_.reset();
  node_ = store_->open();
  start(*node_);
  EXPECT_EQ(sums(account).remaining, 10);
  EXPECT_EQ(sums(account).leased, 0);
}

TEST_P(LedgerPorts, LeasesOfAnotherLivingNodeAreLeftAlone) {
  const std::string account = account_with(10);
  acquire(account, 6);
  const auto other = store_->open(storage::Role::gateway, "other");
  ASSERT_TRUE(other->ledger().start().ok());
  EXPECT_EQ(sums(account).leased, 6);
  const LeaseRequest requests[] = {request(account, 10)};
  const auto answer = other->ledger().open_leases()->acquire(requests);
  EXPECT_TRUE((*answer)[0].grants.empty());
  EXPECT_EQ((*answer)[0].shortage->reach, 10);
}

TEST_P(LedgerPorts, LeaseWhoseTimeIsOverIsReclaimedByAnyNode) {
  const std::string account = account_with(10);
  const LeaseAnswer lease = acquire(account, 6);
  const auto other = store_->open(storage::Role::gateway, "other");
  ASSERT_TRUE(other->ledger().start().ok());
  const auto others = other->ledger().open_leases();
  store_->clock.move_ms(90'001);
  EXPECT_EQ(others->tend(store_->clock.now_ms())->reclaimed, 1u);
  EXPECT_EQ(sums(account).remaining, 10);
  EXPECT_FALSE(settle(fact(account, "m1"), {share(lease.grants[0], 1)})->committed());
}

// Otherwise nodes could deadlock (storage/books/leases.h). The next test checks the same for draws.
TEST_P(LedgerPorts, WhatExpiresIsLockedUnderNoLockOfWhatIsReclaimed) {
  if (GetParam() == storage::Engine::sqlite) GTEST_SKIP() << "SQLite has one writer";
  const std::string account = account_with(0);
  const std::string leased = grant(account, 10, day_ms);
  ASSERT_EQ(acquire(account, 10).grants.size(), 1u);
  const std::string expiring = grant(account, 10, 60'000);
  store_->clock.move_ms(91'000);
  std::optional<Stored<Tended>> tended;
  beside("SELECT id FROM allocation WHERE id = '" + expiring + "' FOR UPDATE",
         "SELECT id FROM allocation WHERE id = '" + leased + "' FOR UPDATE NOWAIT",
         [&] { tended.emplace(leases_->tend(store_->clock.now_ms())); });
  ASSERT_TRUE(tended->ok());
  EXPECT_EQ((*tended)->reclaimed, 1u);
  EXPECT_EQ((*tended)->expired, 1u);
  EXPECT_EQ(node_->ledger().balance(account)->credits, 10);
}

// The transaction that posts a node's charges locks the node's stream and then all charged leases.
// A draw that held an allocation while it waits for the stream could deadlock with it.
TEST_P(LedgerPorts, DirectDrawsWaitForPostingsBeforeTheyLockAnything) {
  if (GetParam() == storage::Engine::sqlite) GTEST_SKIP() << "SQLite has one writer";
  const std::string account = account_with(10);
  const LeaseRequest requests[] = {request(account, 3)};
  std::optional<Stored<std::vector<LeaseAnswer>>> drawn;
  beside("UPDATE settle_stream SET next_no = next_no",
         "SELECT id FROM allocation WHERE account_id = '" + account + "' FOR UPDATE NOWAIT",
         [&] { drawn.emplace(stream_->acquire(requests)); });
  ASSERT_TRUE(drawn->ok());
  EXPECT_EQ((*drawn)->at(0).grants.at(0).units, 3);
}

TEST_P(LedgerPorts, ReclaimThatRacesSettlementsLeavesTheExactRemainder) {
  const std::string account = account_with(100);
  const auto other = store_->open(storage::Role::gateway, "other");
  ASSERT_TRUE(other->ledger().start().ok());
  const auto others = other->ledger().open_leases();
  std::atomic<Credits> charged = 0;
  for (int turn = 0; turn < 4; ++turn) {
    const LeaseGrant lease = acquire(account, 20).grants.at(0);
    const Credits before = charged;
    std::thread calls([&] {
      for (int call = 0; call < 20; ++call) {
        const std::string message = "m" + std::to_string(turn) + "-" + std::to_string(call);
        const auto answer = settle(fact(account, message), {share(lease, 1)});
        ASSERT_TRUE(answer.ok()) << answer.error().text;
        if (!answer->committed()) return;  // the lease was reclaimed
        ++charged;
      }
    });
    while (charged < before + 2 * turn) std::this_thread::yield();
    store_->clock.move_ms(90'001);
    EXPECT_EQ(others->tend(store_->clock.now_ms())->reclaimed, 1u);
    calls.join();
    const AccountSums books = sums(account);
    EXPECT_EQ(books.charged, charged);
    EXPECT_EQ(books.leased, 0);
    EXPECT_EQ(books.remaining, 100 - charged);
  }
}

TEST_P(LedgerPorts, LeasesAreDrawnAndTendedThoughAllSessionsAreInUse) {
  const std::string account = account_with(10);
  storage::Database database(one_session());
  const storage::Context context{database, store_->clock, store_->random,
                                 storage::TimeSource::argument};
  const auto ledger = storage::make_ledger_store(context, "another", "");
  ASSERT_TRUE(ledger->start().ok());
  const auto leases = ledger->open_leases();
  database.with([&](storage::Connection&) {
    EXPECT_FALSE(ledger->balance(account).ok()) << "the session is in use";
    const LeaseRequest requests[] = {request(account, 4)};
    const auto answers = leases->acquire(requests);
    ASSERT_TRUE(answers.ok()) << answers.error().text;
    EXPECT_EQ(answers->front().grants.front().units, 4);
    EXPECT_TRUE(leases->tend(store_->clock.now_ms()).ok());
  });
}

TEST_P(LedgerPorts, SettleIsFencedByTheLeaseNotByTheClock) {
  const std::string account = account_with(10);
  const LeaseAnswer lease = acquire(account, 6);
  store_->clock.move_ms(10'000'000);
  EXPECT_TRUE(settle(fact(account, "m1"), {share(lease.grants[0], 1)})->committed());
}

TEST_P(LedgerPorts, LedgerTimeNeverGoesBack) {
  const std::string account = account_with(10);
  grant(account, 5, 3'600'000);
  store_->clock.move_ms(7'200'000);
  ASSERT_EQ(leases_->tend(store_->clock.now_ms())->expired, 1u);
  store_->clock.move_ms(-7'200'000);
  EXPECT_EQ(acquire(account, 15).shortage->reach, 10);
  EXPECT_EQ(acquire(account, 10).grants.size(), 1u);
}

TEST_P(LedgerPorts, TimeThatIsNotBelievedExpiresNothing) {
  const std::string account = account_with(10);
  const std::int64_t latest = store_->clock.now_ms() + 300'000;
  store_->clock.move_ms(2 * day_ms);
  const auto tended = leases_->tend(latest);
  EXPECT_TRUE(tended->paused);
  EXPECT_EQ(sums(account).expired, 0);
  EXPECT_FALSE(leases_->tend(store_->clock.now_ms())->paused);
  EXPECT_EQ(sums(account).expired, 10);
}

TEST_P(LedgerPorts, TwoNodesDrawTheLastUnitsOnce) {
  const std::string account = account_with(100);
  const auto other = store_->open(storage::Role::gateway, "other");
  ASSERT_TRUE(other->ledger().start().ok());
  const auto others = other->ledger().open_leases();
  std::atomic<Credits> drawn = 0;
  const auto draw = [&](LeaseStore& leases) {
    for (int turn = 0; turn < 60; ++turn) {
      const LeaseRequest requests[] = {request(account, 1)};
      const auto answers = leases.acquire(requests);
      ASSERT_TRUE(answers.ok()) << answers.error().text;
      for (const LeaseGrant& grant : (*answers)[0].grants) drawn += grant.units;
    }
  };
  std::thread left([&] { draw(*leases_); });
  std::thread right([&] { draw(*others); });
  left.join();
  right.join();
  EXPECT_EQ(drawn, 100);
  EXPECT_EQ(sums(account).leased, 100);
}

TEST_P(LedgerPorts, StreamsOfOneIncarnationDoNotCollide) {
  const std::string account = account_with(10);
  const LeaseAnswer lease = acquire(account, 4);
  auto second = *node_->ledger().open_stream();
  ASSERT_TRUE(settle(fact(account, "m1"), {share(lease.grants[0], 1)})->committed());
  const UsageFact other = fact(account, "m2");
  const std::vector<LeaseShare> shares{share(lease.grants[0], 1)};
  const SettleEntry entries[] = {{&other, shares}};
  ASSERT_TRUE(second->settle(1, entries)->committed());
  EXPECT_EQ(sums(account).charged, 2);
}

TEST_P(LedgerPorts, CommittedTellsWhatBecameOfABatch) {
  const std::string account = account_with(10);
  const LeaseAnswer lease = acquire(account, 4);
  ASSERT_TRUE(settle(fact(account, "m1"), {share(lease.grants[0], 1)})->committed());
  EXPECT_TRUE(*stream_->committed(1));
  EXPECT_FALSE(*stream_->committed(2));
  EXPECT_FALSE(*stream_->committed(2));  // the tombstone that the first query wrote is no commit
}

// A refused batch uses up its number. If the number counted as a commit, replies would be sent
// uncharged.
TEST_P(LedgerPorts, ARefusedBatchIsNeverProvenCommitted) {
  const std::string account = account_with(10);
  const LeaseAnswer lease = acquire(account, 4);
  ASSERT_TRUE(settle(fact(account, "m1"), {share(lease.grants[0], 1)})->committed());
  ASSERT_FALSE(settle(fact(account, "m1"), {share(lease.grants[0], 1)})->committed());
  EXPECT_FALSE(*stream_->committed(2));
}

// Otherwise a grant in its last minutes would refuse calls that other grants could pay for.
TEST_P(LedgerPorts, ALeaseOnAnExpiringAllocationSettlesAsLongAsAnyOther) {
  const std::string account = account_with(10);
  const LeaseAnswer ample = acquire(account, 1);
  ASSERT_EQ(ample.grants.size(), 1u);
  const std::int64_t left_ms = ample.grants[0].expires_at_ms - store_->clock.now_ms();
  store_->clock.move_ms(left_ms - 1'000);
  const LeaseAnswer scarce = acquire(account, 1);
  ASSERT_EQ(scarce.grants.size(), 1u);
  EXPECT_EQ(scarce.grants[0].hold_ms, 1'000);
  EXPECT_EQ(scarce.grants[0].settle_ms, ample.grants[0].settle_ms);
}

TEST_P(LedgerPorts, TextsOfAFactAreStoredByteForByte) {
  const std::string account = account_with(10);
  const LeaseAnswer lease = acquire(account, 4);
  UsageFact odd = fact(account, "m\"1\\");
  odd.client_request_id = "a'b\"c\\d\t\x01\xC3\xA9";
  ASSERT_TRUE(settle(odd, {share(lease.grants[0], 1)})->committed());
  EXPECT_EQ(settle(odd, {share(lease.grants[0], 1)})->repeated.size(), 1u);
}

// ---- renewal, recall ----

TEST_P(LedgerPorts, RenewalGivesTimeWithoutUnits) {
  const std::string account = account_with(10);
  const LeaseGrant lease = acquire(account, 10).grants[0];
  store_->clock.move_ms(80'000);
  LeaseRequest more = request(account, 0);
  more.renews = {{lease.lease_id, lease.epoch}, {lease.lease_id, lease.epoch + 1}};
  const LeaseRequest requests[] = {more};
  const auto answers = leases_->acquire(requests);
  ASSERT_EQ((*answers)[0].renewed.size(), 1u);  // nobody holds the other epoch
  EXPECT_EQ((*answers)[0].renewed[0].hold_ms, 30'000);
  EXPECT_TRUE((*answers)[0].grants.empty());
  store_->clock.move_ms(80'000);
  EXPECT_EQ(leases_->tend(store_->clock.now_ms())->reclaimed, 0u);
  store_->clock.move_ms(10'001);
  EXPECT_EQ(leases_->tend(store_->clock.now_ms())->reclaimed, 1u);
  EXPECT_TRUE((*leases_->acquire(requests))[0].renewed.empty());  // it was reclaimed
}

TEST_P(LedgerPorts, RenewalEndsWithTheAllocation) {
  const std::string account = account_with(0);
  grant(account, 10, 40'000);
  const LeaseGrant lease = acquire(account, 10).grants[0];
  store_->clock.move_ms(25'000);
  LeaseRequest more = request(account, 0);
  more.renews = {{lease.lease_id, lease.epoch}};
  const LeaseRequest requests[] = {more};
  const auto answers = leases_->acquire(requests);
  ASSERT_EQ((*answers)[0].renewed.size(), 1u);
  EXPECT_EQ((*answers)[0].renewed[0].hold_ms, 15'000);
  EXPECT_EQ((*answers)[0].renewed[0].settle_ms, 90'000);
}

TEST_P(LedgerPorts, UnitsGivenBackReturnAndTheLeaseStaysOpen) {
  const std::string account = account_with(10);
  const LeaseGrant lease = acquire(account, 10).grants[0];
  ASSERT_TRUE(settle(fact(account, "m1"), {share(lease, 2)})->committed());
  const LeaseShare too_many[] = {share(lease, 9)};
  ASSERT_TRUE(leases_->give_back(too_many).ok());
  EXPECT_EQ(sums(account).leased, 8);
  const LeaseShare some[] = {share(lease, 5)};
  ASSERT_TRUE(leases_->give_back(some).ok());
  EXPECT_EQ(sums(account).leased, 3);
  EXPECT_EQ(sums(account).remaining, 5);
  EXPECT_FALSE(settle(fact(account, "m2"), {share(lease, 4)})->committed());
  EXPECT_TRUE(settle(fact(account, "m2"), {share(lease, 3)})->committed());
}

TEST_P(LedgerPorts, ShortageRecallsWhatOthersReserve) {
  const std::string account = account_with(10);
  const auto other = store_->open(storage::Role::gateway, "other");
  ASSERT_TRUE(other->ledger().start().ok());
  const auto others = other->ledger().open_leases();
  const LeaseRequest all[] = {request(account, 10)};
  ASSERT_EQ((*others->acquire(all))[0].grants.size(), 1u);
  EXPECT_TRUE(others->tend(store_->clock.now_ms())->recalls.empty());
  EXPECT_EQ(acquire(account, 1).shortage->reach, 10);
  const auto seen = others->tend(store_->clock.now_ms())->recalls;
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].account_id, account);
  EXPECT_FALSE(seen[0].is_own);
  EXPECT_TRUE(leases_->tend(store_->clock.now_ms())->recalls.at(0).is_own);
  store_->clock.move_ms(1'000);
  EXPECT_TRUE(others->tend(store_->clock.now_ms())->recalls.empty());
}

TEST_P(LedgerPorts, WhatIsSpentIsNotRecalled) {
  const std::string account = account_with(1);
  ASSERT_TRUE(settle(fact(account, "m1"), {share(acquire(account, 1).grants[0], 1)})->committed());
  EXPECT_EQ(acquire(account, 1).shortage->reach, 0);
  EXPECT_TRUE(leases_->tend(store_->clock.now_ms())->recalls.empty());
}

// A 402 must be true: units that are moving from a lease back to their allocation always count.
TEST_P(LedgerPorts, UnitsThatMoveAreNeverMissed) {
  const std::string account = account_with(10);
  const auto other = store_->open(storage::Role::gateway, "other");
  ASSERT_TRUE(other->ledger().start().ok());
  const auto others = other->ledger().open_leases();
  const std::jthread mover([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const LeaseRequest requests[] = {request(account, 10)};
      const auto answers = others->acquire(requests);
      if (!answers || (*answers)[0].grants.empty()) continue;
      const LeaseGrant& lease = (*answers)[0].grants[0];
      const LeaseReturn back[] = {{lease.lease_id, lease.epoch}};
      EXPECT_TRUE(others->close(back).ok());
    }
  });
  for (int turn = 0; turn < 100; ++turn) EXPECT_EQ(acquire(account, 11).shortage->reach, 10);
}

// Two direct draws of one account share a lease. Returning the units of one must leave the other
// payable.
TEST_P(LedgerPorts, DirectDrawsGoBackByTheirUnits) {
  const std::string account = account_with(10);
  const LeaseRequest requests[] = {request(account, 3), request(account, 4)};
  const auto answers = stream_->acquire(requests);
  const LeaseGrant first = (*answers)[0].grants.at(0);
  const LeaseGrant second = (*answers)[1].grants.at(0);
  EXPECT_EQ(first.lease_id, second.lease_id);
  const LeaseShare back[] = {share(first, 3)};
  ASSERT_TRUE(stream_->give_back(back).ok());
  EXPECT_TRUE(settle(fact(account, "m1"), {share(second, 4)})->committed());
  EXPECT_EQ(sums(account).remaining, 6);
}

// ---- voided allocations ----

TEST_P(LedgerPorts, VoidTakesFreeUnitsNowAndLeasedOnesAtTheirClose) {
  const std::string account = account_with(0);
  const std::string allocation = grant(account, 100, day_ms);
  const LeaseGrant lease = acquire(account, 30).grants[0];
  const auto voided = node_->ledger().void_allocation(allocation);
  ASSERT_TRUE(voided.ok() && voided->has_value());
  EXPECT_EQ((*voided)->status, AllocationStatus::voided);
  EXPECT_EQ((*voided)->remaining, 30);
  EXPECT_EQ(sums(account).voided, 70);
  EXPECT_EQ(acquire(account, 1).shortage->reach, 0);  // so the caller gets 402
  const auto withdrawn = leases_->tend(store_->clock.now_ms())->withdrawals;
  ASSERT_EQ(withdrawn.size(), 1u);
  EXPECT_EQ(withdrawn[0].lease.lease_id, lease.lease_id);
  const LeaseShare free[] = {share(lease, 10)};
  ASSERT_TRUE(leases_->give_back(free).ok());
  EXPECT_EQ(sums(account).voided, 80);
  // A call that was admitted before the void may still settle.
  ASSERT_TRUE(settle(fact(account, "m1"), {share(lease, 5)})->committed());
  const LeaseReturn back[] = {{lease.lease_id, lease.epoch}};
  ASSERT_TRUE(leases_->close(back).ok());
  EXPECT_EQ(sums(account).voided, 95);
  EXPECT_EQ(sums(account).charged, 5);
  EXPECT_EQ(node_->ledger().balance(account)->credits, 0);
  EXPECT_TRUE(leases_->tend(store_->clock.now_ms())->withdrawals.empty());
}

TEST_P(LedgerPorts, VoidIsRepeatableAndKnowsWhatIsAbsent) {
  const std::string account = account_with(0);
  const std::string allocation = grant(account, 100, day_ms);
  grant(account, 7, day_ms);
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ((*node_->ledger().void_allocation(allocation))->remaining, 0);
    EXPECT_EQ(sums(account).voided, 100);
    EXPECT_EQ(node_->ledger().balance(account)->credits, 7);
  }
  EXPECT_FALSE(node_->ledger().void_allocation("alc_none")->has_value());
}

TEST_P(LedgerPorts, LeaseOnAVoidedAllocationIsNotRenewed) {
  const std::string account = account_with(0);
  const std::string allocation = grant(account, 10, day_ms);
  const LeaseGrant lease = acquire(account, 10).grants[0];
  ASSERT_TRUE(node_->ledger().void_allocation(allocation).ok());
  LeaseRequest more = request(account, 0);
  more.renews = {{lease.lease_id, lease.epoch}};
  const LeaseRequest requests[] = {more};
  EXPECT_TRUE((*leases_->acquire(requests))[0].renewed.empty());
}

// ---- spend caps ----

class KeyCaps : public LedgerPorts {
 protected:
  void SetUp() override {
    LedgerPorts::SetUp();
    if (IsSkipped()) return;
    account_ = account_with(1'000);
    key_ = keys().create(account_, "capped")->key.id;
  }
  void cap(std::optional<std::int64_t> per_day, std::optional<std::int64_t> per_month) {
    const identity::SpendCaps caps{per_day, per_month};
    ASSERT_TRUE(keys().change(key_, {.caps = caps})->has_value());
  }
  identity::ApiKeys keys() {
    return {node_->keys(), identity::Environment::development, store_->random};
  }
  LeaseAnswer draw(LeaseStore& leases, Credits units, Credits wanted = 0) {
    LeaseRequest capped = request(account_, units, wanted);
    capped.key_id = key_;
    const LeaseRequest requests[] = {capped};
    return (*leases.acquire(requests))[0];
  }
  void charge(const LeaseGrant& lease, Credits units) {
    const std::string message = "m" + std::to_string(++messages_);
    ASSERT_TRUE(settle(fact(account_, message), {share(lease, units)})->committed());
  }

  std::string account_;
  std::string key_;
  int messages_ = 0;
};
TURNPIKE_ON_EVERY_ENGINE(KeyCaps);

TEST_P(KeyCaps, CapIsTakenInTheStepThatTakesTheUnits) {
  cap(10, std::nullopt);
  const auto other = store_->open(storage::Role::gateway, "other");
  ASSERT_TRUE(other->ledger().start().ok());
  const auto others = other->ledger().open_leases();
  const LeaseGrant lease = draw(*leases_, 7).grants.at(0);
  const LeaseAnswer refused = draw(*others, 4);
  EXPECT_TRUE(refused.grants.empty());
  EXPECT_EQ(refused.shortage->reach, 1'000);
  ASSERT_EQ(refused.shortage->caps.size(), 1u);
  EXPECT_EQ(refused.shortage->caps[0].left, 10);  // reserved, not spent
  charge(lease, 7);
  EXPECT_EQ(draw(*others, 4).shortage->caps[0].left, 3);
  EXPECT_EQ(draw(*others, 3).grants.at(0).units, 3);
  EXPECT_EQ(acquire(account_, 4).grants.at(0).units, 4);  // calls without this key are not capped
  sums(account_);
}

TEST_P(KeyCaps, RateNeverLeasesMoreThanTheCapLeaves) {
  cap(20, std::nullopt);
  EXPECT_EQ(draw(*leases_, 1, 1'000).grants.at(0).units, 5);
}

TEST_P(KeyCaps, CapBindsTwoNodesAtOnce) {
  cap(50, std::nullopt);
  const auto other = store_->open(storage::Role::gateway, "other");
  ASSERT_TRUE(other->ledger().start().ok());
  const auto others = other->ledger().open_leases();
  std::atomic<Credits> drawn = 0;
  const auto draw_all = [&](LeaseStore& leases) {
    for (int turn = 0; turn < 40; ++turn) {
      for (const LeaseGrant& grant : draw(leases, 1).grants) drawn += grant.units;
    }
  };
  std::thread left([&] { draw_all(*leases_); });
  std::thread right([&] { draw_all(*others); });
  left.join();
  right.join();
  EXPECT_EQ(drawn, 50);
}

TEST_P(KeyCaps, DayEndsAtMidnightUtcAndTheMonthGoesOn) {
  cap(10, 15);
  const std::int64_t midnight = utc_day(store_->clock.now_ms()).ends_at_ms;
  store_->clock.move_ms(midnight - store_->clock.now_ms() - 1'000);
  const LeaseGrant lease = draw(*leases_, 10).grants.at(0);
  EXPECT_EQ(lease.hold_ms, 1'000);  // a hold ends with the day in which it counts
  EXPECT_EQ(lease.settle_ms, 90'000);
  EXPECT_EQ(draw(*leases_, 1).shortage->caps.at(0).resets_in_ms, 1'000);
  store_->clock.move_ms(1'000);
  const LeaseGrant next = draw(*leases_, 5).grants.at(0);
  EXPECT_NE(next.lease_id, lease.lease_id);
  charge(lease, 10);  // held before midnight, so it counts for the old day
  charge(next, 5);
  const LeaseAnswer refused = draw(*leases_, 1);
  ASSERT_EQ(refused.shortage->caps.size(), 2u);
  EXPECT_EQ(refused.shortage->caps[0].left, 5);
  EXPECT_EQ(refused.shortage->caps[1].left, 0);
  EXPECT_EQ(refused.shortage->caps[1].span, "month");
  EXPECT_EQ(refused.shortage->caps[1].resets_at_ms, utc_month(store_->clock.now_ms()).ends_at_ms);
}

TEST_P(KeyCaps, UnitsThatComeBackMakeRoomInTheWindowTheyWereTakenIn) {
  cap(10, std::nullopt);
  const LeaseGrant lease = draw(*leases_, 10).grants.at(0);
  const LeaseShare some[] = {share(lease, 4)};
  ASSERT_TRUE(leases_->give_back(some).ok());
  EXPECT_EQ(draw(*leases_, 4).grants.at(0).units, 4);
  charge(lease, 1);
  const LeaseReturn back[] = {{lease.lease_id, lease.epoch}};
  ASSERT_TRUE(leases_->close(back).ok());
  EXPECT_EQ(draw(*leases_, 9).grants.at(0).units, 9);
  EXPECT_TRUE(draw(*leases_, 1).grants.empty());
  sums(account_);
}

TEST_P(KeyCaps, WhatIsReadIsWhatLeasesAreGrantedFrom) {
  const auto read = [&] { return *node_->usage().key_caps(account_); };
  EXPECT_TRUE(read().empty());  // no key has a cap
  cap(10, 15);
  ASSERT_EQ(read().size(), 1u);
  EXPECT_EQ(read()[0].key_id, key_);
  ASSERT_EQ(read()[0].caps.size(), 2u);
  EXPECT_EQ(read()[0].caps[0].free, 10);
  const LeaseGrant lease = draw(*leases_, 7).grants.at(0);
  EXPECT_EQ(read()[0].caps[0].left, 10);
  EXPECT_EQ(read()[0].caps[0].free, 3);
  charge(lease, 7);
  const LeaseAnswer refused = draw(*leases_, 4);
  for (const std::size_t at : {0u, 1u}) {
    const CapRoom room = read()[0].caps[at];
    const CapRoom& told = refused.shortage->caps.at(at);
    EXPECT_EQ(room.span, told.span);
    EXPECT_EQ(room.cap, told.cap);
    EXPECT_EQ(room.left, told.left);
    EXPECT_EQ(room.free, told.free);
    EXPECT_EQ(room.resets_at_ms, told.resets_at_ms);
  }
  EXPECT_EQ(draw(*leases_, read()[0].caps[0].free).grants.at(0).units, 3);
  EXPECT_TRUE(node_->usage().key_caps("acc_none")->empty());
  const std::int64_t midnight = utc_day(store_->clock.now_ms()).ends_at_ms;
  store_->clock.move_ms(midnight - store_->clock.now_ms());
  EXPECT_EQ(read()[0].caps[0].left, 10);  // the new day's
  ASSERT_TRUE(keys().revoke(key_)->has_value());
  EXPECT_TRUE(read().empty());
}

TEST_P(KeyCaps, AKeyIsMadeWithItsCapsOrNotAtAll) {
  const auto bounded = keys().create(account_, "bounded", {}, {.caps = {5, std::nullopt}});
  ASSERT_TRUE(bounded.ok());
  EXPECT_EQ(bounded->key.caps.per_day, 5);
  LeaseRequest capped = request(account_, 6);
  capped.key_id = bounded->key.id;
  const LeaseRequest requests[] = {capped};
  EXPECT_TRUE((*leases_->acquire(requests))[0].grants.empty());
  const std::size_t before = keys().list(account_)->size();
  const identity::KeyBounds refused[] = {{.caps = {-1, std::nullopt}},
                                         {.expires_at_ms = store_->clock.now_ms()}};
  for (const identity::KeyBounds& bounds : refused) {
    EXPECT_EQ(keys().create(account_, "never", {}, bounds).error().code,
              base::ErrorCode::request_malformed);
  }
  EXPECT_EQ(keys().list(account_)->size(), before);
}

TEST_P(KeyCaps, LoweredCapRecallsWhatWasReserved) {
  cap(100, std::nullopt);
  draw(*leases_, 60);
  store_->clock.move_ms(10'000);
  ASSERT_TRUE(leases_->tend(store_->clock.now_ms())->recalls.empty());
  cap(5, std::nullopt);
  EXPECT_EQ(leases_->tend(store_->clock.now_ms())->recalls.at(0).account_id, account_);
  EXPECT_TRUE(draw(*leases_, 1).grants.empty());
}

TEST_P(KeyCaps, CapsAreStoredWithTheKeyAndTellTheNodes) {
  const std::int64_t before = *node_->keys().last_change();
  cap(10, 200);
  EXPECT_EQ(node_->keys().changes_after(before)->size(), 1u);
  EXPECT_EQ(keys().list(account_)->front().caps.per_day, 10);
  EXPECT_EQ(keys().list(account_)->front().caps.per_month, 200);
  cap(std::nullopt, std::nullopt);
  EXPECT_FALSE(keys().list(account_)->front().caps.any());
  EXPECT_FALSE(keys().change("key_none", {.caps = identity::SpendCaps{1, 1}})->has_value());
  EXPECT_EQ(keys().change(key_, {.caps = identity::SpendCaps{-1, 1}}).error().code,
            base::ErrorCode::request_malformed);
}

// ---- restored backups ----

TEST_P(LedgerPorts, RestoredBooksFenceWhatCameAfterTheBackup) {
  const std::string account = account_with(10);
  const LeaseGrant lease = acquire(account, 6).grants[0];
  const auto tool = store_->open(storage::Role::tool);
  const auto restored = tool->ledger().restored();
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(restored->epoch, lease.epoch + 1);
  EXPECT_EQ(restored->leases, 1u);
  EXPECT_EQ(sums(account).remaining, 10);
  EXPECT_TRUE(leases_->tend(store_->clock.now_ms())->restored);
  EXPECT_FALSE(settle(fact(account, "m1"), {share(lease, 1)})->committed());
  EXPECT_EQ(acquire(account, 1).grants[0].epoch, restored->epoch);
  stream_.reset();
  leases_.reset();
  node_.reset();
  node_ = store_->open();
  start(*node_);
  EXPECT_FALSE(leases_->tend(store_->clock.now_ms())->restored);
  EXPECT_EQ(acquire(account, 1).grants[0].epoch, restored->epoch);
}

TEST_P(LedgerPorts, ToolsDoNotStartTheLedger) {
  const auto tool = store_->open(storage::Role::tool);
  EXPECT_FALSE(tool->ledger().start().ok());
}

}  // namespace
}  // namespace turnpike::ledger

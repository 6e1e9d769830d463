// Conformance of ReplayStore, and of how a settlement uses a claim (ledger/replay.h).
#include <atomic>
#include <thread>
#include <utility>

#include "base/limits.h"
#include "conformance/engines.h"

namespace turnpike::ledger {
namespace {

using Kind = ClaimAnswer::Kind;
using How = ReplyToKeep::How;

class ReplayPort : public OnEveryEngine {
 protected:
  void SetUp() override {
    OnEveryEngine::SetUp();
    if (IsSkipped()) return;
    account_ = account_with(1'000);
    begin(*node_);
  }

  // Starts a new incarnation of the node; the previous owner of its directory is dead.
  void begin(storage::Node& node) {
    ASSERT_TRUE(node.ledger().start().ok());
    leases_ = node.ledger().open_leases();
    stream_ = *node.ledger().open_stream();
    replays_ = node.ledger().open_replays();
    number_ = 0;
  }

  static Claim claim(const std::string& request_id, std::string_view method = "GET",
                     std::string_view path = "/v1/gateway/a", std::string_view body = "") {
    KeyedCall call;
    call.scope = "acc_1";
    call.key = "k";
    call.request_id = request_id;
    call.method = method;
    call.path = path;
    call.body = body;
    call.ends_in_ms = call_ms;
    return claim_of(call);
  }
  Kind claimed(const Claim& claim) {
    const auto answer = replays_->claim(claim);
    EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().text);
    return answer.ok() ? answer->kind : Kind::conflict;
  }
  static ReplyToKeep reply_of(const Claim& claim, How how = How::with_charge) {
    ReplyToKeep reply{claim.key_digest, claim.request_id, how, {}};
    if (how != How::too_large) reply.reply = {201, {{"Content-Type", "text/x"}}, odd_body()};
    return reply;
  }
  // Every byte value, many of which the engines' text types refuse.
  static std::string odd_body() {
    std::string body;
    for (int byte = 0; byte < 256; ++byte) body += static_cast<char>(byte);
    return body;
  }
  // Settles one unit for each reply, all in one batch.
  SettleAnswer settle(const std::vector<ReplyToKeep>& replies) {
    LeaseRequest request;
    request.account_id = account_;
    request.calls.assign(replies.size(), 1);
    request.hold_ms = 30'000;
    request.settle_ms = 90'000;
    const auto leased = leases_->acquire({&request, 1});
    EXPECT_TRUE(leased.ok() && !leased->front().grants.empty());
    const LeaseGrant& grant = leased->front().grants.front();
    const LeaseShare share{grant.lease_id, grant.epoch, 1};
    std::vector<UsageFact> facts(replies.size());
    std::vector<SettleEntry> entries;
    for (std::size_t at = 0; at < replies.size(); ++at) {
      facts[at].message_id = facts[at].request_id = replies[at].request_id;
      facts[at].account_id = account_;
      facts[at].credit_cost = 1;
      facts[at].outcome_reason = "success";
      entries.push_back({&facts[at], {&share, 1}, &replies[at]});
    }
    const auto answer = stream_->settle(++number_, entries);
    EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().text);
    return *answer;
  }
  SettleAnswer settle(const ReplyToKeep& reply) { return settle(std::vector{reply}); }
  Credits charged() {
    const auto verified = node_->ledger().verify();
    EXPECT_TRUE(verified.ok());
    for (const std::string& problem : verified->problems) ADD_FAILURE() << problem;
    return verified->accounts.front().charged;
  }

  static constexpr std::int64_t call_ms = 100'000;
  std::string account_;
  std::unique_ptr<LeaseStore> leases_;
  std::unique_ptr<SettlementStream> stream_;
  std::unique_ptr<ReplayStore> replays_;
  std::int64_t number_ = 0;
};
TURNPIKE_ON_EVERY_ENGINE(ReplayPort);

TEST_P(ReplayPort, AKeyIsClaimedByOneCall) {
  EXPECT_EQ(claimed(claim("r1")), Kind::claimed);
  EXPECT_EQ(claimed(claim("r2")), Kind::in_progress);
  Claim other = claim("r3");
  other.key_digest.back() ^= 1;
  EXPECT_EQ(claimed(other), Kind::claimed);
}

TEST_P(ReplayPort, ConcurrentClaimsHaveOneWinner) {
  constexpr int callers = 8;
  std::atomic<int> winners = 0;
  std::atomic<int> others = 0;
  std::vector<std::thread> threads;
  for (int caller = 0; caller < callers; ++caller) {
    threads.emplace_back([&, caller] {
      const auto answer = replays_->claim(claim("r" + std::to_string(caller)));
      ASSERT_TRUE(answer.ok()) << answer.error().text;
      ++(answer->kind == Kind::claimed ? winners : others);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(winners, 1);
  EXPECT_EQ(others, callers - 1);
}

TEST_P(ReplayPort, AnotherRequestUnderTheKeyIsAConflict) {
  EXPECT_EQ(claimed(claim("r1")), Kind::claimed);
  EXPECT_EQ(claimed(claim("r2", "POST")), Kind::conflict);
  EXPECT_EQ(claimed(claim("r2", "GET", "/v1/gateway/b")), Kind::conflict);
  EXPECT_EQ(claimed(claim("r2", "GET", "/v1/gateway/a", "x")), Kind::conflict);
  ASSERT_TRUE(settle(reply_of(claim("r1"))).committed());
  EXPECT_EQ(claimed(claim("r2", "POST")), Kind::conflict) << "also once it is stored";
}

TEST_P(ReplayPort, AReplyIsStoredWithItsCharge) {
  ASSERT_EQ(claimed(claim("r1")), Kind::claimed);
  ASSERT_TRUE(settle(reply_of(claim("r1"))).committed());
  const auto answer = replays_->claim(claim("r2"));
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->kind, Kind::replay);
  EXPECT_EQ(answer->reply.status, 201);
  ASSERT_EQ(answer->reply.headers.size(), 1u);
  EXPECT_EQ(answer->reply.headers[0].name, "Content-Type");
  EXPECT_EQ(answer->reply.headers[0].value, "text/x");
  EXPECT_EQ(answer->reply.body, odd_body());
  EXPECT_EQ(charged(), 1);
}

TEST_P(ReplayPort, ALargeReplyIsWrittenBeforeAndCountsWithTheCharge) {
  ASSERT_EQ(claimed(claim("r1")), Kind::claimed);
  ReplyToKeep reply = reply_of(claim("r1"), How::kept_before);
  reply.reply.body = std::string(base::limits::replay_reply_bytes_max, 'x');
  ASSERT_TRUE(*replays_->keep(reply));
  EXPECT_EQ(claimed(claim("r2")), Kind::in_progress) << "written, but not charged";
  const std::string body = std::exchange(reply.reply, {}).body;
  ASSERT_TRUE(settle(reply).committed());
  const auto answer = replays_->claim(claim("r2"));
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->kind, Kind::replay);
  EXPECT_EQ(answer->reply.status, 201);
  EXPECT_TRUE(answer->reply.body == body);
}

TEST_P(ReplayPort, AReplyThatIsTooLargeIsRememberedAsCharged) {
  ASSERT_EQ(claimed(claim("r1")), Kind::claimed);
  ASSERT_TRUE(settle(reply_of(claim("r1"), How::too_large)).committed());
  EXPECT_EQ(claimed(claim("r2")), Kind::not_stored);
  EXPECT_EQ(charged(), 1);
}

TEST_P(ReplayPort, AnUnchargedCallFreesItsKey) {
  const Claim first = claim("r1");
  ASSERT_EQ(claimed(first), Kind::claimed);
  ASSERT_TRUE(replays_->free(first.key_digest, "r0").ok());
  EXPECT_EQ(claimed(claim("r2")), Kind::in_progress) << "not by a call that does not own it";
  ASSERT_TRUE(replays_->free(first.key_digest, "r1").ok());
  EXPECT_EQ(claimed(claim("r2", "POST")), Kind::claimed);
}

TEST_P(ReplayPort, FreeingDoesNotTouchAStoredReply) {
  ASSERT_EQ(claimed(claim("r1")), Kind::claimed);
  ASSERT_TRUE(settle(reply_of(claim("r1"))).committed());
  ASSERT_TRUE(replays_->free(claim("r1").key_digest, "r1").ok());
  EXPECT_EQ(claimed(claim("r2")), Kind::replay);
}

TEST_P(ReplayPort, AGetOfADeadIncarnationIsRunAgainAndAPostIsNot) {
  Claim post = claim("r2", "POST");
  post.key_digest.back() ^= 1;
  ASSERT_EQ(claimed(claim("r1")), Kind::claimed);
  ASSERT_EQ(claimed(post), Kind::claimed);
  begin(*node_);
  post.request_id = "r4";
  EXPECT_EQ(claimed(claim("r3")), Kind::claimed);
  EXPECT_EQ(claimed(claim("r5")), Kind::in_progress) << "of the new owner";
  EXPECT_EQ(claimed(post), Kind::outcome_unknown);
}

TEST_P(ReplayPort, ACallOfAnotherLiveNodeIsNotDead) {
  if (GetParam() == storage::Engine::sqlite) return;  // a SQLite file has one gateway
  ASSERT_EQ(claimed(claim("r1")), Kind::claimed);
  const auto other = store_->open(storage::Role::gateway, "other");
  ASSERT_TRUE(other->ledger().start().ok());
  const auto theirs = other->ledger().open_replays();
  EXPECT_EQ(theirs->claim(claim("r2"))->kind, Kind::in_progress);
  store_->clock.move_ms(call_ms);
  EXPECT_EQ(theirs->claim(claim("r2"))->kind, Kind::claimed) << "its time is over";
}

TEST_P(ReplayPort, AClaimThatWasTakenOverCannotBeCharged) {
  ASSERT_EQ(claimed(claim("r1")), Kind::claimed);
  store_->clock.move_ms(call_ms);
  ASSERT_EQ(claimed(claim("r2")), Kind::claimed);
  const SettleAnswer late = settle(reply_of(claim("r1")));
  EXPECT_EQ(late.lost_claims, std::vector<std::size_t>{0});
  EXPECT_TRUE(late.lost_leases.empty() && late.repeated.empty());
  EXPECT_FALSE(*replays_->keep(reply_of(claim("r1"))));
  EXPECT_EQ(charged(), 0);
  EXPECT_TRUE(settle(reply_of(claim("r2"))).committed());
  EXPECT_EQ(charged(), 1);
}

TEST_P(ReplayPort, TheCallThatTookAClaimOverIsNotNamedWithTheOneThatLostIt) {
  ASSERT_EQ(claimed(claim("r1")), Kind::claimed);
  store_->clock.move_ms(call_ms);
  ASSERT_EQ(claimed(claim("r2")), Kind::claimed);
  const SettleAnswer both = settle({reply_of(claim("r2")), reply_of(claim("r1"))});
  EXPECT_EQ(both.lost_claims, std::vector<std::size_t>{1});
  EXPECT_EQ(charged(), 0);
}

TEST_P(ReplayPort, ARefusedBatchStoresNoReply) {
  ASSERT_EQ(claimed(claim("r1")), Kind::claimed);
  const ReplyToKeep reply = reply_of(claim("r1"));
  UsageFact fact;
  fact.message_id = "r1";
  fact.account_id = account_;
  const LeaseShare shares[] = {{12'345, 1, 1}};  // no such lease
  const SettleEntry entries[] = {{&fact, shares, &reply}};
  const auto answer = stream_->settle(++number_, entries);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->lost_leases, std::vector<std::int64_t>{12'345});
  EXPECT_TRUE(answer->lost_claims.empty());
  EXPECT_EQ(claimed(claim("r2")), Kind::in_progress);
  EXPECT_FALSE(*stream_->committed(number_)) << "and its number stays unused";
}

TEST_P(ReplayPort, AReplyIsKeptForADayAndThenForgottenInSmallSteps) {
  constexpr int rows = base::limits::replay_forgotten_at_once_max + 2;
  for (int row = 0; row < rows; ++row) {
    Claim each = claim("r" + std::to_string(row));
    each.key_digest = std::to_string(row);
    ASSERT_EQ(claimed(each), Kind::claimed);
    ASSERT_TRUE(settle(reply_of(each)).committed());
  }
  const auto kind_of = [&](int row) {
    Claim again = claim("again");
    again.key_digest = std::to_string(row);
    const Kind kind = claimed(again);
    if (kind == Kind::claimed) {
      EXPECT_TRUE(replays_->free(again.key_digest, "again").ok());
    }
    return kind;
  };
  store_->clock.move_ms(base::limits::replay_kept_ms);
  EXPECT_EQ(kind_of(0), Kind::replay) << "24 hours after the reply";
  store_->clock.move_ms(call_ms);
  EXPECT_EQ(kind_of(0), Kind::claimed) << "forgotten, whether it was removed or not";
  const auto forgotten = [&] { return leases_->tend(store_->clock.now_ms())->forgotten; };
  EXPECT_EQ(forgotten(), base::limits::replay_forgotten_at_once_max);
  EXPECT_EQ(forgotten(), 1u);
  EXPECT_EQ(forgotten(), 0u);
  EXPECT_EQ(charged(), rows) << "the charges stay";
}

}  // namespace
}  // namespace turnpike::ledger

#include "lanes/credits.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <turnpike/helpers/test_host.h>

#include "base/error.h"
#include "base/limits.h"
#include "support/allocations.h"
#include "support/recording_ledger.h"

namespace turnpike::lanes {
namespace {

using support::RecordingLedger;

// Message, request, client request, account, key, route, method, lane, generation and reason.
std::string texts_of(const RecordingLedger::Fact& fact) {
  std::string texts;
  for (const std::string& text :
       {fact.message_id, fact.request_id, fact.client_request_id, fact.account_id, fact.api_key_id,
        fact.route_id, fact.method, fact.lane, fact.generation, fact.outcome_reason}) {
    texts += text + "|";
  }
  return texts;
}

class CreditsLaneTest : public ::testing::Test {
 protected:
  CreditsLaneTest() {
    ledger.settlement = ledger::Settled{3, 97};
    operations[1].route_id = "route-1";
    operations[1].route_revision = 2;
    operations[1].method = Method::post;
    operations[1].price_version = 4;
    operations[1].credit_cost = 3;
    const Settings no_settings;
    auto result = lane.bind({operations, no_settings, "gen_1", "http://127.0.0.1"}, host);
    EXPECT_TRUE(result.ok());
    bound = *std::move(result);
  }

  // The texts of the request end with this function, which the interface allows.
  Admission admit() {
    const std::string texts[] = {"019a-request", "client-1", "acct_1", "key_1"};
    LaneRequest request;
    request.operation = 1;
    request.request_id = texts[0];
    request.client_request_id = texts[1];
    request.account_id = texts[2];
    request.principal_id = texts[3];
    request.is_capped = key_is_capped;
    request.path = "/v1/gateway/a";
    request.idempotency_key = key;
    return bound->admit(request, call);
  }

  std::unique_ptr<Ticket> ticket() {
    Admission admission = admit();
    EXPECT_TRUE(std::holds_alternative<std::unique_ptr<Ticket>>(admission));
    return std::get<std::unique_ptr<Ticket>>(std::move(admission));
  }

  bool key_is_capped = false;
  std::string key;  // Idempotency-Key of the next call
  PricedOperation operations[2];
  TestHost host;
  TestCall call;
  RecordingLedger ledger;
  CreditsLane lane{ledger, ledger.replays};
  std::unique_ptr<BoundLane> bound;
};

TEST_F(CreditsLaneTest, DeclaresWhatSelectsIt) {
  const LaneTraits traits = lane.traits();
  EXPECT_EQ(traits.name, "credits");
  ASSERT_EQ(traits.credential_headers.size(), 1u);
  EXPECT_EQ(traits.credential_headers[0], "authorization");
  EXPECT_TRUE(traits.needs_account);
  EXPECT_TRUE(traits.charges_credits);
  EXPECT_FALSE(traits.buffer_whole);
}

TEST_F(CreditsLaneTest, HoldsTheCostUntilTheReplyCouldHaveBeenSent) {
  ticket();
  EXPECT_EQ(ledger.held, (std::pair<std::string, ledger::Credits>("acct_1", 3)));
  EXPECT_EQ(ledger.capped_key, "");  // the spending of a key without caps is not counted
  key_is_capped = true;
  ticket();
  EXPECT_EQ(ledger.capped_key, "key_1");
  EXPECT_EQ(ledger.held_until.ns,
            call.deadline_ns() + std::int64_t{base::limits::transfer_ms_max} * 1'000'000);
}

TEST_F(CreditsLaneTest, SettlesWithTheUsageFact) {
  ReplyView reply;
  reply.status = 200;
  reply.upstream_ms = 17;
  const Finish finish = ticket()->settle(reply, call);
  ASSERT_TRUE(std::holds_alternative<Charged>(finish));
  EXPECT_EQ(std::get<Charged>(finish).credits_charged, 3u);
  EXPECT_EQ(std::get<Charged>(finish).credits_remaining, 97);
  ASSERT_EQ(ledger.settled.size(), 1u);
  const RecordingLedger::Fact& fact = ledger.settled[0];
  EXPECT_EQ(texts_of(fact),
            "019a-request|019a-request|client-1|acct_1|key_1|route-1|POST|credits|gen_1|success|");
  EXPECT_EQ(fact.occurred_at_ms, TestHost().time_ms);
  EXPECT_EQ(fact.credit_cost, 3u);
  EXPECT_EQ(fact.price_version, 4u);
  EXPECT_TRUE(fact.charged);
  EXPECT_EQ(fact.upstream_status, 200);
  EXPECT_EQ(fact.upstream_ms, 17u);
  EXPECT_EQ(ledger.settled_units, 3);
  EXPECT_TRUE(ledger.released.empty());
}

TEST_F(CreditsLaneTest, ReleasesWithTheReason) {
  const std::pair<Outcome, std::string_view> outcomes[] = {
      {Outcome::upstream_status, "upstream_status"},
      {Outcome::upstream_timeout, "upstream_timeout"},
      {Outcome::upstream_failure, "upstream_failure"},
      {Outcome::response_too_large, "response_too_large"},
      {Outcome::declared_no_charge, "declared_no_charge"},
      {Outcome::client_gone_before_reply, "client_gone_before_reply"},
      {Outcome::gateway_stopped, "gateway_stopped"}};
  for (const auto& [outcome, reason] : outcomes) {
    ledger.released.clear();
    ticket()->release(outcome, 404, call);
    ASSERT_EQ(ledger.released.size(), 1u);
    EXPECT_TRUE(texts_of(ledger.released[0]).ends_with("|gen_1|" + std::string(reason) + "|"));
    EXPECT_FALSE(ledger.released[0].charged);
    EXPECT_EQ(ledger.released[0].upstream_status, 404);
    EXPECT_EQ(ledger.released_units, 3);
  }
  EXPECT_TRUE(ledger.settled.empty());
}

TEST_F(CreditsLaneTest, PassesTheLedgersRefusalOn) {
  ledger.hold_error = base::Error{base::ErrorCode::billing_credits_reserved, "Held elsewhere.", 2};
  const Admission admission = admit();
  ASSERT_TRUE(std::holds_alternative<Refusal>(admission));
  const auto& refusal = std::get<Refusal>(admission);
  EXPECT_EQ(refusal.code, "billing.credits_reserved");
  EXPECT_EQ(refusal.message, "Held elsewhere.");
  EXPECT_EQ(refusal.retry_after_seconds, 2u);
  EXPECT_TRUE(refusal.headers.empty() && refusal.body.empty()) << "never a payment challenge";
}

TEST_F(CreditsLaneTest, TellsARefusedSettlementFromAnUnknownOne) {
  ledger.settlement =
      ledger::SettlementRefused{{base::ErrorCode::billing_ledger_unavailable, "Out of reach."}};
  const Finish refused = ticket()->settle({}, call);
  ASSERT_TRUE(std::holds_alternative<NotCharged>(refused));
  EXPECT_EQ(std::get<NotCharged>(refused).refusal.code, "billing.ledger_unavailable");
  ledger.settlement = ledger::SettlementUnknown{};
  const Finish unknown = ticket()->settle({}, call);
  ASSERT_TRUE(std::holds_alternative<Unknown>(unknown));
  EXPECT_EQ(std::get<Unknown>(unknown).refusal.code, "billing.settlement_unknown");
}

// ---- Idempotency-Key

TEST_F(CreditsLaneTest, CallsWithoutAKeyClaimNothing) {
  ticket()->settle({}, call);
  EXPECT_EQ(ledger.replays.claims, 0);
  EXPECT_EQ(ledger.kept, nullptr);
}

class ThriftyLedger final : public ledger::Ledger {
 public:
  Result<ledger::Hold, base::Error> hold(const ledger::Payer&, ledger::Credits units,
                                         runtime::Deadline) override {
    return ledger::Hold(nullptr, units);
  }
  ledger::Settlement settle(ledger::Hold, ledger::OwnedFact,
                            std::unique_ptr<const ledger::ReplyToKeep>) override {
    return ledger::Settled{3, 97};
  }
  void release(ledger::Hold, ledger::OwnedFact) noexcept override {}
  Result<ledger::Balance, base::Error> balance(std::string_view, runtime::Deadline) override {
    return ledger::Balance{};
  }
};

TEST_F(CreditsLaneTest, CallsWithoutAKeyAllocateNothingForReplay) {
  ThriftyLedger thrifty;
  CreditsLane thrifty_lane(thrifty, ledger.replays);
  const Settings no_settings;
  bound = *thrifty_lane.bind({operations, no_settings, "gen_1", "http://127.0.0.1"}, host);
  LaneRequest request;
  request.operation = 1;
  request.account_id = "acct_00000000000000000001";  // too long for a string without an allocation
  request.path = "/v1/gateway/a/path/that/is/not/short/either";
  const std::string body(1'000, 'x');
  ReplyView reply;
  reply.body = body;
  reply.body_bytes = body.size();
  const auto allocations_of_a_call = [&] {
    const std::uint64_t before = allocations_so_far();
    Admission admission = bound->admit(request, call);
    (void)std::get<std::unique_ptr<Ticket>>(admission)->settle(reply, call);
    return allocations_so_far() - before;
  };
  EXPECT_EQ(allocations_of_a_call(), 2u) << "the ticket, and the texts of its usage fact";
  request.idempotency_key = "k";
  EXPECT_GT(allocations_of_a_call(), 2u);
}

TEST_F(CreditsLaneTest, AKeyIsClaimedBeforeUnitsAreHeld) {
  key = "k";
  ledger.replays.failure =
      base::Error{base::ErrorCode::billing_ledger_unavailable, "Out of reach.", 1};
  const Admission admission = admit();
  ASSERT_TRUE(std::holds_alternative<Refusal>(admission));
  EXPECT_EQ(std::get<Refusal>(admission).code, "billing.ledger_unavailable");
  EXPECT_TRUE(ledger.held.first.empty());
}

TEST_F(CreditsLaneTest, ARepeatIsAReplayThatCostsNothing) {
  key = "k";
  const HeaderField headers[] = {{"Content-Type", "application/json"}};
  ReplyView reply;
  reply.status = 200;
  reply.headers = headers;
  reply.body = "{}";
  reply.body_bytes = 2;
  ASSERT_TRUE(std::holds_alternative<Charged>(ticket()->settle(reply, call)));
  ledger.held = {};
  const Admission again = admit();
  ASSERT_TRUE(std::holds_alternative<Replay>(again));
  const auto& replay = std::get<Replay>(again);
  EXPECT_EQ(replay.status, 200);
  EXPECT_EQ(replay.body, "{}");
  ASSERT_EQ(replay.headers.size(), 2u);
  EXPECT_EQ(replay.headers[0].name, "Content-Type");
  EXPECT_EQ(replay.headers[1].name, "Idempotent-Replayed");
  EXPECT_EQ(replay.headers[1].value, "true");
  EXPECT_TRUE(ledger.held.first.empty()) << "a replay needs no units";
  EXPECT_EQ(ledger.settled.size(), 1u);
  ASSERT_EQ(ledger.released.size(), 1u);
  EXPECT_TRUE(texts_of(ledger.released[0]).ends_with("|gen_1|replayed|"));
  EXPECT_EQ(ledger.released[0].credit_cost, 3u);
  EXPECT_FALSE(ledger.released[0].charged);
}

TEST_F(CreditsLaneTest, AnUnchargedOutcomeFreesTheKey) {
  key = "k";
  ticket()->release(Outcome::upstream_status, 404, call);
  EXPECT_TRUE(ledger.replays.rows.empty());
  ledger.hold_error = base::Error{base::ErrorCode::billing_credits_exhausted, "Spent."};
  EXPECT_TRUE(std::holds_alternative<Refusal>(admit()));
  EXPECT_TRUE(ledger.replays.rows.empty()) << "nor does a hold that is refused keep it";
  ledger.hold_error.reset();
  ledger.settlement =
      ledger::SettlementRefused{{base::ErrorCode::billing_lease_lost, "Taken back."}};
  EXPECT_TRUE(std::holds_alternative<NotCharged>(ticket()->settle({}, call)));
  EXPECT_TRUE(ledger.replays.rows.empty()) << "nor a settlement";
  EXPECT_EQ(ledger.released.size(), 1u) << "the ledger itself records a refused settlement";
}

TEST_F(CreditsLaneTest, AnUnknownSettlementKeepsTheKey) {
  key = "k";
  ledger.settlement = ledger::SettlementUnknown{};
  EXPECT_TRUE(std::holds_alternative<Unknown>(ticket()->settle({}, call)));
  EXPECT_EQ(ledger.replays.rows.size(), 1u);
}

TEST_F(CreditsLaneTest, LargeRepliesAreWrittenBeforeTheSettlementAndHugeOnesNotAtAll) {
  using How = ledger::ReplyToKeep::How;
  const std::pair<std::size_t, How> sizes[] = {
      {base::limits::replay_with_charge_bytes_max, How::with_charge},
      {base::limits::replay_with_charge_bytes_max + 1, How::kept_before},
      {base::limits::replay_reply_bytes_max, How::kept_before},
      {base::limits::replay_reply_bytes_max + 1, How::too_large}};
  for (const auto& [bytes, how] : sizes) {
    key = "k" + std::to_string(bytes);
    const std::string body(bytes, 'x');
    ReplyView reply;
    reply.status = 200;
    reply.body = body;
    reply.body_bytes = bytes;
    ASSERT_TRUE(std::holds_alternative<Charged>(ticket()->settle(reply, call)));
    EXPECT_EQ(ledger.kept->how, how) << bytes;
    EXPECT_EQ(ledger.kept->reply.body.empty(), how != How::with_charge);
    const Admission again = admit();
    if (how == How::too_large) {
      EXPECT_EQ(std::get<Refusal>(again).code, "idempotency.reply_not_stored");
    } else {
      EXPECT_TRUE(std::get<Replay>(again).body == body);
    }
  }
}

TEST_F(CreditsLaneTest, AReplyOfWhichNoCopyWasKeptIsNotStored) {
  key = "k";
  ReplyView reply;
  reply.status = 200;
  reply.body_bytes = 10;
  ASSERT_TRUE(std::holds_alternative<Charged>(ticket()->settle(reply, call)));
  EXPECT_EQ(ledger.kept->how, ledger::ReplyToKeep::How::too_large);
}

TEST_F(CreditsLaneTest, AReplyThatCannotBeWrittenIsNotCharged) {
  key = "k";
  const auto admitted = ticket();
  ledger.replays.failure = base::Error{base::ErrorCode::billing_ledger_unavailable, "Out.", 1};
  const std::string body(base::limits::replay_with_charge_bytes_max + 1, 'x');
  ReplyView reply;
  reply.body = body;
  reply.body_bytes = body.size();
  const Finish finish = admitted->settle(reply, call);
  ASSERT_TRUE(std::holds_alternative<NotCharged>(finish));
  EXPECT_TRUE(ledger.settled.empty());
  ASSERT_EQ(ledger.released.size(), 1u);
  EXPECT_TRUE(texts_of(ledger.released[0]).ends_with("|gen_1|settlement_failed|"));
}

TEST_F(CreditsLaneTest, HasNoSettings) {
  Settings settings;
  settings.kind = Settings::Kind::map;
  settings.fields.push_back({"price", Settings{}});
  const auto result = lane.bind({operations, settings, "gen_1", ""}, host);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().where, "price");
}

}  // namespace
}  // namespace turnpike::lanes

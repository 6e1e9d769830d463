#include "lanes/credits.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/limits.h"

namespace turnpike::lanes {
namespace {

class FixedClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ms() const noexcept override { return 1'700'000'000'123; }
  [[nodiscard]] std::int64_t monotonic_ns() const noexcept override { return 5'000'000'000; }
};

class ClockHost final : public Host {
 public:
  Report& report() noexcept override { std::abort(); }
  Clock& clock() noexcept override { return clock_; }
  Random& random() noexcept override { std::abort(); }
  Http& http() noexcept override { std::abort(); }
  Offload& offload() noexcept override { std::abort(); }

 private:
  FixedClock clock_;
};

class PlainCall final : public Call {
 public:
  [[nodiscard]] std::string_view request_id() const noexcept override { return "r"; }
  [[nodiscard]] std::int64_t deadline_ns() const noexcept override { return 30'000'000'000; }
  [[nodiscard]] bool cancelled() const noexcept override { return false; }
  bool sleep_ms(std::uint32_t) noexcept override { return true; }
};

struct RecordedFact {
  std::string texts;  // message, request, client request, account, key, route, method, lane, ...
  std::int64_t occurred_at_ms = 0;
  std::uint32_t credit_cost = 0;
  std::uint32_t price_version = 0;
  bool charged = false;
  std::int32_t upstream_status = 0;
  std::uint32_t upstream_ms = 0;
};

class RecordingLedger final : public ledger::Ledger {
 public:
  Result<ledger::Hold, base::Error> hold(const ledger::Payer& payer, ledger::Credits units,
                                         runtime::Deadline until) override {
    held = {std::string(payer.account_id), units};
    capped_key = payer.capped_key_id;
    held_until = until;
    if (hold_error.has_value()) return *hold_error;
    return ledger::Hold(nullptr, units);
  }
  ledger::Settlement settle(ledger::Hold hold, const ledger::UsageFact& fact) override {
    settled.push_back(copy(fact));
    settled_units = hold.units();
    return settlement;
  }
  void release(ledger::Hold hold, const ledger::UsageFact& fact) noexcept override {
    released.push_back(copy(fact));
    released_units = hold.units();
  }
  Result<ledger::Balance, base::Error> balance(std::string_view, runtime::Deadline) override {
    return ledger::Balance{};
  }

  std::pair<std::string, ledger::Credits> held;
  std::string capped_key;
  runtime::Deadline held_until;
  std::optional<base::Error> hold_error;
  ledger::Settlement settlement = ledger::Settled{3, 97};
  std::vector<RecordedFact> settled;
  std::vector<RecordedFact> released;
  ledger::Credits settled_units = 0;
  ledger::Credits released_units = 0;

 private:
  static RecordedFact copy(const ledger::UsageFact& fact) {
    RecordedFact recorded;
    for (std::string_view text : {fact.message_id, fact.request_id, fact.client_request_id,
                                  fact.account_id, fact.api_key_id, fact.route_id, fact.method,
                                  fact.lane, fact.generation, fact.outcome_reason}) {
      recorded.texts += std::string(text) + "|";
    }
    recorded.occurred_at_ms = fact.occurred_at_ms;
    recorded.credit_cost = fact.credit_cost;
    recorded.price_version = fact.price_version;
    recorded.charged = fact.charged;
    recorded.upstream_status = fact.upstream_status;
    recorded.upstream_ms = fact.upstream_ms;
    return recorded;
  }
};

class CreditsLaneTest : public ::testing::Test {
 protected:
  CreditsLaneTest() {
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

  // The texts of the request die with this function, as they may.
  Admission admit() {
    const std::string texts[] = {"019a-request", "client-1", "acct_1", "key:key_1"};
    LaneRequest request;
    request.operation = 1;
    request.request_id = texts[0];
    request.client_request_id = texts[1];
    request.account_id = texts[2];
    request.principal_id = texts[3];
    request.key_is_capped = key_is_capped;
    return bound->admit(request, call);
  }

  std::unique_ptr<Ticket> ticket() {
    Admission admission = admit();
    EXPECT_TRUE(std::holds_alternative<std::unique_ptr<Ticket>>(admission));
    return std::get<std::unique_ptr<Ticket>>(std::move(admission));
  }

  bool key_is_capped = false;
  PricedOperation operations[2];
  ClockHost host;
  PlainCall call;
  RecordingLedger ledger;
  CreditsLane lane{ledger};
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
  EXPECT_EQ(ledger.capped_key, "");  // without caps its spending is not counted
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
  const RecordedFact& fact = ledger.settled[0];
  EXPECT_EQ(fact.texts,
            "019a-request|019a-request|client-1|acct_1|key_1|route-1|POST|credits|gen_1|success|");
  EXPECT_EQ(fact.occurred_at_ms, 1'700'000'000'123);
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
    EXPECT_TRUE(ledger.released[0].texts.ends_with("|gen_1|" + std::string(reason) + "|"));
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

TEST_F(CreditsLaneTest, HasNoSettings) {
  Settings settings;
  settings.kind = Settings::Kind::map;
  settings.fields.emplace_back("price", Settings{});
  const auto result = lane.bind({operations, settings, "gen_1", ""}, host);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().where, "price");
}

}  // namespace
}  // namespace turnpike::lanes

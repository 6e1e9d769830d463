#include "lanes/free.h"

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <turnpike/helpers/test_host.h>

#include "base/error.h"
#include "lanes/rate_limit_fields.h"

namespace turnpike::lanes {
namespace {

constexpr std::int64_t t0_ms = 1'800'000'000'000;

quota::Limits all_limits() {
  quota::Limits limits;
  limits.window = {60, 60};
  limits.concurrency = 4;
  limits.permit_ttl_seconds = 60;
  limits.quota = quota::Window{1'000, 86'400};
  limits.cumulative_limit = 9'007'199'254'740'991;
  return limits;
}

quota::Standing standing_at(const quota::Limits& limits, std::int64_t now_ms) {
  quota::Standing standing;
  standing.now_ms = now_ms;
  standing.counts.turn_to(limits, now_ms);
  standing.counts.window = 1;
  standing.counts.quota = 10;
  standing.counts.cumulative = 12;
  standing.in_use = 1;
  return standing;
}

TEST(RateLimitFields, PolicyNamesEveryLimit) {
  quota::Limits limits = all_limits();
  EXPECT_EQ(rate_limit_policy(limits),
            "\"window\";q=60;w=60, \"quota\";q=1000;w=86400, "
            "\"concurrency\";q=4;qu=\"concurrent-requests\", \"total\";q=999999999999999");
  limits.quota.reset();
  limits.cumulative_limit.reset();
  EXPECT_EQ(rate_limit_policy(limits),
            "\"window\";q=60;w=60, \"concurrency\";q=4;qu=\"concurrent-requests\"");
}

TEST(RateLimitFields, SuccessShowsWhatIsLeftOfEachLimit) {
  const quota::Limits limits = all_limits();
  const auto standing = standing_at(limits, t0_ms + 18'500);
  EXPECT_EQ(rate_limit(limits, standing, {}),
            "\"window\";r=59;t=42, \"quota\";r=990;t=57582, \"concurrency\";r=3, "
            "\"total\";r=999999999999999");
}

TEST(RateLimitFields, RefusalShowsNoTimeBehindItsRetryAfter) {
  const quota::Limits limits = all_limits();
  auto standing = standing_at(limits, t0_ms + 18'500);
  standing.counts.window = 60;
  EXPECT_EQ(rate_limit(limits, standing, quota::Limit::window), "\"window\";r=0;t=42");
  EXPECT_EQ(quota::retry_after_seconds(limits, standing, quota::Limit::window), 42u);
  standing.counts.quota = 1'000;
  EXPECT_EQ(rate_limit(limits, standing, quota::Limit::quota),
            "\"window\";r=0;t=42, \"quota\";r=0;t=57582");
  EXPECT_EQ(quota::retry_after_seconds(limits, standing, quota::Limit::quota), 57'582u);
  standing.counts.cumulative = *limits.cumulative_limit;
  EXPECT_EQ(rate_limit(limits, standing, quota::Limit::cumulative), "\"total\";r=0");
  standing = standing_at(limits, t0_ms);
  standing.in_use = 4;
  EXPECT_EQ(rate_limit(limits, standing, quota::Limit::concurrency), "\"concurrency\";r=0");
}

// A caller that waits for Retry-After has waited for every `t`, whatever the counts are.
TEST(RateLimitFields, NoTimeLiesBehindRetryAfterWhateverStands) {
  std::mt19937 chance(4);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(chance() % end); };
  int refusals = 0;
  for (int round = 0; round < 20'000; ++round) {
    quota::Limits limits;
    limits.window = {1 + below(3), 1 + below(90)};
    limits.concurrency = 1 + below(2);
    limits.permit_ttl_seconds = 60;
    if (below(2) == 0) limits.quota = quota::Window{1 + below(3), 1 + below(200)};
    if (below(2) == 0) limits.cumulative_limit = 1 + below(4);
    quota::Standing standing;
    standing.counts.turn_to(limits, t0_ms + below(200'000));
    standing.counts.window = below(4);
    standing.counts.quota = below(4);
    standing.counts.cumulative = below(5);
    standing.in_use = below(3);
    standing.now_ms = t0_ms - 50'000 + below(300'000);  // the clock may have gone back
    if (standing.in_use > 0) standing.permit_end_ms = standing.now_ms + below(60'001);
    const auto refused_by = quota::refused_by(limits, standing.counts, standing.in_use);
    if (!refused_by || *refused_by == quota::Limit::cumulative) continue;
    ++refusals;
    const std::uint32_t wait = quota::retry_after_seconds(limits, standing, *refused_by);
    ASSERT_GE(wait, 1u);
    const std::string field = rate_limit(limits, standing, refused_by);
    for (auto at = field.find(";t="); at != std::string::npos; at = field.find(";t=", at + 1)) {
      ASSERT_LE(std::stoul(field.substr(at + 3)), wait) << field;
    }
  }
  EXPECT_GT(refusals, 5'000);
}

// Answers as the test says and counts the permits in use.
class ScriptedStore final : public quota::QuotaStore {
 public:
  const quota::Bucket& bucket(std::string_view key) override { return buckets_.find_or_add(key); }
  Result<quota::Decision, base::Error> take(std::string_view account_id,
                                            const quota::Bucket& bucket,
                                            const quota::Limits& limits,
                                            runtime::Deadline deadline) override {
    asked = std::string(account_id) + "|" + bucket.key;
    asked_until = deadline;
    if (is_down) return down();
    quota::Decision decision;
    decision.standing = standing_at(limits, t0_ms);
    decision.refused_by = refused_by;
    if (!refused_by) decision.permit = std::make_unique<CountedPermit>(*this);
    return decision;
  }
  Result<quota::Standing, base::Error> read(std::string_view, const quota::Bucket&,
                                            const quota::Limits&, runtime::Deadline) override {
    return down();
  }
  static base::Error down() {
    return {base::ErrorCode::gateway_free_unavailable, "The limits cannot be checked.", 1};
  }

  std::string asked;
  runtime::Deadline asked_until;
  std::optional<quota::Limit> refused_by;
  bool is_down = false;
  bool confirms = true;
  int permits_out = 0;
  int confirmed = 0;

 private:
  class CountedPermit final : public quota::Permit {
   public:
    explicit CountedPermit(ScriptedStore& store) : store_(store) { ++store_.permits_out; }
    ~CountedPermit() override { --store_.permits_out; }
    Result<Unit, base::Error> confirm(runtime::Deadline) override {
      ++store_.confirmed;
      if (!store_.confirms) return down();
      return Unit{};
    }

   private:
    ScriptedStore& store_;
  };
  quota::Buckets buckets_;
};

class FreeLaneTest : public ::testing::Test {
 protected:
  FreeLaneTest() {
    operations[1].free_limits = all_limits();
    operations[1].free_bucket = "provider:test";
    const Settings no_settings;
    auto result = lane.bind({operations, no_settings, "gen_1", "http://127.0.0.1"}, host);
    EXPECT_TRUE(result.ok());
    bound = *std::move(result);
  }

  Admission admit(std::uint32_t operation = 1) {
    LaneRequest request;
    request.operation = operation;
    request.account_id = "acct_1";
    request.idempotency_key = "ignored";
    return bound->admit(request, call);
  }
  std::unique_ptr<Ticket> ticket() {
    Admission admission = admit();
    EXPECT_TRUE(std::holds_alternative<std::unique_ptr<Ticket>>(admission));
    return std::get<std::unique_ptr<Ticket>>(std::move(admission));
  }
  Refusal refusal() {
    Admission admission = admit();
    EXPECT_TRUE(std::holds_alternative<Refusal>(admission));
    return std::get<Refusal>(std::move(admission));
  }

  PricedOperation operations[2];
  TestHost host;
  TestCall call;
  ScriptedStore store;
  FreeLane lane{store};
  std::unique_ptr<BoundLane> bound;
};

TEST_F(FreeLaneTest, IsChosenByTheKeyAndChargesNothing) {
  const LaneTraits traits = lane.traits();
  EXPECT_EQ(traits.name, "free");
  ASSERT_EQ(traits.credential_headers.size(), 1u);
  EXPECT_EQ(traits.credential_headers[0], "authorization");
  EXPECT_TRUE(traits.needs_account);
  EXPECT_FALSE(traits.charges_credits);
  const Finish finish = ticket()->settle({}, call);
  ASSERT_TRUE(std::holds_alternative<Charged>(finish));
  EXPECT_EQ(std::get<Charged>(finish).credits_charged, 0u);
  EXPECT_EQ(std::get<Charged>(finish).credits_remaining, -1);
}

TEST_F(FreeLaneTest, CountsInTheOperationsBucketUntilTheCallsDeadline) {
  const auto held = ticket();
  EXPECT_EQ(store.asked, "acct_1|provider:test");
  EXPECT_EQ(store.asked_until.ns, call.deadline_ns());
  ASSERT_EQ(held->headers.size(), 2u);
  EXPECT_EQ(held->headers[0].name, "RateLimit-Policy");
  EXPECT_EQ(held->headers[0].value, rate_limit_policy(all_limits()));
  EXPECT_EQ(held->headers[1].name, "RateLimit");
  EXPECT_EQ(held->headers[1].value.find("acct_1"), std::string::npos) << "no partition keys";
  EXPECT_EQ(held->headers[1].value.find("provider:"), std::string::npos);
}

TEST_F(FreeLaneTest, ThePermitIsBackBeforeTheReplyAndOnEveryOtherEnd) {
  auto settled = ticket();
  EXPECT_EQ(store.permits_out, 1);
  settled->settle({}, call);
  EXPECT_EQ(store.permits_out, 0);
  for (const auto outcome :
       {Outcome::upstream_status, Outcome::upstream_timeout, Outcome::upstream_failure,
        Outcome::response_too_large, Outcome::declared_no_charge, Outcome::client_gone_before_reply,
        Outcome::gateway_stopped}) {
    auto released = ticket();
    released->release(outcome, 0, call);
    EXPECT_EQ(store.permits_out, 0);
  }
  ticket().reset();  // as if an exception ended the call
  EXPECT_EQ(store.permits_out, 0);
}

TEST_F(FreeLaneTest, AReplyThatCouldNotBeCountedIsWithheld) {
  store.confirms = false;
  const Finish finish = ticket()->settle({}, call);
  ASSERT_TRUE(std::holds_alternative<NotCharged>(finish));
  EXPECT_EQ(std::get<NotCharged>(finish).refusal.code, "gateway.free_unavailable");
  const auto instead = ticket()->release(Outcome::upstream_status, 404, call);
  ASSERT_TRUE(instead.has_value()) << "what the upstream says of its failure is a reply, too";
  EXPECT_EQ(instead->code, "gateway.free_unavailable");
  EXPECT_EQ(store.permits_out, 0);
}

TEST_F(FreeLaneTest, RefusesByTheCodesOfTheInterface) {
  store.refused_by = quota::Limit::window;
  Refusal refused = refusal();
  EXPECT_EQ(refused.code, "gateway.free_rate_limited");
  EXPECT_GE(refused.retry_after_seconds, 1u);
  ASSERT_EQ(refused.headers.size(), 2u);
  EXPECT_EQ(refused.headers[1].name, "RateLimit");
  store.refused_by = quota::Limit::quota;
  EXPECT_EQ(refusal().code, "gateway.free_rate_limited");
  store.refused_by = quota::Limit::concurrency;
  EXPECT_EQ(refusal().code, "gateway.free_rate_limited");
  store.refused_by = quota::Limit::cumulative;
  refused = refusal();
  EXPECT_EQ(refused.code, "gateway.free_limit_reached");
  EXPECT_EQ(refused.retry_after_seconds, 0u);
  store.is_down = true;
  EXPECT_EQ(refusal().code, "gateway.free_unavailable");
}

TEST_F(FreeLaneTest, AnOperationWithoutLimitsIsRefused) {
  const Admission admission = admit(0);
  ASSERT_TRUE(std::holds_alternative<Refusal>(admission));
  EXPECT_EQ(std::get<Refusal>(admission).code, "gateway.route_not_found");
}

TEST_F(FreeLaneTest, HasNoSettings) {
  Settings settings;
  settings.kind = Settings::Kind::map;
  settings.fields.emplace_back("limit", Settings{});
  EXPECT_FALSE(lane.bind({operations, settings, "gen_1", ""}, host).ok());
}

}  // namespace
}  // namespace turnpike::lanes

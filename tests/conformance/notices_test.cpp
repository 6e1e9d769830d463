// Conformance of NoticeStore and of the outbox: each event is written exactly once, in the
// transaction of its cause; one node at a time sends a delivery, on schedule; each account is told
// once.
#include <gmock/gmock.h>

#include <set>
#include <thread>

#include <nlohmann/json.hpp>

#include "commerce/purchase.h"
#include "conformance/engines.h"
#include "identity/audit.h"
#include "identity/key_store.h"
#include "ledger/caps.h"
#include "ledger/statements/statements.h"
#include "notices/store.h"
#include "text/time_text.h"

namespace turnpike::notices {
namespace {

using base::ErrorCode;
using ledger::Credits;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t lease_ms = 60'000;
constexpr std::uint32_t no_jitter = 200;
constexpr char url[] = "https://example.com/hook?token=t";

Attempt answered(int status) { return {.status = status}; }

class Notices : public OnEveryEngine {
 protected:
  void SetUp() override {
    OnEveryEngine::SetUp();
    if (IsSkipped()) return;
    ASSERT_TRUE(node_->ledger().start().ok());
    leases_ = node_->ledger().open_leases();
    account_ = account_with(0);
  }
  NoticeStore& store() { return node_->notices(); }
  static identity::Actor actor() { return identity::operator_actor(); }

  NewEndpoint wanted(std::vector<EventType> types = {}) {
    return {.account_id = account_,
            .url = url,
            .description = "mine",
            .types = std::move(types),
            .secret = std::string("\0secret bytes of thirty-two, all.", 32)};
  }
  Endpoint endpoint(std::vector<EventType> types = {}) {
    store_->clock.move_ms(1);  // endpoints are listed by their creation time
    return done(store().create(wanted(std::move(types)), actor()));
  }
  Endpoint now(const std::string& id) {
    for (const Endpoint& each : done(store().endpoints(account_))) {
      if (each.id == id) return each;
    }
    ADD_FAILURE() << "no endpoint " << id;
    return {};
  }
  std::vector<Delivery> deliveries() {
    return done(store().deliveries({.account_id = account_, .limit = 100}));
  }
  std::vector<DueDelivery> take(std::uint32_t limit = 100) {
    return done(store().take_due(lease_ms, limit));
  }
  DueDelivery take_one() {
    auto due = take();
    if (due.size() != 1) throw std::runtime_error("not one delivery is due");
    return due.front();
  }
  DisabledReason finish(const DueDelivery& due, const Attempt& attempt) {
    return done(store().finish(due, attempt, no_jitter));
  }
  std::vector<EventType> told() {
    std::vector<EventType> types;
    for (const Delivery& each : deliveries()) types.push_back(each.type);
    return types;
  }

  // Makes a purchase of 10 USD that is credited; returns its id.
  std::string buy(const std::string& key) {
    commerce::NewPurchase wanted;
    wanted.account_id = account_;
    wanted.offer_id = "off_1";
    wanted.currency = "USD";
    wanted.minor = 1'000;
    wanted.credits = 10'000;
    wanted.validity_days = 365;
    wanted.processor = "manual";
    wanted.expires_at_ms = store_->clock.now_ms() + 3'600'000;
    wanted.key_digest = key;
    wanted.request_digest = key;
    wanted.open_max = 20;
    wanted.lease_ms = 10'000;
    auto& purchases = node_->purchases();
    auto purchase = done(purchases.open(wanted, actor())).purchase;
    purchase = *done(purchases.advance(
        commerce::after_begin(purchase, {.reference = "ref-" + key, .url = "https://pay/"}), -1));
    Payment paid;
    paid.progress = Progress::paid;
    paid.currency = "USD";
    paid.net = paid.total = 1'000;
    paid.payment = "pay-" + key;
    paid_ = commerce::after_look(purchase, paid, store_->clock.now_ms());
    EXPECT_TRUE(done(purchases.advance(*paid_, -1)).has_value());
    return purchase.id;
  }
  // Spends the units in a call of the key on the route. With 0 units, only the spend window is
  // opened.
  void spend(const std::string& key_id, Credits units, bool is_capped,
             const std::string& route = "route-1") {
    if (!stream_) stream_ = *node_->ledger().open_stream();
    const ledger::LeaseRequest requests[] = {{.account_id = account_,
                                              .key_id = is_capped ? key_id : std::string(),
                                              .calls = {std::max<Credits>(units, 1)},
                                              .hold_ms = 30'000,
                                              .settle_ms = 90'000}};
    const auto answers = leases_->acquire(requests);
    ASSERT_TRUE(answers.ok());
    if (answers->front().grants.empty()) return;
    std::vector<ledger::LeaseShare> shares;
    Credits left = units;
    for (const auto& grant : answers->front().grants) {
      const Credits taken = std::min(left, grant.units);
      if (taken > 0) shares.push_back({grant.lease_id, grant.epoch, taken});
      left -= taken;
    }
    const std::string message_id = "m" + std::to_string(++messages_);
    ledger::UsageFact fact;
    fact.message_id = fact.request_id = message_id;
    fact.account_id = account_;
    fact.api_key_id = key_id;
    fact.occurred_at_ms = store_->clock.now_ms();
    fact.route_id = route;
    fact.route_revision = fact.price_version = 1;
    fact.method = "GET";
    fact.lane = "credits";
    fact.credit_cost = static_cast<std::uint32_t>(units);
    fact.generation = "gen_1";
    fact.outcome_reason = "success";
    fact.upstream_status = 200;
    const ledger::SettleEntry entries[] = {{&fact, shares}};
    const auto settled = stream_->settle(++batches_, entries);
    ASSERT_TRUE(settled.ok() && settled->committed());
    const auto indexed =
        ledger::catch_up_whole(node_->usage(), runtime::Deadline::after_ms(60'000));
    ASSERT_TRUE(indexed.ok());
  }
  std::string capped_key(Credits per_day, Credits per_month) {
    identity::NewKey key;
    key.account_id = account_;
    key.name = "capped";
    key.prefix = "tp_x";
    key.digest.fill(static_cast<std::uint8_t>(++keys_));
    key.caps = {per_day, per_month};
    return done(node_->keys().add(key)).id;
  }

  std::unique_ptr<ledger::LeaseStore> leases_;
  std::unique_ptr<ledger::SettlementStream> stream_;
  std::optional<commerce::Step> paid_;
  std::int64_t messages_ = 0;
  std::int64_t batches_ = 0;
  int keys_ = 0;
  std::string account_;
};
TURNPIKE_ON_EVERY_ENGINE(Notices);

// ---- endpoints ----------------------------------------------------------------------------------

TEST_P(Notices, EndpointsAreMadeChangedAndRemoved) {
  const Endpoint made = endpoint({EventType::credits_low});
  EXPECT_TRUE(made.id.starts_with("ntf_"));
  EXPECT_EQ(made.url, url);
  EXPECT_THAT(made.types, ElementsAre(EventType::credits_low));
  EXPECT_TRUE(made.is_enabled());

  const auto changed = done(store().change(
      account_, made.id, {.description = "other", .types = std::vector<EventType>()}, actor()));
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->url, url);
  EXPECT_EQ(changed->description, "other");
  EXPECT_THAT(changed->types, IsEmpty());
  const auto off = done(store().change(account_, made.id, {.is_enabled = false}, actor()));
  EXPECT_EQ(off->disabled, DisabledReason::by_member);
  EXPECT_EQ(off->disabled_at_ms, store_->clock.now_ms());
  EXPECT_TRUE(done(store().change(account_, made.id, {.is_enabled = true}, actor()))->is_enabled());

  const std::string other = account_with(0);
  EXPECT_FALSE(done(store().change(other, made.id, {.is_enabled = false}, actor())));
  EXPECT_FALSE(done(store().remove(other, made.id, actor())));
  EXPECT_TRUE(done(store().remove(account_, made.id, actor())));
  EXPECT_FALSE(done(store().remove(account_, made.id, actor())));
  EXPECT_THAT(done(store().endpoints(account_)), IsEmpty());
}

TEST_P(Notices, AnAccountHasTenEndpointsAtMost) {
  for (std::uint32_t at = 0; at < endpoints_max; ++at) endpoint();
  const auto refused = store().create(wanted(), actor());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::notification_too_many_endpoints);
  const auto all = done(store().endpoints(account_));
  ASSERT_EQ(all.size(), endpoints_max);
  EXPECT_TRUE(done(store().remove(account_, all.front().id, actor())));
  EXPECT_TRUE(store().create(wanted(), actor()).ok());
}

TEST_P(Notices, WhoIsNoAdminChangesNothing) {
  const Endpoint made = endpoint();
  const identity::Actor stranger{.principal = "user:usr_x", .person_id = "usr_x"};
  EXPECT_FALSE(store().create(wanted(), stranger).ok());
  EXPECT_FALSE(store().change(account_, made.id, {.is_enabled = false}, stranger).ok());
  EXPECT_FALSE(store().remove(account_, made.id, stranger).ok());
  EXPECT_FALSE(store().rotate(account_, made.id, "s", stranger).ok());
  EXPECT_FALSE(store().test(account_, made.id, stranger).ok());
  EXPECT_FALSE(store().set(account_, {5}, stranger).ok());
  EXPECT_EQ(now(made.id).url, url);
}

TEST_P(Notices, AnOldSecretSignsForADay) {
  const Endpoint made = endpoint();
  ASSERT_TRUE(done(store().rotate(account_, made.id, "fresh", actor())));
  const auto test = done(store().test(account_, made.id, actor()));
  DueDelivery due = take_one();
  EXPECT_EQ(due.secret, "fresh");
  EXPECT_EQ(due.old_secret, wanted().secret);
  finish(due, answered(500));
  store_->clock.move_ms(old_secret_ms);
  EXPECT_EQ(take_one().old_secret, "");
}

// ---- the outbox ---------------------------------------------------------------------------------

TEST_P(Notices, APurchaseIsToldOnceToEachEndpointThatWantsIt) {
  const Endpoint all = endpoint();
  const Endpoint bought = endpoint({EventType::purchase_credited, EventType::price_changed});
  const Endpoint other = endpoint({EventType::credits_low});
  const Endpoint off = endpoint();
  ASSERT_TRUE(done(store().change(account_, off.id, {.is_enabled = false}, actor())));
  const std::string purchase_id = buy("one");
  EXPECT_FALSE(done(node_->purchases().advance(*paid_, -1))) << "the same step again";

  std::set<std::string> endpoints;
  std::set<std::string> events;
  for (const Delivery& each : deliveries()) {
    endpoints.insert(each.endpoint_id);
    events.insert(each.event_id);
    EXPECT_EQ(each.type, EventType::purchase_credited);
    EXPECT_EQ(each.state, DeliveryState::pending);
  }
  EXPECT_EQ(endpoints, (std::set<std::string>{all.id, bought.id}));
  EXPECT_EQ(events.size(), 1u);
  const auto data = nlohmann::json::parse(take().front().data);
  EXPECT_EQ(data["billingAccountId"], account_);
  EXPECT_EQ(data["purchaseId"], purchase_id);
  EXPECT_EQ(data["amount"], (nlohmann::json{{"currency", "USD"}, {"amount", "10.00"}}));
  EXPECT_EQ(data["credits"], "10000");
}

TEST_P(Notices, NothingIsWrittenWhereNobodyIsTold) {
  buy("one");
  EXPECT_THAT(deliveries(), IsEmpty());
  endpoint();
  EXPECT_THAT(deliveries(), IsEmpty()) << "what happened before is not told";
}

// ---- sending ------------------------------------------------------------------------------------

TEST_P(Notices, ADeliveryIsLeasedToOneAndComesBackWhenItsLeaseIsOver) {
  endpoint();
  buy("one");
  const auto other_node = store_->open(storage::Role::gateway, "other");
  const DueDelivery due = take_one();
  EXPECT_EQ(due.url, url);
  EXPECT_EQ(due.secret, wanted().secret);
  EXPECT_THAT(done(other_node->notices().take_due(lease_ms, 10)), IsEmpty());
  store_->clock.move_ms(lease_ms);
  const auto again = done(other_node->notices().take_due(lease_ms, 10));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again.front().event_id, due.event_id);
  // A sender that lost the lease changes nothing.
  finish(due, answered(410));
  EXPECT_TRUE(done(store().endpoints(account_)).front().is_enabled());
  EXPECT_EQ(deliveries().front().attempts, 0u);
  EXPECT_EQ(done(other_node->notices().finish(again.front(), answered(200), 0)),
            DisabledReason::none);
  EXPECT_EQ(deliveries().front().state, DeliveryState::delivered);
}

TEST_P(Notices, TwoNodesTakeEachDeliveryOnce) {
  constexpr int endpoints = 8;
  for (int at = 0; at < endpoints; ++at) endpoint();
  buy("one");
  const auto other_node = store_->open(storage::Role::gateway, "other");
  std::mutex mutex;
  std::multiset<std::string> taken;
  const auto work = [&](storage::Node& node) {
    for (int round = 0; round < endpoints; ++round) {
      const auto due = node.notices().take_due(lease_ms, 2);
      ASSERT_TRUE(due.ok());
      for (const DueDelivery& each : *due) {
        const std::lock_guard lock(mutex);
        taken.insert(each.id);
      }
    }
  };
  std::thread one([&] { work(*node_); });
  std::thread other([&] { work(*other_node); });
  one.join();
  other.join();
  EXPECT_EQ(taken.size(), static_cast<std::size_t>(endpoints));
  EXPECT_EQ(std::set<std::string>(taken.begin(), taken.end()).size(), taken.size());
}

TEST_P(Notices, AnEndpointGetsOneAfterTheOtherTheOldestFirst) {
  endpoint();
  for (const char* key : {"a", "b", "c"}) {
    buy(key);
    store_->clock.move_ms(10);
  }
  std::vector<std::string> sent;
  for (int at = 0; at < 3; ++at) {
    const DueDelivery due = take_one();
    EXPECT_THAT(take(), IsEmpty()) << "one at a time";
    sent.push_back(due.id);
    finish(due, answered(204));
  }
  std::vector<std::string> made;
  for (const Delivery& each : deliveries()) made.insert(made.begin(), each.id);
  EXPECT_EQ(sent, made);
  EXPECT_THAT(take(), IsEmpty());
}

TEST_P(Notices, WhatFailsIsSentAgainOnScheduleUntilItIsGivenUp) {
  const Endpoint made = endpoint();
  buy("one");
  for (std::uint32_t attempt = 1; attempt <= 8; ++attempt) {
    const DueDelivery due = take_one();
    finish(due, answered(500));
    const Delivery after = deliveries().front();
    EXPECT_EQ(after.attempts, attempt);
    EXPECT_EQ(after.last_status, 500);
    EXPECT_EQ(after.last_at_ms, store_->clock.now_ms());
    if (attempt == 8) {
      EXPECT_EQ(after.state, DeliveryState::failed);
      EXPECT_EQ(after.ended_at_ms, store_->clock.now_ms());
      break;
    }
    EXPECT_EQ(after.state, DeliveryState::pending);
    const std::int64_t delay_ms = retry_delays_ms[attempt - 1];
    EXPECT_EQ(after.due_at_ms, store_->clock.now_ms() + delay_ms);
    store_->clock.move_ms(delay_ms - 1);
    EXPECT_THAT(take(), IsEmpty());
    store_->clock.move_ms(1);
  }
  store_->clock.move_ms(10 * day_ms);
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_TRUE(now(made.id).is_enabled()) << "one delivery is not five days of failures";

  const auto retried = done(store().retry(account_, deliveries().front().id, actor()));
  ASSERT_TRUE(retried);
  EXPECT_EQ(retried->attempts, 0u);
  finish(take_one(), answered(200));
  EXPECT_EQ(deliveries().front().state, DeliveryState::delivered);
  EXPECT_EQ(now(made.id).failing_since_ms, -1);
}

TEST_P(Notices, ACutAttemptIsNobodysFailure) {
  const Endpoint made = endpoint();
  buy("one");
  finish(take_one(), {.is_cut = true});
  EXPECT_EQ(deliveries().front().attempts, 0u);
  EXPECT_EQ(now(made.id).failing_since_ms, -1);
  EXPECT_EQ(take().size(), 1u) << "it is due at once";
}

TEST_P(Notices, A410DisablesTheEndpointAndCancelsWhatIsPending) {
  const Endpoint made = endpoint();
  buy("one");
  store_->clock.move_ms(10);
  buy("two");
  EXPECT_EQ(finish(take_one(), answered(410)), DisabledReason::gone);
  EXPECT_EQ(now(made.id).disabled, DisabledReason::gone);
  ASSERT_EQ(deliveries().size(), 2u);
  EXPECT_EQ(deliveries()[0].state, DeliveryState::cancelled);
  EXPECT_EQ(deliveries()[1].state, DeliveryState::failed);
  EXPECT_THAT(take(), IsEmpty());
  buy("three");
  EXPECT_EQ(deliveries().size(), 2u);
  EXPECT_FALSE(store().retry(account_, deliveries()[0].id, actor()).ok());
  EXPECT_FALSE(store().test(account_, made.id, actor()).ok());

  ASSERT_TRUE(done(store().change(account_, made.id, {.is_enabled = true}, actor())));
  ASSERT_TRUE(done(store().retry(account_, deliveries()[0].id, actor())));
  finish(take_one(), answered(200));
  EXPECT_EQ(deliveries()[0].state, DeliveryState::delivered);
}

TEST_P(Notices, FiveDaysOfFailuresDisableAnEndpoint) {
  const Endpoint made = endpoint();
  buy("one");
  finish(take_one(), answered(500));
  const std::int64_t since_ms = now(made.id).failing_since_ms;
  EXPECT_EQ(since_ms, store_->clock.now_ms());
  store_->clock.move_ms(failing_ms_max - 1);
  EXPECT_EQ(finish(take_one(), answered(500)), DisabledReason::none);
  EXPECT_EQ(now(made.id).failing_since_ms, since_ms);
  store_->clock.move_ms(retry_delays_ms[1]);
  EXPECT_EQ(finish(take_one(), answered(0)), DisabledReason::failing);
  EXPECT_EQ(now(made.id).disabled, DisabledReason::failing);
}

TEST_P(Notices, ATestIsSentToItsEndpointAloneAndOnceWhileItIsPending) {
  const Endpoint made = endpoint({EventType::credits_low});
  endpoint();
  const auto test = done(store().test(account_, made.id, actor()));
  ASSERT_TRUE(test);
  EXPECT_EQ(test->type, EventType::endpoint_test);
  EXPECT_EQ(done(store().test(account_, made.id, actor()))->id, test->id);
  ASSERT_EQ(deliveries().size(), 1u);
  finish(take_one(), answered(200));
  EXPECT_NE(done(store().test(account_, made.id, actor()))->id, test->id);
}

TEST_P(Notices, DeliveriesAreListedByPagesNewestFirst) {
  endpoint();
  endpoint();
  for (int at = 0; at < 5; ++at) {
    buy("k" + std::to_string(at));
    if (at % 2 == 0) store_->clock.move_ms(10);
  }
  std::vector<std::string> paged;
  DeliveryQuery query{.account_id = account_, .limit = 3};
  while (true) {
    const auto page = done(store().deliveries(query));
    if (page.empty()) break;
    for (const Delivery& each : page) paged.push_back(each.id);
    query.before_ms = page.back().created_at_ms;
    query.before_id = page.back().id;
  }
  std::vector<std::string> whole;
  for (const Delivery& each : deliveries()) whole.push_back(each.id);
  EXPECT_EQ(whole.size(), 10u);
  EXPECT_EQ(paged, whole);
}

TEST_P(Notices, WhatEndedLongAgoIsForgottenButNeverToldAgain) {
  endpoint();
  buy("one");
  finish(take_one(), answered(200));
  store_->clock.move_ms(1'000);
  EXPECT_EQ(done(store().sweep(10'000)), 0u);
  store_->clock.move_ms(10'000);
  EXPECT_EQ(done(store().sweep(10'000)), 1u);
  EXPECT_THAT(deliveries(), IsEmpty());
}

TEST_P(Notices, AScanIsMadeByOneAtATime) {
  const auto other_node = store_->open(storage::Role::gateway, "other");
  EXPECT_TRUE(done(store().take_scan(Scan::accounts, 5'000)));
  EXPECT_FALSE(done(other_node->notices().take_scan(Scan::accounts, 5'000)));
  EXPECT_TRUE(done(other_node->notices().take_scan(Scan::sweep, 5'000)));
  store_->clock.move_ms(5'000);
  EXPECT_TRUE(done(other_node->notices().take_scan(Scan::accounts, 5'000)));
}

// ---- what the scans find ------------------------------------------------------------------------

TEST_P(Notices, LowCreditsAreToldOnceUntilTheyRoseByAFifth) {
  endpoint({EventType::credits_low});
  grant(account_, 100, day_ms);
  EXPECT_EQ(done(store().tell_low_credits()), 0u) << "no threshold, nothing to tell";
  ASSERT_TRUE(store().set(account_, {100}, actor()).ok());
  EXPECT_EQ(done(store().settings(account_)).credits_low, 100);
  EXPECT_EQ(done(store().tell_low_credits()), 0u) << "at the threshold is not below";
  spend("key_1", 1, false);
  EXPECT_EQ(done(store().tell_low_credits()), 1u);
  EXPECT_EQ(done(store().tell_low_credits()), 0u);
  const auto data = nlohmann::json::parse(take().front().data);
  EXPECT_EQ(data["balance"], "99");
  EXPECT_EQ(data["threshold"], "100");

  grant(account_, 21, day_ms);  // balance 120: no more than a fifth above the threshold
  EXPECT_EQ(done(store().tell_low_credits()), 0u);
  spend("key_1", 30, false);
  EXPECT_EQ(done(store().tell_low_credits()), 0u) << "it did not rise enough";
  grant(account_, 31, day_ms);  // balance 121
  EXPECT_EQ(done(store().tell_low_credits()), 0u);
  spend("key_1", 30, false);
  EXPECT_EQ(done(store().tell_low_credits()), 1u);
}

TEST_P(Notices, APurchaseMakesLowCreditsNewsAgain) {
  endpoint({EventType::credits_low});
  ASSERT_TRUE(store().set(account_, {50'000}, actor()).ok());
  EXPECT_EQ(done(store().tell_low_credits()), 1u);
  EXPECT_EQ(done(store().tell_low_credits()), 0u);
  buy("one");  // balance 10,000: still below
  EXPECT_EQ(done(store().tell_low_credits()), 1u);
  ASSERT_TRUE(store().set(account_, {60'000}, actor()).ok());
  EXPECT_EQ(done(store().tell_low_credits()), 1u) << "another threshold, another question";
  ASSERT_TRUE(store().set(account_, {-1}, actor()).ok());
  EXPECT_EQ(done(store().tell_low_credits()), 0u);
}

TEST_P(Notices, LowCreditsWaitForAnEndpointThatWantsThem) {
  ASSERT_TRUE(store().set(account_, {10}, actor()).ok());
  endpoint({EventType::purchase_credited});
  EXPECT_EQ(done(store().tell_low_credits()), 0u);
  endpoint();
  EXPECT_EQ(done(store().tell_low_credits()), 1u);
}

TEST_P(Notices, AReachedCapIsToldOnceForItsWindow) {
  endpoint({EventType::key_cap_reached});
  grant(account_, 1'000, 60 * day_ms);
  const std::string key = capped_key(10, 100);
  EXPECT_EQ(done(store().tell_reached_caps()), 0u);
  spend(key, 3, true);
  spend(key, 3, true);
  EXPECT_EQ(done(store().tell_reached_caps()), 0u) << "another call of 3 can be paid";
  spend(key, 3, true);
  EXPECT_EQ(done(store().tell_reached_caps()), 1u) << "1 left pays no call of 3";
  EXPECT_EQ(done(store().tell_reached_caps()), 0u);
  const auto data = nlohmann::json::parse(take().front().data);
  const auto day = ledger::utc_day(store_->clock.now_ms());
  EXPECT_EQ(data["apiKeyId"], key);
  EXPECT_EQ(data["span"], "day");
  EXPECT_EQ(data["cap"], "10");
  EXPECT_EQ(data["spent"], "9");
  EXPECT_EQ(data["resetsAt"], text::rfc3339(day.ends_at_ms));

  store_->clock.move_ms(day.ends_at_ms - store_->clock.now_ms());
  EXPECT_EQ(done(store().tell_reached_caps()), 0u);
  for (int at = 0; at < 3; ++at) spend(key, 3, true);
  EXPECT_EQ(done(store().tell_reached_caps()), 1u);
}

TEST_P(Notices, AKeyWithoutACapReachesNone) {
  endpoint();
  grant(account_, 1'000, day_ms);
  for (int at = 0; at < 3; ++at) spend("key_1", 300, false);
  EXPECT_EQ(done(store().tell_reached_caps()), 0u);
}

TEST_P(Notices, ChangedPricesAreToldToThoseWhoPaidThem) {
  endpoint({EventType::price_changed});
  grant(account_, 1'000, 90 * day_ms);
  spend("key_1", 3, false, "route-1");
  const std::string other = account_with(0);
  NewEndpoint of_other = wanted();
  of_other.account_id = other;
  ASSERT_TRUE(store().create(of_other, actor()).ok());

  const std::vector<RoutePrice> first{{"route-1", "GET", "/v1/a", 3}, {"route-2", "GET", "/b", 1}};
  std::vector<RoutePrice> second{{"route-1", "GET", "/v1/a", 5}, {"route-2", "GET", "/b", 2}};
  EXPECT_EQ(done(store().note_prices("gen_1", first)), 0u) << "nothing is known to differ from";
  EXPECT_EQ(done(store().note_prices("gen_1", first)), 0u);
  EXPECT_EQ(done(store().note_prices("gen_2", second)), 1u) << "the other one never called";
  EXPECT_EQ(done(store().note_prices("gen_2", second)), 0u) << "another node says the same";
  const auto data = nlohmann::json::parse(take().front().data);
  EXPECT_EQ(data["generation"], "gen_2");
  EXPECT_EQ(data["changes"], (nlohmann::json::array({{{"routeId", "route-1"},
                                                      {"method", "GET"},
                                                      {"path", "/v1/a"},
                                                      {"oldCreditCost", "3"},
                                                      {"newCreditCost", "5"}}})));
  EXPECT_EQ(done(store().note_prices("gen_1", first)), 1u) << "rolled back";
  EXPECT_EQ(done(store().note_prices("gen_2", second)), 0u) << "told of that generation before";

  store_->clock.move_ms(31 * day_ms);
  second[0].credit_cost = 7;
  EXPECT_EQ(done(store().note_prices("gen_3", second)), 0u) << "not used for 30 days";
}

}  // namespace
}  // namespace turnpike::notices

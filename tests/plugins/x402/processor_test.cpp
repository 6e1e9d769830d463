// The x402 processor beside the lane, on one store, over a scripted facilitator and chain: the
// price of a purchase, who can pay for it, and the fate of its payment in every failure.
#include "x402/processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <utility>

#include "plugins/http/scripted_host.h"
#include "plugins/x402/fake_node.h"
#include "plugins/x402/payer.h"
#include "support/sdk_fakes.h"
#include "support/temporary.h"
#include "x402/commands.h"
#include "x402/lane.h"
#include "x402/offers/keys.h"
#include "x402/policy.h"
#include "x402/protocol/encoding.h"
#include "x402/purchases.h"

namespace turnpike::x402 {
namespace {

using http::ScriptedCall;
using http::ScriptedHost;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view base = "eip155:8453";
constexpr std::string_view usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
constexpr std::string_view pay_to = "0x52908400098527886E0F7030069857D2E4169EE7";
constexpr std::string_view origin = "https://api.example.org";
constexpr std::string_view ten_dollars = "10000000";  // of USDC
constexpr std::int64_t genesis_s = 1'799'000'000;
constexpr std::int64_t hour_ms = 3'600'000;

class KeptConsole final : public Console {
 public:
  void out(std::string_view text) override { printed += text; }
  void error(std::string_view text) override { errors += text; }
  std::string printed, errors;
};

// The plugin's state in one process: both objects, sharing Premises.
struct LifeOfNode {
  std::shared_ptr<Premises> premises = std::make_shared<Premises>();
  X402Lane lane{premises};
  X402Processor processor{premises};
  std::unique_ptr<BoundLane> bound_lane = nullptr;
  std::unique_ptr<BoundProcessor> bound = nullptr;
};

class ProcessorTest : public ::testing::Test {
 protected:
  ProcessorTest() {
    host_.scripted_clock.move_ms(1'800'000'000'000 - host_.scripted_clock.now_ms());
    host_.randomness = &random_;
    std::filesystem::create_directory(folder_.path() + "/x402");
    const auto keys = KeyRing::open(folder_.path() + "/x402/keys", random_, host_.scripted_clock);
    if (!keys.ok()) throw std::runtime_error(keys.error());
    host_.answers = [this](const ScriptedHost::Seen& seen) { return answer(seen); };
  }

  ScriptedHost::Answer answer(const ScriptedHost::Seen& seen) {
    if (seen.url.starts_with("https://node.example")) {
      node_.chain_id = 8453;
      node_.genesis_s = genesis_s;
      node_.head = head();
      return node_.answer(seen);
    }
    if (seen.url.ends_with("/supported")) {
      const json kind = {{"x402Version", 2}, {"scheme", "exact"}, {"network", base}};
      return {200, {}, json{{"kinds", {kind}}, {"signers", json::object()}}.dump()};
    }
    if (seen.url.ends_with("/verify")) {
      if (auto meanwhile = std::exchange(while_verifying_, nullptr)) meanwhile();
      return {200, {}, json{{"isValid", true}, {"payer", payer_address}}.dump()};
    }
    ++settlements_;
    if (auto meanwhile = std::exchange(while_settling_, nullptr)) meanwhile();
    if (moves_) mine(json::parse(seen.body)["paymentPayload"]);
    if (loses_answer_) return {502, {}, "<html>"};
    const json said = {{"success", settles_},
                       {"transaction", settles_ ? hex_of(filled<Word>(transactions_)) : ""},
                       {"network", base},
                       {"errorReason", settles_ ? "" : "insufficient_funds"}};
    return {200, {}, said.dump()};
  }
  [[nodiscard]] std::uint64_t head() const {
    return static_cast<std::uint64_t>((host_.scripted_clock.now_ms() / 1000 - genesis_s) / 2);
  }
  void mine(const json& payload) {
    const auto read = decode_payment(header_of(payload));
    const auto& transfer = std::get<Eip3009Payment>(read->payment);
    Authorization by;
    by.token = *parse_address(read->accepted.asset);
    by.from = transfer.from;
    by.to = transfer.to;
    by.value = transfer.value;
    by.nonce = transfer.nonce;
    node_.mine({filled<Word>(++transactions_), head(), true,
                {FakeNode::used(by), FakeNode::transfer(by)}});
  }

  Settings lane_settings() {
    Settings facilitators;
    facilitators.kind = Settings::Kind::list;
    facilitators.items = {map({{"url", scalar("https://one.example")}})};
    const Settings node = map({{"rpc_url", scalar("https://node.example")}});
    return map({{"facilitators", facilitators}, {"chains", map({{std::string(base), node}})}});
  }
  // Starts as the gateway does: first the processors, then a registry's lane.
  void start(const Settings& settings = {}) {
    life_ = std::make_unique<LifeOfNode>();
    ASSERT_TRUE(bind(settings));
    bind_lane();
    run_lane();
    run();
  }
  bool bind(const Settings& settings, std::string_view environment = "production") {
    lane_settings_ = lane_settings();
    auto bound = life_->processor.bind({.settings = settings,
                                        .public_origin = origin,
                                        .environment = environment,
                                        .deployment_id = "d",
                                        .data_dir = folder_.path(),
                                        .lane_settings = &lane_settings_},
                                       host_);
    why_ = bound.ok() ? "" : bound.error().where + ": " + bound.error().message;
    if (bound.ok()) life_->bound = *std::move(bound);
    return why_.empty();
  }
  void bind_lane() {
    terms_ = json::array({{{"asset_key", "base-usdc"},
                           {"network_key", "base"},
                           {"scheme", "exact"},
                           {"network", base},
                           {"asset", usdc},
                           {"decimals", 6},
                           {"name", "USD Coin"},
                           {"version", "2"},
                           {"atomic_amount", ten_dollars},
                           {"pay_to", pay_to},
                           {"offer_id", "off_1"}}})
                 .dump();
    words_ = words_of(CallPolicy());
    operation_.route_id = "route";
    operation_.path = "/v1/facts/{id}";
    operation_.media_type = "application/json";
    operation_.deadline_ms = 30'000;
    operation_.is_offered = true;
    operation_.terms = terms_;
    operation_.policy = words_;
    auto bound = life_->lane.bind({{&operation_, 1}, lane_settings_, "generation", origin,
                                   folder_.path(), nullptr},
                                  host_);
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    life_->bound_lane = *std::move(bound);
  }
  void run_lane() {
    ScriptedCall call(host_.scripted_clock, 60'000);
    ASSERT_TRUE(life_->bound_lane->run(call).ok());
  }
  void run() {
    ScriptedCall call(host_.scripted_clock, 60'000);
    ASSERT_TRUE(life_->bound->run(call).ok());
  }
  // Lets time pass, with the passes of lane and processor.
  void pass(std::int64_t duration_ms) {
    for (; duration_ms > 0; duration_ms -= 10'000) {
      host_.scripted_clock.move_ms(std::min<std::int64_t>(duration_ms, 10'000));
      run_lane();
      run();
    }
  }

  Result<Begun> begin(std::string_view id = "pur_1", std::int64_t minor = 1'000,
                      std::string_view step = "pur_1.begin", std::int64_t good_ms = hour_ms) {
    Order order;
    order.purchase_id = id;
    order.title = "10,000 Credits, Turnpike";
    order.step_key = step;
    order.price = {"USD", minor};
    order.expires_at_ms = host_.scripted_clock.now_ms() + good_ms;
    ScriptedCall call(host_.scripted_clock, 10'000);
    return life_->bound->begin(order, call);
  }
  Payment look(std::string_view id = "pur_1") {
    ScriptedCall call(host_.scripted_clock, 10'000);
    const auto payment = life_->bound->look_up(id, call);
    EXPECT_TRUE(payment.ok());
    return payment.ok() ? *payment : Payment{};
  }
  Notice visit(std::string_view payment = {}, std::string_view id = "pur_1",
               Method method = Method::get) {
    const std::string path = "purchases/" + std::string(id);
    std::vector<HeaderField> headers;
    if (!payment.empty()) headers.push_back({"Payment-Signature", payment});
    ScriptedCall call(host_.scripted_clock, 20'000);
    auto notice = life_->bound->notice({.method = method, .path = path, .headers = headers}, call);
    EXPECT_TRUE(notice.ok());
    return notice.ok() ? *std::move(notice) : Notice{};
  }
  // Returns "200", or the status with the code or the challenge's reason.
  std::string told(std::string_view payment = {}, std::string_view id = "pur_1") {
    last_ = visit(payment, id);
    const std::string status = std::to_string(last_.reply.status);
    if (last_.reply.status == 200) return status;
    const json body = json::parse(last_.reply.body);
    const json& error = body.at("error");
    EXPECT_EQ(has_challenge(), error.is_string());
    EXPECT_TRUE(last_.hints.empty());
    return status + " " + (error.is_string() ? error : error.at("code")).get<std::string>();
  }
  [[nodiscard]] std::string header(std::string_view name) const {
    for (const OwnedHeader& field : last_.reply.headers) {
      if (field.name == name) return field.value;
    }
    return {};
  }
  [[nodiscard]] bool has_challenge() const { return !header("PAYMENT-REQUIRED").empty(); }
  json challenge(std::string_view id = "pur_1") {
    EXPECT_EQ(told({}, id), "402 Payment required");
    const std::string text = header("PAYMENT-REQUIRED");
    return json::parse(*base64_decode(text, text.size()));
  }
  std::string sign(const json& offered, char nonce) {
    json payload = sample_payload();
    payload["accepted"] = offered["accepts"][0];
    payload["extensions"] = offered["extensions"];
    json& authorization = payload["payload"]["authorization"];
    authorization["from"] = payer_address;
    authorization["to"] = payload["accepted"]["payTo"];
    authorization["value"] = payload["accepted"]["amount"];
    authorization["validBefore"] = std::to_string(host_.scripted_clock.now_ms() / 1000 + 300);
    authorization["nonce"] = "0x" + std::string(64, nonce);
    return header_of(Payer(1).sign(payload));
  }
  // A payment, signed for a new challenge; `nonce` distinguishes payments.
  std::string payment(char nonce, std::string_view id = "pur_1") {
    return sign(challenge(id), nonce);
  }
  static json payload_of(const std::string& header) {
    return json::parse(*base64_decode(header, header.size()));
  }
  static std::string without_echo(const std::string& header) {
    json payload = payload_of(header);
    payload.erase("extensions");
    return header_of(payload);
  }
  // Calls the lane. Returns "200", "again" or a code.
  std::string call(const std::string& header) {
    const HeaderField credential[] = {{"payment-signature", header}};
    LaneRequest asked;
    asked.request_id = "request";
    asked.path = "/v1/facts/1";
    if (!header.empty()) asked.credentials = credential;
    ScriptedCall circumstances(host_.scripted_clock, 400'000);
    const Admission admission = life_->bound_lane->admit(asked, circumstances);
    if (std::holds_alternative<Replay>(admission)) return "again";
    if (const auto* refusal = std::get_if<Refusal>(&admission)) {
      for (const OwnedHeader& field : refusal->headers) {
        if (field.name == "PAYMENT-REQUIRED") lane_challenge_ = field.value;
      }
      return refusal->code;
    }
    const Finish finish = std::get<std::unique_ptr<Ticket>>(admission)->settle(
        {200, {}, "reply", 5, 0}, circumstances);
    return std::holds_alternative<Charged>(finish) ? "200" : "not charged";
  }
  std::string payment_of_call(char nonce) {
    EXPECT_EQ(call(""), "x402.payment_required");
    return sign(json::parse(*base64_decode(lane_challenge_, lane_challenge_.size())), nonce);
  }
  std::vector<std::string> entries() {
    std::vector<std::string> all;
    for (const auto& [key, record] : host_.memory_store.records()) {
      if (!key.starts_with("e/")) continue;
      const json entry = json::parse(record.value);
      all.push_back(entry["entry"].get<std::string>() + " " + entry.value("purchase", "call"));
    }
    return all;
  }
  std::vector<std::string> hinted(std::int64_t since_ms = 0) {
    std::vector<std::string> ids;
    std::string cursor;
    do {
      ScriptedCall call(host_.scripted_clock, 10'000);
      const auto changes = life_->bound->changes(since_ms, cursor, call);
      if (!changes.ok()) return {"failed"};
      for (const Hint& hint : changes->hints) ids.push_back(hint.id);
      cursor = changes->cursor;
    } while (!cursor.empty());
    return ids;
  }
  std::string refund(std::int64_t minor, std::string_view key) {
    ScriptedCall call(host_.scripted_clock, 10'000);
    const auto refunded = life_->bound->refund(look().payment, {"USD", minor}, key, call);
    if (!refunded.ok()) return "failed";
    return refunded->refusal.empty() ? refunded->reference : refunded->refusal;
  }
  std::string command(std::vector<std::string_view> words) {
    KeptConsole console;
    const CommandInput input{words, false, lane_settings_, origin, folder_.path()};
    const int code = run_command("x402", input, console, host_);
    return code == 0 ? console.printed : console.errors;
  }

  support::TemporaryDirectory folder_;
  support::CountingRandom random_;
  ScriptedHost host_;
  FakeNode node_;
  Settings lane_settings_;
  PricedOperation operation_;
  std::string terms_, words_, why_, lane_challenge_;
  std::unique_ptr<LifeOfNode> life_;
  Notice last_;
  std::function<void()> while_verifying_, while_settling_;
  bool settles_ = true;
  bool moves_ = true;         // a settlement moves money
  bool loses_answer_ = false;  // the answer to a settlement is lost
  std::uint8_t transactions_ = 0x70;
  int settlements_ = 0;
};

// ---- what is asked for --------------------------------------------------------------------------

TEST_F(ProcessorTest, APurchaseIsAPlaceWithAChallenge) {
  start();
  const auto begun = begin();
  ASSERT_TRUE(begun.ok()) << begun.error().message;
  EXPECT_EQ(begun->reference, "pur_1");
  EXPECT_EQ(begun->url, "https://api.example.org/v1/plugins/x402/purchases/pur_1");
  const json offered = challenge();
  ASSERT_EQ(offered["accepts"].size(), 1u);
  EXPECT_EQ(offered["accepts"][0]["amount"], ten_dollars);
  EXPECT_EQ(offered["accepts"][0]["asset"], usdc);
  EXPECT_EQ(offered["accepts"][0]["payTo"], pay_to);
  EXPECT_EQ(offered["resource"]["url"], begun->url);
  EXPECT_EQ(offered["resource"]["description"], "10,000 Credits, Turnpike");
  EXPECT_TRUE(offered["extensions"].contains("offer-receipt"));
  EXPECT_EQ(look().progress, Progress::open);
  EXPECT_TRUE(last_.hints.empty());
}

TEST_F(ProcessorTest, TheSameStepIsTheSamePlaceAndALaterOneHasNewTerms) {
  start();
  const auto first = begin();
  host_.scripted_clock.move_ms(60'000);
  const auto again = begin();
  EXPECT_EQ(again->expires_at_ms, first->expires_at_ms);
  const auto later = begin("pur_1", 1'000, "pur_1.begin.1");
  EXPECT_EQ(later->expires_at_ms, first->expires_at_ms + 60'000);
  EXPECT_EQ(told(payment('1')), "200");
  EXPECT_EQ(begin("pur_1", 1'000, "pur_1.begin.2")->expires_at_ms, later->expires_at_ms)
      << "it is paid";
}

TEST_F(ProcessorTest, AskedForIsWhatPricesAreOrWhatItsSettingsSay) {
  life_ = std::make_unique<LifeOfNode>();
  ASSERT_TRUE(bind({}));
  EXPECT_EQ(begin().error().kind, FailureKind::unavailable) << "no registry is in service";
  const std::string other = "0x8617E340B3D01FA5F11F306F4090FD50E238070D";
  ASSERT_TRUE(bind(map({{"pay_to", scalar(other)}})));
  run();
  ASSERT_TRUE(begin().ok());
  EXPECT_EQ(challenge()["accepts"][0]["payTo"], other);
  const auto refused = [this](const Settings& settings) {
    EXPECT_FALSE(bind(settings));
    return why_.substr(0, why_.find(':'));
  };
  EXPECT_EQ(refused(map({{"payto", scalar(other)}})), "payto");
  EXPECT_EQ(refused(map({{"pay_to", scalar("0x12")}})), "pay_to");
  EXPECT_EQ(refused(map({{"pay_to", scalar(std::string(usdc))}})), "pay_to");
  EXPECT_EQ(refused(map({{"network", scalar("base")}})), "network");
  EXPECT_EQ(refused(map({{"network", scalar("eip155:84532")}})), "network");
  EXPECT_EQ(refused(map({{"decimals", scalar("6")}})), "decimals");
  EXPECT_EQ(refused(map({{"pay_to", scalar(other)}, {"network", scalar("eip155:5")}})), "asset");
}

TEST_F(ProcessorTest, TheLaneSettingsAreNeeded) {
  X402Processor processor;
  const Settings none;
  const auto bound = processor.bind({.settings = none,
                                     .public_origin = origin,
                                     .environment = "production",
                                     .deployment_id = "d"},
                                    host_);
  ASSERT_FALSE(bound.ok());
  EXPECT_THAT(bound.error().message, HasSubstr("lanes.x402.facilitators"));
}

TEST(AssetsForSale, AreWorthADollarAndNotOfATestNetwork) {
  const PricedAsset real{std::string(base), std::string(usdc), "0x1", "USD Coin", "2", "", 6};
  PricedAsset test = real, other = real;
  test.network = "eip155:84532";
  test.address = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
  other.address = "0x1111111111111111111111111111111111111111";
  const std::vector<PricedAsset> all = {real, test, other};
  EXPECT_THAT(assets_for_sale({}, all), ElementsAre(real));
  EXPECT_THAT(assets_for_sale({.takes_test_money = true}, all), ElementsAre(real, test));
  EXPECT_THAT(assets_for_sale({.network = "eip155:1"}, all), ElementsAre());
  EXPECT_THAT(assets_for_sale({.asset = other.address}, all), ElementsAre(other));
}

TEST(AtomicAmounts, AreCentsInTheAssetsOwnUnits) {
  EXPECT_EQ(atomic_amount(1'000, 6), "10000000");
  EXPECT_EQ(atomic_amount(1, 2), "1");
  EXPECT_EQ(atomic_amount(100'000, 18), "1000" + std::string(18, '0'));
  EXPECT_EQ(atomic_share(250, 1'000, "10000000"), "2500000");
  EXPECT_EQ(atomic_share(1'000, 1'000, "10000000"), "10000000");
}

TEST(PurchaseRecords, AreReadAsTheyWereWrittenAndDamagedOnesRefused) {
  const PurchaseRecord record{"step", "10,000 \"Credits\"", "USD", 1'000, "[]", 7, 3, true};
  EXPECT_EQ(purchase_of_json(to_json(record)), record);
  const RefundRecord refund{"pur_1", "key", 250, "2500000", 7, "0x1"};
  EXPECT_EQ(refund_of_json(to_json(refund)), refund);
  const json sound = json::parse(to_json(record));
  for (const auto& [name, value] : sound.items()) {
    json damaged = sound;
    damaged[name] = json::array();
    EXPECT_EQ(purchase_of_json(damaged.dump()), std::nullopt) << name;
  }
  EXPECT_EQ(purchase_of_json(""), std::nullopt);
}

// ---- paying -------------------------------------------------------------------------------------

TEST_F(ProcessorTest, APaymentIsSettledAnsweredAndSeen) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string sent = payment('1');
  EXPECT_EQ(told(sent), "200");
  EXPECT_TRUE(last_.after_credit);
  ASSERT_EQ(last_.hints.size(), 1u);
  EXPECT_EQ(last_.hints[0].of, Hint::Of::purchase);
  EXPECT_EQ(last_.hints[0].id, "pur_1");
  const std::string response = header("PAYMENT-RESPONSE");
  EXPECT_EQ(json::parse(*base64_decode(response, response.size()))["success"], true);
  EXPECT_EQ(json::parse(last_.reply.body)["purchaseId"], "pur_1");
  const Payment paid = look();
  EXPECT_EQ(paid.progress, Progress::paid);
  EXPECT_EQ(paid.currency, "USD");
  EXPECT_EQ(paid.net, 1'000);
  EXPECT_EQ(paid.total, 1'000);
  EXPECT_EQ(paid.refunded, 0);
  EXPECT_EQ(paid.purchase_id, "pur_1");
  EXPECT_EQ(paid.payment.size(), 64u);
  EXPECT_EQ(entries(), std::vector<std::string>{"settled pur_1"});
  EXPECT_EQ(hinted(), std::vector<std::string>{"pur_1"});
  // A repeat gets the same bytes, whatever its method, and is not settled again.
  EXPECT_EQ(visit(sent, "pur_1", Method::post).reply.body, last_.reply.body);
  EXPECT_EQ(told(sent), "200");
  EXPECT_EQ(header("PAYMENT-RESPONSE"), response);
  EXPECT_EQ(settlements_, 1);
  EXPECT_EQ(told(), "409 x402.purchase_paid");
  EXPECT_EQ(host_.counted["paid_purchases_eip155_8453_" + std::string(
                "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913")],
            1u);
}

TEST_F(ProcessorTest, APaymentThatRepeatsNoExtensionsPaysAsWell) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string sent = without_echo(payment('1'));
  EXPECT_EQ(told(sent), "200");
  EXPECT_EQ(told(sent), "200");
  EXPECT_EQ(settlements_, 1);
}

TEST_F(ProcessorTest, AnotherAmountIsRefused) {
  start();
  ASSERT_TRUE(begin().ok());
  ASSERT_TRUE(begin("pur_small", 500, "pur_small.begin").ok());
  EXPECT_EQ(told(payment('1', "pur_small")), "402 turnpike_binding_mismatch");
  EXPECT_EQ(told(without_echo(payment('1', "pur_small"))),
            "402 no_matching_payment_requirements");
  json payload = payload_of(payment('1'));
  payload["payload"]["authorization"]["value"] = "9999999";
  EXPECT_EQ(told(header_of(Payer(1).sign(payload))),
            "402 invalid_exact_evm_payload_authorization_value_mismatch");
  EXPECT_EQ(settlements_, 0);
  EXPECT_EQ(look().progress, Progress::open);
}

TEST_F(ProcessorTest, WhatIsNoPaymentIsRefused) {
  start();
  ASSERT_TRUE(begin().ok());
  EXPECT_EQ(told("!"), "400 x402.payment_malformed");
  EXPECT_EQ(told({}, "pur_unknown"), "404 x402.purchase_not_found");
  EXPECT_EQ(told({}, "pur%2F1"), "404 x402.purchase_not_found");
}

TEST_F(ProcessorTest, TheNonceOfAPurchaseBuysNoCall) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string sent = payment('1');
  EXPECT_EQ(told(sent), "200");
  EXPECT_EQ(call(without_echo(sent)), "idempotency.conflict");
  EXPECT_EQ(call(payment_of_call('1')), "idempotency.conflict");
  EXPECT_EQ(call(payment_of_call('2')), "200");
  EXPECT_EQ(settlements_, 2);
}

TEST_F(ProcessorTest, TheNonceOfACallBuysNoPurchase) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string sent = payment_of_call('1');
  EXPECT_EQ(call(sent), "200");
  EXPECT_EQ(told(without_echo(sent)), "409 idempotency.conflict");
  EXPECT_EQ(told(payment('1')), "409 idempotency.conflict");
  EXPECT_EQ(look().progress, Progress::open);
  EXPECT_EQ(told(payment('2')), "200");
  EXPECT_EQ(settlements_, 2);
}

TEST_F(ProcessorTest, TheNonceOfOnePurchasePaysForNoOther) {
  start();
  ASSERT_TRUE(begin().ok());
  ASSERT_TRUE(begin("pur_2", 1'000, "pur_2.begin").ok());
  const std::string sent = payment('1');
  EXPECT_EQ(told(sent), "200");
  EXPECT_EQ(told(without_echo(sent), "pur_2"), "409 idempotency.conflict");
  EXPECT_EQ(told(payment('1', "pur_2"), "pur_2"), "409 idempotency.conflict");
  EXPECT_EQ(look("pur_2").progress, Progress::open);
}

TEST_F(ProcessorTest, OfTwoPaymentsForOnePurchaseOneIsCollected) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string first = payment('1'), second = payment('2');
  while_settling_ = [this, &second] {
    EXPECT_EQ(told(second), "409 x402.in_progress");
    EXPECT_EQ(told(), "409 x402.in_progress");
    EXPECT_EQ(look().progress, Progress::processing);
  };
  EXPECT_EQ(told(first), "200");
  EXPECT_EQ(told(second), "409 x402.purchase_paid");
  EXPECT_EQ(settlements_, 1);
  EXPECT_EQ(told(first), "200");
}

// Both payments are verified before one of them claims the purchase.
TEST_F(ProcessorTest, OfTwoPaymentsAtOnceOneIsCollected) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string first = payment('1'), second = payment('2');
  while_verifying_ = [this, &second] { EXPECT_EQ(told(second), "409 x402.in_progress"); };
  EXPECT_EQ(told(first), "200");
  EXPECT_EQ(settlements_, 1);
}

TEST_F(ProcessorTest, AClaimWhoseNodeDiedHoldsThePurchaseNoLongerThanItsLease) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string first = payment('1'), second = payment('2');
  while_verifying_ = [this] { host_.memory_store.die(); };
  EXPECT_EQ(told(first).substr(0, 4), "503 ");
  host_.memory_store.revive();
  EXPECT_EQ(look().progress, Progress::processing);
  EXPECT_EQ(told(), "409 x402.in_progress");
  pass(30'000);
  EXPECT_EQ(look().progress, Progress::open);
  EXPECT_EQ(told(second), "200");
  EXPECT_EQ(told(first), "409 x402.purchase_paid");
  EXPECT_EQ(settlements_, 1);
}

// ---- the end of its time ------------------------------------------------------------------------

TEST_F(ProcessorTest, AfterItsTimeNobodyBeginsToPay) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string late = without_echo(payment('1'));
  host_.scripted_clock.move_ms(hour_ms + 1'000);
  EXPECT_EQ(told(), "410 x402.purchase_over");
  EXPECT_EQ(told(late), "410 x402.purchase_over");
  EXPECT_EQ(look().progress, Progress::open) << "who began in time may be on the way";
  host_.scripted_clock.move_ms(120'000);
  EXPECT_EQ(look().progress, Progress::expired);
  EXPECT_EQ(settlements_, 0);
}

TEST_F(ProcessorTest, WhatWasPaidInTimeIsGivenAfterIt) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string sent = payment('1');
  EXPECT_EQ(told(sent), "200");
  for (int days = 0; days < 3; ++days) {
    host_.scripted_clock.move_ms(24 * hour_ms);
    for (int passes = 0; passes < 12; ++passes) run_lane();
    EXPECT_EQ(told(sent), "200");
    EXPECT_EQ(look().progress, Progress::paid);
  }
  EXPECT_EQ(told(payment_of_call('2')), "409 x402.purchase_paid");
}

TEST_F(ProcessorTest, ACancelledPurchaseIsNotPaidFor) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string sent = payment('1');
  ScriptedCall call(host_.scripted_clock, 10'000);
  ASSERT_TRUE(life_->bound->cancel("pur_1", call).ok());
  EXPECT_EQ(look().progress, Progress::cancelled);
  EXPECT_EQ(told(), "410 x402.purchase_over");
  EXPECT_EQ(told(sent), "410 x402.purchase_over");
  EXPECT_EQ(settlements_, 0);
  ASSERT_TRUE(begin("pur_2", 1'000, "pur_2.begin").ok());
  EXPECT_EQ(told(payment('1', "pur_2"), "pur_2"), "200");
  ASSERT_TRUE(life_->bound->cancel("pur_2", call).ok());
  EXPECT_EQ(look("pur_2").progress, Progress::paid) << "too late";
}

// A store in which somebody else is first, once.
class RacedStore final : public Store {
 public:
  explicit RacedStore(Store& store) : store_(store) {}
  StoreApplied apply(std::span<const StoreCheck> checks, std::span<const StoreWrite> writes,
                     Call& call) noexcept override {
    if (const auto first = std::exchange(first_, nullptr)) first();
    return store_.apply(checks, writes, call);
  }
  Result<std::optional<StoreRecord>> get(std::string_view key, Call& call) noexcept override {
    return store_.get(key, call);
  }
  Result<std::vector<StoreRecord>> scan(std::string_view prefix, std::string_view after,
                                        std::uint32_t limit, Call& call) noexcept override {
    return store_.scan(prefix, after, limit, call);
  }
  [[nodiscard]] std::int64_t now_ms() const noexcept override { return store_.now_ms(); }

  std::function<void()> first_;

 private:
  Store& store_;
};

TEST_F(ProcessorTest, ACancellationThatMeetsAnotherStepOfTheOrderIsStillDone) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string sent = payment('1');
  ScriptedCall call(host_.scripted_clock, 10'000);
  RacedStore store(host_.store());
  Purchases raced(store);
  store.first_ = [&] { ASSERT_TRUE(begin("pur_1", 2'000, "pur_1.again").ok()); };
  ASSERT_TRUE(raced.cancel("pur_1", call).ok());
  EXPECT_EQ(look().progress, Progress::cancelled);
  EXPECT_EQ(told(sent), "410 x402.purchase_over");
  EXPECT_EQ(settlements_, 0);
}

// ---- settlements that go wrong ------------------------------------------------------------------

TEST_F(ProcessorTest, AnUnknownSettlementIsNoneUntilItIsKnown) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string sent = payment('1'), other = payment('2');
  loses_answer_ = true;
  EXPECT_EQ(told(sent), "503 x402.settlement_unknown");
  EXPECT_FALSE(has_challenge());
  EXPECT_EQ(look().progress, Progress::processing);
  EXPECT_EQ(told(other), "409 x402.in_progress");
  EXPECT_EQ(told(), "409 x402.in_progress");
  loses_answer_ = false;
  pass(30'000);
  EXPECT_EQ(look().progress, Progress::paid);
  EXPECT_EQ(hinted(), std::vector<std::string>{"pur_1"});
  EXPECT_EQ(told(sent), "200");
  EXPECT_EQ(settlements_, 1);
  EXPECT_EQ(entries(), std::vector<std::string>{"settled pur_1"});
}

TEST_F(ProcessorTest, ItsPayerWhoComesAgainNeedNotWaitForTheSweep) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string sent = payment('1');
  loses_answer_ = true;
  EXPECT_EQ(told(sent), "503 x402.settlement_unknown");
  host_.scripted_clock.move_ms(2'000);
  EXPECT_EQ(told(sent), "200");
  EXPECT_EQ(settlements_, 1);
}

// A node dies between the claim and the answer; its next life finishes the purchase without a lane.
TEST_F(ProcessorTest, WhatWasBegunIsFinishedByTheNextLife) {
  for (const bool has_moved : {false, true}) {
    const std::string id = has_moved ? "pur_moved" : "pur_still";
    start();
    ASSERT_TRUE(begin(id, 1'000, id + ".begin").ok());
    const std::string sent = payment(has_moved ? '1' : '2', id);
    moves_ = has_moved;
    while_settling_ = [this] { host_.memory_store.die(); };
    loses_answer_ = true;
    EXPECT_EQ(told(sent, id), "503 x402.settlement_unknown");
    host_.memory_store.revive();
    moves_ = true;
    loses_answer_ = false;
    life_ = std::make_unique<LifeOfNode>();
    ASSERT_TRUE(bind(map({{"pay_to", scalar(std::string(pay_to))}})));
    EXPECT_EQ(look(id).progress, Progress::processing);
    for (int passes = 0; passes < 20; ++passes) {
      host_.scripted_clock.move_ms(2'000);
      run();
    }
    EXPECT_EQ(look(id).progress, Progress::paid) << id;
    EXPECT_EQ(node_.transactions.size(), has_moved ? 2u : 1u);
  }
}

TEST_F(ProcessorTest, ARefusedSettlementLeavesThePurchaseToAnotherPayment) {
  start();
  ASSERT_TRUE(begin().ok());
  settles_ = moves_ = false;
  EXPECT_EQ(told(payment('1')), "402 x402.settlement_failed");
  EXPECT_FALSE(header("PAYMENT-RESPONSE").empty());
  EXPECT_EQ(look().progress, Progress::open);
  settles_ = moves_ = true;
  EXPECT_EQ(told(payment('2')), "200");
}

// A facilitator refuses but collects nevertheless.
TEST_F(ProcessorTest, ADisownedSettlementThatIsFoundPaysForItsPurchase) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string sent = payment('1');
  settles_ = moves_ = false;
  EXPECT_EQ(told(sent), "402 x402.settlement_failed");
  mine(payload_of(sent));
  pass(500'000);
  EXPECT_EQ(look().progress, Progress::paid);
  EXPECT_EQ(look().refunded, 0);
  EXPECT_EQ(told(sent), "200");
  EXPECT_EQ(hinted(), std::vector<std::string>{"pur_1"});
  EXPECT_EQ(settlements_, 1);
}

TEST_F(ProcessorTest, ADisownedSettlementOfAPurchaseThatAnotherPaidIsOwedBack) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string sent = payment('1'), second = payment('2');
  settles_ = moves_ = false;
  EXPECT_EQ(told(sent), "402 x402.settlement_failed");
  settles_ = moves_ = true;
  EXPECT_EQ(told(second), "200");
  const std::string paid_by = look().payment;
  mine(payload_of(sent));
  pass(500'000);
  EXPECT_EQ(look().payment, paid_by);
  EXPECT_EQ(look().refunded, 0);
  EXPECT_EQ(told(sent), "502 x402.refund_owed");
  EXPECT_THAT(entries(), ::testing::UnorderedElementsAre("settled pur_1", "settled pur_1",
                                                         "refund_owed pur_1"));
  EXPECT_THAT(command({"obligations"}), HasSubstr(std::string(ten_dollars)));
}

// A facilitator reports a settlement that the chain later disproves.
TEST_F(ProcessorTest, ASettlementThatIsDisprovedTakesItsCreditsBack) {
  start();
  ASSERT_TRUE(begin().ok());
  moves_ = false;
  EXPECT_EQ(told(payment('1')), "200");
  EXPECT_EQ(look().dispute, Dispute::none);
  const std::int64_t since_ms = host_.scripted_clock.now_ms() + 1;
  pass(600'000);
  const Payment disproved = look();
  EXPECT_EQ(disproved.progress, Progress::paid);
  EXPECT_EQ(disproved.dispute, Dispute::lost);
  EXPECT_EQ(disproved.dispute_id, disproved.payment);
  EXPECT_EQ(hinted(since_ms), std::vector<std::string>{"pur_1"});
  EXPECT_EQ(refund(100, "ref_1"), "payment_not_refundable");
}

// ---- money that goes back -----------------------------------------------------------------------

TEST_F(ProcessorTest, ARefundIsOwedUntilItsTransactionIsRecorded) {
  start();
  ASSERT_TRUE(begin().ok());
  EXPECT_EQ(told(payment('1')), "200");
  EXPECT_EQ(refund(250, "ref_1"), "ref_1");
  EXPECT_EQ(refund(250, "ref_1"), "ref_1") << "the same";
  EXPECT_EQ(look().refunded, 250);
  EXPECT_EQ(refund(751, "ref_2"), "refund_too_large");
  EXPECT_EQ(refund(0, "ref_2"), "refund_too_large");
  EXPECT_EQ(refund(750, "ref_2"), "ref_2");
  EXPECT_EQ(look().refunded, 1'000);
  EXPECT_EQ(look().progress, Progress::paid);
  const std::string first = look().payment + "/ref_1";
  const std::string listed = command({"obligations"});
  EXPECT_THAT(listed, HasSubstr(first + "  2500000 of " + std::string(usdc)));
  EXPECT_THAT(listed, HasSubstr("/ref_2  7500000"));
  EXPECT_EQ(command({"refunded", first, "--transaction", "0xabc"}), "recorded\n");
  EXPECT_THAT(command({"refunded", first, "--transaction", "0xabc"}),
              HasSubstr("no refund is owed"));
  EXPECT_THAT(command({"obligations"}), ::testing::Not(HasSubstr(first)));
  EXPECT_THAT(command({"totals"}), HasSubstr("10000000 owed as refunds, 2500000 refunded"));
  EXPECT_EQ(look().refunded, 1'000);
  EXPECT_EQ(told(payment_of_call('2')), "409 x402.purchase_paid");
}

TEST_F(ProcessorTest, RefundsThatRaceComeToNoMoreThanWasPaid) {
  start();
  ASSERT_TRUE(begin().ok());
  EXPECT_EQ(told(payment('1')), "200");
  host_.memory_store.before_apply = [this] {
    host_.memory_store.before_apply = nullptr;
    EXPECT_EQ(refund(600, "ref_1"), "ref_1");
  };
  EXPECT_EQ(refund(600, "ref_2"), "failed") << "to be asked again";
  EXPECT_EQ(refund(600, "ref_2"), "refund_too_large");
  EXPECT_EQ(look().refunded, 600);
}

TEST_F(ProcessorTest, TheStoreMayBeAway) {
  start();
  ASSERT_TRUE(begin().ok());
  const std::string sent = payment('1');
  host_.memory_store.fail_reads(true);
  EXPECT_EQ(told(sent), "503 x402.unavailable");
  host_.memory_store.fail_reads(false);
  host_.memory_store.fail_next(support::MemoryStore::Fault::unknown_applied);
  EXPECT_TRUE(begin("pur_2", 1'000, "pur_2.begin").error().maybe_sent);
  EXPECT_TRUE(begin("pur_2", 1'000, "pur_2.begin").ok());
  EXPECT_EQ(settlements_, 0);
}

}  // namespace
}  // namespace turnpike::x402

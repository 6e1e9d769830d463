// The parts of the lane (stored records, terms, challenges, callers' own ids, sums), and calls of a
// bound lane on one node.
#include "x402/lane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include <turnpike/helpers/mistakes.h>

#include "fake_node.h"
#include "plugins/http/scripted_host.h"
#include "plugins/x402/fake_node.h"
#include "plugins/x402/payer.h"
#include "support/sdk_fakes.h"
#include "support/temporary.h"
#include "x402/challenge.h"
#include "x402/commands.h"
#include "x402/offers/keys.h"
#include "x402/payment_record.h"
#include "x402/payments.h"
#include "x402/protocol/encoding.h"
#include "x402/settings.h"
#include "x402/terms.h"

namespace turnpike::x402 {
namespace {

using http::ScriptedCall;
using http::ScriptedHost;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr std::string_view base = "eip155:8453";
constexpr std::string_view solana = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
constexpr std::string_view usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
constexpr std::string_view pay_to = "0x52908400098527886E0F7030069857D2E4169EE7";
constexpr std::string_view fee_payer = "EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd";

json base_term() {
  return {{"asset_key", "base-usdc"}, {"network_key", "base"},   {"scheme", "exact"},
          {"network", base},          {"asset", usdc},           {"name", "USD Coin"},
          {"version", "2"},           {"atomic_amount", "1000"}, {"pay_to", pay_to},
          {"offer_id", "off_1"}};
}
json solana_term() {
  json term = base_term();
  term["network"] = solana;
  term["asset"] = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
  term["pay_to"] = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4";
  term["name"] = term["version"] = "";
  return term;
}

PaymentRecord full_record() {
  PaymentRecord record;
  record.state = PaymentState::settling;
  record.request_digest = "aa";
  record.payload_digest = "bb";
  record.operation = "GET /v1/facts/{id}";
  record.route_id = "route";
  record.price_version = 7;
  record.offer_id = "off_1";
  record.resource_url = "https://api.example.org/v1/facts/1,\"2\"";
  record.request_id = "request";
  record.flow = PaymentFlow::upfront;
  record.unearned = UnearnedPayment::refund;
  record.scheme = "exact";
  record.network = base;
  record.asset = usdc;
  record.amount = "1000";
  record.pay_to = pay_to;
  record.payer = payer_address;
  record.nonce = "0x01";
  record.valid_before_s = 1'900'000'000;
  record.node = "node";
  record.boot = "boot";
  record.claimed_ms = 1;
  record.lease_until_ms = 2;
  record.settling_ms = 3;
  record.settled_ms = 9;
  record.ended_ms = 4;
  record.attempted_ms = 5;
  record.retry_ms = 6;
  record.attempts = 8;
  record.facilitator = "https://one.example";
  record.transaction = "0x02";
  record.reason = "code";
  record.identifiers = "i/1 i/2";
  record.has_reply = true;
  record.is_bound = false;
  record.watch_ms = 10;
  record.audit = Audit::doubted;
  return record;
}

TEST(PaymentRecords, AreReadAsTheyWereWritten) {
  EXPECT_EQ(record_of_json(to_json(full_record())), full_record());
  PaymentRecord of_purchase = full_record();
  of_purchase.purchase = "pur_1";
  EXPECT_EQ(record_of_json(to_json(of_purchase)), of_purchase);
  for (int state = 0; state <= static_cast<int>(PaymentState::never_paid); ++state) {
    PaymentRecord record;
    record.state = static_cast<PaymentState>(state);
    EXPECT_EQ(record_of_json(to_json(record)), record) << name_of(record.state);
  }
}

TEST(PaymentRecords, DamagedOnesAreRefused) {
  const json sound = json::parse(to_json(full_record()));
  for (const auto& [name, value] : sound.items()) {
    json damaged = sound;
    damaged[name] = json::array();
    EXPECT_EQ(record_of_json(damaged.dump()), std::nullopt) << name;
  }
  json of_a_later_version = sound;
  of_a_later_version["audit"] = "unheard of";
  EXPECT_EQ(record_of_json(of_a_later_version.dump()), std::nullopt);
  for (const char* name : {"state", "flow", "on_failure"}) {
    json damaged = sound;
    damaged[name] = "unheard of";
    EXPECT_EQ(record_of_json(damaged.dump()), std::nullopt) << name;
    damaged.erase(name);
    EXPECT_EQ(record_of_json(damaged.dump()), std::nullopt) << "without " << name;
  }
  const std::string text = sound.dump();
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_EQ(record_of_json(text.substr(0, length)), std::nullopt) << length;
  }
}

TEST(PaymentRecords, RepliesKeepEveryByte) {
  Replay reply{207, {{"Content-Type", "text/plain"}, {"X-Empty", ""}}, {}};
  for (int byte = 0; byte < 256; ++byte) reply.body += static_cast<char>(byte);
  const auto read = decode_reply(encode(reply));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->status, 207);
  EXPECT_EQ(read->body, reply.body);
  ASSERT_EQ(read->headers.size(), 2u);
  EXPECT_EQ(read->headers[0].value, "text/plain");
}

TEST(PaymentRecords, DamagedRepliesAreRefused) {
  for (const char* damaged : {"", "body", "{}\nbody", "[]\nbody",
                              R"({"status":200})"
                              "\n",
                              R"({"status":"200","headers":[]})"
                              "\n",
                              R"({"status":200,"headers":[["a"]]})"
                              "\n",
                              R"({"status":200,"headers":[["a",1]]})"
                              "\n",
                              R"({"status":200,"headers":[{"a":"b","c":"d"}]})"
                              "\n"}) {
    EXPECT_FALSE(decode_reply(damaged)) << damaged;
  }
}

TEST(PaymentRecords, OpenSettlementsAreReadAsTheyWereWritten) {
  const OpenSettlement open{R"({"a":"\u0001\""})", "{}", std::string(fee_payer)};
  const auto read = decode_open_settlement(encode(open));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->payload_json, open.payload_json);
  EXPECT_EQ(read->requirements_json, open.requirements_json);
  EXPECT_EQ(read->fee_payer, open.fee_payer);
  for (const char* damaged : {"", "{}", "{}\n", "{}\nfee payer\n"}) {
    EXPECT_FALSE(decode_open_settlement(damaged)) << damaged;
  }
}

TEST(Sums, AddDecimalsOfAnyLength) {
  EXPECT_EQ(decimal_sum("0", "0"), "0");
  EXPECT_EQ(decimal_sum("999", "1"), "1000");
  EXPECT_EQ(decimal_sum("1", "999"), "1000");
  EXPECT_EQ(decimal_sum("18446744073709551615", "1"), "18446744073709551616");
  EXPECT_EQ(decimal_sum(std::string(78, '9'), "1"), "1" + std::string(78, '0'));
  EXPECT_EQ(decimal_sum("123456789", "987654321"), "1111111110");
}

class RecordingConsole final : public Console {
 public:
  void out(std::string_view text) override { printed += text; }
  void error(std::string_view text) override { errors += text; }
  std::string printed, errors;
};

// The export must contain only entries.
TEST(Sums, TheLedgerIsExportedWithoutItsTotals) {
  ScriptedHost host;
  ScriptedCall call(host.scripted_clock, 1'000);
  const KnownPayment payment{"key", full_record(), 0};
  const std::string entry = entry_json(payment, "settled", 9);
  const std::string owed = entry_json(payment, "refund_owed", 10);
  const std::string first = keys::entry(9, "key", "settled");
  const std::string second = keys::entry(10, "key", "refund_owed");
  const StoreWrite writes[] = {{first, entry}, {second, owed}};
  ASSERT_EQ(host.store().apply({}, writes, call).outcome, StoreOutcome::applied);
  const std::string_view words[] = {"payments", "--format", "csv"};

  RecordingConsole console;
  const Settings settings;
  EXPECT_EQ(X402Lane().command("x402", {words, false, settings, "", ""}, console, host), 0);
  const std::string rest = "key,eip155:8453," + std::string(usdc) + ",1000," + payer_address + "," +
                           std::string(pay_to) +
                           ",0x02,GET /v1/facts/{id},route,7,off_1,"
                           "\"https://api.example.org/v1/facts/1,\"\"2\"\"\",request,,\n";
  EXPECT_EQ(console.printed,
            "entry,at_ms,payment,network,asset,amount,payer,pay_to,transaction,operation,route_id,"
            "price_version,offer_id,resource,request_id,note,purchase\n"
            "settled,9," +
                rest + "refund_owed,10," + rest);

  RecordingConsole lines;
  const std::string_view payments[] = {"payments"};
  EXPECT_EQ(X402Lane().command("x402", {payments, false, settings, "", ""}, lines, host), 0);
  EXPECT_EQ(lines.printed, entry + "\n" + owed + "\n");

  RecordingConsole sums;
  const std::string_view totals[] = {"totals"};
  EXPECT_EQ(X402Lane().command("x402", {totals, true, settings, "", ""}, sums, host), 0);
  EXPECT_THAT(sums.printed, HasSubstr("\"settled\":\"1000\",\"refunds_owed\":\"1000\""));
}

TEST(Sums, AreNotGivenWhereARecordCannotBeRead) {
  ScriptedHost host;
  ScriptedCall call(host.scripted_clock, 1'000);
  const std::string entry = keys::entry(9, "key", "settled");
  const std::string owed = keys::owed("key"), payment = keys::payment("key");
  const StoreWrite writes[] = {{entry, "?"}, {owed, "{}"}, {payment, "?"}};
  ASSERT_EQ(host.store().apply({}, writes, call).outcome, StoreOutcome::applied);
  const Settings settings;
  for (const auto& [word, damaged] :
       {std::pair{"payments", entry}, {"totals", entry}, {"obligations", owed}}) {
    const std::string_view words[] = {word};
    RecordingConsole console;
    EXPECT_EQ(X402Lane().command("x402", {words, true, settings, "", ""}, console, host), 1);
    EXPECT_EQ(console.printed, "") << word;
    EXPECT_THAT(console.errors, HasSubstr(damaged)) << word;
  }
}

std::string terms_problem(const json& term) {
  const std::string text = json::array({term}).dump();
  PricedOperation operation;
  operation.price_policy_key = "model";
  operation.terms = text;
  Mistakes mistakes;
  read_terms(operation, 300, mistakes);
  std::string problems;
  for (const Mistake& mistake : mistakes.found()) {
    problems += mistake.where + ": " + mistake.message + "\n";
  }
  return problems;
}

TEST(TermsOfALane, AreRefusedWhereNobodyCouldPay) {
  EXPECT_EQ(terms_problem(base_term()), "");
  EXPECT_EQ(terms_problem(solana_term()), "");
  json term = base_term();
  term["network"] = "cosmos:hub";
  EXPECT_THAT(terms_problem(term), HasSubstr("cosmos:hub are not supported"));
  term = base_term();
  term["name"] = "USDC";
  EXPECT_THAT(terms_problem(term), HasSubstr("signs as name \"USD Coin\", version \"2\""));
  for (const char* member : {"asset", "pay_to"}) {
    term = base_term();
    std::string& address = term[member].get_ref<std::string&>();
    const std::size_t letter = address.find_first_of("ABCDEFabcdef", 2);
    address[letter] = static_cast<char>(address[letter] ^ 0x20);
    EXPECT_THAT(terms_problem(term), HasSubstr("EIP-55")) << member;
    const std::string where = std::string(member) == "asset" ? "registry.assets.base-usdc.address: "
                                                             : "registry.networks.base.pay_to: ";
    EXPECT_THAT(terms_problem(term), HasSubstr(where)) << member;
  }
  term = base_term();
  term["pay_to"] = "0x" + std::string(40, '0');
  EXPECT_THAT(terms_problem(term), HasSubstr("registry.networks.base.pay_to: is the zero address"));
  term["pay_to"] = usdc;
  EXPECT_THAT(terms_problem(term), HasSubstr("registry.networks.base.pay_to: is the token's own"));
  term["name"] = "USDC";
  EXPECT_THAT(terms_problem(term), AllOf(HasSubstr("registry.assets.base-usdc.name: "),
                                         HasSubstr("registry.networks.base.pay_to: ")));
}

// "where: message" for each mistake.
std::vector<std::string> texts_of(const std::vector<Mistake>& mistakes) {
  std::vector<std::string> texts;
  for (const Mistake& mistake : mistakes) texts.push_back(mistake.where + ": " + mistake.message);
  return texts;
}

// The operator can then correct everything at once.
TEST(LaneSettingsOf, AllMistakesAreToldAtOnce) {
  const auto problems_of = [](const Settings& settings) {
    Mistakes mistakes;
    (void)read_settings(settings, true, mistakes);
    return texts_of(mistakes.found());
  };
  const Settings chain = map({{"rpc_url", scalar("https://node.example")}});
  EXPECT_THAT(problems_of(map({{"facilitator", list({})},
                               {"chains", map({{"eip155:8453", map({})}, {"base", chain}})},
                               {"max_timeout_seconds", scalar("1")},
                               {"max_validity_seconds", scalar("60")},
                               {"offer_window_seconds", scalar("x")},
                               {"signing_algorithm", scalar("RS256")},
                               {"lost_addresses", list({scalar("0x1"), scalar(""), map({})})}})),
              UnorderedElementsAre(
                  "facilitator: unknown key; did you mean `facilitators`?",
                  "facilitators: expected a list of 1 to 16 facilitators",
                  "chains.eip155:8453.rpc_url: is required, such as https://service.example",
                  "chains.base: expected an EVM network such as eip155:8453",
                  "max_timeout_seconds: expected an integer from 30 to 86400",
                  "offer_window_seconds: expected an integer from 30 to 86400",
                  "signing_algorithm: expected ES256K or EdDSA",
                  "lost_addresses[1]: expected an address, in quotes",
                  "lost_addresses[2]: expected an address, in quotes"));
  EXPECT_THAT(problems_of(scalar("off")), ElementsAre(": expected a map"));
}

// A bound lane over scripted facilitators: one node that does not die, and a chain only if a test
// asks for it.
class LaneTest : public ::testing::Test {
 protected:
  LaneTest() {
    host_.scripted_clock.move_ms(1'800'000'000'000 - host_.scripted_clock.now_ms());
    // A key cannot consist of zeros, and nonces must differ.
    host_.randomness = &random_;
    std::filesystem::create_directory(folder_.path() + "/x402");
    const auto keys = KeyRing::open(folder_.path() + "/x402/keys", random_, host_.scripted_clock);
    if (!keys.ok()) throw std::runtime_error(keys.error());
    host_.answers = [this](const ScriptedHost::Seen& seen) {
      if (seen.url.starts_with("https://node.example")) return ask_node(seen);
      if (seen.url.ends_with("/verify")) {
        host_.scripted_clock.move_ms(verify_takes_ms_);
        ++verifications_;
        if (auto meanwhile = std::exchange(while_verifying_, nullptr)) meanwhile();
      }
      json reply = {{"isValid", verify_says_.empty()},
                    {"invalidReason", verify_says_},
                    {"payer", payer_address}};
      if (seen.url.ends_with("/supported")) reply = supported_;
      if (seen.url.ends_with("/settle")) {
        ++settlements_;
        host_.scripted_clock.move_ms(settle_takes_ms_);
        if (auto meanwhile = std::exchange(while_settling_, nullptr)) meanwhile();
        if (is_lost_) return ScriptedHost::Answer{502, {}, "<html>"};
        if (disowns_) mine(json::parse(seen.body)["paymentPayload"]);
        reply = {{"success", settles_},
                 {"transaction", settles_ ? "0x" + std::string(64, '1') : ""},
                 {"network", base},
                 {"errorReason", settles_ ? "" : "invalid_exact_evm_insufficient_balance"}};
      }
      return ScriptedHost::Answer{200, {}, reply.dump()};
    };
  }

  void bind(const json& terms, bool is_enabled = true) {
    terms_ = terms.dump();
    operation_.route_id = "route";
    operation_.path = "/v1/facts/{id}";
    operation_.media_type = "application/json";
    operation_.deadline_ms = 30'000;
    operation_.price_policy_key = "model";
    operation_.is_offered = is_enabled;
    operation_.terms = terms_;
    words_ = words_of(policy_);
    operation_.policy = words_;
    Settings facilitators;
    facilitators.kind = Settings::Kind::list;
    facilitators.items = {map({{"url", scalar("https://one.example")}})};
    settings_ = map({{"facilitators", facilitators}});
    if (has_chain_) {
      const Settings node = map({{"rpc_url", scalar("https://node.example")}});
      settings_.fields.push_back({"chains", map({{std::string(base), node}})});
    }
    settings_.fields.insert(settings_.fields.end(), further_.begin(), further_.end());
    notes_.clear();
    auto bound = lane_.bind({{&operation_, 1},
                             settings_,
                             "generation",
                             "https://api.example.org",
                             folder_.path(),
                             &notes_},
                            host_);
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    bound_ = *std::move(bound);
  }
  void bind_with_chain() {
    has_chain_ = true;
    bind(json::array({base_term()}));
  }
  ScriptedHost::Answer ask_node(const ScriptedHost::Seen& seen) {
    if (is_node_away_) return {503, {}, ""};
    node_.chain_id = 8453;
    node_.genesis_s = 1'799'000'000;
    node_.head = static_cast<std::uint64_t>(
        (host_.scripted_clock.now_ms() / 1000 - node_.genesis_s) / node_.block_s);
    return node_.answer(seen);
  }
  // Moves the payment on the chain.
  void mine(const json& payload) {
    const auto read = decode_payment(header_of(payload));
    const auto& transfer = std::get<Eip3009Payment>(read->payment);
    Authorization by;
    by.token = *parse_address(read->accepted.asset);
    by.from = transfer.from;
    by.to = transfer.to;
    by.value = transfer.value;
    by.nonce = transfer.nonce;
    node_.mine({filled<Word>(++transactions_),
                static_cast<std::uint64_t>((host_.scripted_clock.now_ms() / 1000 - 1'799'000'000) /
                                           node_.block_s),
                true,
                {FakeNode::used(by), FakeNode::transfer(by)}});
  }
  static json payload_of(const std::string& header) {
    return json::parse(*base64_decode(header, header.size()));
  }
  static std::string without_echo(const std::string& header) {
    json payload = payload_of(header);
    payload.erase("extensions");
    return header_of(payload);
  }
  bool run() {
    ScriptedCall call(host_.scripted_clock, 60'000);
    return bound_->run(call).ok();
  }
  int stored(std::string_view prefix) {
    const auto records = host_.memory_store.records();
    return static_cast<int>(std::count_if(records.begin(), records.end(), [&](const auto& each) {
      return each.first.starts_with(prefix);
    }));
  }
  Recalled recall(std::string_view payment, std::string_view path = "/v1/facts/1") {
    const HeaderField credential[] = {{"payment-signature", payment}};
    LaneRequest asked;
    asked.request_id = "request";
    asked.path = path;
    asked.credentials = credential;
    ScriptedCall call(host_.scripted_clock, 30'000);
    call.while_sleeping = while_sleeping_;
    return bound_->recall(asked, call);
  }
  std::vector<PaymentRecord> records() {
    std::vector<PaymentRecord> all;
    for (const auto& [key, record] : host_.memory_store.records()) {
      if (key.starts_with("p/")) all.push_back(record_of_json(record.value).value());
    }
    return all;
  }
  std::vector<json> entries() {
    std::vector<json> all;
    for (const auto& [key, record] : host_.memory_store.records()) {
      if (key.starts_with("e/")) all.push_back(json::parse(record.value));
    }
    return all;
  }
  // A payment that its payer `from` has not signed.
  std::string forged(char nonce, const std::string& from = "0x" + std::string(40, 'e')) {
    const std::string sound = payment(nonce);
    json payload = json::parse(*base64_decode(sound, sound.size()));
    payload["payload"]["authorization"]["from"] = from;
    return header_of(payload);
  }
  // The payer's authorization in the payment with this nonce.
  static Authorization authorized(char nonce) {
    Authorization made;
    made.network = base;
    made.token = *parse_address(usdc);
    made.from = *parse_address(payer_address);
    made.to = *parse_address(pay_to);
    made.value = word_of(1000);
    made.nonce = filled<Word>(static_cast<std::uint8_t>((nonce - '0') * 17));
    return made;
  }
  void mine(char nonce, std::uint8_t transaction) {
    const Authorization by = authorized(nonce);
    node_.mine({filled<Word>(transaction),
                static_cast<std::uint64_t>((host_.scripted_clock.now_ms() / 1000 - 1'799'000'000) /
                                           node_.block_s),
                true,
                {FakeNode::used(by), FakeNode::transfer(by)}});
  }
  Admission ask(std::string_view payment = {}, std::string_view idempotency_key = {},
                std::string_view path = "/v1/facts/1") {
    const HeaderField credential[] = {{"payment-signature", payment}};
    LaneRequest asked;
    asked.request_id = "request";
    asked.path = path;
    asked.idempotency_key = idempotency_key;
    if (!payment.empty()) asked.credentials = credential;
    ScriptedCall call(host_.scripted_clock, 30'000);
    call.while_sleeping = while_sleeping_;
    return bound_->admit(asked, call);
  }
  std::string challenge_header(std::string_view path = "/v1/facts/1") {
    const Admission admission = ask({}, {}, path);
    for (const OwnedHeader& header : std::get<Refusal>(admission).headers) {
      if (header.name == "PAYMENT-REQUIRED") return header.value;
    }
    return {};
  }
  json challenge(std::string_view path = "/v1/facts/1") {
    const std::string header = challenge_header(path);
    return json::parse(*base64_decode(header, header.size()));
  }
  // A payment, signed for a new challenge; `nonce` distinguishes payments.
  std::string payment(char nonce, const std::string& payment_id = {},
                      std::string_view path = "/v1/facts/1") {
    const json offered = challenge(path);
    json payload = sample_payload();
    payload["accepted"] = offered["accepts"][0];
    payload["extensions"] = offered["extensions"];
    if (!payment_id.empty()) {
      payload["extensions"]["payment-identifier"]["info"]["id"] = payment_id;
    }
    payload["payload"]["authorization"]["from"] = from_;
    payload["payload"]["authorization"]["validBefore"] =
        std::to_string(host_.scripted_clock.now_ms() / 1000 + valid_s_);
    payload["payload"]["authorization"]["nonce"] = "0x" + std::string(64, nonce);
    return header_of(Payer(from_ == payer_address ? 1 : 2).sign(payload));
  }
  // The caller's answer: "200 <body>", "again <body>" or a code.
  std::string pay(const std::string& header, std::string_view idempotency_key = {},
                  bool works = true, std::string_view path = "/v1/facts/1") {
    const Admission admission = ask(header, idempotency_key, path);
    if (const auto* refusal = std::get_if<Refusal>(&admission)) return said(*refusal);
    if (const auto* replay = std::get_if<Replay>(&admission)) return "again " + replay->body;
    Ticket& ticket = *std::get<std::unique_ptr<Ticket>>(admission);
    ScriptedCall call(host_.scripted_clock, 400'000);
    if (!works) {
      (void)ticket.release(Outcome::upstream_status, 500, call);
      return "failed";
    }
    const std::string body = "reply " + std::to_string(++replies_);
    const Finish finish = ticket.settle({200, {}, body, body.size(), 0}, call);
    if (std::holds_alternative<Charged>(finish)) return "200 " + body;
    const auto* refused = std::get_if<NotCharged>(&finish);
    return said(refused != nullptr ? refused->refusal : std::get<Unknown>(finish).refusal);
  }
  // Admits the payment, then releases it with that outcome. Returns the lane's code, or "".
  std::string fail(const std::string& header, Outcome outcome) {
    const Admission admission = ask(header);
    if (const auto* refusal = std::get_if<Refusal>(&admission)) return said(*refusal);
    ScriptedCall call(host_.scripted_clock, 400'000);
    const auto refusal = std::get<std::unique_ptr<Ticket>>(admission)->release(outcome, 200, call);
    return refusal ? said(*refusal) : "";
  }
  std::string said(const Refusal& refusal) {
    said_ = refusal;
    return refusal.code;
  }
  [[nodiscard]] bool has_header(std::string_view name) const {
    return std::any_of(said_.headers.begin(), said_.headers.end(),
                       [&](const OwnedHeader& header) { return header.name == name; });
  }

  json supported_ = {{"kinds",
                      {{{"x402Version", 2}, {"scheme", "exact"}, {"network", base}},
                       {{"x402Version", 2},
                        {"scheme", "exact"},
                        {"network", solana},
                        {"extra", {{"feePayer", fee_payer}}}}}},
                     {"signers", json::object()}};
  support::TemporaryDirectory folder_;
  support::CountingRandom random_;
  ScriptedHost host_;
  CallPolicy policy_;
  std::string words_;  // backs operation_.policy
  PricedOperation operation_;
  std::string terms_;
  Settings settings_;
  std::vector<Settings::Field> further_;
  std::vector<Note> notes_;
  FakeNode node_;
  X402Lane lane_;
  std::unique_ptr<BoundLane> bound_;
  std::int64_t valid_s_ = 600;
  std::int64_t verify_takes_ms_ = 0;
  std::int64_t settle_takes_ms_ = 0;
  bool settles_ = true;
  bool is_lost_ = false;     // settlements get no answer
  bool disowns_ = false;     // it settles, whatever it answers
  std::string verify_says_;  // reason for refusal; empty: valid
  std::function<void()> while_verifying_, while_settling_, while_sleeping_;
  bool has_chain_ = false;
  bool is_node_away_ = false;
  std::uint8_t transactions_ = 0x70;
  std::string from_ = payer_address;
  Refusal said_;
  int verifications_ = 0;
  int settlements_ = 0;
  int replies_ = 0;
};

TEST_F(LaneTest, OffersSolanaWithTheFeePayerOfTheFacilitator) {
  bind(json::array({base_term(), solana_term()}));
  const json accepts = challenge()["accepts"];
  ASSERT_EQ(accepts.size(), 2u);
  EXPECT_EQ(accepts[1]["network"], solana);
  EXPECT_EQ(accepts[1]["extra"]["feePayer"], fee_payer);
}

TEST_F(LaneTest, OffersNothingThatNoFacilitatorSupports) {
  supported_["kinds"].erase(0);
  supported_["kinds"][0].erase("extra");  // Solana needs a fee payer
  bind(json::array({base_term(), solana_term()}));
  EXPECT_EQ(bound_->state(0).condition, Condition::blocked);
  const Admission admission = ask();
  EXPECT_EQ(std::get<Refusal>(admission).code, "x402.unavailable");
}

TEST_F(LaneTest, WhatNoFacilitatorSupportsAnyMoreIsNotBegunButWhatWasPaidForIsGiven) {
  policy_.verifies_first = false;
  bind(json::array({base_term()}));
  const std::string paid = payment('1'), late = payment('2');
  EXPECT_EQ(pay(paid, "key"), "200 reply 1");
  supported_["kinds"].erase(0);
  host_.scripted_clock.move_ms(300'000);
  ScriptedCall call(host_.scripted_clock, 60'000);
  ASSERT_TRUE(bound_->run(call).ok());
  EXPECT_EQ(bound_->state(0).condition, Condition::blocked);
  EXPECT_EQ(pay(late), "x402.unavailable");
  EXPECT_EQ(pay(late, "key"), "again reply 1");
  EXPECT_EQ(pay(paid), "again reply 1");
  EXPECT_EQ(replies_, 1);
}

TEST_F(LaneTest, AChallengeIsSmallAndItsOfferIsSignedOnce) {
  json terms = json::array();
  for (int amount = 1000; amount < 1003; ++amount) {
    terms.push_back(base_term());
    terms.back()["atomic_amount"] = std::to_string(amount);
  }
  terms.push_back(solana_term());
  bind(terms);
  EXPECT_LE(challenge_header().size(), challenge_header_bytes_max);
  const auto offers = [](const json& made) { return made["extensions"]["offer-receipt"]; };
  // ES256K signatures are deterministic, so only the time distinguishes them.
  const json first = challenge();
  host_.scripted_clock.move_ms(1'000);
  EXPECT_EQ(offers(challenge()), offers(first));
  EXPECT_NE(offers(challenge("/v1/facts/2")), offers(first));
  EXPECT_NE(challenge("/v1/facts/2")["extensions"]["turnpike-binding"],
            first["extensions"]["turnpike-binding"]);
  host_.scripted_clock.move_ms(300'000);
  EXPECT_NE(offers(challenge()), offers(first));
}

TEST_F(LaneTest, APaymentThatEndsTooFarAheadIsRefused) {
  bind(json::array({base_term()}));
  valid_s_ = 86'401;
  const Admission admission = ask(payment('1'));
  EXPECT_EQ(std::get<Refusal>(admission).code, "x402.payment_refused");
  EXPECT_THAT(std::get<Refusal>(admission).body, HasSubstr("turnpike_validity_too_long"));
  valid_s_ = 86'400;
  EXPECT_EQ(pay(payment('1')), "200 reply 1");
}

TEST_F(LaneTest, AnIdempotencyKeyGivesTheReplyOfAnotherPaymentOfTheSamePayer) {
  bind(json::array({base_term()}));
  EXPECT_EQ(pay(payment('1'), "key"), "200 reply 1");
  EXPECT_EQ(pay(payment('2'), "key"), "again reply 1");
  EXPECT_EQ(settlements_, 1);
  EXPECT_EQ(pay(payment('2')), "200 reply 2");  // this payment is unused
}

TEST_F(LaneTest, AnIdempotencyKeyIsBoundAnewWhenAReleasedPaymentComesAgain) {
  bind(json::array({base_term()}));
  const std::string first = payment('1');
  EXPECT_EQ(pay(first, "key", false), "failed");
  EXPECT_EQ(pay(first, "key"), "200 reply 1");
  EXPECT_EQ(pay(payment('2'), "key"), "again reply 1");
  EXPECT_EQ(settlements_, 1);
}

TEST_F(LaneTest, AReleasedPaymentDoesNotTakeAnIdThatWentToAnother) {
  bind(json::array({base_term()}));
  const std::string first = payment('1');
  EXPECT_EQ(pay(first, "key", false), "failed");
  EXPECT_EQ(pay(payment('2'), "key"), "200 reply 1");
  EXPECT_EQ(pay(first, "key"), "again reply 1");
  EXPECT_EQ(settlements_, 1);
}

TEST_F(LaneTest, ACallThatDiedHoldsItsIdNoLongerThanItsLease) {
  bind(json::array({base_term()}));
  (void)ask(payment('1'), "key");  // this call never ends
  EXPECT_EQ(pay(payment('2'), "key"), "idempotency.in_progress");
  host_.scripted_clock.move_ms(60'000);
  EXPECT_EQ(pay(payment('2'), "key"), "200 reply 1");
  EXPECT_EQ(pay(payment('1'), "key"), "again reply 1");
}

// The time of a call may end between its last pause and its last look.
TEST_F(LaneTest, WhoWaitedForAPaymentIsNotToldThatNothingIsKnown) {
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  const Admission working = ask(sent);
  while_sleeping_ = [this] { host_.memory_store.fail_reads(true); };
  EXPECT_EQ(pay(sent), "x402.in_progress");
  host_.memory_store.fail_reads(false);
  EXPECT_EQ(std::get<Refusal>(recall(sent)).code, "x402.in_progress");
  while_sleeping_ = nullptr;
  EXPECT_EQ(pay(sent), "x402.unavailable") << "nothing was read";
}

TEST_F(LaneTest, WhoHadAPaymentCollectedIsNotToldThatNothingIsKnown) {
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  is_lost_ = true;
  EXPECT_EQ(pay(sent), "x402.settlement_unknown");
  is_lost_ = false;
  host_.scripted_clock.move_ms(2'000);
  while_settling_ = [this] { host_.memory_store.fail_reads(true); };
  EXPECT_EQ(pay(sent), "x402.settlement_unknown");
  host_.memory_store.fail_reads(false);
  EXPECT_EQ(pay(sent), "again reply 1");
  EXPECT_EQ(settlements_, 2);
}

TEST_F(LaneTest, APaymentIdentifierNamesOnePayment) {
  bind(json::array({base_term()}));
  const std::string id = "pay_0123456789abcdef";
  const std::string first = payment('1', id);
  EXPECT_EQ(pay(first), "200 reply 1");
  EXPECT_EQ(pay(first), "again reply 1");
  EXPECT_EQ(pay(payment('2', id)), "idempotency.conflict");
  EXPECT_EQ(settlements_, 1);
}

TEST_F(LaneTest, ASettledPaymentIsNeverAnsweredWithAChallenge) {
  bind(json::array({base_term()}));
  const std::string first = payment('1');
  EXPECT_EQ(pay(first), "200 reply 1");
  host_.scripted_clock.move_ms(20 * 3'600'000);  // long after its challenge ended
  EXPECT_EQ(pay(first), "again reply 1");
  // The same authorization in other bytes: its sender need not be the payer.
  json payload = json::parse(*base64_decode(first, first.size()));
  payload["note"] = "other bytes";
  EXPECT_EQ(pay(header_of(payload)), "idempotency.conflict");
  EXPECT_EQ(settlements_, 1);
}

// After settlement, everyone can read the authorization and its signature on the chain.
TEST_F(LaneTest, WhatWasPaidForIsHisAloneWhoSentTheVeryPayment) {
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  EXPECT_EQ(pay(sent), "200 reply 1");
  // The same authorization with the echo of a challenge that another caller got for the same
  // request.
  const std::string copied = payment('1');
  EXPECT_EQ(pay(copied), "idempotency.conflict");
  // Or with a signature that could be a contract wallet's.
  json payload = json::parse(*base64_decode(copied, copied.size()));
  payload["payload"]["signature"] = "0x" + std::string(200, '7');
  EXPECT_EQ(pay(header_of(payload)), "idempotency.conflict");
  EXPECT_EQ(pay(sent), "again reply 1");
  EXPECT_EQ(settlements_, 1);
}

TEST_F(LaneTest, WorkThatWasPaidUpfrontIsNotDoneForAnother) {
  policy_.flow = PaymentFlow::upfront;
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  EXPECT_EQ(pay(sent, {}, false), "failed");
  EXPECT_EQ(pay(payment('1')), "idempotency.conflict");
  EXPECT_EQ(pay(sent), "200 reply 1");
  EXPECT_EQ(settlements_, 1);
}

TEST_F(LaneTest, WhatChargedNothingMayComeAgainInAnotherForm) {
  bind(json::array({base_term()}));
  EXPECT_EQ(pay(payment('1'), {}, false), "failed");
  EXPECT_EQ(pay(payment('1')), "200 reply 1");
}

TEST_F(LaneTest, AFlowThatWasAgreedToHoldsThoughTheRouteHasAnotherByNow) {
  using enum PaymentFlow;
  for (const PaymentFlow agreed : {authorization, upfront}) {
    policy_.flow = agreed;
    bind(json::array({base_term()}));
    const std::string sent = payment(agreed == upfront ? '1' : '2');
    policy_.flow = agreed == upfront ? authorization : upfront;
    bind(json::array({base_term()}));
    settlements_ = 0;
    EXPECT_EQ(pay(sent, {}, false), "failed");
    EXPECT_EQ(settlements_, agreed == upfront ? 1 : 0);
    EXPECT_EQ(pay(sent).substr(0, 9), "200 reply");
    EXPECT_EQ(settlements_, 1);
  }
}

TEST_F(LaneTest, TimeThatTheFacilitatorTookIsMissingForTheWork) {
  bind(json::array({base_term()}));
  valid_s_ = 45;  // 30 for the work and 10 for its settlement, plus 5
  const std::string sent = payment('1');
  verify_takes_ms_ = 5'000;
  EXPECT_EQ(pay(sent), "200 reply 1");
  const std::string late = payment('2');
  verify_takes_ms_ = 6'000;
  const Admission admission = ask(late);
  ASSERT_TRUE(std::holds_alternative<Refusal>(admission));
  EXPECT_THAT(std::get<Refusal>(admission).body,
              HasSubstr("invalid_exact_evm_payload_authorization_valid_before"));
  EXPECT_EQ(settlements_, 1);
}

TEST_F(LaneTest, WhatWasOfferedIsEchoedAsItWas) {
  bind(json::array({base_term()}));
  const std::string first = payment('1');
  json payload = json::parse(*base64_decode(first, first.size()));
  payload["extensions"]["payment-identifier"]["info"]["required"] = true;
  EXPECT_EQ(pay(header_of(payload)), "x402.payment_refused");
  payload["extensions"].erase("payment-identifier");
  EXPECT_EQ(pay(header_of(payload)), "200 reply 1");
}

TEST_F(LaneTest, ARefusedSettlementFreesItsIds) {
  bind(json::array({base_term()}));
  settles_ = false;
  EXPECT_EQ(pay(payment('1', "pay_0123456789abcdef"), "key"), "x402.settlement_failed");
  settles_ = true;
  EXPECT_EQ(pay(payment('2', "pay_0123456789abcdef"), "key"), "200 reply 2");
}

// The node dies just before it asks a facilitator.
TEST_F(LaneTest, APaymentUpfrontIsNotCollectedWhileNobodyWaitsForTheWork) {
  policy_.flow = PaymentFlow::upfront;
  for (const UnearnedPayment unearned : {UnearnedPayment::retry, UnearnedPayment::refund}) {
    policy_.unearned = unearned;
    bind(json::array({base_term()}));
    settlements_ = 0;
    const std::string sent = payment(unearned == UnearnedPayment::retry ? '1' : '2');
    int applies = 0;
    host_.memory_store.after_apply = [this, &applies] {
      if (++applies == 2) host_.memory_store.die();
    };
    (void)ask(sent);
    host_.memory_store.after_apply = nullptr;
    host_.memory_store.revive();
    host_.scripted_clock.move_ms(200'000);
    ScriptedCall call(host_.scripted_clock, 60'000);
    ASSERT_TRUE(bound_->run(call).ok());
    EXPECT_EQ(settlements_, 0);
    host_.scripted_clock.move_ms(2'000);
    EXPECT_EQ(pay(sent).substr(0, 9), "200 reply");
    EXPECT_EQ(settlements_, 1);
  }
}

// ---- a facilitator's answer against the chain's -------------------------------------------------

class DisownedTest : public LaneTest {
 protected:
  DisownedTest() {
    has_chain_ = true;
    settles_ = false;
  }
  std::vector<std::string> entries() {
    std::vector<std::string> all;
    for (const auto& [key, record] : host_.memory_store.records()) {
      if (key.starts_with("e/")) all.push_back(json::parse(record.value)["entry"]);
    }
    return all;
  }
  void let_the_watch_end() {
    host_.scripted_clock.move_ms((valid_s_ + 60 + 31) * 1'000);
    ASSERT_TRUE(run());
    ASSERT_TRUE(run());
    EXPECT_EQ(stored("o/") + stored("v/"), 0) << "nothing is watched any more";
    EXPECT_EQ(host_.gauges["settlements_open"], 0);
  }
};

TEST_F(DisownedTest, WhatTheChainShowsPaidIsNotCalledUnpaid) {
  for (const PaymentFlow flow : {PaymentFlow::authorization, PaymentFlow::upfront}) {
    policy_.flow = flow;
    bind(json::array({base_term()}));
    const std::string sent = payment(flow == PaymentFlow::upfront ? '2' : '1');
    disowns_ = true;
    EXPECT_EQ(pay(sent), "x402.settlement_unknown");
    EXPECT_FALSE(has_header("PAYMENT-REQUIRED"));
    host_.scripted_clock.move_ms(2'000);
    EXPECT_EQ(pay(sent), flow == PaymentFlow::upfront ? "200 reply 2" : "again reply 1");
    EXPECT_EQ(entries().back(), "settled");
  }
  EXPECT_EQ(settlements_, 2);
}

TEST_F(DisownedTest, WhatTheChainShowsUnusedMayBePaidWithAgain) {
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  EXPECT_EQ(pay(sent), "x402.settlement_failed");
  EXPECT_THAT(said_.message, HasSubstr("The chain shows it unused"));
  EXPECT_EQ(stored("r/") + stored("o/"), 0);
  EXPECT_EQ(stored("v/"), 1);
  ASSERT_TRUE(run());
  EXPECT_EQ(host_.gauges["settlements_open"], 0) << "it is only watched";
  settles_ = true;
  EXPECT_EQ(pay(sent), "200 reply 2");
  EXPECT_EQ(stored("o/") + stored("v/"), 0);
}

TEST_F(DisownedTest, AChainThatDoesNotAnswerProvesNothing) {
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  is_node_away_ = true;
  EXPECT_EQ(pay(sent), "x402.settlement_unknown");
  is_node_away_ = false;
  settles_ = true;
  host_.scripted_clock.move_ms(2'000);
  EXPECT_EQ(pay(sent), "again reply 1");
}

TEST_F(DisownedTest, WhatIsPaidLaterIsFoundWhenItsPayerComesAgain) {
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  EXPECT_EQ(pay(sent), "x402.settlement_failed");
  mine(payload_of(sent));
  EXPECT_EQ(pay(sent), "200 reply 2");
  EXPECT_EQ(settlements_, 1);
  EXPECT_EQ(pay(sent), "again reply 2");
  let_the_watch_end();
  EXPECT_EQ(entries(), std::vector<std::string>{"settled"});
}

TEST_F(DisownedTest, WhatIsPaidLaterAndNotAskedForAgainIsOwedBack) {
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  EXPECT_EQ(pay(sent), "x402.settlement_failed");
  mine(payload_of(sent));
  let_the_watch_end();
  EXPECT_THAT(entries(), ::testing::UnorderedElementsAre("settled", "refund_owed"));
  EXPECT_EQ(pay(sent), "x402.refund_owed");
}

TEST_F(DisownedTest, WhatExpiresUnusedWasNeverPaid) {
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  EXPECT_EQ(pay(sent), "x402.settlement_failed");
  host_.scripted_clock.move_ms(valid_s_ * 1'000);
  ASSERT_TRUE(run());
  EXPECT_EQ(stored("v/"), 1) << "it may have been mined in the last moment";
  let_the_watch_end();
  EXPECT_TRUE(entries().empty());
  EXPECT_EQ(pay(sent), "x402.payment_refused");
}

// The payment had been released, so its payer sent it again; meanwhile it was used by the
// settlement.
TEST_F(LaneTest, AVerifierThatFindsItUsedDoesNotMakeItUnpaid) {
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  settles_ = false;
  EXPECT_EQ(pay(sent), "x402.settlement_failed");
  EXPECT_THAT(said_.message, HasSubstr("By its word"));
  verify_says_ = "invalid_exact_evm_nonce_already_used";
  EXPECT_EQ(pay(sent), "x402.settlement_unknown");
  EXPECT_FALSE(has_header("PAYMENT-REQUIRED"));
  // For a payment that no facilitator was asked to settle, the answer proves that it is worthless.
  EXPECT_EQ(pay(payment('2')), "x402.payment_refused");
}

// ---- payments without an echo -------------------------------------------------------------------

TEST_F(LaneTest, APaymentThatEchoesNothingBuysOneCall) {
  for (const PaymentFlow flow : {PaymentFlow::authorization, PaymentFlow::upfront}) {
    policy_.flow = flow;
    bind(json::array({base_term()}));
    settlements_ = replies_ = 0;
    const std::string sent =
        without_echo(payment(flow == PaymentFlow::upfront ? '2' : '1', {}, "/v1/facts/2"));
    EXPECT_EQ(pay(sent), "200 reply 1");
    EXPECT_EQ(stored("r/"), 0);
    EXPECT_EQ(pay(sent), "idempotency.reply_not_stored");
    EXPECT_THAT(said_.message, HasSubstr("0x" + std::string(64, '1')));
    EXPECT_TRUE(has_header("PAYMENT-RESPONSE"));
    EXPECT_FALSE(has_header("PAYMENT-REQUIRED"));
    EXPECT_EQ(pay(sent, {}, true, "/v1/facts/2"), "idempotency.conflict");
    EXPECT_EQ(settlements_, 1);
    EXPECT_EQ(replies_, 1);
  }
}

TEST_F(LaneTest, APaymentThatEchoesNothingIsOfTermsThatAreOffered) {
  bind(json::array({base_term()}));
  const auto changed = [this](const char* member, const char* value) {
    json payload = payload_of(without_echo(payment('1')));
    payload["accepted"][json::json_pointer(member)] = value;
    return header_of(payload);
  };
  for (const auto& [member, value] : {std::pair{"/amount", "1"},
                                      {"/payTo", payer_address},
                                      {"/maxTimeoutSeconds", ""},
                                      {"/extra/paymentFlow", "upfront"},
                                      {"/extra/assetTransferMethod", "permit2"},
                                      {"/more", "1"}}) {
    json payload = payload_of(changed(member, value));
    if (*value == '\0') payload["accepted"]["maxTimeoutSeconds"] = 299;
    EXPECT_EQ(pay(header_of(payload)), "x402.payment_refused") << member;
    EXPECT_THAT(said_.body, HasSubstr("no_matching_payment_requirements")) << member;
  }
  EXPECT_EQ(settlements_, 0);
}

TEST_F(LaneTest, ARouteMayWantTheEcho) {
  policy_.binding = PaymentBinding::required;
  bind(json::array({base_term()}));
  EXPECT_EQ(pay(without_echo(payment('1'))), "x402.payment_refused");
  EXPECT_THAT(said_.body, HasSubstr("turnpike_binding_missing"));
  EXPECT_EQ(pay(payment('1')), "200 reply 1");
}

TEST_F(LaneTest, AnEchoThatIsWrongIsRefusedWhereNoneIsWanted) {
  bind(json::array({base_term()}));
  EXPECT_EQ(pay(payment('1', {}, "/v1/facts/2")), "x402.payment_refused");
  EXPECT_THAT(said_.body, HasSubstr("turnpike_binding_mismatch"));
}

TEST_F(LaneTest, APaymentThatEchoesNothingAndBoughtNothingBuysAnotherCall) {
  bind(json::array({base_term()}));
  const std::string sent = without_echo(payment('1'));
  EXPECT_EQ(pay(sent, {}, false), "failed");
  EXPECT_EQ(pay(sent, {}, true, "/v1/facts/2"), "200 reply 1");
}

// Otherwise anyone who reads the payment on the chain could get the work.
TEST_F(LaneTest, WorkThatFailsForAPaymentThatEchoesNothingIsOwedBackAtOnce) {
  policy_.flow = PaymentFlow::upfront;
  bind(json::array({base_term()}));
  const std::string sent = without_echo(payment('1'));
  EXPECT_EQ(fail(sent, Outcome::upstream_failure), "x402.refund_owed");
  EXPECT_EQ(pay(sent), "x402.refund_owed");
}

TEST_F(LaneTest, ASettlementThatNobodySawOfAPaymentThatEchoesNothingIsOwedBack) {
  for (const PaymentFlow flow : {PaymentFlow::authorization, PaymentFlow::upfront}) {
    policy_.flow = flow;
    has_chain_ = true;
    bind(json::array({base_term()}));
    const std::string sent = without_echo(payment(flow == PaymentFlow::upfront ? '2' : '1'));
    settlements_ = 0;
    is_lost_ = true;
    EXPECT_EQ(pay(sent), "x402.settlement_unknown");
    is_lost_ = false;
    host_.scripted_clock.move_ms(2'000);
    EXPECT_EQ(pay(sent), "x402.settlement_unknown") << "it is not collected to be owed back";
    EXPECT_EQ(settlements_, 1);
    mine(payload_of(sent));
    host_.scripted_clock.move_ms(2'000);
    EXPECT_EQ(pay(sent), "x402.refund_owed");
    EXPECT_EQ(settlements_, 1);
  }
}

// ---- replies that are too long ------------------------------------------------------------------

TEST_F(LaneTest, AReplyThatIsTooLongIsOwedBackAtOnceAndSaysWhy) {
  policy_.flow = PaymentFlow::upfront;
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  EXPECT_EQ(fail(sent, Outcome::response_too_large), "x402.refund_owed");
  EXPECT_THAT(said_.message, HasSubstr("longer than this call may bring"));
  EXPECT_EQ(pay(sent), "x402.refund_owed");
  EXPECT_THAT(said_.message, HasSubstr("longer than this call may bring"));
}

TEST_F(LaneTest, WhatIsPaidBeforeTheWorkKeepsItsReplyAndNothingElseDoes) {
  for (const PaymentFlow flow : {PaymentFlow::authorization, PaymentFlow::upfront}) {
    policy_.flow = flow;
    bind(json::array({base_term()}));
    const bool is_upfront = flow == PaymentFlow::upfront;
    for (const bool has_echo : {true, false}) {
      const char nonce = static_cast<char>('1' + (is_upfront ? 2 : 0) + (has_echo ? 1 : 0));
      const std::string sent = has_echo ? payment(nonce) : without_echo(payment(nonce));
      const Admission admission = ask(sent);
      EXPECT_EQ(std::get<std::unique_ptr<Ticket>>(admission)->keeps_reply, is_upfront && has_echo);
    }
  }
}

// ---- callers' own ids ---------------------------------------------------------------------------

TEST_F(LaneTest, TwoPayersMayUseOneIdentifier) {
  bind(json::array({base_term()}));
  const std::string id = "pay_0123456789abcdef";
  EXPECT_EQ(pay(payment('1', id), "key"), "200 reply 1");
  from_ = "0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF";
  EXPECT_EQ(pay(payment('2', id), "key"), "200 reply 2");
}

TEST_F(LaneTest, APayerIsTheSameHoweverHisAddressIsSpelled) {
  bind(json::array({base_term()}));
  EXPECT_EQ(pay(payment('1'), "key"), "200 reply 1");
  json payload = payload_of(payment('2'));
  std::string& from = payload["payload"]["authorization"]["from"].get_ref<std::string&>();
  std::transform(from.begin(), from.end(), from.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  EXPECT_EQ(pay(header_of(payload), "key"), "again reply 1");
}

TEST_F(LaneTest, ASignatureThatIsNotProvenHoldsNoId) {
  bind(json::array({base_term()}));
  const std::string id = "pay_0123456789abcdef";
  json forged = payload_of(payment('1', id));
  forged["payload"]["signature"] = "0x" + std::string(200, '7');
  const std::string own = payment('2', id);
  while_verifying_ = [&] {
    EXPECT_EQ(pay(own, "key"), "200 reply 1");
    verify_says_ = "invalid_exact_evm_signature";
  };
  EXPECT_EQ(pay(header_of(forged), "key"), "x402.payment_refused");
  EXPECT_EQ(stored("i/"), 2);
}

// An id of a contract wallet is stored only after a facilitator has verified the payment.
TEST_F(LaneTest, AnIdIsHeldOnceAFacilitatorHasProvenWhoPays) {
  bind(json::array({base_term()}));
  const auto of_wallet = [this](char nonce) {
    json payload = payload_of(payment(nonce));
    payload["payload"]["signature"] = "0x" + std::string(200, '7');
    return header_of(payload);
  };
  EXPECT_EQ(pay(of_wallet('1'), "key"), "200 reply 1");
  EXPECT_EQ(stored("i/"), 1);
  EXPECT_EQ(pay(of_wallet('2'), "key"), "again reply 1");
  EXPECT_EQ(settlements_, 1);
  EXPECT_EQ(pay(of_wallet('2')), "200 reply 2") << "it is still good";
}

// ---- a payment in another spelling --------------------------------------------------------------

TEST_F(LaneTest, APaymentIsTheSameHoweverItsJsonIsWritten) {
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  EXPECT_EQ(pay(sent), "200 reply 1");
  const json payload = payload_of(sent);
  nlohmann::ordered_json turned;
  for (auto member = payload.rbegin(); member != payload.rend(); ++member) {
    turned[member.key()] = *member;
  }
  EXPECT_EQ(pay(base64_encode(turned.dump(2))), "again reply 1");
}

// ---- without a store ----------------------------------------------------------------------------

TEST_F(LaneTest, NobodyIsAskedToPayWhileThereIsNoStore) {
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  host_.memory_store.die();
  EXPECT_FALSE(run());
  EXPECT_EQ(bound_->state(0).condition, Condition::blocked);
  EXPECT_EQ(std::get<Refusal>(ask()).code, "x402.unavailable");
  const std::size_t applies = host_.memory_store.applies();
  EXPECT_EQ(pay(sent), "x402.unavailable");
  EXPECT_EQ(host_.memory_store.applies(), applies) << "at once";
  host_.memory_store.revive();
  EXPECT_TRUE(run());
  EXPECT_EQ(bound_->state(0).condition, Condition::ready);
  EXPECT_EQ(pay(sent), "200 reply 1");
}

// Payments with an unknown outcome and no chain to ask.
class OpenOutcomeTest : public LaneTest {
 protected:
  // Sends a payment whose settlement gets no answer.
  std::string leave_open(char nonce) {
    std::string sent = payment(nonce);
    is_lost_ = true;
    EXPECT_EQ(pay(sent), "x402.settlement_unknown");
    for (const auto& [key, record] : host_.memory_store.records()) {
      if (key.starts_with("o/")) key_ = key.substr(key.rfind('/') + 1);
    }
    return sent;
  }
  void let_it_end() {
    host_.scripted_clock.move_ms((valid_s_ + 61) * 1'000);
    ScriptedCall call(host_.scripted_clock, 60'000);
    ASSERT_TRUE(bound_->run(call).ok());
  }
  // Returns the exit code and the error output.
  std::pair<int, std::string> resolve(std::vector<std::string_view> words) {
    words.insert(words.begin(), {"resolve", key_});
    RecordingConsole console;
    const int code = X402Lane().command("x402", {words, false, settings_, "", ""}, console, host_);
    return {code, console.errors};
  }
  std::string key_;
};

TEST_F(OpenOutcomeTest, IsEndedByAnOperatorsWordThatItWasNotSettled) {
  bind(json::array({base_term()}));
  const std::string sent = leave_open('1');
  EXPECT_THAT(resolve({"--not-settled", "--reason", "r"}).second, HasSubstr("may still settle it"));
  host_.scripted_clock.move_ms((valid_s_ + 61) * 1'000);
  EXPECT_THAT(resolve({"--not-settled", "--reason", "r"}).second, HasSubstr("no facilitator was"));
  let_it_end();
  EXPECT_THAT(resolve({"--not-settled"}).second, HasSubstr("--reason"));
  EXPECT_EQ(resolve({}).first, 2);
  EXPECT_EQ(resolve({"--not-settled", "--settled", "0x1", "--reason", "r"}).first, 2);
  EXPECT_THAT(entries(), ::testing::IsEmpty());
  EXPECT_EQ(resolve({"--not-settled", "--reason", "the payer shows it unspent"}).first, 0);
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_EQ(entries()[0]["entry"], "not_settled");
  EXPECT_THAT(entries()[0]["note"].get<std::string>(), HasSubstr("the payer shows it unspent"));
  EXPECT_EQ(pay(sent), "x402.payment_refused");
  EXPECT_THAT(resolve({"--not-settled", "--reason", "r"}).second, HasSubstr("no outcome is open"));
}

TEST_F(OpenOutcomeTest, IsEndedByAnOperatorsWordThatItWasSettled) {
  bind(json::array({base_term()}));
  const std::string sent = leave_open('1');
  let_it_end();
  EXPECT_THAT(resolve({"--settled", "0x12"}).second, HasSubstr("is no transaction"));
  const std::string transaction = "0x" + std::string(64, 'd');
  EXPECT_EQ(resolve({"--settled", transaction}).first, 0);
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_EQ(entries()[0]["entry"], "settled");
  EXPECT_EQ(entries()[0]["transaction"], transaction);
  EXPECT_EQ(pay(sent), "again reply 1");
}

TEST_F(OpenOutcomeTest, OfWorkThatWasNotDoneIsOwedBackOnceItIsSaidToBeSettled) {
  policy_.flow = PaymentFlow::upfront;
  bind(json::array({base_term()}));
  const std::string sent = leave_open('1');
  let_it_end();
  EXPECT_EQ(resolve({"--settled", "0x" + std::string(64, 'd')}).first, 0);
  ScriptedCall call(host_.scripted_clock, 60'000);
  ASSERT_TRUE(bound_->run(call).ok());
  EXPECT_EQ(pay(sent), "x402.refund_owed");
  EXPECT_EQ(entries().size(), 2u);
}

// A facilitator that hangs must neither hide the number of open settlements nor starve the others.
TEST_F(OpenOutcomeTest, IsCountedBeforeAnybodyIsAskedAndAllHaveTheirTurn) {
  bind(json::array({base_term()}));
  valid_s_ = 3'600;
  for (const char nonce : {'1', '2', '3'}) (void)leave_open(nonce);
  settle_takes_ms_ = 90'000;
  for (int pass = 1; pass <= 3; ++pass) {
    settlements_ = 0;
    ScriptedCall call(host_.scripted_clock, 60'000);
    ASSERT_TRUE(bound_->run(call).ok());
    EXPECT_EQ(host_.gauges["settlements_open"], 3);
    EXPECT_EQ(settlements_, 1);
  }
  for (const auto& [key, record] : host_.memory_store.records()) {
    if (!key.starts_with("p/")) continue;
    EXPECT_EQ(record_of_json(record.value)->attempts, 1u) << key;
  }
}

TEST_F(OpenOutcomeTest, OfADamagedRecordKeepsNobodyElseWaiting) {
  bind(json::array({base_term()}));
  const std::string damaged = leave_open('1');
  const std::string sound = leave_open('2');
  is_lost_ = false;
  ScriptedCall call(host_.scripted_clock, 60'000);
  for (const auto& [key, record] : host_.memory_store.records()) {
    const auto known = key.starts_with("p/") ? record_of_json(record.value) : std::nullopt;
    if (!known || known->nonce != "0x" + std::string(64, '1')) continue;
    const std::string name = keys::open_settlement(known->claimed_ms, key.substr(2));
    const StoreWrite damage[] = {{name, "?"}};
    ASSERT_EQ(host_.memory_store.apply({}, damage, call).outcome, StoreOutcome::applied);
  }
  host_.scripted_clock.move_ms(10'000);
  ASSERT_TRUE(bound_->run(call).ok());
  EXPECT_THAT(host_.logged.back(), HasSubstr("is unreadable"));
  EXPECT_EQ(pay(sound), "again reply 2");
  EXPECT_EQ(pay(damaged), "x402.settlement_unknown");
  ASSERT_TRUE(bound_->run(call).ok());
  EXPECT_EQ(host_.gauges["settlements_open"], 1);
}

TEST_F(OpenOutcomeTest, IsLeftToTheChainWhereOneIsConfigured) {
  bind(json::array({base_term()}));
  (void)leave_open('1');
  let_it_end();
  settings_.fields.push_back(
      {"chains", map({{std::string(base), map({{"rpc_url", scalar("https://node.example")}})}})});
  EXPECT_THAT(resolve({"--not-settled", "--reason", "r"}).second, HasSubstr("the chain tells"));
}

// Payments that were begun are finished, found and answered even if the registry no longer offers
// x402.
TEST_F(OpenOutcomeTest, OutlivesTheOffer) {
  bind(json::array({base_term()}));
  const std::string paid = payment('2'), unpaid = payment('3');
  EXPECT_EQ(pay(paid), "200 reply 1");
  const std::string open = leave_open('1');
  is_lost_ = false;
  host_.scripted_clock.move_ms(100'000);  // its lease is over
  bind(json::array({base_term()}), false);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0].message, HasSubstr("1 payment is open: " + key_));
  EXPECT_THAT(notes_[0].message, HasSubstr("not offered any more"));

  const Recalled given = recall(paid);
  ASSERT_TRUE(std::holds_alternative<Replay>(given));
  EXPECT_EQ(std::get<Replay>(given).body, "reply 1");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(recall(paid, "/v1/facts/2")));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(recall(unpaid)));

  ScriptedCall call(host_.scripted_clock, 60'000);
  const auto did = bound_->document("/.well-known/did.json", call);
  ASSERT_TRUE(did.ok() && *did);
  EXPECT_THAT((*did)->body, HasSubstr("verificationMethod"));
  EXPECT_EQ(*bound_->document("/.well-known/x402", call), std::nullopt);

  run();
  EXPECT_EQ(host_.gauges["settlements_open"], 1);
  const Recalled ended = recall(open);
  ASSERT_TRUE(std::holds_alternative<Replay>(ended));
  EXPECT_EQ(std::get<Replay>(ended).body, "reply 2");
  run();
  EXPECT_EQ(host_.gauges["settlements_open"], 0);
}

TEST_F(LaneTest, NothingIsBegunForWhatIsNotOfferedAnyMore) {
  bind(json::array({base_term()}));
  const std::string sent = payment('1'), failed = payment('2');
  EXPECT_EQ(pay(failed, {}, false), "failed");
  bind(json::array({base_term()}), false);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(recall(sent)));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(recall(failed)));
  EXPECT_EQ(std::get<Refusal>(ask(sent)).code, "x402.not_payable");
  EXPECT_EQ(settlements_, 0);
  EXPECT_EQ(replies_, 0);
}

TEST_F(LaneTest, WorkThatWasPaidUpfrontAndIsNotOfferedAnyMoreIsOwedBack) {
  policy_.flow = PaymentFlow::upfront;
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  EXPECT_EQ(pay(sent, {}, false), "failed");
  bind(json::array({base_term()}), false);
  const Recalled waiting = recall(sent);
  ASSERT_TRUE(std::holds_alternative<Refusal>(waiting));
  EXPECT_EQ(std::get<Refusal>(waiting).code, "x402.work_failed");
  host_.scripted_clock.move_ms(700'000);
  run();
  EXPECT_EQ(std::get<Refusal>(recall(sent)).code, "x402.refund_owed");
}

TEST_F(LaneTest, WithoutSettingsItStillGivesWhatWasPaidForAndPublishesItsKeys) {
  bind(json::array({base_term()}));
  const std::string paid = payment('1');
  EXPECT_EQ(pay(paid), "200 reply 1");
  operation_.is_offered = false;
  const Settings none;
  auto bound = lane_.bind(
      {{&operation_, 1}, none, "generation", "https://api.example.org", folder_.path()}, host_);
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  bound_ = *std::move(bound);
  EXPECT_TRUE(std::holds_alternative<Replay>(recall(paid)));
  ScriptedCall call(host_.scripted_clock, 60'000);
  EXPECT_TRUE(*bound_->document("/.well-known/did.json", call));
}

// Regression: 1,000 forged payments made 2,000 durable writes and 1,000 questions to a facilitator.
TEST_F(LaneTest, AForgedPaymentIsNotWrittenDown) {
  bind(json::array({base_term()}));
  verify_says_ = "invalid_exact_evm_signature";
  int applies = 0;
  host_.memory_store.after_apply = [&applies] { ++applies; };
  EXPECT_EQ(pay(forged('1')), "x402.payment_refused");
  EXPECT_EQ(pay(forged('2'), "key"), "x402.payment_refused");
  EXPECT_EQ(applies, 0);
  EXPECT_TRUE(records().empty());
  for (int more = 0; more < 200; ++more) (void)pay(forged('3'));
  EXPECT_EQ(verifications_, static_cast<int>(unproven_per_minute_default));
  EXPECT_EQ(pay(forged('4')), "x402.unavailable");
  EXPECT_EQ(applies, 0);
  host_.memory_store.after_apply = nullptr;
  verify_says_.clear();
  EXPECT_EQ(pay(payment('5')), "200 reply 1") << "a payer who has signed pays all the same";
}

// Regression: with a facilitator that accepts everything, a payment with anyone's `from` was
// accepted.
TEST_F(LaneTest, WhoHasNotSignedIsNotLeftToTheFacilitatorWhereTheChainIsConfigured) {
  bind_with_chain();
  EXPECT_EQ(pay(forged('1')), "x402.payment_refused");
  const std::string wallet = "0x" + std::string(40, 'd');
  node_.wallets[wallet] = "no such signature";
  EXPECT_EQ(pay(forged('2', wallet)), "x402.payment_refused");
  EXPECT_EQ(verifications_, 0);
  EXPECT_TRUE(records().empty());
  const std::string own = forged('3', wallet);
  const json payload = json::parse(*base64_decode(own, own.size()));
  node_.wallets[wallet] = payload["payload"]["signature"].get<std::string>().substr(2);
  EXPECT_EQ(pay(own), "200 reply 1") << "a contract wallet's own";
  node_.spoils["eth_getCode"] = [](const json&) { return FakeNode::Answer{503, {}, ""}; };
  EXPECT_EQ(pay(forged('4')), "x402.unavailable");
}

// Regression: an invented transaction hash was delivered and stayed in ledger and receipt.
class AuditTest : public LaneTest {
 protected:
  void pass_s(std::int64_t duration_s) {
    host_.scripted_clock.move_ms(duration_s * 1'000);
    run();
  }
  std::vector<json> entries_of(std::string_view what) {
    auto all = entries();
    std::erase_if(all, [what](const json& entry) { return entry["entry"] != what; });
    return all;
  }
};

TEST_F(AuditTest, WhatTheChainShowsIsConfirmedWithinAMinute) {
  bind_with_chain();
  const std::string sent = payment('1');
  EXPECT_EQ(pay(sent), "200 reply 1");
  mine('1', 0x11);
  run();
  EXPECT_EQ(host_.gauges["settlements_unaudited"], 1);
  pass_s(16);
  pass_s(2);
  EXPECT_EQ(host_.gauges["settlements_unaudited"], 0);
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].audit, Audit::confirmed);
  EXPECT_EQ(entries().size(), 1u) << "the ledger says it already";
  EXPECT_TRUE(host_.logged.empty());
  EXPECT_EQ(pay(sent), "again reply 1");
}

TEST_F(AuditTest, WhatAnotherTransactionSettledIsCorrectedInTheLedger) {
  bind_with_chain();
  EXPECT_EQ(pay(payment('1')), "200 reply 1");
  mine('1', 0x22);
  pass_s(16);
  const auto corrected = entries_of("settled_by");
  ASSERT_EQ(corrected.size(), 1u);
  EXPECT_EQ(corrected[0]["transaction"], "0x" + std::string(64, '2'));
  EXPECT_THAT(corrected[0]["note"].get<std::string>(), HasSubstr("0x" + std::string(64, '1')));
  EXPECT_EQ(records()[0].transaction, "0x" + std::string(64, '2'));
}

TEST_F(AuditTest, WhatTheChainDoesNotShowRaisesAnAlarmAndIsDisprovedOnceItHasExpired) {
  bind_with_chain();
  const std::string sent = payment('1');
  EXPECT_EQ(pay(sent), "200 reply 1");
  pass_s(16);
  EXPECT_EQ(host_.gauges["settlements_doubted"], 0);
  EXPECT_TRUE(host_.logged.empty());
  for (int look = 0; look < 7; ++look) pass_s(30);
  EXPECT_EQ(host_.gauges["settlements_doubted"], 1);
  EXPECT_EQ(records()[0].audit, Audit::doubted);
  ASSERT_EQ(host_.logged.size(), 1u) << "one alarm";
  EXPECT_THAT(host_.logged[0], HasSubstr("the chain does not show the payment"));
  const std::string_view words[] = {"doubted"};
  RecordingConsole console;
  EXPECT_EQ(X402Lane().command("x402", {words, true, settings_, "", ""}, console, host_), 0);
  EXPECT_THAT(console.printed, HasSubstr("\"audit\":\"doubted\""));

  pass_s(700);
  pass_s(2);
  EXPECT_EQ(host_.gauges["settlements_doubted"], 0);
  EXPECT_EQ(host_.gauges["settlements_unaudited"], 0);
  EXPECT_EQ(records()[0].state, PaymentState::never_paid);
  EXPECT_EQ(entries_of("disproved").size(), 1u);
  EXPECT_EQ(pay(sent), "x402.payment_refused");
  const std::string_view totals[] = {"totals"};
  RecordingConsole sums;
  EXPECT_EQ(X402Lane().command("x402", {totals, true, settings_, "", ""}, sums, host_), 0);
  EXPECT_THAT(sums.printed, HasSubstr("\"settled\":\"1000\""));
  EXPECT_THAT(sums.printed, HasSubstr("\"disproved\":\"1000\""));
}

TEST_F(AuditTest, NoRefundIsOwedForWhatWasNeverPaid) {
  policy_.flow = PaymentFlow::upfront;
  policy_.unearned = UnearnedPayment::refund;
  bind_with_chain();
  EXPECT_EQ(pay(payment('1'), {}, false), "failed");
  EXPECT_EQ(records()[0].state, PaymentState::owed);
  pass_s(700);
  EXPECT_EQ(records()[0].state, PaymentState::never_paid);
  for (const auto& [key, record] : host_.memory_store.records()) {
    EXPECT_FALSE(key.starts_with(keys::owed_refunds)) << key;
  }
}

TEST_F(AuditTest, AChainThatIsAwayProvesNothing) {
  bind_with_chain();
  EXPECT_EQ(pay(payment('1')), "200 reply 1");
  node_.spoils["eth_getBlockByNumber"] = [](const json&) { return FakeNode::Answer{503, {}, ""}; };
  for (int look = 0; look < 8; ++look) pass_s(30);
  EXPECT_EQ(host_.gauges["settlements_doubted"], 0);
  EXPECT_GT(host_.gauges["settlements_unaudited_oldest_seconds"], 200);
  EXPECT_EQ(records()[0].audit, Audit::due);
}

// A payment is booked with the terms of its quote.
TEST_F(LaneTest, APaymentForAnOldQuoteHasThePriceVersionOfTheQuote) {
  operation_.price_version = 4;
  bind(json::array({base_term()}));
  const std::string sent = payment('1');
  operation_.price_version = 5;
  json dearer = base_term();
  dearer["atomic_amount"] = "2000";
  dearer["offer_id"] = "off_2";
  bind(json::array({dearer}));
  EXPECT_EQ(pay(sent), "200 reply 1");
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_EQ(entries()[0]["price_version"], 4);
  EXPECT_EQ(entries()[0]["amount"], "1000");
}

// The setting `lost_addresses`.
TEST_F(LaneTest, NothingIsPaidToAnAddressWhoseKeyIsLost) {
  bind(json::array({base_term()}));
  const std::string old_quote = payment('1');
  json moved = base_term();
  moved["pay_to"] = "0x" + std::string(40, 'b');
  bind(json::array({moved}));
  EXPECT_EQ(pay(old_quote), "200 reply 1") << "an open challenge pays the old address";
  const std::string in_time = payment('2');
  Settings lost;
  lost.kind = Settings::Kind::list;
  lost.items = {scalar(moved["pay_to"])};
  further_ = {{"lost_addresses", lost}};
  bind(json::array({base_term()}));
  const Admission admission = ask(in_time);
  ASSERT_TRUE(std::holds_alternative<Refusal>(admission));
  EXPECT_THAT(std::get<Refusal>(admission).body, HasSubstr("turnpike_address_lost"));
  EXPECT_EQ(pay(payment('3')), "200 reply 2");
  terms_ = json::array({moved}).dump();
  operation_.terms = terms_;
  const auto refused = lane_.bind(
      {{&operation_, 1}, settings_, "generation", "https://api.example.org", folder_.path()},
      host_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().where, "registry.networks.base.pay_to");
}

TEST_F(LaneTest, MistakesOfSettingsTermsAndOffersAreToldTogether) {
  json wrong = base_term(), lost = base_term();
  wrong["name"] = "USDC";
  lost["pay_to"] = "0x" + std::string(40, 'b');
  const std::string terms = json::array({wrong, lost}).dump();
  operation_.terms = terms;
  operation_.is_offered = true;
  operation_.deadline_ms = 200'000;
  PricedOperation longer = operation_;
  longer.path = "/v1/longer";
  longer.deadline_ms = 300'000;
  const PricedOperation operations[] = {operation_, longer, operation_};
  const auto problems_of = [&](const Settings& settings, std::string_view origin) {
    const auto bound =
        X402Lane().bind({operations, settings, "generation", origin, folder_.path()}, host_);
    EXPECT_FALSE(bound.ok());
    if (bound.ok()) return std::vector<std::string>();
    return texts_of(split_mistakes(bound.error()));
  };
  const Settings facilitators = list({map({{"url", scalar("https://one.example/verify")}})});
  const Settings addresses = list({scalar(lost["pay_to"])});
  EXPECT_THAT(problems_of(map({{"facilitators", facilitators}, {"lost_addresses", addresses}}),
                          "http://0.0.0.0:80"),
              UnorderedElementsAre(HasSubstr("facilitators[0].url: "),
                                   HasSubstr("max_timeout_seconds: /v1/longer may take "),
                                   HasSubstr("registry.assets.base-usdc.name: "),
                                   HasSubstr("registry.networks.base.pay_to: "),
                                   HasSubstr(": hosts.api.base_url: is needed")));
  EXPECT_THAT(
      problems_of(map({{"facilitators", facilitators}, {"max_timeout_seconds", scalar("long")}}),
                  "https://api.example.org"),
      UnorderedElementsAre(HasSubstr("facilitators[0].url: "),
                           HasSubstr("max_timeout_seconds: expected an integer"),
                           HasSubstr("registry.assets.base-usdc.name: ")));
}

TEST_F(OpenOutcomeTest, IsNotCollectedForAnAddressWhoseKeyIsLost) {
  bind(json::array({base_term()}));
  (void)leave_open('1');
  Settings lost;
  lost.kind = Settings::Kind::list;
  lost.items = {scalar(std::string(pay_to))};
  further_ = {{"lost_addresses", lost}};
  json moved = base_term();
  moved["pay_to"] = "0x" + std::string(40, 'b');
  bind(json::array({moved}));
  settlements_ = 0;
  host_.scripted_clock.move_ms(200'000);
  run();
  EXPECT_EQ(settlements_, 0);
}

TEST_F(LaneTest, TheListForDirectoriesHasUrlsThatCanBePaidForNow) {
  const auto listed = [this] {
    host_.scripted_clock.move_ms(3'000);
    ScriptedCall call(host_.scripted_clock, 1'000);
    return json::parse((*bound_->document("/.well-known/x402", call))->body);
  };
  bind(json::array({base_term()}));
  const std::string url = "https://api.example.org/v1/facts/%7Bid%7D";
  EXPECT_EQ(listed()["version"], 1);
  EXPECT_EQ(listed()["resources"], json::array({url}));
  EXPECT_EQ(listed()["items"][0]["resource"], url);
  EXPECT_EQ(listed()["items"][0]["method"], "GET");
  EXPECT_EQ(listed()["items"][0]["routeTemplate"], "/v1/facts/:id");
  supported_["kinds"].erase(0);
  host_.scripted_clock.move_ms(300'000);
  run();
  EXPECT_EQ(listed()["resources"], json::array()) << "no facilitator supports it";
  EXPECT_EQ(listed()["items"], json::array());
  supported_["kinds"].push_back({{"x402Version", 2}, {"scheme", "exact"}, {"network", base}});
  operation_.is_blocked = true;
  bind(json::array({base_term()}));
  EXPECT_EQ(listed()["resources"], json::array()) << "it is blocked";
}

TEST_F(LaneTest, TheResourceIsNamedWithItsQuery) {
  bind(json::array({base_term()}));
  const auto challenge_for = [this](std::string_view query) {
    LaneRequest asked;
    asked.path = "/v1/facts/1";
    asked.query = query;
    ScriptedCall call(host_.scripted_clock, 30'000);
    const Admission admission = bound_->admit(asked, call);
    const std::string& header = std::get<Refusal>(admission).headers.at(0).value;
    EXPECT_LE(header.size(), challenge_header_bytes_max) << query.size();
    return json::parse(*base64_decode(header, header.size()));
  };
  const std::string url = "https://api.example.org/v1/facts/1";
  EXPECT_EQ(challenge_for("")["resource"]["url"], url);
  const json made = challenge_for("a=1&b=%20");
  EXPECT_EQ(made["resource"]["url"], url + "?a=1&b=%20");
  const std::string offer =
      made["extensions"]["offer-receipt"]["info"]["offers"][0]["signature"].get<std::string>();
  const std::size_t begin = offer.find('.') + 1;
  const auto payload =
      base64url_decode(offer.substr(begin, offer.rfind('.') - begin), offer.size());
  EXPECT_EQ(json::parse(*payload)["resourceUrl"], url + "?a=1&b=%20");
  const std::string longest = "q=" + std::string(resource_query_bytes_max - 2, 'x');
  EXPECT_EQ(challenge_for(longest)["resource"]["url"], url + "?" + longest);
  EXPECT_EQ(challenge_for(longest + "x")["resource"]["url"], url);
}

TEST_F(LaneTest, WhatIsValidAndProbablyNotMeantIsNoted) {
  bind(json::array({base_term()}));
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0].message, HasSubstr("no chain is configured for eip155:8453"));
  EXPECT_EQ(notes_[0].where, "chains");
  further_ = {
      {"chains", map({{std::string(base), map({{"rpc_url", scalar("http://node.example")}})},
                      {"eip155:1", map({{"rpc_url", scalar("https://other.example")}})}})}};
  bind(json::array({base_term()}));
  ASSERT_EQ(notes_.size(), 2u);
  EXPECT_EQ(notes_[0].where, "chains.eip155:8453.rpc_url");
  EXPECT_THAT(notes_[0].message, HasSubstr("over http"));
  EXPECT_EQ(notes_[1].where, "chains.eip155:1");
  EXPECT_THAT(notes_[1].message, HasSubstr("no price that is offered"));
}

TEST_F(LaneTest, AStoreThatIsAwayIsNoProofThatNothingWasCharged) {
  bind(json::array({base_term()}));
  const std::string first = payment('1');
  EXPECT_EQ(pay(first), "200 reply 1");
  host_.memory_store.die();
  const Admission admission = ask(first);
  host_.memory_store.revive();
  EXPECT_EQ(std::get<Refusal>(admission).code, "x402.unavailable");
  EXPECT_THAT(std::get<Refusal>(admission).message, ::testing::Not(HasSubstr("charged")));
}

TEST_F(LaneTest, IsIdleWhereNothingIsOffered) {
  bind(json::array(), false);
  EXPECT_TRUE(host_.seen.empty());
  EXPECT_TRUE(host_.memory_store.records().empty());
  const Admission admission = ask();
  EXPECT_EQ(std::get<Refusal>(admission).code, "x402.not_payable");
  ScriptedCall call(host_.scripted_clock, 1'000);
  EXPECT_EQ(*bound_->run(call), 0u);
  for (const std::string_view path : lane_.offers().documents) {
    EXPECT_EQ(*bound_->document(path, call), std::nullopt) << path;
  }
}

}  // namespace
}  // namespace turnpike::x402

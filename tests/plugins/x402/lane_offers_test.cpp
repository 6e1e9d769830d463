// The alternatives to EIP-3009, Permit2 and Solana, from the registry's YAML to the facilitator,
// with the real lane in a real Service. The facilitators follow a script; there is no chain.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "exchange/service.h"
#include "plugins/http/scripted_host.h"
#include "plugins/x402/payer.h"
#include "plugins/x402/vectors.h"
#include "registry/compile.h"
#include "registry/settings_tree.h"
#include "support/temporary.h"
#include "x402/lane.h"
#include "x402/payment_record.h"

namespace turnpike::x402 {
namespace {

using http::ScriptedCall;
using http::ScriptedHost;
using nlohmann::json;

constexpr std::string_view settings_yaml = R"(
signing_algorithm: EdDSA
facilitators:
  - url: https://evm.example
  - url: https://solana.example
)";

// The registry with networks and assets, a term of the price, and further members of the route.
std::string registry_yaml(const std::string& x402, const std::string& term,
                          const std::string& route) {
  return "provider: {key: t, name: T}\n"
         "upstreams: {main: {plugin: nothing}}\n"
         "prices: {standard: {version: 3, credit_cost: 1, x402: [" +
         term + "]}}\nroutes:\n  - {path: /things, price: standard" + route +
         "}\nx402:\n  enabled: true\n" + x402;
}

const std::string permit2_assets = R"(
  networks: {base: {id: "eip155:84532", pay_to: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"}}
  assets:
    token: {network: base, address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", decimals: 6,
            transfer: permit2}
)";
const std::string solana_assets = R"(
  networks:
    solana: {id: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
             pay_to: "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"}
  assets:
    token: {network: solana, address: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", decimals: 6}
)";
constexpr std::string_view fee_payer = "EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd";
constexpr std::string_view solana_payer = "9xAXssX9j7vuK99c7cFwqbixzL3bFrzPy9PUhCtDPAYJ";
constexpr std::string_view solana_signature =
    "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW";
const std::string evm_transaction = "0x" + std::string(64, 'a');

// The route's provider; these tests forward nothing to it.
class NoProvider final : public Provider {
 public:
  Result<std::unique_ptr<Upstream>> bind(const Binding&, Host&) override {
    class None final : public Upstream {
     public:
      Done execute(const UpstreamRequest&, ReplySink&, Call&) override { return Unit{}; }
      [[nodiscard]] State state(std::uint32_t) const noexcept override { return {}; }
      Done probe(Call&) override { return Unit{}; }
    };
    return std::unique_ptr<Upstream>(std::make_unique<None>());
  }
};

json kind(std::string_view network) {
  return {{"x402Version", 2}, {"scheme", "exact"}, {"network", network}};
}

json decoded(const std::vector<OwnedHeader>& headers, std::string_view name) {
  for (const OwnedHeader& header : headers) {
    if (!same_header_name(header.name, name)) continue;
    return json::parse(base64_decode(header.value, 16 * 1024).value());
  }
  return nullptr;
}

constexpr std::int64_t vector_deadline_s = 1'893'456'000;  // of the published permit

class LaneOffersTest : public ::testing::Test {
 protected:
  LaneOffersTest() {
    constexpr std::int64_t begin_ms = (vector_deadline_s - 600) * 1000;
    host_.scripted_clock.move_ms(begin_ms);
    call_.extend_ms(begin_ms);
    solana_kind_ = kind("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp");
    solana_kind_["extra"] = {{"feePayer", fee_payer}};
    host_.answers = [this](const ScriptedHost::Seen& seen) { return answer(seen); };
  }

  void serve(const std::string& x402, const std::string& route = "") {
    const registry::Source sources[] = {
        {"t.yaml", registry_yaml(x402, R"({asset: token, amount: "10000"})", route)}};
    auto program =
        registry::compile({.sources = sources, .installed = {}, .plugins = {}, .lane = &lane_});
    ASSERT_TRUE(program.ok()) << program.error().front().text();
    auto settings = registry::parse_settings({"lane.yaml", std::string(settings_yaml)});
    ASSERT_TRUE(settings.ok());
    const exchange::ProviderSlot providers[] = {{"nothing", &provider_, &host_}};
    const exchange::LaneSlot lanes[] = {{&lane_, &host_, &*settings}};
    exchange::BindInput input;
    input.installed.program = *program;
    input.providers = providers;
    input.lanes = lanes;
    input.public_origin = "https://api.example.org";
    input.data_dir = directory_.path();
    auto bound = exchange::bind_service(input);
    ASSERT_TRUE(bound.ok()) << bound.error().front().text();
    service_ = *std::move(bound);
    lane_row_ = &service_->lane(*service_->lanes().find(exchange::LaneRole::payment));
    asked_.clear();
  }

  Admission call(const std::string& payment = {}) {
    const HeaderField header{"payment-signature", payment};
    LaneRequest request;
    request.request_id = "request";
    request.path = "/v1/gateway/t/things";
    if (!payment.empty()) request.credentials = {&header, 1};
    return lane_row_->bound->admit(request, call_);
  }

  // A whole call whose upstream succeeds.
  Finish pay(const std::string& payment) {
    Admission admission = call(payment);
    if (const auto* refusal = std::get_if<Refusal>(&admission)) return NotCharged{*refusal};
    auto* ticket = std::get_if<std::unique_ptr<Ticket>>(&admission);
    if (ticket == nullptr) return NotCharged{{"replay", {}, 0, {}, {}, {}}};
    ReplyView reply;
    reply.status = 200;
    reply.body = "the thing";
    reply.body_bytes = reply.body.size();
    return (*ticket)->settle(reply, call_);
  }

  json challenge() {
    const Admission admission = call();
    const auto& refusal = std::get<Refusal>(admission);
    EXPECT_EQ(refusal.code, "x402.payment_required") << refusal.message;
    return decoded(refusal.headers, "PAYMENT-REQUIRED");
  }
  // The payment that a standard client makes from a challenge.
  json payment_of(const json& payload) {
    const json challenge = this->challenge();
    return {{"x402Version", 2},
            {"resource", challenge["resource"]},
            {"accepted", challenge["accepts"][0]},
            {"payload", payload},
            {"extensions", challenge["extensions"]}};
  }
  json permit_of_payer() {
    json permit = sample_permit2_payload()["payload"];
    permit["permit2Authorization"]["from"] = payer_address;
    permit["permit2Authorization"]["deadline"] = std::to_string(vector_deadline_s);
    permit["permit2Authorization"]["permitted"] = {
        {"token", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"}, {"amount", "10000"}};
    permit["permit2Authorization"]["witness"]["to"] = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
    return Payer().sign(payment_of(permit));
  }

  ScriptedHost::Answer answer(const ScriptedHost::Seen& seen) {
    const bool is_solana = seen.url.starts_with("https://solana.example/");
    if (seen.url.ends_with("/supported")) {
      const json kinds =
          is_solana ? json::array({solana_kind_}) : json::array({kind("eip155:84532")});
      return said({{"kinds", kinds}, {"extensions", json::array()}, {"signers", json::object()}});
    }
    asked_.push_back(seen.url);
    const json requirements = json::parse(seen.body)["paymentRequirements"];
    EXPECT_EQ(requirements["extra"], is_solana ? json({{"feePayer", fee_payer}})
                                               : json({{"assetTransferMethod", "permit2"}}));
    if (seen.url.ends_with("/verify")) return said(verification_);
    return said({{"success", true},
                 {"transaction", is_solana ? std::string(solana_signature) : evm_transaction},
                 {"network", requirements["network"]},
                 {"payer", is_solana ? std::string(solana_payer) : std::string(payer_address)}});
  }
  static ScriptedHost::Answer said(const json& body) { return {200, {}, body.dump(), {}, {}}; }

  ScriptedHost host_;
  ScriptedCall call_{host_.scripted_clock, 100'000'000};
  support::TemporaryDirectory directory_;
  X402Lane lane_;
  NoProvider provider_;
  std::shared_ptr<const exchange::Service> service_;
  const exchange::Service::LaneInService* lane_row_ = nullptr;
  json solana_kind_;
  json verification_ = {{"isValid", true}, {"payer", payer_address}};
  std::vector<std::string> asked_;  // URLs, except for /supported
};

using Asked = std::vector<std::string>;

// ---- Permit2 ------------------------------------------------------------------------------------

TEST_F(LaneOffersTest, APermit2TokenIsOfferedAsSuchAndNeedsNoDomain) {
  serve(permit2_assets);
  const json entry = challenge()["accepts"][0];
  EXPECT_EQ(entry["extra"], (json{{"assetTransferMethod", "permit2"}}));
  EXPECT_EQ(entry["asset"], "0x036CbD53842c5426634e7929541eC2318f3dCF7e");
}

TEST_F(LaneOffersTest, AMissingAllowanceIs412WithAChallengeAndThePaymentStaysGood) {
  serve(permit2_assets);
  const std::string payment = header_of(permit_of_payer());
  verification_ = {{"isValid", false}, {"invalidReason", "permit2_allowance_required"}};
  const Admission admission = call(payment);
  const auto& refusal = std::get<Refusal>(admission);
  EXPECT_EQ(refusal.code, "x402.allowance_required");  // status 412 (hosts/status_table.cpp)
  const json challenge = decoded(refusal.headers, "PAYMENT-REQUIRED");
  EXPECT_EQ(challenge["error"], "permit2_allowance_required");
  EXPECT_EQ(challenge["accepts"].size(), 1u);

  verification_ = {{"isValid", true}, {"payer", payer_address}};  // the payer has approved Permit2
  const Finish finish = pay(payment);
  ASSERT_TRUE(std::holds_alternative<Charged>(finish));
  const json response = decoded(std::get<Charged>(finish).headers, "PAYMENT-RESPONSE");
  EXPECT_EQ(response["transaction"], evm_transaction);
  EXPECT_EQ(asked_, (Asked{"https://evm.example/verify", "https://evm.example/verify",
                           "https://evm.example/settle"}));
}

// The signature cannot prove an allowance, so `verify: false` has no effect.
TEST_F(LaneOffersTest, Permit2IsVerifiedByTheFacilitatorWhateverTheRouteSays) {
  serve(permit2_assets, ", x402: {verify: false}");
  EXPECT_TRUE(std::holds_alternative<Charged>(pay(header_of(permit_of_payer()))));
  EXPECT_EQ(asked_, (Asked{"https://evm.example/verify", "https://evm.example/settle"}));
}

TEST_F(LaneOffersTest, APermitThatIsWrongInItselfNeverReachesAFacilitator) {
  serve(permit2_assets);
  json permit = permit_of_payer();
  permit["payload"]["permit2Authorization"]["permitted"]["amount"] = "9999";
  const Admission admission = call(header_of(permit));
  const auto& refusal = std::get<Refusal>(admission);
  EXPECT_EQ(refusal.code, "x402.payment_refused");
  EXPECT_EQ(decoded(refusal.headers, "PAYMENT-REQUIRED")["error"], "permit2_amount_mismatch");
  EXPECT_EQ(asked_, Asked{});
}

TEST_F(LaneOffersTest, ThePublishedPermit2VectorPays) {
  TURNPIKE_VECTORS(vector, "permit2-exact.json");
  serve(permit2_assets);
  const std::string payment = header_of(payment_of(vector["payload"]));
  EXPECT_TRUE(std::holds_alternative<Charged>(pay(payment)));
  EXPECT_EQ(asked_, (Asked{"https://evm.example/verify", "https://evm.example/settle"}));
  const Admission again = call(payment);
  ASSERT_TRUE(std::holds_alternative<Replay>(again));
  EXPECT_EQ(std::get<Replay>(again).body, "the thing");
  EXPECT_EQ(asked_.size(), 2u);
}

// ---- Solana -------------------------------------------------------------------------------------

TEST_F(LaneOffersTest, SolanaIsOfferedWithTheFeePayerThatAFacilitatorNames) {
  serve(solana_assets);
  EXPECT_EQ(challenge()["accepts"][0]["extra"], (json{{"feePayer", fee_payer}}));
}

TEST_F(LaneOffersTest, SolanaIsNotOfferedWhileNoFacilitatorNamesAFeePayer) {
  solana_kind_.erase("extra");
  serve(solana_assets);
  const Admission admission = call();
  EXPECT_EQ(std::get<Refusal>(admission).code, "x402.unavailable");
  EXPECT_EQ(service_->payment_state(service_->program().operations()[0]).condition,
            Condition::blocked);
}

TEST_F(LaneOffersTest, ASolanaPaymentIsClaimedByItsMessageAndSettledOnceByTheFeePayersFacilitator) {
  serve(solana_assets, ", x402: {verify: false}");  // needs the facilitator anyway
  verification_ = {{"isValid", true}, {"payer", solana_payer}};
  const json transaction = sample_solana_payload()["payload"];
  const json payment = payment_of(transaction);
  const auto read = decode_payment(header_of(payment));
  ASSERT_TRUE(read.ok());

  const Finish finish = pay(header_of(payment));
  ASSERT_TRUE(std::holds_alternative<Charged>(finish));
  const json response = decoded(std::get<Charged>(finish).headers, "PAYMENT-RESPONSE");
  EXPECT_EQ(response["transaction"], solana_signature);
  EXPECT_EQ(response["payer"], solana_payer);
  const Asked once = {"https://solana.example/verify", "https://solana.example/settle"};
  EXPECT_EQ(asked_, once);
  EXPECT_TRUE(host_.memory_store.records().contains(keys::payment(digits_of(payment_key(*read)))));

  const Admission again = call(header_of(payment));
  ASSERT_TRUE(std::holds_alternative<Replay>(again));
  EXPECT_EQ(std::get<Replay>(again).body, "the thing");
  EXPECT_EQ(decoded(std::get<Replay>(again).headers, "PAYMENT-RESPONSE"), response);

  // The same message with other signatures is the same payment, but anyone could have sent it.
  std::string signed_anew = sample_solana_transaction();
  signed_anew[1] = 'z';
  json other = payment;
  other["payload"]["transaction"] = base64_encode(signed_anew);
  const Admission refused = call(header_of(other));
  ASSERT_TRUE(std::holds_alternative<Refusal>(refused));
  EXPECT_EQ(std::get<Refusal>(refused).code, "idempotency.conflict");
  EXPECT_EQ(asked_, once);
}

TEST_F(LaneOffersTest, ASolanaPaymentThatTheFacilitatorRefusesChargesNothing) {
  serve(solana_assets);
  verification_ = {{"isValid", false},
                   {"invalidReason", "invalid_exact_svm_payload_amount_mismatch"}};
  const Admission admission = call(header_of(payment_of(sample_solana_payload()["payload"])));
  const auto& refusal = std::get<Refusal>(admission);
  EXPECT_EQ(refusal.code, "x402.payment_refused");
  EXPECT_EQ(decoded(refusal.headers, "PAYMENT-REQUIRED")["error"],
            "invalid_exact_svm_payload_amount_mismatch");
  EXPECT_EQ(asked_, Asked{"https://solana.example/verify"});
}

}  // namespace
}  // namespace turnpike::x402

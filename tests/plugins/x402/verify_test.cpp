#include "x402/protocol/verify.h"

#include <gtest/gtest.h>

#include "plugins/x402/payer.h"
#include "plugins/x402/vectors.h"

namespace turnpike::x402 {
namespace {

using nlohmann::json;

constexpr std::uint64_t now_s = 1'800'000'000;
constexpr std::uint64_t needed_s = 40;

// "recovered", "needs_facilitator" or the code of the refusal. The requirements are those in the
// payload.
std::string verdict(const Result<VerifiedPayment, Reason>& result) {
  if (!result) return std::string(code_of(result.error()));
  return result->proof == Proof::recovered ? "recovered" : "needs_facilitator";
}
std::string verdict(const json& payload, std::uint64_t at_s = now_s,
                    std::uint64_t needed = needed_s) {
  const PaymentPayload read_payload = payment_of(payload);
  return verdict(verify(read_payload, read_payload.accepted, {}, at_s, needed));
}
std::string verdict(const json& payload, const PaymentRequirements& requirements) {
  return verdict(verify(payment_of(payload), requirements, {}, now_s, needed_s));
}

const std::string authorization = "/payload/authorization/";
const std::string permit = "/payload/permit2Authorization/";

TEST(Verify, RecoversThePayerOfAPlainAccount) {
  const PaymentPayload payload = payment_of(signed_payload());
  const auto result = verify(payload, sample_requirements(), {}, now_s, needed_s);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->proof, Proof::recovered);
  EXPECT_EQ(result->payer, payer_address);
  EXPECT_EQ(result->valid_before_s, 1'900'000'000u);
  EXPECT_EQ(result->payment_key, payment_key(payload));
}

// At first every check fails. Each correction reveals the next check (docs/protocols.md, "Exact on
// EVM: EIP-3009").
TEST(Verify, ChecksInTheOrderOfTheReferenceImplementation) {
  json payload = sample_payload();
  payload["accepted"]["scheme"] = "upto";
  payload["accepted"]["network"] = "eip155:1";
  payload["accepted"]["maxTimeoutSeconds"] = 1;
  payload["payload"]["authorization"] = {{"from", payer_address},
                                         {"to", payer_address},
                                         {"value", "999"},
                                         {"validAfter", std::to_string(now_s)},
                                         {"validBefore", std::to_string(now_s)},
                                         {"nonce", "0x" + std::string(64, '0')}};
  PaymentRequirements requirements = sample_requirements();
  requirements.extra.name = "";

  EXPECT_EQ(verdict(payload, requirements), "invalid_exact_evm_scheme");
  payload["accepted"]["scheme"] = "exact";
  EXPECT_EQ(verdict(payload, requirements), "invalid_exact_evm_missing_eip712_domain");
  requirements.extra.name = "USD Coin";
  EXPECT_EQ(verdict(payload, requirements), "invalid_exact_evm_network_mismatch");
  payload["accepted"]["network"] = "eip155:8453";
  EXPECT_EQ(verdict(payload, requirements), "no_matching_payment_requirements");
  payload["accepted"]["maxTimeoutSeconds"] = 300;

  // The payer's own signature in a form that tokens refuse; then signed again after each change.
  const auto resigned = [&](const std::string& pointer, const json& value) {
    payload = Payer().sign(with(payload, authorization + pointer, value));
    return verdict(payload, requirements);
  };
  payload = Payer().sign(payload);
  payload["payload"]["signature"] = hex_encode(
      with_high_s(hex_decode(payload["payload"]["signature"].get<std::string>(), 65).value()));
  EXPECT_EQ(verdict(payload, requirements), "invalid_exact_evm_signature");
  payload = Payer().sign(payload);
  EXPECT_EQ(verdict(payload, requirements), "invalid_exact_evm_recipient_mismatch");
  EXPECT_EQ(resigned("to", requirements.pay_to),
            "invalid_exact_evm_payload_authorization_valid_before");
  EXPECT_EQ(resigned("validBefore", "1900000000"),
            "invalid_exact_evm_payload_authorization_valid_after");
  EXPECT_EQ(resigned("validAfter", "0"), "invalid_exact_evm_payload_authorization_value_mismatch");
  EXPECT_EQ(resigned("value", "1000"), "recovered");
}

TEST(Verify, WantsTheExactAmountNotMore) {
  for (const char* value : {"0", "999", "1001", "10000"}) {
    EXPECT_EQ(verdict(Payer().sign(with(signed_payload(), authorization + "value", value))),
              "invalid_exact_evm_payload_authorization_value_mismatch");
  }
  // An amount that is not a decimal number matches no value.
  json odd = with(signed_payload(), "/accepted/amount", "0x3e8");
  EXPECT_EQ(verdict(odd), "invalid_exact_evm_payload_authorization_value_mismatch");
}

TEST(Verify, WantsTimeForWorkAndSettlement) {
  const auto ends_in = [](std::uint64_t rest_s, std::uint64_t needed) {
    return verdict(Payer().sign(with(signed_payload(), authorization + "validBefore",
                                     std::to_string(now_s + rest_s))),
                   now_s, needed);
  };
  const std::string late = "invalid_exact_evm_payload_authorization_valid_before";
  EXPECT_EQ(ends_in(6, 0), "recovered");
  EXPECT_EQ(ends_in(5, 0), late);
  EXPECT_EQ(ends_in(6, 6), "recovered");
  EXPECT_EQ(ends_in(40, 40), "recovered");
  EXPECT_EQ(ends_in(39, 40), late);
  EXPECT_EQ(ends_in(40, ~std::uint64_t{0}), late);
  const json past = Payer().sign(with(signed_payload(), authorization + "validBefore", "0"));
  EXPECT_EQ(verdict(past), late);
  // The largest uint256 is a valid end time.
  const json forever = Payer().sign(
      with(signed_payload(), authorization + "validBefore",
           "115792089237316195423570985008687907853269984665640564039457584007913129639935"));
  const auto result = verify(payment_of(forever), sample_requirements(), {}, now_s, needed_s);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->valid_before_s, ~std::uint64_t{0});
}

// The token's window excludes both ends: block.timestamp > validAfter.
TEST(Verify, WantsAWindowThatHasBegun) {
  const auto begins_at = [](const std::string& second) {
    return verdict(Payer().sign(with(signed_payload(), authorization + "validAfter", second)));
  };
  const std::string early = "invalid_exact_evm_payload_authorization_valid_after";
  EXPECT_EQ(begins_at("0"), "recovered");
  EXPECT_EQ(begins_at(std::to_string(now_s - 1)), "recovered");
  EXPECT_EQ(begins_at(std::to_string(now_s)), early);
  EXPECT_EQ(begins_at(std::to_string(now_s + 1)), early);
  EXPECT_EQ(begins_at("99999999999999999999999999"), early);
}

TEST(Verify, ComparesTheRecipientAsAnAddress) {
  json payload = signed_payload();
  std::string lower = payload["payload"]["authorization"]["to"];
  for (char& c : lower) c = static_cast<char>(std::tolower(c));
  payload["payload"]["authorization"]["to"] = lower;
  EXPECT_EQ(verdict(payload), "recovered");
  PaymentRequirements requirements = sample_requirements();
  requirements.pay_to = "elsewhere";
  payload["accepted"]["payTo"] = "elsewhere";
  EXPECT_EQ(verdict(payload, requirements), "invalid_exact_evm_recipient_mismatch");
}

// A contract wallet may use any form of signature; only the chain can verify it (docs/protocols.md,
// "Exact on EVM: EIP-3009").
TEST(Verify, LeavesEverySignatureThatIsNotThePayersToAFacilitator) {
  const json good = signed_payload();
  const std::string own = good["payload"]["signature"];
  const std::string of_another_key = Payer(2).sign(good)["payload"]["signature"].get<std::string>();
  const std::string wrapped = "0x" + std::string(2 * 200, '6');
  for (const std::string& signature :
       {of_another_key, wrapped, own.substr(0, own.size() - 2), own + "00", std::string("0x"),
        "0x" + std::string(130, '0'), own.substr(0, own.size() - 2) + "1f"}) {
    const json payload = with(good, "/payload/signature", signature);
    EXPECT_EQ(verdict(payload), "needs_facilitator") << signature;
    // Wrong terms are refused without asking anyone.
    EXPECT_EQ(verdict(with(payload, authorization + "value", "1")),
              "invalid_exact_evm_payload_authorization_value_mismatch");
  }
}

TEST(Verify, NeverAcceptsLocallyWhatWasNotSignedAsItStands) {
  const json good = signed_payload();
  const std::vector<std::pair<std::string, json>> changes = {
      {authorization + "nonce", "0x" + std::string(64, 'b')},
      {authorization + "from", "0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF"},
      {authorization + "validBefore", "1900000001"},
      {authorization + "validAfter", "1"},
      {"/accepted/extra/name", "USDC"},
      {"/accepted/extra/version", "1"},
      {"/accepted/network", "eip155:84532"},
      {"/accepted/asset", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"},
  };
  for (const auto& [pointer, value] : changes) {
    EXPECT_EQ(verdict(with(good, pointer, value)), "needs_facilitator") << pointer;
  }
}

TEST(Verify, UsesOurTermsNotTheCallers) {
  const json good = signed_payload();
  PaymentRequirements dearer = sample_requirements();
  dearer.amount = "2000";
  EXPECT_EQ(verdict(good, dearer), "no_matching_payment_requirements");
  PaymentRequirements by_permit = sample_requirements();
  by_permit.extra.asset_transfer_method = "permit2";
  EXPECT_EQ(verdict(good, by_permit), "unsupported_payload_type");
  EXPECT_EQ(verdict(signed_permit2_payload(), sample_requirements()), "unsupported_payload_type");
  EXPECT_EQ(verdict(sample_solana_payload(), sample_requirements()), "unsupported_payload_type");
}

TEST(Verify, ReadsPermitsInTheOrderOfTheReferenceImplementation) {
  json payload = signed_permit2_payload();
  const PaymentRequirements requirements = payment_of(payload).accepted;
  payload["payload"]["permit2Authorization"] = {
      {"from", payer_address},
      {"permitted", {{"token", "0x036CbD53842c5426634e7929541eC2318f3dCF7e"}, {"amount", "1001"}}},
      {"spender", payer_address},
      {"nonce", "77"},
      {"deadline", std::to_string(now_s + needed_s - 1)},
      {"witness", {{"to", payer_address}, {"validAfter", std::to_string(now_s)}}}};
  const auto mended = [&](const std::string& pointer, const json& value) {
    payload = Payer().sign(with(payload, permit + pointer, value));
    payload["payload"]["signature"] = hex_encode(
        with_high_s(hex_decode(payload["payload"]["signature"].get<std::string>(), 65).value()));
    return verdict(payload, requirements);
  };
  EXPECT_EQ(verdict(payload, requirements), "invalid_permit2_spender");
  EXPECT_EQ(mended("spender", "0x402085c248EeA27D92E8b30b2C58ed07f9E20001"),
            "invalid_permit2_recipient_mismatch");
  EXPECT_EQ(mended("witness/to", requirements.pay_to), "permit2_deadline_expired");
  EXPECT_EQ(mended("deadline", std::to_string(now_s + needed_s)), "permit2_not_yet_valid");
  EXPECT_EQ(mended("witness/validAfter", "0"), "permit2_amount_mismatch");
  EXPECT_EQ(mended("permitted/amount", "1000"), "permit2_token_mismatch");
  EXPECT_EQ(mended("permitted/token", requirements.asset), "invalid_permit2_signature");
  payload = Payer().sign(payload);
  const auto result = verify(payment_of(payload), requirements, {}, now_s, needed_s);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->proof, Proof::recovered);
  EXPECT_EQ(result->payer, payer_address);
  EXPECT_EQ(result->valid_before_s, now_s + needed_s);
  EXPECT_EQ(verdict(with(payload, "/payload/signature", "0x1234")), "needs_facilitator");
}

TEST(Verify, LeavesSolanaToAFacilitatorOnceItsTermsAreRight) {
  const json good = sample_solana_payload();
  const PaymentRequirements requirements = payment_of(good).accepted;
  const auto result = verify(payment_of(good), requirements, {}, now_s, needed_s);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->proof, Proof::needs_facilitator);
  EXPECT_EQ(result->payer, "");
  EXPECT_EQ(result->valid_before_s, now_s + 120);
  EXPECT_EQ(verdict(with(good, "/accepted/scheme", "upto"), requirements), "unsupported_scheme");
  EXPECT_EQ(verdict(with(good, "/accepted/network", "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"),
                    requirements),
            "invalid_network");
  EXPECT_EQ(verdict(with(good, "/accepted/extra/feePayer", "another"), requirements),
            "no_matching_payment_requirements");
}

TEST(Verify, AcceptsTheVectorsAndNoneOfTheBadSignatures) {
  TURNPIKE_VECTORS(file, "eip3009.json");
  TURNPIKE_VECTORS(bad, "eip3009-bad-signatures.json");
  for (const auto& vector : file["vectors"]) {
    const json& payload = vector["paymentPayload"];
    const auto number = [&](const char* name) {
      const std::string text = payload["payload"]["authorization"][name];
      return saturated_uint64(parse_uint256(text).value());
    };
    const std::uint64_t at_s = std::max(number("validAfter") + 1, number("validBefore") - 60);
    EXPECT_EQ(verdict(payload, at_s, 30), "recovered") << vector["id"];
    if (vector["id"] != bad["base"]) continue;
    for (const auto& variant : bad["variants"]) {
      const bool is_the_payers = variant["recoveredAddress"] == bad["signer"];
      EXPECT_EQ(verdict(with(payload, "/payload/signature", variant["signature"]), at_s, 30),
                is_the_payers ? "invalid_exact_evm_signature" : "needs_facilitator")
          << variant["id"];
    }
  }
}

}  // namespace
}  // namespace turnpike::x402

// The lane's parts of the registry, as a compilation uses them. Each kind of mistake has a fixture
// in tests/fixtures/x402_terms, in the format that support/registry_fixture.h describes.
#include "x402/registry_terms.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "registry/settings_tree.h"
#include "support/registry_fixture.h"
#include "text/canonical_json.h"
#include "x402/policy.h"

namespace turnpike::x402 {
namespace {

using nlohmann::json;

TEST(RegistryTermsTest, EveryMistakeIsToldAtItsPlace) {
  const auto paths = registry::fixture_paths("x402_terms");
  EXPECT_GE(paths.size(), 8u);
  for (const auto& path : paths) {
    const registry::Fixture fixture = registry::read_fixture(path);
    ASSERT_FALSE(fixture.expected.empty()) << path << ": the first line must say what to expect";
    EXPECT_EQ(registry::said_of(fixture), fixture.expected) << path;
  }
}

Settings tree(const std::string& yaml) {
  auto read = registry::parse_settings({"t.yaml", yaml});
  EXPECT_TRUE(read.ok()) << read.error().front().text();
  return *std::move(read);
}

const Settings& section() {
  static const Settings all = tree(R"(
enabled: true
networks:
  base: {id: "eip155:8453", pay_to: "0x00000000000000000000000000000000000000aa"}
  sol: {id: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
        pay_to: 2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4}
assets:
  usdc: {network: base, address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", decimals: 6,
         name: USD Coin, version: "2"}
  dai: {network: base, address: "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb", decimals: 18,
        transfer: permit2}
  mint: {network: sol, address: EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v, decimals: 6}
)");
  return all;
}

PriceTerms price_of(const std::string& terms) {
  const Settings price = *tree("x402: " + terms).find("x402");
  const Settings* const prices[] = {&price};
  ReadTerms read = read_registry_terms({&section(), prices, {}});
  EXPECT_TRUE(read.mistakes.empty()) << read.mistakes.front().message;
  return read.prices.at(0);
}

TEST(RegistryTermsTest, EqualTermsHaveEqualTexts) {
  const PriceTerms one = price_of("[{asset: usdc, amount: 7}, {asset: mint, amount: 8}]");
  const PriceTerms other =
      price_of(R"([{asset: mint, amount: "8", scheme: exact}, {amount: "7", asset: usdc}])");
  EXPECT_EQ(one.canonical, other.canonical);
  EXPECT_EQ(one.definition, other.definition);
  EXPECT_EQ(one.binding, other.binding);
  for (const std::string& text : {one.canonical, one.definition}) {
    EXPECT_EQ(text::canonical_json(json::parse(text)), text);
  }
  EXPECT_EQ(one.definition.find("pay_to"), std::string::npos) << "it may change";
  EXPECT_TRUE(one.is_offered);
  EXPECT_EQ(one.amount, "7");
  EXPECT_TRUE(one.statuses.empty());
  EXPECT_EQ(price_of("[{asset: dai, amount: 1}]").statuses, std::vector<std::uint16_t>{412});
  EXPECT_FALSE(price_of("[]").is_offered);
}

TEST(RegistryTermsTest, TheDocumentsShowThePrice) {
  const PriceTerms price = price_of("[{asset: usdc, amount: 1500}]");
  const json info = json::parse(price.openapi)["x-payment-info"];
  EXPECT_EQ(info["price"], (json{{"mode", "fixed"}, {"currency", "USD"}, {"amount", "0.0015"}}));
  EXPECT_EQ(info["protocols"][0]["x402"]["amount"], "1500");
  const json billing = json::parse(price.billing);
  EXPECT_EQ(billing["enabled"], true);
  EXPECT_EQ(billing["terms"][0]["atomic_amount"], "1500");
  EXPECT_FALSE(
      json::parse(price_of("[{asset: dai, amount: 1}]").openapi)["x-payment-info"].contains(
          "price"))
      << "of no dollar";
}

TEST(RegistryTermsTest, AnAbsentSectionOffersNothing) {
  const ReadTerms read = read_registry_terms({});
  EXPECT_TRUE(read.mistakes.empty());
  EXPECT_FALSE(read.is_enabled);
  EXPECT_EQ(read.canonical, R"({"assets":[],"enabled":false})");
}

TEST(RegistryTermsTest, APolicyChangesTheOneItIsOverKeyByKey) {
  const Settings defaults = tree("{flow: upfront, on_failure: refund, verify: false}");
  const Settings route = tree("{binding: required, verify: true}");
  const Settings usual = tree("{flow: authorization}");
  const RegistryParts::Policy policies[] = {{}, {&defaults, 0}, {&route, 1}, {&usual, 1}};
  const ReadTerms read = read_registry_terms({nullptr, {}, policies});
  ASSERT_TRUE(read.mistakes.empty()) << read.mistakes.front().message;
  ASSERT_EQ(read.policies.size(), 4u);
  EXPECT_EQ(read.policies[0].canonical, "");
  EXPECT_EQ(read.policies[0].billing, R"({"flow":"authorization"})");
  EXPECT_EQ(read.policies[1].canonical, R"("upfront unverified refund")");
  EXPECT_EQ(read.policies[2].binding, "upfront refund bound");
  EXPECT_EQ(read.policies[2].billing,
            R"({"flow":"upfront","on_failure":"refund","binding":"required"})");
  EXPECT_EQ(read.policies[3].binding, "authorization unverified");
}

TEST(RegistryTermsTest, WordsAndPoliciesAreTheSame) {
  for (const PaymentFlow flow : {PaymentFlow::authorization, PaymentFlow::upfront}) {
    for (const UnearnedPayment unearned : {UnearnedPayment::retry, UnearnedPayment::refund}) {
      for (const PaymentBinding binding : {PaymentBinding::accepted, PaymentBinding::required}) {
        for (const bool verifies : {true, false}) {
          const CallPolicy policy{flow, verifies, unearned, binding};
          const CallPolicy again = policy_of(words_of(policy));
          EXPECT_EQ(again.flow, flow);
          EXPECT_EQ(again.verifies_first, verifies);
          EXPECT_EQ(again.binding, binding);
          EXPECT_EQ(again.unearned,
                    flow == PaymentFlow::upfront ? unearned : UnearnedPayment::retry);
        }
      }
    }
  }
}

}  // namespace
}  // namespace turnpike::x402

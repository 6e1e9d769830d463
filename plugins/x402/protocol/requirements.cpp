#include "x402/protocol/requirements.h"

#include <algorithm>

#include "x402/protocol/encoding.h"
#include "x402/protocol/payload.h"

namespace turnpike::x402 {
namespace {

constexpr TokenDomain usd_coin{"USD Coin", "2"};
constexpr TokenDomain usdc{"USDC", "2"};

constexpr std::array<KnownAsset, 13> usdc_deployments{{
    {"eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", usd_coin, 6},    // Base
    {"eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", usdc, 6},       // Base Sepolia
    {"eip155:1", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", usd_coin, 6},       // Ethereum
    {"eip155:137", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", usd_coin, 6},     // Polygon
    {"eip155:42161", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", usd_coin, 6},   // Arbitrum One
    {"eip155:421614", "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d", usd_coin, 6},  // its Sepolia
    {"eip155:43114", "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E", usd_coin, 6},   // Avalanche C
    {"eip155:143", "0x754704Bc059F8C67012fEd69BC8A327a5aafb603", usdc, 6},         // Monad
    {"eip155:42220", "0xcebA9300f2b948710d2653dD7B07f33A8B32118C", usdc, 6},       // Celo
    {"eip155:1329", "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392", usdc, 6},        // Sei
    {"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
     "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
     {},
     6},
    {"solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
     "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
     {},
     6},  // devnet
    {"solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z",
     "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
     {},
     6},  // testnet
}};

bool is_same_address(std::string_view left, std::string_view right) noexcept {
  Address a, b;
  return hex_decode_exactly(left, a) && hex_decode_exactly(right, b) && a == b;
}

void append_member(std::string& out, std::string_view name, std::string_view value) {
  if (out.back() != '{') out += ',';
  append_json_string(out, name);
  out += ':';
  append_json_string(out, value);
}

}  // namespace

std::string canonical_json(const PaymentRequirements& requirements) {
  std::string out;
  out.reserve(512);
  out += '{';
  append_member(out, "amount", requirements.amount);
  append_member(out, "asset", requirements.asset);
  out += ",\"extra\":{";
  for (const auto& [name, member] : extra_members) {
    const std::string& value = requirements.extra.*member;
    if (!value.empty()) append_member(out, name, value);
  }
  out += "},\"maxTimeoutSeconds\":" + std::to_string(requirements.max_timeout_seconds);
  append_member(out, "network", requirements.network);
  append_member(out, "payTo", requirements.pay_to);
  append_member(out, "scheme", requirements.scheme);
  out += '}';
  return out;
}

bool is_accepted(const PaymentRequirements& offered, const PaymentRequirements& accepted) noexcept {
  const bool has_extra =
      std::all_of(extra_members.begin(), extra_members.end(), [&](const auto& member) {
        const std::string& value = offered.extra.*member.second;
        return value.empty() || value == accepted.extra.*member.second;
      });
  return has_extra && offered.scheme == accepted.scheme && offered.network == accepted.network &&
         offered.amount == accepted.amount && offered.asset == accepted.asset &&
         offered.pay_to == accepted.pay_to &&
         offered.max_timeout_seconds == accepted.max_timeout_seconds;
}

std::optional<std::size_t> find_accepted(std::span<const PaymentRequirements> offered,
                                         const PaymentPayload& payload) {
  if (payload.accepted_has_more) return std::nullopt;
  for (std::size_t at = 0; at < offered.size(); ++at) {
    if (is_accepted(offered[at], payload.accepted)) return at;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> evm_chain_id(std::string_view network) noexcept {
  constexpr std::string_view prefix = "eip155:";
  if (!network.starts_with(prefix)) return std::nullopt;
  return parse_uint64(network.substr(prefix.size()));
}

bool is_solana(std::string_view network) noexcept { return network.starts_with("solana:"); }

std::span<const KnownAsset> known_assets() noexcept { return usdc_deployments; }

const KnownAsset* known_asset(std::string_view network, std::string_view asset) noexcept {
  for (const KnownAsset& known : usdc_deployments) {
    const bool is_same = known.address == asset || is_same_address(known.address, asset);
    if (known.network == network && is_same) return &known;
  }
  return nullptr;
}

bool is_test_network(std::string_view network) noexcept {
  constexpr std::string_view all[] = {"eip155:84532",
                                      "eip155:421614",
                                      "eip155:11155111",
                                      "eip155:80002",
                                      "eip155:43113",
                                      "eip155:10143",
                                      "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
                                      "solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z"};
  return std::find(std::begin(all), std::end(all), network) != std::end(all);
}

std::optional<TokenDomain> expected_domain(std::string_view network,
                                           std::string_view asset) noexcept {
  const KnownAsset* const known = known_asset(network, asset);
  if (known == nullptr) return std::nullopt;
  return known->domain;
}

}  // namespace turnpike::x402

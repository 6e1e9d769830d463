// PaymentRequirements: one entry of a challenge's `accepts` (docs/protocols.md, "Messages"),
// restricted to the members that we ever emit. Values; safe on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "x402/protocol/bytes.h"
#include "x402/protocol/reason.h"

namespace turnpike::x402 {

// The members that `extra` may hold. An empty text means that the member is absent.
struct Extra {
  std::string asset_transfer_method;  // empty: "eip3009"
  std::string fee_payer;              // Solana: the facilitator's account
  std::string memo;                   // Solana: the seller's reference
  std::string name;                   // of the EIP-712 domain of the asset
  std::string payment_flow;           // empty: "authorization"
  std::string version;                // of the EIP-712 domain of the asset

  bool operator==(const Extra&) const = default;
};

// The members of Extra with their JSON names, in the order of canonical JSON.
inline constexpr std::array<std::pair<std::string_view, std::string Extra::*>, 6> extra_members{{
    {"assetTransferMethod", &Extra::asset_transfer_method},
    {"feePayer", &Extra::fee_payer},
    {"memo", &Extra::memo},
    {"name", &Extra::name},
    {"paymentFlow", &Extra::payment_flow},
    {"version", &Extra::version},
}};

struct PaymentRequirements {
  std::string scheme;
  std::string network;  // CAIP-2
  std::string amount;   // atomic units, decimal
  std::string asset;
  std::string pay_to;
  std::uint32_t max_timeout_seconds = 0;
  Extra extra;

  bool operator==(const PaymentRequirements&) const = default;
};

// Canonical JSON (RFC 8785), used for challenges, for facilitators and for the MAC.
std::string canonical_json(const PaymentRequirements& requirements);

// Whether `accepted` is what was offered (docs/protocols.md, "Matching a payment to its offer").
// Strings must be equal byte for byte; the caller may have added members to `extra`.
bool is_accepted(const PaymentRequirements& offered, const PaymentRequirements& accepted) noexcept;

struct PaymentPayload;

// Returns the index of the entry that the payment accepted. Returns nullopt if there is none, or if
// `accepted` has members outside `extra` that we do not know.
std::optional<std::size_t> find_accepted(std::span<const PaymentRequirements> offered,
                                         const PaymentPayload& payload);

// "eip155:8453" -> 8453; nullopt for networks of other kinds.
std::optional<std::uint64_t> evm_chain_id(std::string_view network) noexcept;
bool is_solana(std::string_view network) noexcept;

// The domain of a token's EIP-712 signatures.
struct TokenDomain {
  std::string_view name;
  std::string_view version;
};

struct KnownAsset {
  std::string_view network;
  std::string_view address;
  TokenDomain domain;  // empty on Solana
  std::uint8_t decimals;
};

// The USDC deployments that clients know (docs/protocols.md, "USDC"). The name in the EIP-712
// domain differs from chain to chain, and a wrong one is the most frequent cause of signatures that
// no token accepts.
std::span<const KnownAsset> known_assets() noexcept;

// Returns null for an unknown asset. The letter case of EVM addresses does not matter.
const KnownAsset* known_asset(std::string_view network, std::string_view asset) noexcept;

// True for a test network, whose tokens cost nothing.
bool is_test_network(std::string_view network) noexcept;

// What `extra` must say for this asset; nullopt for an unknown asset.
std::optional<TokenDomain> expected_domain(std::string_view network,
                                           std::string_view asset) noexcept;

}  // namespace turnpike::x402

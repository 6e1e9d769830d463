// One step of the reconciler for a payment whose settlement is open. It finds what is now proved
// about the payment, or when to look again.
//
// The chain is asked first, where one is configured. Then the facilitator is asked once more, which
// settles the payment or remembers that it did; where the chain can prove an expiry, this is done
// only while the payment is valid. Then the chain is asked again. If nobody waits for what the
// payment would buy, it is not collected anew: the chain alone is asked or, where none can be, a
// facilitator once it can only remember.
//
// Only proofs count: that the payment was paid, or that it never will be. The latter is the chain's
// word that the authorization was cancelled, used otherwise, or expired unused. A facilitator's
// refusal proves nothing about an earlier attempt. Payments by Permit2 and on Solana have no such
// proof: only a facilitator's word that they are settled ends them.
//
// Plain functions over the two clients; any Thread or fiber. resolve() waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "x402/remote/chain.h"
#include "x402/remote/facilitator.h"

namespace turnpike::x402 {

struct OpenPayment {
  FacilitatorRequest request;
  std::optional<Authorization> authorization;  // EIP-3009 only
  std::int64_t valid_before_s = 0;             // Solana: when its blockhash is certainly too old
  std::string_view transaction;                // the one that a facilitator named, or empty
  std::string_view facilitator;                // URL of the one that was asked last, or empty
  std::uint32_t attempts = 0;                  // steps before this one
  bool may_collect = true;                     // false: if it was not paid yet, it should not be
};

struct Resolution {
  enum class Outcome : std::uint8_t { settled, never_paid, still_unknown };
  enum class Proof : std::uint8_t { none, expired, cancelled, used_otherwise };  // for never_paid
  Outcome outcome = Outcome::still_unknown;
  bool is_proven = false;   // settled: the chain shows it; else a facilitator says so
  std::string transaction;  // settled; still_unknown: the newest hint, to be kept
  std::string payer;        // settled, when a facilitator named one
  std::string facilitator;  // still_unknown: the one to ask first next time
  Proof proof = Proof::none;
  std::uint32_t retry_after_s = 0;  // still_unknown
};

// A payment this close to its end is not sent again, because it would arrive too late
// (docs/protocols.md, "Exact on EVM: EIP-3009", check 6).
constexpr std::int64_t settle_margin_s = 6;
constexpr std::uint32_t retry_first_s = 5;
constexpr std::uint32_t retry_max_s = 3'600;

// Returns what one answer proves; nullopt if it leaves the payment open.
std::optional<Resolution> proof_of(const ChainAnswer& answer, std::int64_t valid_before_s);
std::optional<Resolution> proof_of(const Settlement& answer);

// The time from which on nobody can collect a payment that ends at `valid_before_s`, whatever their
// clocks say: a facilitator that is asked then can only remember.
constexpr std::int64_t certain_end_s(std::int64_t valid_before_s) noexcept {
  return valid_before_s + 60;
}

// Doubles with each attempt, but not past the moment when the chain can prove an expiry.
std::uint32_t retry_after_s(std::uint32_t attempts, std::int64_t until_provable_s) noexcept;

Resolution resolve(const OpenPayment& payment, std::int64_t now_s, Facilitators& facilitators,
                   Chains& chains, Call& call);

std::string_view name_of(Resolution::Proof proof) noexcept;

}  // namespace turnpike::x402

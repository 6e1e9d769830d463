// What can be verified about a payment without asking anybody: its terms, its window and the
// signature of a plain account. Balances, used nonces and contract wallets are left to a
// facilitator (docs/protocols.md, "Exact on EVM: EIP-3009"). Pure functions; safe on any thread.
#pragma once

#include <cstdint>
#include <string>

#include <turnpike/result.h>

#include "x402/protocol/bytes.h"
#include "x402/protocol/eip712.h"
#include "x402/protocol/payload.h"
#include "x402/protocol/reason.h"
#include "x402/protocol/requirements.h"

namespace turnpike::x402 {

// A payment must live this long when it is accepted (docs/protocols.md, "Exact on EVM: EIP-3009",
// check 6).
inline constexpr std::uint64_t settlement_margin_s = 6;
// Nothing in a transaction says when it ends: its blockhash is good for 150 slots, 60 to 90
// seconds, and facilitators remember it for 120 (docs/protocols.md, "Exact on Solana").
inline constexpr std::uint64_t solana_lifetime_s = 120;

enum class Proof : std::uint8_t {
  // The payer's own key signed. (An account that delegated itself to a contract by EIP-7702 may
  // still decide otherwise; only a facilitator sees that.)
  recovered,
  // Terms and window are right, but the signature is none of a plain account, or is on another
  // chain: perhaps a contract wallet's (ERC-1271, ERC-6492), perhaps nobody's. Nothing may be done
  // for it before a facilitator has verified it.
  needs_facilitator,
  // It is a contract wallet's, which says so itself, on the chain (ERC-1271).
  confirmed_by_wallet,
};

struct VerifiedPayment {
  Proof proof;
  std::string payer;  // as the caller spelled it; empty on Solana, where the facilitator says it
  Word payment_key;
  std::uint64_t valid_before_s;  // Unix time; the largest value for anything beyond
  Word digest{};                 // what was signed; zeros on Solana
};

// Checks in the order of the reference implementation, so that callers are told the same reason by
// us and by a facilitator. `needed_s` is the time that work and settlement may take: the payment
// must not end before.
Result<VerifiedPayment, Reason> verify(const PaymentPayload& payload,
                                       const PaymentRequirements& requirements,
                                       const DomainSeparators& separators, std::uint64_t now_s,
                                       std::uint64_t needed_s);

}  // namespace turnpike::x402

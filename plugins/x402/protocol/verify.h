// Verifies what can be verified about a payment without asking anybody: its terms, its time window
// and the signature of a plain account. Balances, used nonces and contract wallets are left to a
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

// A payment must stay valid this long after it is accepted (docs/protocols.md, "Exact on EVM:
// EIP-3009", check 6).
inline constexpr std::uint64_t settlement_margin_s = 6;
// A Solana transaction does not say when it ends. Its blockhash is good for 150 slots, 60 to 90
// seconds, and facilitators remember it for 120 (docs/protocols.md, "Exact on Solana").
inline constexpr std::uint64_t solana_lifetime_s = 120;

enum class Proof : std::uint8_t {
  // The payer's own key signed. (An account that delegated itself to a contract by EIP-7702 may
  // still decide otherwise; only a facilitator sees that.)
  recovered,
  // Terms and window are right, but the payer's key did not sign, or the payment is on Solana. The
  // signature may be a contract wallet's (ERC-1271, ERC-6492) or worthless. Nothing may be done for
  // the payment before a facilitator has verified it.
  needs_facilitator,
  // A contract wallet confirmed the signature on the chain (ERC-1271).
  confirmed_by_wallet,
};

struct VerifiedPayment {
  Proof proof;
  std::string payer;  // as the caller spelled it; empty on Solana, where the facilitator names it
  Word payment_key;
  std::uint64_t valid_before_s;  // Unix time; the largest value for anything beyond it
  Word digest{};                 // what was signed; zeros on Solana
};

// Checks in the order of the reference implementation, so that we and a facilitator give callers
// the same reason. `needed_s` is the time that work and settlement may take; the payment must stay
// valid that long.
Result<VerifiedPayment, Reason> verify(const PaymentPayload& payload,
                                       const PaymentRequirements& requirements,
                                       const DomainSeparators& separators, std::uint64_t now_s,
                                       std::uint64_t needed_s);

}  // namespace turnpike::x402

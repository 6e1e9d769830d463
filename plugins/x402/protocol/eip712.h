// Computes the digests that wallets sign: EIP-712 typed data of EIP-3009 tokens and of Permit2
// (docs/protocols.md, "Exact on EVM: EIP-3009"). Pure functions of values; DomainSeparators is
// immutable. Safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "x402/protocol/bytes.h"
#include "x402/protocol/payload.h"
#include "x402/protocol/requirements.h"

namespace turnpike::x402 {

// 0x000000000022D473030F116dDEE9F6B43aC78BA3 on every chain.
inline constexpr Address permit2_contract{0x00, 0x00, 0x00, 0x00, 0x00, 0x22, 0xD4,
                                          0x73, 0x03, 0x0F, 0x11, 0x6d, 0xDE, 0xE9,
                                          0xF6, 0xB4, 0x3a, 0xC7, 0x8B, 0xA3};
// The x402 proxy, 0x402085c248EeA27D92E8b30b2C58ed07f9E20001. It pays only the witness's `to`.
inline constexpr Address permit2_proxy{0x40, 0x20, 0x85, 0xc2, 0x48, 0xEe, 0xA2, 0x7D, 0x92, 0xE8,
                                       0xb3, 0x0b, 0x2C, 0x58, 0xed, 0x07, 0xf9, 0xE2, 0x00, 0x01};

Word token_domain_separator(const TokenDomain& domain, std::uint64_t chain_id,
                            const Address& token);
Word permit2_domain_separator(std::uint64_t chain_id);

Word digest_of(const Eip3009Payment& payment, const Word& domain_separator);
Word digest_of(const Permit2Payment& payment, const Word& domain_separator);

// The domain separators of the entries that a gateway offers, computed once and kept.
class DomainSeparators {
 public:
  DomainSeparators() = default;
  explicit DomainSeparators(std::span<const PaymentRequirements> offered);

  // Returns the separator of the token, or of Permit2 if the entry says so. Computes it if the
  // entry was not among those offered. Returns nullopt if the entry is not one of an EVM chain.
  [[nodiscard]] std::optional<Word> of(const PaymentRequirements& requirements) const;

 private:
  struct Kept {
    PaymentRequirements requirements;
    Word separator;
  };
  std::vector<Kept> kept_;
};

}  // namespace turnpike::x402

#include "x402/protocol/verify.h"

#include <algorithm>
#include <optional>

#include "x402/protocol/encoding.h"
#include "x402/protocol/signature.h"

namespace turnpike::x402 {
namespace {

struct Window {
  std::uint64_t now_s;
  std::uint64_t needed_s;

  [[nodiscard]] bool ends_in_time(const Word& valid_before) const noexcept {
    const std::uint64_t end_s = saturated_uint64(valid_before);
    return end_s >= now_s && end_s - now_s >= std::max(needed_s, settlement_margin_s);
  }
  // Tokens require block.timestamp > validAfter.
  [[nodiscard]] bool has_begun(const Word& valid_after) const noexcept {
    return saturated_uint64(valid_after) < now_s;
  }
};

bool is_address(const Address& address, std::string_view text) noexcept {
  Address other;
  return hex_decode_exactly(text, other) && address == other;
}

// Says how much the signature proves. Returns nullopt if the payer signed, but in a spelling that
// no token accepts.
std::optional<Proof> prove(const Word& digest, std::string_view signature, const Address& payer) {
  const auto signer = recover_signer(digest, signature);
  if (!signer || signer->address != payer) return Proof::needs_facilitator;
  return signer->is_canonical ? std::optional(Proof::recovered) : std::nullopt;
}

class Verification {
 public:
  Verification(const PaymentPayload& payload, const PaymentRequirements& requirements,
               const DomainSeparators& separators, const Window& window)
      : payload_(payload), requirements_(requirements), separators_(separators), window_(window) {}

  // docs/protocols.md, "Exact on EVM: EIP-3009"
  Result<VerifiedPayment, Reason> operator()(const Eip3009Payment& payment) const {
    if (!is_exact()) return Reason::invalid_exact_evm_scheme;
    const std::string& method = requirements_.extra.asset_transfer_method;
    if (!method.empty() && method != "eip3009") return Reason::unsupported_payload_type;
    if (requirements_.extra.name.empty() || requirements_.extra.version.empty()) {
      return Reason::invalid_exact_evm_missing_eip712_domain;
    }
    const auto separator = separators_.of(requirements_);
    if (!is_same_network() || !separator) return Reason::invalid_exact_evm_network_mismatch;
    if (!is_accepted(requirements_, payload_.accepted)) {
      return Reason::no_matching_payment_requirements;
    }
    const Word digest = digest_of(payment, *separator);
    const auto proof = prove(digest, payment.signature, payment.from);
    if (!proof) return Reason::invalid_exact_evm_signature;
    if (!is_address(payment.to, requirements_.pay_to)) {
      return Reason::invalid_exact_evm_recipient_mismatch;
    }
    if (!window_.ends_in_time(payment.valid_before)) {
      return Reason::invalid_exact_evm_payload_authorization_valid_before;
    }
    if (!window_.has_begun(payment.valid_after)) {
      return Reason::invalid_exact_evm_payload_authorization_valid_after;
    }
    if (parse_uint256(requirements_.amount) != payment.value) {
      return Reason::invalid_exact_evm_payload_authorization_value_mismatch;
    }
    return accepted(*proof, payment.from_text, saturated_uint64(payment.valid_before), digest);
  }

  // docs/protocols.md, "Exact on EVM: Permit2"
  Result<VerifiedPayment, Reason> operator()(const Permit2Payment& payment) const {
    if (!is_exact()) return Reason::invalid_exact_evm_scheme;
    if (requirements_.extra.asset_transfer_method != "permit2") {
      return Reason::unsupported_payload_type;
    }
    const auto separator = separators_.of(requirements_);
    if (!is_same_network() || !separator) return Reason::invalid_exact_evm_network_mismatch;
    if (!is_accepted(requirements_, payload_.accepted)) {
      return Reason::no_matching_payment_requirements;
    }
    if (payment.spender != permit2_proxy) return Reason::invalid_permit2_spender;
    if (!is_address(payment.to, requirements_.pay_to)) {
      return Reason::invalid_permit2_recipient_mismatch;
    }
    if (!window_.ends_in_time(payment.deadline)) return Reason::permit2_deadline_expired;
    if (!window_.has_begun(payment.valid_after)) return Reason::permit2_not_yet_valid;
    if (parse_uint256(requirements_.amount) != payment.amount) {
      return Reason::permit2_amount_mismatch;
    }
    if (!is_address(payment.token, requirements_.asset)) return Reason::permit2_token_mismatch;
    const Word digest = digest_of(payment, *separator);
    const auto proof = prove(digest, payment.signature, payment.from);
    if (!proof) return Reason::invalid_permit2_signature;
    return accepted(*proof, payment.from_text, saturated_uint64(payment.deadline), digest);
  }

  // The facilitator reads what the transaction does (docs/protocols.md, "Exact on Solana").
  Result<VerifiedPayment, Reason> operator()(const SolanaPayment&) const {
    if (!is_exact()) return Reason::unsupported_scheme;
    if (!is_solana(requirements_.network)) return Reason::unsupported_payload_type;
    if (!is_same_network()) return Reason::invalid_network;
    if (!is_accepted(requirements_, payload_.accepted)) {
      return Reason::no_matching_payment_requirements;
    }
    return accepted(Proof::needs_facilitator, {}, window_.now_s + solana_lifetime_s);
  }

 private:
  [[nodiscard]] bool is_exact() const noexcept {
    return payload_.accepted.scheme == "exact" && requirements_.scheme == "exact";
  }
  [[nodiscard]] bool is_same_network() const noexcept {
    return payload_.accepted.network == requirements_.network;
  }
  [[nodiscard]] VerifiedPayment accepted(Proof proof, const std::string& payer,
                                         std::uint64_t valid_before_s,
                                         const Word& digest = {}) const {
    return {proof, payer, payment_key(payload_), valid_before_s, digest};
  }

  const PaymentPayload& payload_;
  const PaymentRequirements& requirements_;
  const DomainSeparators& separators_;
  const Window& window_;
};

}  // namespace

Result<VerifiedPayment, Reason> verify(const PaymentPayload& payload,
                                       const PaymentRequirements& requirements,
                                       const DomainSeparators& separators, std::uint64_t now_s,
                                       std::uint64_t needed_s) {
  const Window window{now_s, needed_s};
  return std::visit(Verification(payload, requirements, separators, window), payload.payment);
}

}  // namespace turnpike::x402

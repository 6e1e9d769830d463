// The closed set of reasons to refuse a payment that could be read. Each name is the code that the
// caller is told (`error` of the 402 challenge). The codes are those of the reference
// implementation's facilitators and clients (docs/protocols.md, "Facilitators"); codes that begin
// with `turnpike_` are ours.
#pragma once

#include <cstdint>
#include <string_view>

namespace turnpike::x402 {

#define TURNPIKE_X402_REASONS(REASON)                            \
  /* any scheme */                                               \
  REASON(unsupported_payload_type)                               \
  REASON(no_matching_payment_requirements)                       \
  REASON(extension_echo_mismatch)                                \
  /* ours: it ends too far ahead */                              \
  REASON(turnpike_validity_too_long)                             \
  /* ours: the key of the address that it pays is lost */        \
  REASON(turnpike_address_lost)                                  \
  /* exact on EVM */                                             \
  REASON(invalid_exact_evm_scheme)                               \
  REASON(invalid_exact_evm_missing_eip712_domain)                \
  REASON(invalid_exact_evm_network_mismatch)                     \
  REASON(invalid_exact_evm_signature)                            \
  REASON(invalid_exact_evm_recipient_mismatch)                   \
  REASON(invalid_exact_evm_payload_authorization_valid_before)   \
  REASON(invalid_exact_evm_payload_authorization_valid_after)    \
  REASON(invalid_exact_evm_payload_authorization_value_mismatch) \
  /* exact on EVM, by Permit2 */                                 \
  REASON(invalid_permit2_spender)                                \
  REASON(invalid_permit2_recipient_mismatch)                     \
  REASON(permit2_deadline_expired)                               \
  REASON(permit2_not_yet_valid)                                  \
  REASON(permit2_amount_mismatch)                                \
  REASON(permit2_token_mismatch)                                 \
  REASON(invalid_permit2_signature)                              \
  /* exact on Solana */                                          \
  REASON(unsupported_scheme)                                     \
  REASON(invalid_network)                                        \
  /* the binding of a challenge to its request */                \
  REASON(turnpike_binding_missing)                               \
  REASON(turnpike_binding_malformed)                             \
  REASON(turnpike_binding_expired)                               \
  REASON(turnpike_binding_mismatch)

enum class Reason : std::uint8_t {
#define TURNPIKE_X402_REASON(name) name,
  TURNPIKE_X402_REASONS(TURNPIKE_X402_REASON)
#undef TURNPIKE_X402_REASON
};

constexpr std::string_view code_of(Reason reason) noexcept {
  switch (reason) {
#define TURNPIKE_X402_REASON(name) \
  case Reason::name:               \
    return #name;
    TURNPIKE_X402_REASONS(TURNPIKE_X402_REASON)
#undef TURNPIKE_X402_REASON
  }
  return {};
}

}  // namespace turnpike::x402

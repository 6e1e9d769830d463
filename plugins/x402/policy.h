// CallPolicy: how an operation is paid for per call, as written under `x402` in the defaults of a
// provider and in a route (registry/README.md). The registry keeps it as one line of words, which
// also enters the program's hash unless it is the default.
//
// Plain values; safe on any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike::x402 {

// When a payment is collected: after the upstream has succeeded, without risk for the payer, or
// before the upstream is asked.
enum class PaymentFlow : std::uint8_t { authorization, upfront };

constexpr std::string_view name_of(PaymentFlow flow) noexcept {
  return flow == PaymentFlow::upfront ? "upfront" : "authorization";
}

// What becomes of a payment that was collected upfront if the upstream then fails: the payer may
// repeat the same request while the payment is valid, or is owed a refund.
enum class UnearnedPayment : std::uint8_t { retry, refund };

constexpr std::string_view name_of(UnearnedPayment unearned) noexcept {
  return unearned == UnearnedPayment::refund ? "refund" : "retry";
}

// Whether a payment must repeat the binding to the very request that it was asked for. A payment
// without the binding buys one call of any operation with the same terms.
enum class PaymentBinding : std::uint8_t { accepted, required };

constexpr std::string_view name_of(PaymentBinding binding) noexcept {
  return binding == PaymentBinding::required ? "required" : "accepted";
}

struct CallPolicy {
  PaymentFlow flow = PaymentFlow::authorization;
  bool verifies_first = true;  // ask a facilitator first whether the payment would succeed
  UnearnedPayment unearned = UnearnedPayment::retry;
  PaymentBinding binding = PaymentBinding::accepted;
};

// Returns, for example, "upfront unverified refund bound".
inline std::string words_of(const CallPolicy& policy) {
  std::string words(name_of(policy.flow));
  if (!policy.verifies_first) words += " unverified";
  if (policy.flow == PaymentFlow::upfront) words.append(" ").append(name_of(policy.unearned));
  if (policy.binding == PaymentBinding::required) words += " bound";
  return words;
}

// The inverse of words_of().
inline CallPolicy policy_of(std::string_view words) noexcept {
  const auto has = [words](std::string_view word) { return words.find(word) != words.npos; };
  CallPolicy policy;
  if (has(name_of(PaymentFlow::upfront))) policy.flow = PaymentFlow::upfront;
  policy.verifies_first = !has("unverified");
  if (has(name_of(UnearnedPayment::refund))) policy.unearned = UnearnedPayment::refund;
  if (has("bound")) policy.binding = PaymentBinding::required;
  return policy;
}

}  // namespace turnpike::x402

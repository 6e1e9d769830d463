#include "x402/remote/resolve.h"

#include <algorithm>
#include <utility>

namespace turnpike::x402 {

namespace {

Resolution never_paid(Resolution::Proof proof) {
  Resolution resolution;
  resolution.outcome = Resolution::Outcome::never_paid;
  resolution.proof = proof;
  return resolution;
}

// Asks about the transaction that a facilitator named first, then about whatever used the
// authorization.
std::optional<Resolution> ask_chain(const OpenPayment& payment, std::string_view transaction,
                                    Chains& chains, Call& call) {
  if (!payment.authorization || !chains.knows(payment.authorization->network)) return std::nullopt;
  if (!transaction.empty()) {
    const ChainAnswer answer = chains.receipt_of(*payment.authorization, transaction, call);
    if (answer.outcome == ChainAnswer::Outcome::paid) {
      return proof_of(answer, payment.valid_before_s);
    }
  }
  return proof_of(chains.find_settlement(*payment.authorization, call), payment.valid_before_s);
}

// An expired payment is left to the chain where it can prove the expiry. Otherwise the facilitator
// is asked, since it may remember.
bool asks_facilitator(const OpenPayment& payment, bool is_provable, std::int64_t now_s) {
  if (!payment.may_collect) {
    return !is_provable && now_s >= certain_end_s(payment.valid_before_s);
  }
  return !is_provable || now_s + settle_margin_s <= payment.valid_before_s;
}

}  // namespace

std::optional<Resolution> proof_of(const ChainAnswer& answer, std::int64_t valid_before_s) {
  switch (answer.outcome) {
    case ChainAnswer::Outcome::paid: {
      Resolution resolution;
      resolution.outcome = Resolution::Outcome::settled;
      resolution.is_proven = true;
      resolution.transaction = answer.transaction;
      return resolution;
    }
    case ChainAnswer::Outcome::cancelled:
      return never_paid(Resolution::Proof::cancelled);
    case ChainAnswer::Outcome::used_otherwise:
      return never_paid(Resolution::Proof::used_otherwise);
    case ChainAnswer::Outcome::not_used:
      if (answer.expired_s < valid_before_s) return std::nullopt;
      return never_paid(Resolution::Proof::expired);
    case ChainAnswer::Outcome::reverted:
    case ChainAnswer::Outcome::not_final:
    case ChainAnswer::Outcome::unavailable:
      break;
  }
  return std::nullopt;
}

std::optional<Resolution> proof_of(const Settlement& answer) {
  if (answer.outcome != Settlement::Outcome::settled) return std::nullopt;
  Resolution resolution;
  resolution.outcome = Resolution::Outcome::settled;
  resolution.transaction = answer.transaction;
  resolution.payer = answer.payer;
  return resolution;
}

std::uint32_t retry_after_s(std::uint32_t attempts, std::int64_t until_provable_s) noexcept {
  constexpr std::uint32_t doublings_max = 10;  // more exceed retry_max_s
  const std::uint32_t wait_s =
      std::min(retry_first_s << std::min(attempts, doublings_max), retry_max_s);
  const bool is_earlier = until_provable_s > 0 && until_provable_s < wait_s;
  return is_earlier ? static_cast<std::uint32_t>(until_provable_s) : wait_s;
}

Resolution resolve(const OpenPayment& payment, std::int64_t now_s, Facilitators& facilitators,
                   Chains& chains, Call& call) {
  if (auto proof = ask_chain(payment, payment.transaction, chains, call)) return *std::move(proof);
  Resolution open;
  open.transaction = payment.transaction;
  open.facilitator = payment.facilitator;
  const bool is_provable = payment.authorization && chains.knows(payment.request.network);
  if (asks_facilitator(payment, is_provable, now_s)) {
    Settlement answer = facilitators.settle(payment.request, call, payment.facilitator);
    if (auto proof = proof_of(answer)) return *std::move(proof);
    if (!answer.transaction.empty()) open.transaction = std::move(answer.transaction);
    if (!answer.facilitator.empty()) open.facilitator = std::move(answer.facilitator);
    if (answer.outcome != Settlement::Outcome::not_sent) {
      if (auto proof = ask_chain(payment, open.transaction, chains, call)) return *std::move(proof);
    }
  }
  const std::int64_t provable_s =
      is_provable ? payment.valid_before_s + chains.expiry_margin_s(payment.request.network)
                  : certain_end_s(payment.valid_before_s);
  open.retry_after_s = retry_after_s(payment.attempts, provable_s - now_s + 1);
  return open;
}

std::string_view name_of(Resolution::Proof proof) noexcept {
  switch (proof) {
    case Resolution::Proof::none:
      return "none";
    case Resolution::Proof::expired:
      return "expired";
    case Resolution::Proof::cancelled:
      return "cancelled";
    case Resolution::Proof::used_otherwise:
      return "used_otherwise";
  }
  return "";
}

}  // namespace turnpike::x402

#include "x402/remote/facilitator_reply.h"

#include <algorithm>
#include <utility>

namespace turnpike::x402 {

namespace {

constexpr std::size_t kinds_max = 512;
constexpr std::size_t signers_max = 512;
constexpr std::string_view no_code = "facilitator_refused";

bool is_hex(std::string_view text, std::size_t digits) noexcept {
  return text.size() == digits + 2 && text.starts_with("0x") &&
         std::all_of(text.begin() + 2, text.end(), [](char letter) {
           return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f') ||
                  (letter >= 'A' && letter <= 'F');
         });
}

bool is_base58(std::string_view text, std::size_t minimum, std::size_t maximum) noexcept {
  constexpr std::string_view alphabet =
      "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  return text.size() >= minimum && text.size() <= maximum &&
         text.find_first_not_of(alphabet) == std::string_view::npos;
}

bool is_amount(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 78 && (text == "0" || text.front() != '0') &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Reads an optional string: absent and null give "", any other type makes the reply mistyped.
bool read_optional(JsonValue member, std::string& into) {
  if (member.is_missing()) return true;
  into = member.string();
  return member.is(JsonKind::string);
}

bool read_required(JsonValue member, std::string& into) {
  return !member.is_missing() && read_optional(member, into);
}

bool ends_with_any(std::string_view text,
                   std::initializer_list<std::string_view> endings) noexcept {
  return std::any_of(endings.begin(), endings.end(),
                     [text](std::string_view ending) { return text.ends_with(ending); });
}

// Whether money may have moved, or may yet, although no transaction is named. The SDK's
// facilitators answer `..._transaction_failed` with an empty `transaction` if the node's answer to
// the broadcast was lost (@x402/evm 2.27, settleEIP3009); others time out on a confirmation. A text
// that is not a code comes from some exception, raised at any point.
bool leaves_open(std::string_view reason) {
  if (!reason.empty() && !is_reason_code(reason)) return true;
  return reason == "settlement_pending" || reason == "invalid_transaction_state" ||
         reason.starts_with("unexpected_") ||
         ends_with_any(reason,
                       {"transaction_failed", "broadcast_failed", "failed_onchain", "node_failure",
                        "block_height_exceeded", "not_confirmed", "event_mismatch"}) ||
         reason.find("timed_out") != std::string_view::npos ||
         reason.find("timeout") != std::string_view::npos;
}

// For a typed reply that says `success: false`.
Settlement::Outcome outcome_of_failure(const Settlement& settlement, std::string_view reason,
                                       bool has_text, bool network_is_ours) {
  using enum Settlement::Outcome;
  if (says_used(reason)) return already_used;
  if (reason == "settlement_pending" && !settlement.transaction.empty() && network_is_ours) {
    return pending;
  }
  // A text where a hash belongs also tells of a broadcast.
  if (has_text || !network_is_ours || leaves_open(reason)) return unknown;
  return refused;
}

bool read_kind(JsonValue entry, SupportedKind& kind) {
  if (entry["x402Version"].natural() != 2 || !read_required(entry["scheme"], kind.scheme) ||
      !read_required(entry["network"], kind.network)) {
    return false;
  }
  std::string fee_payer = entry["extra"]["feePayer"].string();
  if (is_account(fee_payer, kind.network)) kind.fee_payer = std::move(fee_payer);
  return true;
}

}  // namespace

bool says_used(std::string_view reason) noexcept {
  return reason == "duplicate_settlement" ||
         ends_with_any(reason, {"nonce_already_used", "permit2_invalid_nonce"});
}

std::optional<Verification> read_verification(JsonValue body, std::string_view network) {
  const JsonValue is_valid = body["isValid"];
  Verification verification;
  std::string reason;
  if (!is_valid.is(JsonKind::boolean) || !read_optional(body["payer"], verification.payer) ||
      !read_optional(body["invalidReason"], reason)) {
    return std::nullopt;
  }
  if (!is_account(verification.payer, network)) verification.payer.clear();
  if (is_valid.text() == "true") {
    verification.outcome = Verification::Outcome::valid;
    return verification;
  }
  if (reason.starts_with("unexpected_")) return std::nullopt;
  verification.outcome = Verification::Outcome::invalid;
  verification.reason = is_reason_code(reason) ? std::move(reason) : std::string(no_code);
  return verification;
}

Settlement read_settlement(JsonValue body, std::string_view network, bool& is_typed) {
  Settlement settlement;
  std::string text;  // the member `transaction`
  std::string reason;
  is_typed = body["success"].is(JsonKind::boolean) && read_required(body["transaction"], text) &&
             read_required(body["network"], settlement.network) &&
             read_optional(body["payer"], settlement.payer) &&
             read_optional(body["amount"], settlement.amount) &&
             read_optional(body["errorReason"], reason);
  if (!is_typed) return {};
  const bool is_success = body["success"].text() == "true";
  if (is_transaction(text, network)) settlement.transaction = text;
  if (!is_account(settlement.payer, network)) settlement.payer.clear();
  if (!is_amount(settlement.amount)) settlement.amount.clear();
  const bool network_is_ours =
      settlement.network == network || (!is_success && settlement.network.empty());
  if (is_success && network_is_ours && !settlement.transaction.empty()) {
    settlement.outcome = Settlement::Outcome::settled;
    return settlement;
  }
  if (!is_success) {
    settlement.outcome = outcome_of_failure(settlement, reason, !text.empty(), network_is_ours);
  }
  if (settlement.outcome == Settlement::Outcome::refused ||
      settlement.outcome == Settlement::Outcome::already_used) {
    settlement.reason = is_reason_code(reason) ? std::move(reason) : std::string(no_code);
  }
  if (!network_is_ours) settlement.transaction.clear();
  settlement.network.clear();
  settlement.amount.clear();
  return settlement;
}

std::optional<Supported> read_supported(JsonValue body) {
  const JsonValue kinds = body["kinds"];
  if (!kinds.is(JsonKind::array)) return std::nullopt;
  Supported supported;
  for (const JsonValue::Member entry : kinds) {
    SupportedKind kind;
    if (supported.kinds.size() < kinds_max && read_kind(entry.value, kind)) {
      supported.kinds.push_back(std::move(kind));
    }
  }
  for (const JsonValue::Member accounts : body["signers"]) {
    for (const JsonValue::Member account : accounts.value) {
      if (account.value.is(JsonKind::string) && supported.signers.size() < signers_max) {
        supported.signers.push_back(account.value.string());
      }
    }
  }
  return supported;
}

bool is_reason_code(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char at) {
    return (at >= 'a' && at <= 'z') || (at >= '0' && at <= '9') || at == '_';
  });
}

bool is_transaction(std::string_view text, std::string_view network) noexcept {
  if (network.starts_with("eip155:")) return is_hex(text, 64);
  // 64 bytes; each leading zero byte is one digit "1".
  return network.starts_with("solana:") && is_base58(text, 64, 88);
}

bool is_account(std::string_view text, std::string_view network) noexcept {
  if (network.starts_with("eip155:")) return is_hex(text, 40);
  return network.starts_with("solana:") && is_base58(text, 32, 44);
}

std::string_view name_of(Verification::Outcome outcome) noexcept {
  switch (outcome) {
    case Verification::Outcome::valid:
      return "valid";
    case Verification::Outcome::invalid:
      return "invalid";
    case Verification::Outcome::unavailable:
      return "unavailable";
    case Verification::Outcome::too_many:
      return "too_many";
  }
  return "";
}

std::string_view name_of(Settlement::Outcome outcome) noexcept {
  switch (outcome) {
    case Settlement::Outcome::settled:
      return "settled";
    case Settlement::Outcome::refused:
      return "refused";
    case Settlement::Outcome::pending:
      return "pending";
    case Settlement::Outcome::already_used:
      return "already_used";
    case Settlement::Outcome::not_sent:
      return "not_sent";
    case Settlement::Outcome::unknown:
      return "unknown";
  }
  return "";
}

}  // namespace turnpike::x402

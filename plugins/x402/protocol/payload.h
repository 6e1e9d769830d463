// PaymentPayload: what a caller signed and sent as PAYMENT-SIGNATURE (docs/protocols.md,
// "Messages"), decoded once and strictly. It is not yet checked against an offer or a signature;
// verify.h does that. A plain value; safe on any thread.
//
// The header is a bearer instrument until it is settled: no part of it may be logged or shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <turnpike/result.h>

#include "x402/protocol/bytes.h"
#include "x402/protocol/json.h"
#include "x402/protocol/reason.h"
#include "x402/protocol/requirements.h"

namespace turnpike::x402 {

inline constexpr std::size_t payment_header_bytes_max = 16 * 1024;
inline constexpr std::size_t wallet_signature_bytes_max = 4 * 1024;  // of contract wallets
inline constexpr std::size_t solana_transaction_bytes_max = 1'232;   // one packet of that network

// EIP-3009 transferWithAuthorization (docs/protocols.md, "Exact on EVM: EIP-3009").
struct Eip3009Payment {
  std::string signature;  // 65 bytes from a plain account, any number from a contract wallet
  std::string from_text;  // as the caller spelled it
  Address from;
  Address to;
  Word value;
  Word valid_after;
  Word valid_before;
  Word nonce;
};

// Permit2 PermitWitnessTransferFrom to the x402 proxy (docs/protocols.md, "Exact on EVM: Permit2").
struct Permit2Payment {
  std::string signature;
  std::string from_text;
  Address from;
  Address token;
  Word amount;
  Address spender;
  Word nonce;
  Word deadline;
  Address to;  // in the witness
  Word valid_after;
};

// A transaction that lacks the fee payer's signature (docs/protocols.md, "Exact on Solana"). The
// message is what is signed, so its digest identifies the payment whatever signatures precede it.
struct SolanaPayment {
  std::string transaction;
  std::size_t message_begin;
  Word message_sha256;

  [[nodiscard]] std::string_view message() const noexcept {
    return std::string_view(transaction).substr(message_begin);
  }
};

using AnyPayment = std::variant<Eip3009Payment, Permit2Payment, SolanaPayment>;

struct PaymentPayload {
  JsonText json;
  PaymentRequirements accepted;  // the caller's claim
  bool accepted_has_more;        // it has members outside `extra` that we do not know
  AnyPayment payment;
  std::string payment_id;  // from the extension payment-identifier; empty: none

  // The whole payload as compact JSON, as it is sent to a facilitator, and its digest.
  [[nodiscard]] std::string_view text() const noexcept { return json.text(); }
  [[nodiscard]] Word sha256() const;
  // What the caller echoed of an extension; absent if it did not.
  [[nodiscard]] JsonValue extension(std::string_view name) const noexcept {
    return json.root()["extensions"][name];
  }
};

// Says what is wrong with a header that cannot be read (400). Contains our own texts alone, nothing
// from the caller.
struct Malformed {
  std::string_view where;  // "payload.authorization.value"; empty: the header as a whole
  std::string_view what;   // "is not a decimal number"
  std::string_view fix;    // "send it as digits in a string, such as \"10000\""

  // "The payment's payload.authorization.value is not ...; send it ..."
  [[nodiscard]] std::string sentence() const;
};

// Malformed is answered with 400, a Reason with 402 and its code.
using Unpaid = std::variant<Malformed, Reason>;

Result<PaymentPayload, Unpaid> decode_payment(std::string_view header_value);

// Reads the same from JSON, for transports that carry the object itself (docs/protocols.md, "x402
// over MCP").
Result<PaymentPayload, Unpaid> read_payment(std::string json);

// Returns a key that names the payment by what is unique on the chain, whatever else the payload
// says: SHA-256 over the transfer method, network, contract, payer and nonce, or over the method,
// network and message on Solana. It is known before the payment is verified, so that a payment that
// is already settled can be answered.
Word payment_key(const PaymentPayload& payload);

}  // namespace turnpike::x402

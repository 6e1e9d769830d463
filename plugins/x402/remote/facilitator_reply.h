// What a facilitator's replies say (docs/protocols.md, "Facilitators"), decided by their members
// alone. A reply is believed as far as it is typed as the protocol says: what is mistyped says
// nothing, and about a settlement nothing is told as definite that the reply leaves open.
//
// Pure functions on values; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "x402/protocol/json.h"

namespace turnpike::x402 {

// Members that a caller may see: `payer`, `transaction`, `network` and `amount` have the form of
// such values, `reason` the form of a code. A facilitator's messages are nowhere in here.
struct Verification {
  enum class Outcome : std::uint8_t {
    valid,
    invalid,
    unavailable,
    too_many,  // nobody was asked: too many payments that nobody had signed were, lately
  };
  Outcome outcome = Outcome::unavailable;
  std::string payer;   // when the facilitator named one
  std::string reason;  // invalid
};

struct Settlement {
  enum class Outcome : std::uint8_t {
    settled,       // paid by `transaction`
    refused,       // definitely not broadcast by this facilitator; says nothing of earlier attempts
    pending,       // broadcast as `transaction`; whether it is confirmed is open
    already_used,  // the authorization was used before: by us, by a watcher, or cancelled
    not_sent,      // certainly no byte of a request left: nobody was asked
    unknown,       // anything may be the case; `transaction`, if set, is a hint for the chain
  };
  Outcome outcome = Outcome::unknown;
  std::string transaction;
  std::string network;      // settled
  std::string payer;        // when the facilitator named one
  std::string amount;       // settled, when the facilitator named one: decimal digits
  std::string reason;       // refused, already_used
  std::string facilitator;  // URL of the one that was asked last; of use for asking it again
};

// A kind of payment that a facilitator says it handles.
struct SupportedKind {
  std::string scheme;
  std::string network;
  std::string fee_payer;  // Solana: base58; else empty
};
struct Supported {
  std::vector<SupportedKind> kinds;
  std::vector<std::string> signers;  // the accounts that it pays fees from
};

// Nothing: not a VerifyResponse, or one that tells of the facilitator's own trouble.
std::optional<Verification> read_verification(JsonValue body, std::string_view network);

// `body` is absent when there was no JSON. Never not_sent. Sets `is_typed` when the reply was a
// SettlementResponse at all, whatever it says.
Settlement read_settlement(JsonValue body, std::string_view network, bool& is_typed);

// Kinds of other versions and mistyped ones are left out; nothing: not a SupportedResponse.
std::optional<Supported> read_supported(JsonValue body);

// Whether a code says that the authorization was used before, by whomever.
bool says_used(std::string_view reason) noexcept;

// ^[a-z0-9_]{1,64}$
bool is_reason_code(std::string_view text) noexcept;

// A transaction of `network`: a hash of an EVM chain or a signature of Solana. Of other networks no
// form is known, so nothing is one.
bool is_transaction(std::string_view text, std::string_view network) noexcept;

// 0x and 40 hex digits, or a base58 account.
bool is_account(std::string_view text, std::string_view network) noexcept;

std::string_view name_of(Verification::Outcome outcome) noexcept;
std::string_view name_of(Settlement::Outcome outcome) noexcept;

}  // namespace turnpike::x402

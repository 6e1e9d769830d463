// Reads a facilitator's replies (docs/protocols.md, "Facilitators"), judging by their members
// alone. A reply is believed as far as its types are those of the protocol: a mistyped reply says
// nothing, and a settlement is reported as definite only if the reply leaves no doubt.
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

// Callers may see `payer`, `transaction`, `network` and `amount`, which have the form of such
// values, and `reason`, which has the form of a code. A facilitator's own messages are never
// included.
struct Verification {
  enum class Outcome : std::uint8_t {
    valid,
    invalid,
    unavailable,
    too_many,  // nobody was asked: too many unsigned payments came lately
  };
  Outcome outcome = Outcome::unavailable;
  std::string payer;   // when the facilitator named one
  std::string reason;  // if invalid
};

struct Settlement {
  enum class Outcome : std::uint8_t {
    settled,       // paid by `transaction`
    refused,       // certainly not broadcast by this facilitator; says nothing of earlier attempts
    pending,       // broadcast as `transaction`; whether it is confirmed is open
    already_used,  // the authorization was used before: by us, by a watcher, or cancelled
    not_sent,      // certainly no byte of a request left: nobody was asked
    unknown,       // anything is possible; `transaction`, if set, is a hint for the chain
  };
  Outcome outcome = Outcome::unknown;
  std::string transaction;
  std::string network;      // if settled
  std::string payer;        // when the facilitator named one
  std::string amount;       // if settled and the facilitator named one: decimal digits
  std::string reason;       // if refused or already_used
  std::string facilitator;  // URL of the one that was asked last, for asking it again
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

// Returns nullopt if it is not a VerifyResponse, or reports the facilitator's own trouble.
std::optional<Verification> read_verification(JsonValue body, std::string_view network);

// `body` is absent if there was no JSON. Never returns not_sent. Sets `is_typed` to whether the
// reply was a SettlementResponse at all, whatever it says.
Settlement read_settlement(JsonValue body, std::string_view network, bool& is_typed);

// Leaves out mistyped kinds and kinds of other versions. Returns nullopt if the body is not a
// SupportedResponse.
std::optional<Supported> read_supported(JsonValue body);

// Whether a code says that the authorization was used before, by anybody.
bool says_used(std::string_view reason) noexcept;

// ^[a-z0-9_]{1,64}$
bool is_reason_code(std::string_view text) noexcept;

// Whether the text is a transaction of `network`: a hash on an EVM chain or a signature on Solana.
// The forms of other networks are not known, so it is false for them.
bool is_transaction(std::string_view text, std::string_view network) noexcept;

// 0x and 40 hex digits, or a base58 account.
bool is_account(std::string_view text, std::string_view network) noexcept;

std::string_view name_of(Verification::Outcome outcome) noexcept;
std::string_view name_of(Settlement::Outcome outcome) noexcept;

}  // namespace turnpike::x402

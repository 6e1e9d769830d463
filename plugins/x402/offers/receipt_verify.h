// Verifies receipts and offers without a network (docs/protocols.md, "Offers and receipts"): what
// was stated, by which key, and which doubts remain. The caller supplies the did.json and must know
// that it came from the host that it names.
//
// Two questions are kept apart: whether the signature holds, without which there is no Statement,
// and whether this key may speak for this resource at that time, which the doubts answer.
//
// Pure functions over untrusted text; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <turnpike/result.h>

#include "x402/offers/offer.h"

namespace turnpike::x402 {

// Allows for nodes that learn of a rotation later than others, and for clocks that differ.
inline constexpr std::int64_t key_life_slack_s = 300;

struct Statement {
  std::variant<Offer, Receipt> content;
  std::string payload;  // canonical JSON of what was signed, including members that we do not know
  std::string kid;
  Algorithm algorithm = Algorithm::es256k;
  bool is_of_host = false;                  // the key is did:web of the resource's own host
  std::optional<std::int64_t> key_from_s;   // as far as the document says
  std::optional<std::int64_t> key_until_s;  // nullopt: not known to be retired
  bool is_key_retired = false;
  bool is_in_key_life = true;       // a receipt's issuedAt lies in it, with the slack
  std::vector<std::string> doubts;  // sentences; if none, the host's key signed this in its time

  [[nodiscard]] const std::string& resource_url() const noexcept;
};

// `input` is a compact JWS, an artifact ({"format":"jws",...}), an `offer-receipt` extension, a
// settlement response or challenge that carries one, or either of these two in base64 as in the
// PAYMENT-RESPONSE and PAYMENT-REQUIRED headers. Returns one statement per signature in it, at
// least one. The error is a sentence.
[[nodiscard]] Result<std::vector<Statement>, std::string> verify_statements(
    std::string_view input, std::string_view did_document);

}  // namespace turnpike::x402

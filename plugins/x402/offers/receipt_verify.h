// Verifies receipts and offers without a network (docs/protocols.md, "Offers and receipts"): what
// was stated, by which key, and which doubts there are. The caller supplies the did.json and must
// know that it came from the host that it names.
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

// Nodes learn of a rotation one after the other, and their clocks differ.
inline constexpr std::int64_t key_life_slack_s = 300;

struct Statement {
  std::variant<Offer, Receipt> content;
  std::string payload;  // canonical JSON of what was signed, members that we do not know included
  std::string kid;
  Algorithm algorithm = Algorithm::es256k;
  bool is_of_host = false;                  // the key is did:web of the resource's own host
  std::optional<std::int64_t> key_from_s;   // as far as the document says
  std::optional<std::int64_t> key_until_s;  // nothing: not known to be retired
  bool is_key_retired = false;
  bool is_in_key_life = true;       // issuedAt of a receipt, within the slack
  std::vector<std::string> doubts;  // sentences; none: the host's key said so in its time

  [[nodiscard]] const std::string& resource_url() const noexcept;
};

// `input`: a compact JWS; an artifact ({"format":"jws",...}); an `offer-receipt` extension; a
// settlement response or a challenge that carries one; one of these two in base64, as the
// PAYMENT-RESPONSE and PAYMENT-REQUIRED headers have them. One statement for each signature in it,
// at least one. The error is a sentence.
[[nodiscard]] Result<std::vector<Statement>, std::string> verify_statements(
    std::string_view input, std::string_view did_document);

}  // namespace turnpike::x402

#include "x402/offers/offer.h"

#include <initializer_list>
#include <limits>
#include <optional>

namespace turnpike::x402 {
namespace {

// Writes the members of a payload. The caller names them in the order of RFC 8785, which for plain
// ASCII names is byte order.
class Payload {
 public:
  Payload& text(std::string_view name, std::string_view value) {
    begin(name);
    append_json_string(text_, value);
    return *this;
  }
  Payload& text_if_said(std::string_view name, std::string_view value) {
    return value.empty() ? *this : text(name, value);
  }
  Payload& seconds(std::string_view name, std::int64_t value) {
    begin(name);
    text_.append(std::to_string(value));
    return *this;
  }
  Payload& seconds_if_said(std::string_view name, std::int64_t value) {
    return value == 0 ? *this : seconds(name, value);
  }
  std::string end() {
    begin("version");
    return std::move(text_.append("1}"));
  }

 private:
  void begin(std::string_view name) {
    text_.append(text_.empty() ? "{\"" : ",\"").append(name).append("\":");
  }
  std::string text_;
};

// A required text.
struct TextMember {
  std::string_view name;
  std::string& to;
};

// Reads the required texts. Returns what is wrong, or nullopt.
std::optional<std::string> read_texts(JsonValue payload, std::string_view what,
                                      std::initializer_list<TextMember> members) {
  if (payload["version"].natural() != 1u) {
    return std::string(what) + "'s version is not 1";
  }
  for (const auto& [name, to] : members) {
    to = payload[name].string();
    if (to.empty()) {
      return std::string(what) + "'s " + std::string(name) + " is missing or no text";
    }
  }
  return std::nullopt;
}

// Reads seconds since 1970; nullopt for anything else.
std::optional<std::int64_t> read_seconds(JsonValue member) {
  const auto seconds = member.natural();
  if (!seconds || *seconds > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*seconds);
}

std::string artifact(std::string_view index, std::string_view jws) {
  return std::string(R"({"format":"jws",)").append(index).append(R"("signature":")").append(jws) +
         "\"}";
}

}  // namespace

std::string canonical_payload(const Offer& offer) {
  return Payload()
      .text("amount", offer.amount)
      .text("asset", offer.asset)
      .text("network", offer.network)
      .text_if_said("offerId", offer.offer_id)
      .text("payTo", offer.pay_to)
      .text("resourceUrl", offer.resource_url)
      .text("scheme", offer.scheme)
      .seconds_if_said("validUntil", offer.valid_until_s)
      .end();
}

std::string canonical_payload(const Receipt& receipt) {
  return Payload()
      .seconds("issuedAt", receipt.issued_at_s)
      .text("network", receipt.network)
      .text("payer", receipt.payer)
      .text("resourceUrl", receipt.resource_url)
      .text_if_said("transaction", receipt.transaction)
      .end();
}

Result<Offer, std::string> read_offer(JsonValue payload) {
  Offer offer;
  if (auto wrong = read_texts(payload, "the offer",
                              {{"resourceUrl", offer.resource_url},
                               {"scheme", offer.scheme},
                               {"network", offer.network},
                               {"asset", offer.asset},
                               {"payTo", offer.pay_to},
                               {"amount", offer.amount}})) {
    return std::move(*wrong);
  }
  if (const JsonValue until = payload["validUntil"]; !until.is_missing()) {
    const auto seconds = read_seconds(until);
    if (!seconds) return std::string("the offer's validUntil is no time in whole seconds");
    offer.valid_until_s = *seconds;
  }
  offer.offer_id = payload["offerId"].string();
  return offer;
}

Result<Receipt, std::string> read_receipt(JsonValue payload) {
  Receipt receipt;
  if (auto wrong = read_texts(payload, "the receipt",
                              {{"network", receipt.network},
                               {"resourceUrl", receipt.resource_url},
                               {"payer", receipt.payer}})) {
    return std::move(*wrong);
  }
  const auto seconds = read_seconds(payload["issuedAt"]);
  if (!seconds) return std::string("the receipt's issuedAt is no time in whole seconds");
  receipt.issued_at_s = *seconds;
  receipt.transaction = payload["transaction"].string();
  return receipt;
}

std::string sign_offer(const Offer& offer, const PrivateKey& key, std::string_view kid) {
  return sign_jws(key, kid, canonical_payload(offer));
}

std::string sign_receipt(const Receipt& receipt, const PrivateKey& key, std::string_view kid) {
  return sign_jws(key, kid, canonical_payload(receipt));
}

// The schemas say only what a reader relies on: readers verify signatures, not schemas, and the
// whole challenge has to fit the header buffers of common proxies.
std::string offers_extension(std::span<const std::string> jws) {
  std::string json = R"({"info":{"offers":[)";
  for (std::size_t at = 0; at < jws.size(); ++at) {
    if (at > 0) json.push_back(',');
    json.append(artifact(R"("acceptIndex":)" + std::to_string(at) + ',', jws[at]));
  }
  return json.append(
      R"(]},"schema":{"type":"object","properties":{"offers":{"type":"array"}},"required":["offers"]}})");
}

std::string receipt_extension(std::string_view jws) {
  return R"({"info":{"receipt":)" + artifact("", jws) +
         R"(},"schema":{"type":"object","properties":{"receipt":{"type":"object"}},"required":["receipt"]}})";
}

}  // namespace turnpike::x402

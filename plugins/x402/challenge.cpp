#include "x402/challenge.h"

#include <utility>
#include <vector>

#include "x402/offers/offer.h"
#include "x402/protocol/encoding.h"
#include "x402/protocol/json.h"

namespace turnpike::x402 {
namespace {

constexpr std::size_t cache_bytes_max = 32 * 1024 * 1024;
constexpr std::size_t cache_parts = 8;
constexpr std::size_t binding_bytes = 300;  // what a challenge adds to its common part, and
constexpr std::size_t mac_bytes = 46;       // what each entry's MAC adds to that

constexpr std::string_view payment_identifier_schema =
    R"({"type":"object","properties":{"id":{"type":"string",)"
    R"("minLength":16,"maxLength":128,"pattern":"^[a-zA-Z0-9_-]+$"}}})";

void append_member(std::string& json, std::string_view name, std::string_view value) {
  json.append(json.ends_with('{') ? "\"" : ",\"").append(name).append("\":");
  append_json_string(json, value);
}

}  // namespace

Challenges::Challenges(const Binding& binding, const KeyRing& keys, DidWeb did,
                       std::string public_origin, std::uint32_t offer_window_s)
    : binding_(binding),
      keys_(keys),
      did_(std::move(did)),
      public_origin_(std::move(public_origin)),
      cache_(offer_window_s, cache_bytes_max, cache_parts) {}

std::string Challenges::resource_url(std::string_view path, std::string_view query) const {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string target(path);
  if (!query.empty() && query.size() <= resource_query_bytes_max) {
    target.append("?").append(query);
  }
  std::string url = public_origin_;
  url.reserve(url.size() + target.size());
  for (const char c : target) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7F && c != '{' && c != '}') {
      url += c;
    } else {
      url.append("%").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
  }
  return url;
}

// Returns the JSON up to the binding, a line break, and the base64 of that JSON. The JSON is padded
// with blanks to a multiple of 3 bytes, so that its base64 can be continued. If the challenge would
// be too long with its offers, it goes without: only clients that verify offers need them, all need
// the terms.
std::string Challenges::common_part(const PricedOperation& operation, const Offered& offered,
                                    const std::string& url, std::int64_t valid_until_s) const {
  std::string json = common_json(operation, offered, url, offers_of(offered, url, valid_until_s));
  const std::size_t bindings = binding_bytes + offered.accepts.size() * mac_bytes;
  if ((json.size() + bindings) * 4 / 3 > challenge_header_bytes_max) {
    json = common_json(operation, offered, url, {});
  }
  json.append((3 - json.size() % 3) % 3, ' ');
  const std::string encoded = base64_encode(json);
  return json.append("\n").append(encoded);
}

std::vector<std::string> Challenges::offers_of(const Offered& offered, const std::string& url,
                                               std::int64_t valid_until_s) const {
  const auto key = keys_.active();
  const std::string kid = did_.kid(key->fragment);
  std::vector<std::string> offers;
  for (std::size_t at = 0; at < offered.accepts.size(); ++at) {
    const PaymentRequirements& terms = offered.accepts[at];
    const Offer offer{url,          terms.scheme, terms.network, terms.asset,
                      terms.pay_to, terms.amount, valid_until_s, offered.offer_ids[at]};
    offers.push_back(sign_offer(offer, key->key, kid));
  }
  return offers;
}

std::string Challenges::common_json(const PricedOperation& operation, const Offered& offered,
                                    const std::string& url,
                                    const std::vector<std::string>& offers) {
  std::string json = R"({"x402Version":2,"resource":{)";
  append_member(json, "url", url);
  append_member(json, "description", operation.summary);
  append_member(json, "mimeType", operation.media_type);
  json += R"(},"accepts":[)";
  for (const std::string& entry : offered.canonical) {
    json.append(json.ends_with('[') ? "" : ",").append(entry);
  }
  json += R"(],"extensions":{)";
  if (!offers.empty()) {
    json.append("\"").append(offer_receipt_extension).append("\":");
    json.append(offers_extension(offers)).append(",");
  }
  json.append("\"").append(payment_identifier_extension).append("\":");
  json.append(R"({"info":)").append(payment_identifier_info).append(R"(,"schema":)");
  json.append(payment_identifier_schema).append("},\"").append(binding_extension);
  return json += "\":";
}

Challenge Challenges::make(const PricedOperation& operation, std::uint32_t index,
                           const Offered& offered, const BoundRequest& request,
                           std::string_view error, std::int64_t now_s, const BindingNonce& nonce) {
  const auto key = keys_.active();
  std::uint64_t terms = offered.digest;
  for (const char c : key->fragment) terms = terms * 31 + static_cast<unsigned char>(c);
  const auto sign = [&](std::int64_t until_s) {
    return common_part(operation, offered, resource_url(request.path, request.query), until_s);
  };
  const auto common = cache_.get({index, terms, request.path, request.query}, now_s, sign);
  const std::size_t line = common->find('\n');
  std::vector<std::string_view> entries(offered.canonical.begin(), offered.canonical.end());
  std::string own = binding_.extension_json(
      request, entries, static_cast<std::uint64_t>(cache_.valid_until_s(now_s)), nonce);
  own += "},\"error\":";
  append_json_string(own, error);
  own += '}';
  Challenge challenge;
  const std::string encoded = base64_encode(own);
  challenge.header.reserve(common->size() - line + encoded.size());
  challenge.header.append(*common, line + 1).append(encoded);
  challenge.body.reserve(line + own.size());
  challenge.body.append(*common, 0, line).append(own);
  return challenge;
}

}  // namespace turnpike::x402

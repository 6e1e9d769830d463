// Challenges: the answer of an operation that is called without a payment or with a refused one
// (docs/protocols.md, "Messages"). Only the binding to the request, its expiry and the reason
// differ from call to call. The rest is kept for a while with its signed offers, as JSON and as
// base64, so a challenge costs one look-up, one MAC per entry and a copy.
//
// One per Engine. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/lane.h>

#include "x402/offers/did.h"
#include "x402/offers/keys.h"
#include "x402/offers/offer_cache.h"
#include "x402/protocol/binding.h"
#include "x402/terms.h"

namespace turnpike::x402 {

// The longest header that common proxies accept.
inline constexpr std::size_t challenge_header_bytes_max = 8 * 1024;
// A longer query is left out of the resource URL in challenges, offers and receipts: it would not
// fit into the header.
inline constexpr std::size_t resource_query_bytes_max = 2 * 1024;

struct Challenge {
  std::string header;  // PAYMENT-REQUIRED: base64
  std::string body;    // the same as JSON, for people
};

class Challenges {
 public:
  // `binding` and `keys` outlive this object. `public_origin` is the origin of all resource URLs.
  Challenges(const Binding& binding, const KeyRing& keys, DidWeb did, std::string public_origin,
             std::uint32_t offer_window_s);

  // `request` is as the caller sent it; `error` says why, in words or as a code.
  [[nodiscard]] Challenge make(const PricedOperation& operation, std::uint32_t index,
                               const Offered& offered, const BoundRequest& request,
                               std::string_view error, std::int64_t now_s,
                               const BindingNonce& nonce);

  // Percent-encodes what a URL may not hold: bytes that are not visible ASCII, and the braces of a
  // pattern.
  [[nodiscard]] std::string resource_url(std::string_view path, std::string_view query) const;

 private:
  [[nodiscard]] std::vector<std::string> offers_of(const Offered& offered, const std::string& url,
                                                   std::int64_t valid_until_s) const;
  [[nodiscard]] static std::string common_json(const PricedOperation& operation,
                                               const Offered& offered, const std::string& url,
                                               const std::vector<std::string>& offers);
  [[nodiscard]] std::string common_part(const PricedOperation& operation, const Offered& offered,
                                        const std::string& url, std::int64_t valid_until_s) const;

  const Binding& binding_;
  const KeyRing& keys_;
  const DidWeb did_;
  const std::string public_origin_;
  OfferCache cache_;
};

// Every challenge offers this in addition to its offers and its binding, in the form to be echoed.
inline constexpr std::string_view payment_identifier_extension = "payment-identifier";
inline constexpr std::string_view payment_identifier_info = R"({"required":false})";

}  // namespace turnpike::x402

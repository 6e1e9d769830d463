// Challenges: what an operation that is called without a payment, or with one that is refused,
// answers (docs/protocols.md, "Messages"). All of it but the binding to the very request, its
// expiry and the reason is the same for a while: that part is kept with its signed offers, also as
// base64, so a challenge costs one look-up, one MAC for each entry and a copy.
//
// One per bound lane. Any thread.
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

// Common proxies take no more of one header.
inline constexpr std::size_t challenge_header_bytes_max = 8 * 1024;
// A longer query is left out of the resource that challenge, offers and receipt name: it would not
// fit into the header.
inline constexpr std::size_t resource_query_bytes_max = 2 * 1024;

struct Challenge {
  std::string header;  // PAYMENT-REQUIRED: base64
  std::string body;    // the same as JSON, for people
};

class Challenges {
 public:
  // All outlive it. `public_origin` is where resources are said to be.
  Challenges(const Binding& binding, const KeyRing& keys, DidWeb did, std::string public_origin,
             std::uint32_t offer_window_s);

  // `request` as the caller sent it; `error` says why, in words or as a code.
  [[nodiscard]] Challenge make(const PricedOperation& operation, std::uint32_t index,
                               const Offered& offered, const BoundRequest& request,
                               std::string_view error, std::int64_t now_s,
                               const BindingNonce& nonce);

  // A path may hold bytes that are no ASCII, and a pattern braces; a URL holds neither.
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

// What every challenge offers beside its offers and its binding, as it has to be echoed.
inline constexpr std::string_view payment_identifier_extension = "payment-identifier";
inline constexpr std::string_view payment_identifier_info = R"({"required":false})";

}  // namespace turnpike::x402

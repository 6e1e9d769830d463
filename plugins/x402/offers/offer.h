// What the service signs (docs/protocols.md, "Offers and receipts"): an Offer says what a resource
// costs and until when, a Receipt says that it was paid. This file has their payloads as canonical
// JSON, their signed forms, and the JSON around those in challenges and replies.
//
// Values and pure functions; safe on any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "x402/offers/jws.h"

namespace turnpike::x402 {

// All texts are UTF-8.
struct Offer {
  std::string resource_url;  // on the configured public origin, never on a request's Host
  std::string scheme;
  std::string network;
  std::string asset;
  std::string pay_to;
  std::string amount;
  std::int64_t valid_until_s = 0;  // 0: not stated
  std::string offer_id;            // our own claim `offerId`; empty: not stated

  bool operator==(const Offer&) const = default;
};

struct Receipt {
  std::string network;
  std::string resource_url;
  std::string payer;
  std::int64_t issued_at_s = 0;
  std::string transaction;  // empty: not stated

  bool operator==(const Receipt&) const = default;
};

// RFC 8785. What is not stated has no member.
[[nodiscard]] std::string canonical_payload(const Offer& offer);
[[nodiscard]] std::string canonical_payload(const Receipt& receipt);

// Unknown members are ignored. The error is a sentence; for an object of another kind it says what
// is missing.
[[nodiscard]] Result<Offer, std::string> read_offer(JsonValue payload);
[[nodiscard]] Result<Receipt, std::string> read_receipt(JsonValue payload);

// Compact JWS.
[[nodiscard]] std::string sign_offer(const Offer& offer, const PrivateKey& key,
                                     std::string_view kid);
[[nodiscard]] std::string sign_receipt(const Receipt& receipt, const PrivateKey& key,
                                       std::string_view kid);

// Returns {"info":{"offers":[...]},"schema":{...}} for a challenge; the n-th JWS belongs to the
// n-th entry of `accepts`.
[[nodiscard]] std::string offers_extension(std::span<const std::string> jws);
// Returns {"info":{"receipt":{...}},"schema":{...}} for a settlement response.
[[nodiscard]] std::string receipt_extension(std::string_view jws);

inline constexpr std::string_view offer_receipt_extension = "offer-receipt";

}  // namespace turnpike::x402

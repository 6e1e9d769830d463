// PurchaseRecord: what is durably known of one purchase of Credits that is paid for by x402: what
// was ordered, until when, and the terms it may be paid on. Which payment pays for it, and what
// became of that, is the payment's own record (payment_record.h); the two are joined by an i/ key
// that one payment alone can hold. States of purchases are the gateway's.
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <turnpike/lane.h>

#include "x402/payment_record.h"
#include "x402/premises.h"

namespace turnpike::x402 {

struct PurchaseRecord {
  std::string step_key;  // of the begin() that wrote it
  std::string title;
  std::string currency;
  std::int64_t minor = 0;
  std::string terms;  // JSON, as PricedOperation::terms
  std::int64_t expires_ms = 0;
  std::int64_t refunded_minor = 0;
  bool is_cancelled = false;

  bool operator==(const PurchaseRecord&) const = default;
};

std::string to_json(const PurchaseRecord& record);
// Nothing: not a record that this version wrote.
std::optional<PurchaseRecord> purchase_of_json(std::string_view text);

// A part of a payment that goes back: an obligation of the operator until its transaction is known.
struct RefundRecord {
  std::string purchase;
  std::string payment;  // key
  std::int64_t minor = 0;
  std::string amount;  // atomic units
  std::int64_t owed_ms = 0;
  std::string transaction;  // empty: it is owed

  bool operator==(const RefundRecord&) const = default;
};

std::string to_json(const RefundRecord& record);
std::optional<RefundRecord> refund_of_json(std::string_view text);

// Where the purchase is paid, below the public origin.
std::string path_of_purchase(std::string_view purchase_id);
// The id, if it is one: such a text as may stand in a path and in a key.
std::optional<std::string_view> purchase_id_of(std::string_view text) noexcept;

// Cents in the smallest units of a token that is worth a dollar. REQUIRES: two decimals or more.
std::string atomic_amount(std::int64_t minor, std::uint32_t decimals);
// The share `minor` of a payment over `of_minor` that was `amount` units.
std::string atomic_share(std::int64_t minor, std::int64_t of_minor, std::string_view amount);

// The terms of a purchase in these assets.
std::string terms_of_purchase(std::int64_t minor, std::span<const PricedAsset> assets);

// What a payment that paid for a purchase is answered, always the same.
Replay purchase_reply(const PaymentRecord& payment);

namespace keys {
inline constexpr std::string_view purchases = "b/";
inline constexpr std::string_view refunds = "f/";
std::string purchase(std::string_view purchase_id);
// What the one payment holds that pays for the purchase: its value is the payment's key.
std::string payment_of_purchase(std::string_view purchase_id);
std::string refund(std::string_view payment_key, std::string_view refund_id);
std::string owed_refund(std::string_view payment_key, std::string_view refund_id);
}  // namespace keys

}  // namespace turnpike::x402

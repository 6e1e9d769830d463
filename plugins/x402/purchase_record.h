// PurchaseRecord: what is durably known of one purchase of Credits that is paid for by x402: what
// was ordered, until when it may be paid, and on which terms. The payment that pays for it has its
// own record, which says what became of it (payment_record.h). The two are joined by an i/ key that
// only one payment can hold. The gateway keeps the states of purchases.
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
// Returns nullopt if the text is not a record that this version wrote.
std::optional<PurchaseRecord> purchase_of_json(std::string_view text);

// A part of a payment that goes back. The operator owes it until its transaction is known.
struct RefundRecord {
  std::string purchase;
  std::string payment;  // key
  std::int64_t minor = 0;
  std::string amount;  // atomic units
  std::int64_t owed_ms = 0;
  std::string transaction;  // empty: still owed

  bool operator==(const RefundRecord&) const = default;
};

std::string to_json(const RefundRecord& record);
std::optional<RefundRecord> refund_of_json(std::string_view text);

// The path below the public origin where the purchase is paid.
std::string path_of_purchase(std::string_view purchase_id);
// Returns the id if it is one, that is, a text that may stand in a path and in a key.
std::optional<std::string_view> purchase_id_of(std::string_view text) noexcept;

// Converts cents to the smallest units of a token that is worth a dollar. REQUIRES: two decimals or
// more.
std::string atomic_amount(std::int64_t minor, std::uint32_t decimals);
// Returns the part of `amount`, the units of a payment over `of_minor`, that pays for `minor`.
std::string atomic_share(std::int64_t minor, std::int64_t of_minor, std::string_view amount);

// Returns the terms of a purchase in these assets, as JSON.
std::string terms_of_purchase(std::int64_t minor, std::span<const PricedAsset> assets);

// The reply to a payment that paid for a purchase; always the same.
Replay purchase_reply(const PaymentRecord& payment);

namespace keys {
inline constexpr std::string_view purchases = "b/";
inline constexpr std::string_view refunds = "f/";
std::string purchase(std::string_view purchase_id);
// Held by the one payment that pays for the purchase; its value is the payment's key.
std::string payment_of_purchase(std::string_view purchase_id);
std::string refund(std::string_view payment_key, std::string_view refund_id);
std::string owed_refund(std::string_view payment_key, std::string_view refund_id);
}  // namespace keys

}  // namespace turnpike::x402

// Purchases: the durable steps of purchases over the plugin's store: they are ordered, paid,
// cancelled, and money of theirs is to go back. Each step is one apply() that checks what it was
// decided on. Payments are taken elsewhere (attempt.h); here is only seen what became of them.
//
// One per processor, over a Store that outlives it; stateless beyond that. Any fiber, any Thread;
// every member but the constructor waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/processor.h>
#include <turnpike/store.h>

#include "x402/payments.h"
#include "x402/purchase_record.h"

namespace turnpike::x402 {

struct KnownPurchase {
  PurchaseRecord record;
  std::uint64_t version = 0;
};

class Purchases {
 public:
  explicit Purchases(Store& store) noexcept : store_(store), payments_(store) {}

  [[nodiscard]] std::int64_t now_ms() const noexcept { return store_.now_ms(); }

  // Nothing: it was never ordered.
  Result<std::optional<KnownPurchase>> find(std::string_view purchase_id, Call& call);

  // Writes the order, once for a step; the record as it then is. Another step of the same purchase
  // changes its terms as long as nobody pays.
  Result<PurchaseRecord> order(std::string_view purchase_id, const PurchaseRecord& wanted,
                               Call& call);

  // The payment that pays for it, is about to, or has; nothing: none.
  Result<std::optional<KnownPayment>> payment_of(std::string_view purchase_id, Call& call);

  // What became of it, by its payment's record and the clock.
  Result<Payment> look_up(std::string_view purchase_id, Call& call);

  // Nobody shall begin to pay any more.
  Done cancel(std::string_view purchase_id, Call& call);

  // Records that so much is owed back; the same key is the same refund.
  Result<Refunded> owe(std::string_view payment_key, Price price, std::string_view refund_id,
                       Call& call);

  // Purchases whose payments got entries in the payment ledger: money has come, or has proved to be
  // none.
  Result<Changes> changes(std::int64_t since_ms, std::string_view cursor, Call& call);

 private:
  Store& store_;
  Payments payments_;
};

}  // namespace turnpike::x402

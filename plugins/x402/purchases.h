// Purchases: the durable steps of purchases over the plugin's store: they are ordered, looked up
// and cancelled, and refunds of them are recorded. Each step is one apply() that checks what it was
// decided on. Payments are taken elsewhere (attempt.h); this class only sees what became of them.
//
// One per processor, over a Store that outlives it; otherwise stateless. Any fiber, any Thread;
// every member but the constructor and now_ms() waits.
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

  // Returns nullopt if it was never ordered.
  Result<std::optional<KnownPurchase>> find(std::string_view purchase_id, Call& call);

  // Writes the order, once per step, and returns the record as it then is. Another step of the same
  // purchase changes its terms as long as nobody pays.
  Result<PurchaseRecord> order(std::string_view purchase_id, const PurchaseRecord& wanted,
                               Call& call);

  // Returns the payment that pays for it, is about to, or has paid; nullopt if there is none.
  Result<std::optional<KnownPayment>> payment_of(std::string_view purchase_id, Call& call);

  // Derives what became of the purchase from its payment's record and the clock.
  Result<Payment> look_up(std::string_view purchase_id, Call& call);

  // Prevents anybody from beginning to pay.
  Done cancel(std::string_view purchase_id, Call& call);

  // Records that `price` is owed back. The same `refund_id` is the same refund.
  Result<Refunded> owe(std::string_view payment_key, Price price, std::string_view refund_id,
                       Call& call);

  // Lists purchases whose payments got entries in the payment ledger: money has arrived, or has
  // proved never to have come.
  Result<Changes> changes(std::int64_t since_ms, std::string_view cursor, Call& call);

 private:
  Store& store_;
  Payments payments_;
};

}  // namespace turnpike::x402

// Shop: the functions for people who buy Credits: offers, purchases and their documents. The caller
// has checked that the person may see them by membership; buyers must be owners or admins of the
// account, which the store checks again in its transaction.
//
// Owned by app/; called on fibers of any loop, which it suspends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commerce/auto_top_ups.h"
#include "commerce/desk.h"

namespace turnpike::commerce {

// A request to buy.
struct Wish {
  std::string account_id;
  std::string offer_id;
  std::int64_t minor = 0;
  std::string idempotency_key;
};

struct Bought {
  std::string body;  // always the same under the key
  std::string id;
  bool is_repeat = false;
};

struct PurchasePage {
  std::vector<Purchase> purchases;  // newest first
  std::vector<Purchase> open;       // all open ones of the account, on every page
  bool has_more = false;
};

class Shop {
 public:
  Shop(Desk& desk, AutoTopUps& auto_top_ups) : desk_(desk), auto_top_ups_(auto_top_ups) {}

  [[nodiscard]] AutoTopUps& auto_top_ups() const noexcept { return auto_top_ups_; }

  // Offers of processors at which a person can pay themselves. purchase.account_locked,
  // purchase.unavailable.
  Result<std::vector<Offer>, base::Error> offers(std::string_view account_id);

  // `body_of` renders the reply for the current purchase. Errors: purchase.offer_not_found,
  // purchase.offer_changed, purchase.amount_invalid, purchase.declined (the processor refused to
  // begin), idempotency.in_progress, purchase.processor_unavailable, and those of
  // PurchaseStore::open().
  using BodyOf = std::function<std::string(const Purchase&)>;
  Result<Bought, base::Error> buy(const Wish& wish, const identity::Actor& actor,
                                  const BodyOf& body_of);

  // purchase.not_found: the account has no purchase with this id.
  Result<Purchase, base::Error> find(std::string_view account_id, std::string_view id);
  // `before`: sequence of the last purchase of the previous page; 0: start at the newest.
  Result<PurchasePage, base::Error> page(std::string_view account_id, std::int64_t before,
                                         std::uint32_t limit);
  // As page(), for purchases that were paid at some time; `open` stays empty.
  Result<PurchasePage, base::Error> paid(std::string_view account_id, std::int64_t before,
                                         std::uint32_t limit);
  // Schedules a look-up next, after a browser returned from the payment page. Limited to a few
  // times per purchase, so that one purchase does not delay others.
  Result<Unit, base::Error> look_soon(const Purchase& purchase);
  // Returns a fresh URL. purchase.not_found, purchase.not_paid, purchase.document_absent,
  // purchase.processor_unavailable.
  Result<std::string, base::Error> document(std::string_view account_id, std::string_view id,
                                            PaymentDocument kind);

  // True if anything is for sale.
  [[nodiscard]] bool sells() const noexcept { return !desk_.parts().processors.list().empty(); }
  // Null: no longer in service.
  [[nodiscard]] const ProcessorInService* processor(std::string_view name) const noexcept {
    return desk_.parts().processors.find(name);
  }

 private:
  struct Sold {
    std::optional<Offer> offer;  // nullopt: never offered
    bool is_made = false;        // offered now
  };
  Result<std::vector<Offer>, base::Error> current_offers();
  Result<Sold, base::Error> sold(std::string_view offer_id);
  Result<Bought, base::Error> answer(const Opened& opened, const BodyOf& body_of);
  Result<Bought, base::Error> keep(const Purchase& purchase, bool is_repeat,
                                   const BodyOf& body_of);

  Desk& desk_;
  AutoTopUps& auto_top_ups_;
};

}  // namespace turnpike::commerce

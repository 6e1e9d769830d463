// Shop: what people do who buy Credits: see offers, buy, look at purchases and their documents.
// Who may do it is judged before, by membership; whoever buys is an owner or admin of the account,
// which the store judges again in its transaction.
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

// What somebody asks to buy.
struct Wish {
  std::string account_id;
  std::string offer_id;
  std::int64_t minor = 0;
  std::string idempotency_key;
};

struct Bought {
  std::string body;  // the same for ever under the key
  std::string id;
  bool is_repeat = false;
};

struct PurchasePage {
  std::vector<Purchase> purchases;  // newest first
  std::vector<Purchase> open;       // all of the account, whatever the page
  bool has_more = false;
};

class Shop {
 public:
  Shop(Desk& desk, AutoTopUps& auto_top_ups) : desk_(desk), auto_top_ups_(auto_top_ups) {}

  [[nodiscard]] AutoTopUps& auto_top_ups() const noexcept { return auto_top_ups_; }

  // Of the processors in service at whose place a person can pay, or who are paid in another way.
  // purchase.account_locked, purchase.unavailable.
  Result<std::vector<Offer>, base::Error> offers(std::string_view account_id);

  // `body_of`: the reply for a purchase as it is now. Errors: purchase.offer_not_found,
  // purchase.offer_changed, purchase.amount_invalid, purchase.declined (the processor refused to
  // begin it), idempotency.in_progress, purchase.processor_unavailable, and those of
  // PurchaseStore::open().
  using BodyOf = std::function<std::string(const Purchase&)>;
  Result<Bought, base::Error> buy(const Wish& wish, const identity::Actor& actor,
                                  const BodyOf& body_of);

  // purchase.not_found: the account has none with this id.
  Result<Purchase, base::Error> find(std::string_view account_id, std::string_view id);
  // `before`: the sequence of the last one of the page before; 0: from the newest.
  Result<PurchasePage, base::Error> page(std::string_view account_id, std::int64_t before,
                                         std::uint32_t limit);
  // The same of those whose money came at some time; `open` stays empty.
  Result<PurchasePage, base::Error> paid(std::string_view account_id, std::int64_t before,
                                         std::uint32_t limit);
  // Somebody came back from where a purchase is paid: it is looked at next. A few times for each,
  // so that nobody keeps the others waiting.
  Result<Unit, base::Error> look_soon(const Purchase& purchase);
  // A fresh URL. purchase.not_found, purchase.not_paid, purchase.document_absent,
  // purchase.processor_unavailable.
  Result<std::string, base::Error> document(std::string_view account_id, std::string_view id,
                                            PaymentDocument kind);

  // Whether anything can be bought here at all.
  [[nodiscard]] bool sells() const noexcept { return !desk_.parts().processors.list().empty(); }
  // Null: it is in service no more.
  [[nodiscard]] const ProcessorInService* processor(std::string_view name) const noexcept {
    return desk_.parts().processors.find(name);
  }

 private:
  struct Sold {
    std::optional<Offer> offer;  // nothing: it was never made
    bool is_made = false;        // now
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

#include "commerce/shop.h"

#include "base/crash_points.h"
#include "crypto/digest.h"

namespace turnpike::commerce {
namespace {

using base::Error;
using base::ErrorCode;

Error no_purchase() {
  return {ErrorCode::purchase_not_found, "The billing account has no purchase with this id."};
}

const Offer* find(const std::vector<Offer>& offers, std::string_view id) {
  for (const Offer& each : offers) {
    if (each.id == id) return &each;
  }
  return nullptr;
}

}  // namespace

Result<std::vector<Offer>, Error> Shop::current_offers() {
  const auto published = desk_.ask([&] { return desk_.store().terms(); });
  if (!published.ok()) return published.error();
  return offers_in_force(*published, desk_.parts().processors);
}

Result<std::vector<Offer>, Error> Shop::offers(std::string_view account_id) {
  const auto locked = desk_.ask([&] { return desk_.store().is_locked(account_id); });
  if (!locked.ok()) return locked.error();
  if (*locked) {
    return Error{ErrorCode::purchase_account_locked,
                 "A payment of this account is disputed: it can buy again once that is settled, "
                 "or an operator unlocks it."};
  }
  return current_offers();
}

Result<Shop::Sold, Error> Shop::sold(std::string_view offer_id) {
  const auto published = desk_.ask([&] { return desk_.store().terms(); });
  if (!published.ok()) return published.error();
  const auto current = offers_in_force(*published, desk_.parts().processors);
  if (const Offer* const offer = commerce::find(current, offer_id)) return Sold{*offer, true};
  const auto retired = retired_offers(*published, desk_.parts().processors);
  if (const Offer* const offer = commerce::find(retired, offer_id)) return Sold{*offer, false};
  return Sold{};
}

Result<Bought, Error> Shop::buy(const Wish& wish, const identity::Actor& actor,
                                const BodyOf& body_of) {
  const runtime::CancelMask mask;  // a begun purchase is finished even if the caller left
  const auto found = sold(wish.offer_id);
  if (!found.ok()) return found.error();
  if (!found->offer) {
    return Error{ErrorCode::purchase_offer_not_found, "There is no offer with this id."};
  }
  const Offer& offer = *found->offer;
  const auto credits = credits_for(offer.terms, wish.minor);
  if (!credits) return amount_refusal(offer.terms);
  const ProcessorInService& processor = *desk_.parts().processors.find(offer.processor);
  const std::int64_t now_ms = desk_.parts().clock.now_ms();
  const NewPurchase wanted{
      .account_id = wish.account_id,
      .offer_id = offer.id,
      .currency = offer.terms.currency,
      .minor = wish.minor,
      .credits = *credits,
      .validity_days = offer.terms.validity_days,
      .processor = offer.processor,
      .expires_at_ms = now_ms + desk_.settings().checkout_minutes * 60'000ll,
      .key_digest = crypto::sha256_hex(wish.idempotency_key),
      .request_digest = crypto::sha256_hex(offer.id + " " + amount_text(wish.minor)),
      .open_max = desk_.settings().open_purchases_max,
      .lease_ms = desk_.lease_ms(processor),
      .is_offered = found->is_made};
  const auto opened = desk_.ask([&] { return desk_.store().open(wanted, actor); });
  if (!opened.ok()) return opened.error();
  base::pass(base::CrashPoint::purchase_opened);
  return answer(*opened, body_of);
}

Result<Bought, Error> Shop::answer(const Opened& opened, const BodyOf& body_of) {
  const Purchase& purchase = opened.purchase;
  if (!purchase.reply.empty()) return Bought{purchase.reply, purchase.id, true};
  if (purchase.state != State::created) return keep(purchase, opened.is_repeat, body_of);
  if (!opened.is_leased) {
    return Error{ErrorCode::idempotency_in_progress,
                 "The purchase under this Idempotency-Key is being begun; ask again.", 1};
  }
  const auto begun = desk_.begin(purchase);
  if (!begun.ok()) return begun.error();
  return keep(*begun, opened.is_repeat, body_of);
}

Result<Bought, Error> Shop::keep(const Purchase& purchase, bool is_repeat,
                                 const BodyOf& body_of) {
  if (purchase.reference.empty()) {
    return Error{ErrorCode::purchase_declined, failure_text(purchase.failure_code)};
  }
  const auto kept =
      desk_.ask([&] { return desk_.store().keep_reply(purchase.id, body_of(purchase)); });
  if (!kept.ok()) return kept.error();
  return Bought{*kept, purchase.id, is_repeat};
}

Result<Purchase, Error> Shop::find(std::string_view account_id, std::string_view id) {
  const auto found = desk_.ask([&] { return desk_.store().find(id); });
  if (!found.ok()) return found.error();
  if (!*found || (*found)->account_id != account_id) return no_purchase();
  return **found;
}

Result<PurchasePage, Error> Shop::page(std::string_view account_id, std::int64_t before,
                                       std::uint32_t limit) {
  return desk_.ask([&]() -> Result<PurchasePage, Error> {
    const std::string account(account_id);
    auto list = desk_.store().list({.account_id = account, .before = before, .limit = limit + 1});
    if (!list.ok()) return list.error();
    auto open = desk_.store().list({.account_id = account,
                                    .limit = desk_.settings().open_purchases_max,
                                    .open_only = true});
    if (!open.ok()) return open.error();
    PurchasePage page{*std::move(list), *std::move(open), false};
    page.has_more = page.purchases.size() > limit;
    if (page.has_more) page.purchases.pop_back();
    return page;
  });
}

Result<PurchasePage, Error> Shop::paid(std::string_view account_id, std::int64_t before,
                                       std::uint32_t limit) {
  auto list = desk_.ask([&] {
    return desk_.store().list({.account_id = std::string(account_id),
                               .before = before,
                               .limit = limit + 1,
                               .paid_only = true});
  });
  if (!list.ok()) return list.error();
  PurchasePage page{*std::move(list), {}, false};
  page.has_more = page.purchases.size() > limit;
  if (page.has_more) page.purchases.pop_back();
  return page;
}

Result<Unit, Error> Shop::look_soon(const Purchase& purchase) {
  constexpr std::int64_t hastened_max = 10;
  constexpr std::int64_t soon_ms = 3'000;
  const bool is_due_soon = purchase.due_ms < desk_.parts().clock.now_ms() + soon_ms;
  if (!is_open(purchase.state) || is_due_soon || purchase.hints >= hastened_max) return Unit{};
  const auto hurried = desk_.ask([&] { return desk_.store().hurry(purchase.id); });
  if (!hurried.ok()) return hurried.error();
  return Unit{};
}

Result<std::string, Error> Shop::document(std::string_view account_id, std::string_view id,
                                          PaymentDocument kind) {
  constexpr std::int64_t document_timeout_ms = 10'000;
  const auto purchase = find(account_id, id);
  if (!purchase.ok()) return purchase.error();
  if (!was_paid(purchase->state)) {
    return Error{ErrorCode::purchase_not_paid, "There are documents once the purchase is paid.", 5};
  }
  const Error absent{ErrorCode::purchase_document_absent,
                     "The payment service has no such document of this purchase."};
  const ProcessorInService* const processor = desk_.parts().processors.find(purchase->processor);
  if (processor == nullptr || !processor->traits.has_documents) return absent;
  ProcessorCall call("", document_timeout_ms);
  const auto url = processor->bound->payment_document(purchase->reference, kind, call);
  if (!url.ok()) {
    return Error{ErrorCode::purchase_processor_unavailable,
                 "The payment service does not answer now.", 5};
  }
  if (!*url) return absent;
  return **url;
}

}  // namespace turnpike::commerce

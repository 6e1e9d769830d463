#include "hosts/purchase_json.h"

#include <utility>

#include "text/time_text.h"

namespace turnpike::hosts {

namespace {

using commerce::Purchase;
using commerce::State;
using OrderedJson = nlohmann::ordered_json;

OrderedJson offer_json(const commerce::Offer& offer) {
  const commerce::Terms& terms = offer.terms;
  return {{"offerId", offer.id},
          {"revision", offer.revision},
          {"processor", offer.processor},
          {"unitAmount", money_json(terms.currency, terms.unit_minor)},
          {"unitCredits", std::to_string(terms.unit_credits)},
          {"minimumAmount", money_json(terms.currency, terms.minimum_minor)},
          {"maximumAmount", money_json(terms.currency, terms.maximum_minor)},
          {"amountStep", money_json(terms.currency, terms.step_minor)},
          {"validityDays", terms.validity_days},
          {"expiresAt", nullptr}};  // an offer is valid until it is retired
}

OrderedJson purchase_json(const Purchase& purchase) {
  const auto money = [&purchase](std::int64_t minor) {
    return money_json(purchase.currency, minor);
  };
  const bool is_paid = purchase.paid_at_ms >= 0;  // the tax is known from then on
  const bool is_payable = purchase.state == State::awaiting_payment && !purchase.url.empty();
  const bool is_credited = purchase.credited_at_ms >= 0;
  return {{"purchaseId", purchase.id},
          {"billingAccountId", purchase.account_id},
          {"origin", ledger::name_of(purchase.origin)},
          {"offerId", purchase.offer_id},
          {"processor", purchase.processor},
          {"state", commerce::name_of(purchase.state)},
          {"amount", money(purchase.minor)},
          {"tax", is_paid ? money(purchase.tax_minor) : OrderedJson(nullptr)},
          {"total", is_paid ? money(purchase.minor + purchase.tax_minor) : OrderedJson(nullptr)},
          {"refundedAmount", money(purchase.refunded_minor)},
          {"credits", std::to_string(purchase.credits)},
          {"creditsTakenBack", std::to_string(purchase.clawed)},
          {"validityDays", purchase.validity_days},
          {"allocationId", is_credited ? OrderedJson(commerce::allocation_of(purchase.id))
                                       : OrderedJson(nullptr)},
          {"checkoutUrl", is_payable ? OrderedJson(purchase.url) : OrderedJson(nullptr)},
          {"failure", failure_json(purchase)},
          {"createdAt", text::rfc3339(purchase.created_at_ms)},
          {"expiresAt", text::rfc3339(purchase.expires_at_ms)},
          {"paidAt", time_or_null(purchase.paid_at_ms)},
          {"creditedAt", time_or_null(purchase.credited_at_ms)}};
}

OrderedJson purchases_json(const std::vector<Purchase>& purchases) {
  OrderedJson list = OrderedJson::array();
  for (const Purchase& purchase : purchases) list.push_back(purchase_json(purchase));
  return list;
}

}  // namespace

OrderedJson money_json(std::string_view currency, std::int64_t minor) {
  return {{"currency", currency}, {"amount", commerce::amount_text(minor)}};
}

OrderedJson time_or_null(std::int64_t at_ms) {
  return at_ms < 0 ? OrderedJson(nullptr) : OrderedJson(text::rfc3339(at_ms));
}

OrderedJson failure_json(const Purchase& purchase) {
  if (purchase.failure_code.empty()) return nullptr;
  return {{"code", purchase.failure_code},
          {"message", commerce::failure_text(purchase.failure_code)},
          {"retryable", commerce::is_failure_retryable(purchase.failure_code)}};
}

std::string body_text(const OrderedJson& body) {
  return body.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}


std::string offers_body(const std::vector<commerce::Offer>& offers) {
  OrderedJson list = OrderedJson::array();
  for (const commerce::Offer& offer : offers) list.push_back(offer_json(offer));
  return list.dump();
}

std::string purchase_body(const Purchase& purchase) {
  return body_text(purchase_json(purchase));
}

std::string purchase_page_body(std::string_view account_id, const commerce::PurchasePage& page,
                               std::string_view cursor_key, std::int64_t now_ms) {
  OrderedJson next = nullptr;
  if (page.has_more) {
    next = make_purchase_cursor(account_id, page.purchases.back().sequence, cursor_key);
  }
  return body_text({{"billingAccountId", account_id},
                            {"items", purchases_json(page.purchases)},
                            {"openPurchases", purchases_json(page.open)},
                            {"nextCursor", std::move(next)},
                            {"generatedAt", text::rfc3339(now_ms)}});
}

std::string_view state_of(const Invoice& invoice) noexcept {
  const Purchase& purchase = invoice.purchase;
  if (purchase.refunded_minor == 0) return "paid";
  const bool is_whole = purchase.refunded_minor >= purchase.minor + purchase.tax_minor;
  return is_whole ? "refunded" : "partially_refunded";
}

OrderedJson row_json(const Invoice& invoice) {
  const Purchase& purchase = invoice.purchase;
  OrderedJson documents = OrderedJson::array();
  if (invoice.has_documents) documents = {"invoice", "invoice_pdf", "receipt"};
  return {{"purchaseId", purchase.id},
          {"number", nullptr},  // only the document has it
          {"issuedAt", text::rfc3339(purchase.paid_at_ms)},
          {"amount", money_json(purchase.currency, purchase.minor)},
          {"tax", money_json(purchase.currency, purchase.tax_minor)},
          {"total", money_json(purchase.currency, purchase.minor + purchase.tax_minor)},
          {"state", state_of(invoice)},
          {"documents", std::move(documents)}};
}

ledger::Page<Invoice> invoices_of(const commerce::Shop& shop, commerce::PurchasePage page,
                                  std::int64_t now_ms) {
  ledger::Page<Invoice> invoices;
  invoices.generated_at_ms = now_ms;
  if (page.has_more) {
    invoices.next = ledger::Place{page.purchases.back().sequence, page.purchases.back().id};
  }
  for (Purchase& purchase : page.purchases) {
    const auto* const processor = shop.processor(purchase.processor);
    const bool has_documents = processor != nullptr && processor->traits.has_documents;
    invoices.items.push_back({std::move(purchase), has_documents});
  }
  return invoices;
}

}  // namespace turnpike::hosts

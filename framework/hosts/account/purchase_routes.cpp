#include "hosts/account/purchase_routes.h"

#include <string>
#include <utility>

#include "base/strict_object.h"
#include "hosts/account/account_routes.h"
#include "hosts/account/money_body.h"
#include "hosts/account/pooled_people.h"
#include "hosts/purchase_json.h"

namespace turnpike::hosts::account {

namespace {

using base::Error;
using base::ErrorCode;
using base::StrictObject;
using identity::Role;

constexpr std::uint64_t wish_bytes_max = 4'096;

Error no_offer() { return {ErrorCode::purchase_offer_not_found, "Nothing is sold here."}; }

Error no_purchase_here() {
  return {ErrorCode::purchase_not_found, "The billing account has no purchase with this id."};
}

commerce::Shop* shop_of(const PurchaseRooms& rooms) { return rooms.account.parts().shop; }

// ---- offers and lists

void list_offers(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  commerce::Shop* const shop = shop_of(rooms);
  if (shop == nullptr) return (void)turn.reply({.body = offers_body({})});
  const auto offers = shop->offers(asked.parameters[0]);
  if (!offers.ok()) return (void)turn.refuse(offers.error());
  turn.reply({.body = offers_body(*offers)});
}

void list_purchases(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string& account_id = asked.parameters[0];
  const std::string& cursor_key = rooms.account.cursor_key();
  const auto query = read_purchases_query(asked.query, account_id, cursor_key);
  if (!query.ok()) return (void)turn.refuse(query.error());
  commerce::Shop* const shop = shop_of(rooms);
  const auto page = shop == nullptr
                        ? Result<commerce::PurchasePage, Error>(commerce::PurchasePage{})
                        : shop->page(account_id, query->before, query->limit);
  if (!page.ok()) return (void)turn.refuse(page.error());
  turn.reply({.body = purchase_page_body(account_id, *page, cursor_key,
                                         rooms.account.parts().clock.now_ms())});
}

// ---- buying

Result<commerce::Wish, Error> read_wish(std::string_view json) {
  StrictObject body(json, {"offerId", "amount"});
  commerce::Wish wish;
  wish.offer_id = body.text("offerId", {1, 100});
  const std::string money = body.object("amount");
  if (!body.problems().empty()) return body.refusal();
  const auto minor = read_money(money, "amount");
  if (!minor.ok()) return minor.error();
  wish.minor = *minor;
  return wish;
}

void buy(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  auto wish = read_wish(asked.body);
  if (!wish.ok()) return (void)turn.refuse(wish.error());
  commerce::Shop* const shop = shop_of(rooms);
  if (shop == nullptr) return (void)turn.refuse(no_offer());
  wish->account_id = asked.parameters[0];
  wish->idempotency_key = turn.idempotency_key();
  const auto bought =
      shop->buy(*wish, account::actor_of(turn, asked.caller, rooms.clients), purchase_body);
  if (!bought.ok()) return (void)turn.refuse(bought.error());
  ReplyFields more;
  if (bought->is_repeat) more.add("Idempotent-Replayed", "true");
  turn.reply({.status = 201, .body = bought->body}, more);
}

// ---- one purchase

void show_purchase(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  commerce::Shop* const shop = shop_of(rooms);
  if (shop == nullptr) return (void)turn.refuse(no_purchase_here());
  const auto purchase = shop->find(asked.parameters[0], asked.parameters[1]);
  if (!purchase.ok()) return (void)turn.refuse(purchase.error());
  if (purchase->state == commerce::State::paid) {
    return (void)turn.refuse(
        {ErrorCode::purchase_settlement_conflict,
         "Money came for this purchase, and it could not be credited: an operator judges it."});
  }
  turn.reply({.body = purchase_body(*purchase)});
}

void open_document(const PurchaseRooms& rooms, Turn& turn, const Asked& asked) {
  const auto kind = read_document_kind(asked.parameters[2]);
  if (!kind.ok()) return (void)turn.refuse(kind.error());
  commerce::Shop* const shop = shop_of(rooms);
  if (shop == nullptr) return (void)turn.refuse(no_purchase_here());
  const auto url = shop->document(asked.parameters[0], asked.parameters[1], *kind);
  if (!url.ok()) return (void)turn.refuse(url.error());
  send_to_payment_service(turn, *url);
}

// ---- the table

constexpr Parameter page_query[] = {
    {.name = "limit",
     .description = "Purchases on the page.",
     .schema = R"({"type": "integer", "minimum": 1, "maximum": 50, "default": 20})"},
    {.name = "after",
     .description = "`nextCursor` of the page before, unchanged, for the same account.",
     .schema = R"({"type": "string", "minLength": 1, "maxLength": 1024})"},
};

constexpr Parameter purchase_path[] = {
    account_path[0],
    {.name = "purchase_id",
     .description = "As in the list. Another account's is 404.",
     .schema = R"({"type": "string"})"}};

constexpr Parameter document_path[] = {
    purchase_path[0],
    purchase_path[1],
    {.name = "document_action",
     .description = "`invoice` is a page, `invoice_pdf` a file, `receipt` the receipt of the card "
                    "or transfer. Any other is 400.",
     .schema = R"({"type": "string", "enum": ["invoice", "invoice_pdf", "receipt"]})"}};

constexpr DescribedReply offers_replies[] = {
    {.status = 200, .description = "The offers.", .schema = "PurchaseOfferList"}};
constexpr DescribedReply page_replies[] = {
    {.status = 200, .description = "A page.", .schema = "PurchasePage"}};
constexpr DescribedReply bought_replies[] = {
    {.status = 201, .description = "The purchase as it was begun.", .schema = "Purchase"}};
constexpr DescribedReply purchase_replies[] = {
    {.status = 200, .description = "The purchase as it is now.", .schema = "Purchase"}};
constexpr DescribedReply document_replies[] = {
    {.status = 303,
     .description = "A fresh place of the document at the payment service, in `Location`.",
     .content_type = {}}};

#define ACCOUNT "/v1/billing-accounts/{billing_account_id}"
#define PURCHASES ACCOUNT "/purchases"

constexpr Route<PurchaseRooms> purchase_rows[] = {
    {.facts = {.method = "GET",
               .path = ACCOUNT "/purchase-offers",
               .endpoint = "purchase_offers",
               .callers = Callers::members(Role::member),
               .cache_control = kept_by_nobody,
               .described =
                   {.operation_id = "listPurchaseOffers",
                    .tag = "Purchases",
                    .summary = "List what Credits cost now",
                    .description = "One offer for each way to pay. The list is empty where nothing "
                                   "is sold. 409 while a payment of the account is disputed.",
                    .path_parameters = account_path,
                    .replies = offers_replies,
                    .refusals = "400 401 403 404 409 503"}},
     .answer = list_offers},
    {.facts =
         {.method = "GET",
          .path = PURCHASES,
          .endpoint = "purchases",
          .callers = Callers::members(Role::member),
          .query = page_query,
          .cache_control = kept_by_nobody,
          .described =
              {.operation_id = "listPurchases",
               .tag = "Purchases",
               .summary = "List the purchases of an account",
               .description =
                   "Newest first. Follow `nextCursor` until it is null. `openPurchases` are all of "
                   "which nobody knows yet what becomes of them, on each page.",
               .path_parameters = account_path,
               .replies = page_replies,
               .refusals = "400 401 403 404 409 503"}},
     .answer = list_purchases},
    {.facts =
         {.method = "POST",
          .path = PURCHASES,
          .endpoint = "purchases",
          .callers = Callers::members(Role::admin),
          .needs_idempotency_key = true,
          .body = BodyForm::json,
          .body_bytes_max = wish_bytes_max,
          .cache_control = kept_by_nobody,
          .described =
              {.operation_id = "createPurchase",
               .tag = "Purchases",
               .summary = "Begin to buy Credits",
               .description =
                   "Names an offer of the list and an amount in its steps. Nothing is paid by "
                   "this: a person pays at `checkoutUrl`, or as the operator says. The same key "
                   "with the same body is the same purchase for ever, and has the same reply; with "
                   "another body it is 409. After 503 repeat the request under the same key.",
               .path_parameters = account_path,
               .body_schema = "NewPurchase",
               .replies = bought_replies,
               .refusals = "400 401 403 404 409 413 415 502 503"}},
     .answer = buy},
    {.facts =
         {.method = "GET",
          .path = PURCHASES "/{purchase_id}",
          .endpoint = "purchase",
          .callers = Callers::members(Role::member),
          .cache_control = kept_by_nobody,
          .described =
              {.operation_id = "getPurchase",
               .tag = "Purchases",
               .summary = "Show what became of a purchase",
               .description = "409 `purchase.settlement_conflict` while money has come that does "
                              "not fit the purchase, or an account that cannot be given anything.",
               .path_parameters = purchase_path,
               .replies = purchase_replies,
               .refusals = "400 401 403 404 409 503"}},
     .answer = show_purchase},
    {.facts =
         {.method = "GET",
          .path = PURCHASES "/{purchase_id}/payment-documents/{document_action}",
          .endpoint = "payment_document",
          .callers = Callers::members(Role::member),
          .cache_control = kept_by_nobody,
          .described =
              {.operation_id = "getPaymentDocument",
               .tag = "Purchases",
               .summary = "Open a document of a payment",
               .description = "Documents exist once the purchase is paid; before, it is 409. A "
                              "payment service without this document is 404.",
               .path_parameters = document_path,
               .replies = document_replies,
               .refusals = "400 401 403 404 409 503"}},
     .answer = open_document},
};
#undef PURCHASES
#undef ACCOUNT

}  // namespace

std::span<const Route<PurchaseRooms>> purchase_routes() noexcept { return purchase_rows; }

Result<PaymentDocument, Error> read_document_kind(std::string_view name) {
  for (const auto kind :
       {PaymentDocument::invoice, PaymentDocument::invoice_pdf, PaymentDocument::receipt}) {
    if (name == name_of(kind)) return kind;
  }
  return Error{ErrorCode::purchase_document_unknown,
               "There is no document of this name: ask for invoice, invoice_pdf or receipt."};
}

void send_to_payment_service(Turn& turn, std::string_view url) {
  ReplyFields more;
  more.add("Location", url);
  turn.reply({.status = 303}, more);
}

}  // namespace turnpike::hosts::account

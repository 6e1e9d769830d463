#include "hosts/dashboard/purchase_pages.h"

#include <algorithm>

#include "commerce/shop.h"
#include "hosts/account/purchase_routes.h"
#include "hosts/dashboard/account_form.h"
#include "hosts/dashboard/purchase_words.h"
#include "hosts/dashboard/words.h"
#include "hosts/purchase_json.h"
#include "hosts/web/views.h"

namespace turnpike::hosts::dashboard {

namespace {

using base::Error;
using base::ErrorCode;
using commerce::Offer;
using commerce::Purchase;
using commerce::Shop;
using identity::Role;
using site::Slots;

constexpr std::string_view purchases_page = "/purchases";

Shop* shop_of(const WebRooms& rooms) { return rooms.account.parts().shop; }

std::string path_of_purchase(std::string_view account_id, std::string_view purchase_id) {
  return path_of(account_id, purchases_page) + "/" + std::string(purchase_id);
}

bool is_confirmed_by_operator(const Shop& shop, const Purchase& purchase) {
  const auto* const processor = shop.processor(purchase.processor);
  return processor != nullptr && processor->traits.is_confirmed_by_operator;
}

std::string processor_title(const Shop& shop, const Purchase& purchase) {
  const auto* const processor = shop.processor(purchase.processor);
  return processor == nullptr ? purchase.processor : processor->title;
}

// Returns the URL where a person pays; empty: there is none, or nothing to pay.
std::string pay_url(const Purchase& purchase) {
  return purchase.state == commerce::State::awaiting_payment ? purchase.url : std::string();
}

// ---- the form

struct BuyForm {
  std::string offer = {};
  std::string amount = {};  // as typed; empty: the default
  std::string key = {};     // idempotency key of the form
  web::Problem problem = {};
};

Error not_an_amount() {
  return {ErrorCode::purchase_amount_invalid,
          "This is no amount such as 10 or 10.50: write it with at most two decimals."};
}

// Returns "Card", followed by the price if offers differ in price.
std::string label_of(const Offer& offer, const std::vector<Offer>& offers) {
  const bool is_one_price = std::all_of(offers.begin(), offers.end(), [&](const Offer& other) {
    return price_sentence(other.terms, other.terms.unit_minor) ==
           price_sentence(offer.terms, offer.terms.unit_minor);
  });
  if (is_one_price) return offer.processor_title;
  return offer.processor_title + ": " + price_sentence(offer.terms, offer.terms.unit_minor);
}

void fill_offer(Slots row, const Offer& offer, const std::vector<Offer>& offers,
                bool is_chosen) {
  row.set("OFFER", offer.id);
  row.set("LABEL", label_of(offer, offers));
  row.set("UNIT", offer.terms.unit_minor);
  row.set("UNIT_CREDITS", offer.terms.unit_credits);
  row.set("LEAST", offer.terms.minimum_minor);
  row.set("MOST", offer.terms.maximum_minor);
  row.set("STEP", offer.terms.step_minor);
  row.set("CURRENCY", offer.terms.currency);
  row.set("DAYS", offer.terms.validity_days);
  row.show_if(is_chosen, "IS_CHOSEN");
}

// Fills one table for all offers with the same terms.
void fill_prices(Slots slots, const std::vector<Offer>& offers) {
  std::vector<std::string> shown;
  for (const Offer& offer : offers) {
    const std::string caption = price_sentence(offer.terms, offer.terms.unit_minor) + " " +
                                range_sentence(offer.terms);
    if (std::find(shown.begin(), shown.end(), caption) != shown.end()) continue;
    shown.push_back(caption);
    Slots table = slots.add("PRICES");
    table.set("CAPTION", caption);
    for (const std::int64_t minor : example_amounts(offer.terms)) {
      Slots row = table.add("EXAMPLE");
      row.set("AMOUNT", money(offer.terms.currency, minor));
      row.set("CREDITS", figure(*commerce::credits_for(offer.terms, minor)));
    }
  }
}

void fill_buy(Slots slots, const std::vector<Offer>& offers, const BuyForm& form) {
  Slots buy = slots.add("BUY");
  const auto named = std::find_if(offers.begin(), offers.end(),
                                  [&](const Offer& offer) { return offer.id == form.offer; });
  const Offer& chosen = named == offers.end() ? offers.front() : *named;
  const std::string amount = form.amount.empty()
                                 ? commerce::amount_text(usual_amount(chosen.terms))
                                 : form.amount;
  buy.set("AMOUNT_TYPED", amount);
  buy.set("KEY", form.key);
  buy.set("RANGE", range_sentence(chosen.terms));
  buy.set("CURRENCY", chosen.terms.currency);
  const auto minor = typed_amount(amount);
  buy.set("SUM", minor ? price_sentence(chosen.terms, *minor) : std::string());
  web::fill_problem(buy, form.problem);
  fill_prices(buy, offers);
  const bool is_one = offers.size() == 1;
  for (const Offer& offer : offers) {
    fill_offer(buy.add(is_one ? "ONE_OFFER" : "SEVERAL_OFFERS"), offer, offers,
               &offer == &chosen);
  }
  buy.show_if(!is_one, "HAS_CHOICE");
}

// ---- the list

// The data of the page; if `offers` has no error, the offers can be bought now.
struct Bought {
  commerce::PurchasePage page;
  Result<std::vector<Offer>, Error> offers = std::vector<Offer>();
};

Result<Bought, Error> read_bought(const WebRooms& rooms, const AccountPage& page,
                                  std::int64_t before) {
  Bought bought;
  Shop* const shop = shop_of(rooms);
  if (shop == nullptr) return bought;
  auto list = shop->page(page.account_id(), before, PurchasesQuery().limit);
  if (!list.ok()) return std::move(list).error();
  bought.page = *std::move(list);
  bought.offers = shop->offers(page.account_id());
  const bool is_told = bought.offers.ok() ||
                       bought.offers.error().code == ErrorCode::purchase_account_locked;
  if (!is_told) return bought.offers.error();
  return bought;
}

void fill_row(Slots row, const Shop& shop, const Purchase& purchase) {
  const bool is_confirmed = is_confirmed_by_operator(shop, purchase);
  const PurchaseWords words = purchase_words(purchase, is_confirmed);
  row.set("ID", purchase.id);
  row.set("PURCHASE", path_of_purchase(purchase.account_id, purchase.id));
  row.set("CLASS", words.state);
  row.set("WORD", words.word);
  row.set("AMOUNT", money(purchase.currency, purchase.minor));
  row.set("CREDITS", figure(purchase.credits));
  row.set("CREATED", when(purchase.created_at_ms));
  row.set("EXPIRES", when(purchase.expires_at_ms));
  row.set("PAY_LABEL", is_confirmed ? "How to pay" : "Go on to pay");
  row.set_if("PAY_URL", pay_url(purchase));
  row.show_if(purchase.origin == ledger::Origin::auto_top_up, "IS_AUTO_TOP_UP");
}

void fill_lists(Slots slots, const WebRooms& rooms, const AccountPage& page,
                const commerce::PurchasePage& list) {
  const Shop* const shop = shop_of(rooms);
  slots.show_if(!list.open.empty(), "HAS_OPEN");
  for (const Purchase& purchase : list.open) fill_row(slots.add("OPEN"), *shop, purchase);
  slots.show(list.purchases.empty() ? "HAS_NO_HISTORY" : "HAS_HISTORY");
  for (const Purchase& purchase : list.purchases) {
    fill_row(slots.add("PAST"), *shop, purchase);
  }
  if (!list.has_more) return;
  slots.set_if("NEXT", Href(path_of(page.account_id(), purchases_page))
                           .add("after", make_purchase_cursor(page.account_id(),
                                                              list.purchases.back().sequence,
                                                              rooms.account.cursor_key()))
                           .text());
}

// Shows why nothing can be bought, if so.
void fill_why_not(Slots slots, const AccountPage& page, const Bought& bought) {
  if (!bought.offers.ok()) {
    slots.show("IS_LOCKED");
  } else if (bought.offers->empty()) {
    slots.show("SELLS_NOTHING");
  } else if (page.membership.role < Role::admin) {
    slots.show("IS_MEMBER");
    fill_prices(slots.add("FOR_MEMBERS"), *bought.offers);
  }
}

Result<std::string, Error> purchases_html(const WebRooms& rooms, const AccountPage& page,
                                          BuyForm form, std::int64_t before) {
  const auto bought = read_bought(rooms, page, before);
  if (!bought.ok()) return bought.error();
  if (form.key.empty()) form.key = new_form_key(rooms);
  site::Frame frame = frame_of_account(rooms, page, "Purchases", purchases_page);
  frame.scripts = {"purchases.js"};
  return rooms.pages.page(frame, "dashboard/purchases.html", [&](Slots slots) {
    slots.set("ACCOUNT", page.account_id());
    slots.set("PATH", path_of(page.account_id(), purchases_page));
    slots.set("BILLING", path_of(page.account_id(), "/billing"));
    fill_lists(slots, rooms, page, bought->page);
    const bool may_buy = bought->offers.ok() && !bought->offers->empty() &&
                         page.membership.role >= Role::admin;
    if (may_buy) return fill_buy(slots, *bought->offers, form);
    fill_why_not(slots, page, *bought);
  });
}

// Reads the form from a query that asks how many Credits an amount buys.
BuyForm asked_form(const NamedValues& query) {
  return {query.find("offer").value_or(""), query.find("amount").value_or("")};
}

void show_purchases(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  const NamedValues fields = clean_query(asked.query);
  NamedValues paging;
  if (const auto after = fields.find("after")) paging.add("after", *after);
  const auto query =
      read_purchases_query(paging, page->account_id(), rooms.account.cursor_key());
  if (!query.ok()) return refuse_on(rooms, turn, *page, query.error(), purchases_page);
  BuyForm form = asked_form(fields);
  const Error problem = not_an_amount();
  const bool is_refused = !form.amount.empty() && !typed_amount(form.amount);
  if (is_refused) form.problem = {&problem, turn.request_id()};
  const auto html = purchases_html(rooms, *page, form, query->before);
  if (!html.ok()) return refuse_on(rooms, turn, *page, html.error(), "");
  if (is_refused) return web::send_refusal(turn, problem, *html);
  turn.reply({.content_type = page_type, .body = *html});
}

// ---- buying

// Sending the form again with equal values is a retry; changed values make another purchase.
Result<commerce::Wish, Error> wish_of(const AccountPage& page, const BuyForm& form) {
  const auto minor = typed_amount(form.amount);
  if (!minor) return not_an_amount();
  commerce::Wish wish{page.account_id(), form.offer, *minor,
                      "page:" + form.key + ":" + form.offer + ":" + std::to_string(*minor)};
  if (!form.key.empty() && is_idempotency_key(wish.idempotency_key)) return wish;
  return Error{ErrorCode::request_malformed, "The form is none of this page's: load it anew."};
}

void use_buy(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const std::string back = path_of(asked.parameters[0], purchases_page);
  if (!web::stands_for(identity::Standing::signed_in, rooms, turn, asked, back)) return;
  const auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return;
  BuyForm form{field_of(asked, "offer"), field_of(asked, "amount"), field_of(asked, "key")};
  const auto buy = [&]() -> Result<commerce::Bought, Error> {
    const auto wish = wish_of(*page, form);
    if (!wish.ok()) return wish.error();
    if (shop_of(rooms) == nullptr) {
      return Error{ErrorCode::purchase_offer_not_found, "Nothing is sold here."};
    }
    return shop_of(rooms)->buy(*wish, rooms.people.actor_of(turn, asked.caller), purchase_body);
  };
  const auto bought = buy();
  if (bought.ok()) {
    return web::go_to(turn, path_of_purchase(page->account_id(), bought->id) + "/pay");
  }
  const ErrorCode code = bought.error().code;
  // After these errors, sending the form again retries the same purchase; after others it makes a
  // new one.
  const bool goes_on = code == ErrorCode::purchase_processor_unavailable ||
                       code == ErrorCode::purchase_unavailable ||
                       code == ErrorCode::idempotency_in_progress;
  if (!goes_on) form.key.clear();
  form.problem = {&bought.error(), turn.request_id()};
  const auto html = purchases_html(rooms, *page, form, 0);
  if (!html.ok()) return refuse_on(rooms, turn, *page, bought.error(), purchases_page);
  web::send_refusal(turn, bought.error(), *html);
}

// ---- one purchase

struct OnePurchase {
  AccountPage page;
  Purchase purchase;
};

// Nothing: the request was answered.
std::optional<OnePurchase> open_purchase(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  auto page = open_account_page(rooms, turn, asked.parameters[0]);
  if (!page) return std::nullopt;
  const auto find = [&]() -> Result<Purchase, Error> {
    if (Shop* const shop = shop_of(rooms)) {
      return shop->find(page->account_id(), asked.parameters[1]);
    }
    return Error{ErrorCode::purchase_not_found, "The account has no purchase with this id."};
  };
  auto purchase = find();
  if (purchase.ok()) return OnePurchase{*std::move(page), *std::move(purchase)};
  refuse_on(rooms, turn, *page, purchase.error(), purchases_page);
  return std::nullopt;
}

void fill_money(Slots slots, const Purchase& purchase) {
  slots.set("AMOUNT", money(purchase.currency, purchase.minor));
  slots.set("CREDITS", credits_text(purchase.credits));
  slots.set("VALID", validity_text(purchase));
  if (purchase.paid_at_ms >= 0 && purchase.tax_minor > 0) {
    slots.set_if("TAX", money(purchase.currency, purchase.tax_minor));
    slots.set("TOTAL", money(purchase.currency, purchase.minor + purchase.tax_minor));
  }
  if (purchase.refunded_minor > 0) {
    slots.set_if("REFUNDED", money(purchase.currency, purchase.refunded_minor));
  }
  if (purchase.clawed > 0) slots.set_if("TAKEN_BACK", credits_text(purchase.clawed));
}

void fill_times(Slots slots, const Purchase& purchase) {
  slots.set("CREATED", when(purchase.created_at_ms));
  if (commerce::is_open(purchase.state)) slots.set_if("EXPIRES", when(purchase.expires_at_ms));
  if (purchase.paid_at_ms >= 0) slots.set_if("PAID", when(purchase.paid_at_ms));
  if (purchase.credited_at_ms >= 0) {
    slots.set_if("CREDITED", when(purchase.credited_at_ms));
    slots.set("ALLOCATION", commerce::allocation_of(purchase.id));
  }
}

void fill_documents(Slots slots, const Shop& shop, const Purchase& purchase) {
  const auto* const processor = shop.processor(purchase.processor);
  const bool has_documents = processor != nullptr && processor->traits.has_documents;
  if (!has_documents || !commerce::was_paid(purchase.state)) return;
  constexpr std::pair<PaymentDocument, std::string_view> documents[] = {
      {PaymentDocument::invoice, "Invoice"},
      {PaymentDocument::invoice_pdf, "Invoice as PDF"},
      {PaymentDocument::receipt, "Receipt"}};
  slots.show("HAS_DOCUMENTS");
  for (const auto& [kind, label] : documents) {
    Slots row = slots.add("DOCUMENT");
    row.set("DOCUMENT_PATH", path_of_purchase(purchase.account_id, purchase.id) + "/documents/" +
                                 std::string(name_of(kind)));
    row.set("DOCUMENT_LABEL", label);
  }
}

void show_purchase(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto one = open_purchase(rooms, turn, asked);
  if (!one) return;
  const Purchase& purchase = one->purchase;
  Shop& shop = *shop_of(rooms);
  // A payer who returns from the payment page waits for the outcome.
  if (asked.query.find("returned")) (void)shop.look_soon(purchase);
  const std::string path = path_of_purchase(purchase.account_id, purchase.id);
  const bool is_confirmed = is_confirmed_by_operator(shop, purchase);
  const PurchaseWords words = purchase_words(purchase, is_confirmed);
  const std::int64_t pause =
      is_confirmed ? 0 : seconds_to_next_look(purchase, rooms.pages.clock().now_ms());
  const site::Frame frame = frame_of_account(rooms, one->page, "Purchase", purchases_page);
  const std::string html = rooms.pages.page(frame, "dashboard/purchase.html", [&](Slots slots) {
    slots.set("ID", purchase.id);
    slots.set("PATH", path);
    slots.set("PURCHASES", path_of(purchase.account_id, purchases_page));
    slots.set("BILLING", path_of(purchase.account_id, "/billing"));
    slots.set("CLASS", words.state);
    slots.set("WORD", words.word);
    slots.set("MEANING", words.meaning);
    slots.set("PROCESSOR", processor_title(shop, purchase));
    slots.set("PAY_LABEL", is_confirmed ? "How to pay" : "Go on to pay");
    slots.set_if("PAY_URL", pay_url(purchase));
    slots.show_if(commerce::is_open(purchase.state), "IS_OPEN");
    slots.set_if("PAUSE", pause > 0 ? std::to_string(pause) : std::string());
    fill_money(slots, purchase);
    fill_times(slots, purchase);
    fill_documents(slots, shop, purchase);
  });
  ReplyFields more;
  // A header field: readers could not stop a refresh in the markup.
  const std::string next_look = std::to_string(pause) + ";url=" + path;
  if (pause > 0) more.add("Refresh", next_look);
  turn.reply({.content_type = page_type, .body = html}, more);
}

// Leads from the form to the payment page through a page of ours: browsers apply a page's
// form-action policy to redirects of its forms (web::HandoverView).
void show_way_to_pay(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto one = open_purchase(rooms, turn, asked);
  if (!one) return;
  const Purchase& purchase = one->purchase;
  const Shop& shop = *shop_of(rooms);
  const auto* const processor = shop.processor(purchase.processor);
  const std::string url = pay_url(purchase);
  if (url.empty() || processor == nullptr || !processor->traits.hosts_checkout) {
    return web::go_to(turn, path_of_purchase(purchase.account_id, purchase.id));
  }
  site::Frame frame = frame_of_account(rooms, one->page, "On to pay", purchases_page);
  frame.next_url = url;
  send_account_page(rooms, turn, frame, "dashboard/pay.html", [&](Slots slots) {
    slots.set("AMOUNT", money(purchase.currency, purchase.minor));
    slots.set("CREDITS", credits_text(purchase.credits));
    slots.set("URL", url);
  });
}

void open_payment_document(const WebRooms& rooms, Turn& turn, const Asked& asked) {
  const auto one = open_purchase(rooms, turn, asked);
  if (!one) return;
  const auto find = [&]() -> Result<std::string, Error> {
    const auto kind = account::read_document_kind(asked.parameters[2]);
    if (!kind.ok()) return kind.error();
    return shop_of(rooms)->document(one->page.account_id(), one->purchase.id, *kind);
  };
  const auto url = find();
  if (url.ok()) return account::send_to_payment_service(turn, *url);
  refuse_on(rooms, turn, one->page, url.error(),
            std::string(purchases_page) + "/" + one->purchase.id);
}

// ---- the table

constexpr Parameter purchases_query[] = {
    {.name = "offer", .description = "Of the form.", .schema = R"({"type": "string"})"},
    {.name = "amount", .description = "Of the form.", .schema = R"({"type": "string"})"},
    {.name = "after", .description = "The cursor of the page before.",
     .schema = R"({"type": "string"})"},
};
constexpr Parameter purchase_query[] = {
    {.name = "returned", .description = "Somebody came back from paying.",
     .schema = R"({"type": "string"})"},
};

#define PURCHASES "/dashboard/{billing_account_id}/purchases"
#define PURCHASE PURCHASES "/{purchase_id}"

constexpr Route<WebRooms> purchase_page_rows[] = {
    {.facts = page_with(PURCHASES, "dashboard_purchases", purchases_query),
     .answer = show_purchases},
    {.facts = web::form(PURCHASES, "purchases", form_of_admins), .answer = use_buy},
    {.facts = page_with(PURCHASE, "dashboard_purchase", purchase_query),
     .answer = show_purchase},
    {.facts = web::page(PURCHASE "/pay", "dashboard_purchase"), .answer = show_way_to_pay},
    {.facts = web::page(PURCHASE "/documents/{document_action}", "dashboard_purchase"),
     .answer = open_payment_document},
};
#undef PURCHASE
#undef PURCHASES

}  // namespace

std::span<const Route<WebRooms>> purchase_routes() noexcept { return purchase_page_rows; }

}  // namespace turnpike::hosts::dashboard

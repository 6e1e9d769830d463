// The bodies of purchases, and the cursors for their pages.
#include "hosts/purchase_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace turnpike::hosts {
namespace {

using base::ErrorCode;
using nlohmann::json;

const std::string key(32, 'k');

commerce::Purchase purchase_in(commerce::State state) {
  commerce::Purchase purchase;
  purchase.id = "pur_0123456789012345678901";
  purchase.account_id = "acc_1";
  purchase.sequence = 7;
  purchase.currency = "USD";
  purchase.minor = 1'000;
  purchase.credits = 10'000;
  purchase.url = "https://pay.example.com/1";
  purchase.state = state;
  return purchase;
}

TEST(PurchaseJsonTest, TaxAndTotalAreKnownOnceItIsPaid) {
  commerce::Purchase purchase = purchase_in(commerce::State::awaiting_payment);
  json body = json::parse(purchase_body(purchase));
  EXPECT_EQ(body["amount"], json({{"currency", "USD"}, {"amount", "10.00"}}));
  EXPECT_EQ(body["credits"], "10000");
  EXPECT_EQ(body["checkoutUrl"], "https://pay.example.com/1");
  for (const char* const name : {"tax", "total", "allocationId", "failure", "paidAt",
                                 "creditedAt"}) {
    EXPECT_TRUE(body[name].is_null()) << name;
  }
  purchase.state = commerce::State::credited;
  purchase.paid_at_ms = purchase.credited_at_ms = 1'800'000'000'000;
  purchase.tax_minor = 190;
  body = json::parse(purchase_body(purchase));
  EXPECT_EQ(body["total"]["amount"], "11.90");
  EXPECT_EQ(body["allocationId"], "alc_0123456789012345678901");
  EXPECT_TRUE(body["checkoutUrl"].is_null());
}

TEST(PurchaseJsonTest, InvoicesSayWhatWentBack) {
  Invoice invoice{purchase_in(commerce::State::credited), true};
  invoice.purchase.tax_minor = 100;
  EXPECT_EQ(state_of(invoice), "paid");
  invoice.purchase.refunded_minor = 1'000;
  EXPECT_EQ(state_of(invoice), "partially_refunded");
  invoice.purchase.refunded_minor = 1'100;
  EXPECT_EQ(state_of(invoice), "refunded");
  EXPECT_EQ(row_json(invoice)["documents"].size(), 3u);
  invoice.has_documents = false;
  EXPECT_TRUE(row_json(invoice)["documents"].empty());
}

NamedValues after(const std::string& cursor) {
  NamedValues fields;
  fields.add("after", cursor);
  return fields;
}

TEST(PurchaseJsonTest, APageLeadsToTheNextOfTheSameAccountAlone) {
  commerce::PurchasePage page;
  page.purchases.push_back(purchase_in(commerce::State::credited));
  EXPECT_TRUE(json::parse(purchase_page_body("acc_1", page, key, 0))["nextCursor"].is_null());
  page.has_more = true;
  const std::string cursor = json::parse(purchase_page_body("acc_1", page, key, 0))["nextCursor"];
  const auto query = read_purchases_query(after(cursor), "acc_1", key);
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->before, 7);
  EXPECT_EQ(query->limit, 20u);
  const auto refused = [](const std::string& text, std::string_view account) {
    const auto read = read_purchases_query(after(text), account, key);
    return !read.ok() && read.error().code == ErrorCode::purchase_cursor_invalid;
  };
  EXPECT_TRUE(refused(cursor, "acc_2"));
  EXPECT_TRUE(refused(cursor + "A", "acc_1"));
  EXPECT_TRUE(refused("", "acc_1"));
  // A cursor of a billing page is signed for another use.
  EXPECT_TRUE(refused(make_billing_cursor("acc_1", Collection::invoices, {7, "x"}, key), "acc_1"));
}

TEST(PurchaseJsonTest, LimitsAreFrom1To50) {
  for (const auto& [text, is_good] : std::initializer_list<std::pair<const char*, bool>>{
           {"1", true}, {"50", true}, {"0", false}, {"51", false}, {"x", false}, {"", false}}) {
    NamedValues fields;
    fields.add("limit", text);
    const auto read = read_purchases_query(fields, "acc_1", key);
    EXPECT_EQ(read.ok(), is_good) << text;
    if (!read.ok()) {
      EXPECT_EQ(read.error().code, ErrorCode::request_query_rejected);
    }
  }
}

}  // namespace
}  // namespace turnpike::hosts

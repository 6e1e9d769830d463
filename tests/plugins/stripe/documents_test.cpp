// Invoices and receipts.
#include "plugins/stripe/world.h"

namespace turnpike::stripe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Url = std::optional<std::string>;

class DocumentsTest : public StripeTest {
 protected:
  static Answer session(const std::string& invoice) {
    return json(R"({"object":"checkout.session","invoice":)" + invoice + "}");
  }
  Result<Url> ask(PaymentDocument kind, const std::string& reference = "cs_1") {
    return stripe().payment_document(reference, kind, call_);
  }
  Url url(PaymentDocument kind, const std::string& reference = "cs_1") {
    const auto found = ask(kind, reference);
    EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
    return found.ok() ? *found : Url{};
  }
};

TEST_F(DocumentsTest, InvoicesAreThoseOfTheSession) {
  const std::string invoice =
      R"({"id":"in_1","hosted_invoice_url":"https://invoice.stripe.com/i/1",)"
      R"("invoice_pdf":"https://pay.stripe.com/invoice/1/pdf"})";
  answer(session(invoice));
  EXPECT_EQ(url(PaymentDocument::invoice), "https://invoice.stripe.com/i/1");
  answer(session(invoice));
  EXPECT_EQ(url(PaymentDocument::invoice_pdf), "https://pay.stripe.com/invoice/1/pdf");
  EXPECT_THAT(query_sent(), ElementsAre(Pair("expand[0]", "invoice")));
}

TEST_F(DocumentsTest, ReceiptsAreThoseOfTheCharge) {
  const std::string intent = R"({"latest_charge":{"receipt_url":"https://pay.stripe.com/r/1"}})";
  answer(json(R"({"payment_intent":)" + intent + "}"));
  EXPECT_EQ(url(PaymentDocument::receipt), "https://pay.stripe.com/r/1");
  EXPECT_THAT(query_sent(0), ElementsAre(Pair("expand[0]", "payment_intent.latest_charge")));
  answer(json(intent));
  EXPECT_EQ(url(PaymentDocument::receipt, "pi_1"), "https://pay.stripe.com/r/1");
  EXPECT_EQ(path_sent(1), "/v1/payment_intents/pi_1");
}

TEST_F(DocumentsTest, WhatIsNotThereIsNot) {
  for (const char* invoice :
       {"null", "\"in_1\"", R"({"hosted_invoice_url":null,"invoice_pdf":null})"}) {
    answer(session(invoice));
    EXPECT_EQ(url(PaymentDocument::invoice), Url{}) << invoice;
  }
  EXPECT_EQ(url(PaymentDocument::invoice, "pi_1"), Url{});  // charges have none; nothing is sent
  answer(refusal(404, R"("code":"resource_missing")"));
  EXPECT_FALSE(ask(PaymentDocument::invoice).ok());
  EXPECT_FALSE(ask(PaymentDocument::receipt, "in_1").ok());
}

TEST_F(DocumentsTest, DocumentsOfOtherHostsAreNotShown) {
  for (const char* other : {"http://invoice.stripe.com/i", "https://evilstripe.com/i",
                            "https://stripe.com.evil.example/", "https://evil.example/.stripe.com",
                            "https://evil.example\\\\.stripe.com/", "https://a@invoice.stripe.com/",
                            "javascript:alert(1)", "https://evil.example#.stripe.com"}) {
    answer(session(R"({"hosted_invoice_url":")" + std::string(other) + "\"}"));
    EXPECT_FALSE(ask(PaymentDocument::invoice).ok()) << other;
  }
  answer(session(R"({"hosted_invoice_url":"https://stripe.com/i"})"));
  EXPECT_EQ(url(PaymentDocument::invoice), "https://stripe.com/i");
}

TEST_F(DocumentsTest, AServerOfTestsMayHaveThem) {
  bind(with({{"api_base", scalar("http://127.0.0.1:7")}}));
  answer(session(R"({"hosted_invoice_url":"http://127.0.0.1:7/i"})"));
  EXPECT_EQ(url(PaymentDocument::invoice), "http://127.0.0.1:7/i");
  answer(session(R"({"hosted_invoice_url":"http://127.0.0.1:77/i"})"));
  EXPECT_FALSE(ask(PaymentDocument::invoice).ok());
}

}  // namespace
}  // namespace turnpike::stripe

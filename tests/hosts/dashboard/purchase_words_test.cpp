#include "hosts/dashboard/purchase_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike::hosts::dashboard {
namespace {

using commerce::Purchase;
using commerce::State;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(PurchaseWordsTest, AmountsAreReadAsPeopleTypeThem) {
  for (const auto& [text, minor] :
       std::initializer_list<std::pair<const char*, std::int64_t>>{{"10", 1'000},
                                                                   {"10.5", 1'050},
                                                                   {" 10.50 ", 1'050},
                                                                   {"1,000.00", 100'000},
                                                                   {"0.90", 90},
                                                                   {"9999.99", 999'999}}) {
    EXPECT_EQ(typed_amount(text), minor) << text;
  }
  for (const char* const text : {"", " ", ".", ".5", "10.", "10.505", "-1", "+1", "1e3", "010",
                                 "10000", "10.5.0", "ten", "10 USD"}) {
    EXPECT_FALSE(typed_amount(text)) << text;
  }
}

TEST(PurchaseWordsTest, ExamplesAreAmountsOfTheTerms) {
  EXPECT_THAT(example_amounts({}), ElementsAre(100, 500, 1'000, 2'500, 10'000, 25'000, 100'000));
  commerce::Terms terms;
  terms.minimum_minor = 300;
  terms.maximum_minor = 1'000;
  terms.step_minor = 300;
  // 1,000 is not a multiple of the step.
  EXPECT_THAT(example_amounts(terms), ElementsAre(300));
  EXPECT_EQ(usual_amount(terms), 300);
  EXPECT_EQ(usual_amount({}), 1'000);
}

TEST(PurchaseWordsTest, PricesAreSentences) {
  EXPECT_EQ(price_sentence({}, 100'000),
            "1,000.00 USD buys 1,000,000 Credits, which are valid for 365 days.");
  EXPECT_EQ(price_sentence({}, 1'005), "");
  EXPECT_EQ(range_sentence({}), "From 1.00 to 1,000.00 USD, in steps of 0.10.");
}

TEST(PurchaseWordsTest, ValidityHasAnEndOnceItBegan) {
  Purchase purchase;
  purchase.validity_days = 365;
  purchase.state = State::awaiting_payment;
  EXPECT_EQ(validity_text(purchase), "valid for 365 days from when they come");
  purchase.validity_days = 1;
  EXPECT_EQ(validity_text(purchase), "valid for 1 day from when they come");
  purchase.state = State::credited;
  purchase.credited_at_ms = 1'800'000'000'000;
  EXPECT_EQ(validity_text(purchase), "valid until 2027-01-16 08:00:00 UTC");
  purchase.dispute_id = "dp_1";
  EXPECT_EQ(validity_text(purchase), "valid for 1 day from when they come");
}

TEST(PurchaseWordsTest, EveryStateHasWordsAndOnlyGoodOnesAreGood) {
  for (const State state :
       {State::created, State::awaiting_payment, State::paid, State::credited, State::refunded,
        State::disputed, State::failed, State::expired, State::cancelled}) {
    Purchase purchase;
    purchase.state = state;
    const PurchaseWords words = purchase_words(purchase, false);
    EXPECT_FALSE(words.word.empty()) << commerce::name_of(state);
    EXPECT_FALSE(words.meaning.empty()) << commerce::name_of(state);
    EXPECT_EQ(words.state == "ok", state == State::credited) << commerce::name_of(state);
  }
}

TEST(PurchaseWordsTest, WhatIsConfirmedByAnOperatorSaysWhatToPay) {
  Purchase purchase;
  purchase.state = State::awaiting_payment;
  purchase.currency = "USD";
  purchase.minor = 2'500;
  EXPECT_THAT(purchase_words(purchase, true).meaning, HasSubstr("Pay 25.00 USD and name the id"));
  EXPECT_THAT(purchase_words(purchase, false).meaning,
              HasSubstr("not paid yet, as far as we know"));
}

TEST(PurchaseWordsTest, OnlyPagesOfWhatIsOnItsWayLookAgain) {
  Purchase purchase;
  purchase.created_at_ms = 1'000;
  EXPECT_EQ(seconds_to_next_look(purchase, 2'000), 5);
  purchase.state = State::awaiting_payment;
  EXPECT_EQ(seconds_to_next_look(purchase, 2'000), 0) << "nothing is paid at a page";
  purchase.url = "https://pay.example.com/1";
  EXPECT_EQ(seconds_to_next_look(purchase, 2'000), 5);
  EXPECT_EQ(seconds_to_next_look(purchase, 1'000 + 20 * 60'000), 30);
  EXPECT_EQ(seconds_to_next_look(purchase, 1'001 + 120 * 60'000), 0);
  purchase.state = State::credited;
  EXPECT_EQ(seconds_to_next_look(purchase, 2'000), 0);
}

}  // namespace
}  // namespace turnpike::hosts::dashboard

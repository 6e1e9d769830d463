#include "commerce/offer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace turnpike::commerce {
namespace {

TEST(Amounts, AreReadInOneFormAlone) {
  EXPECT_EQ(parse_amount("10.00"), 1'000);
  EXPECT_EQ(parse_amount("0.10"), 10);
  EXPECT_EQ(parse_amount("9999.99"), 999'999);
  for (const char* text : {"", "10", "10.0", "10.000", "010.00", ".10", "-1.00", "+1.00", "1e3.00",
                           "10000.00", "1,000.00", " 1.00", "1.00 ", "1.0x", "00.10"}) {
    EXPECT_EQ(parse_amount(text), std::nullopt) << text;
  }
}

RC_GTEST_PROP(Amounts, AreWrittenAsTheyAreRead, ()) {
  const auto minor = *rc::gen::inRange<std::int64_t>(0, minor_max + 1);
  RC_ASSERT(parse_amount(amount_text(minor)) == minor);
}

TEST(Terms, TheBaseOfferIsSound) {
  const Terms base;
  EXPECT_EQ(problem_of(base), "");
  EXPECT_EQ(credits_for(base, 100), 1'000);
  EXPECT_EQ(credits_for(base, 110), 1'100);
  EXPECT_EQ(credits_for(base, 100'000), 1'000'000);
  for (const std::int64_t minor : {0, 90, 99, 105, 100'010, -100}) {
    EXPECT_EQ(credits_for(base, minor), std::nullopt) << minor;
  }
}

TEST(Terms, AreRefusedWhereAStepBuysNoWholeCredits) {
  Terms terms;
  terms.unit_credits = 333;
  EXPECT_NE(problem_of(terms), "");
  terms.step_minor = 100;
  EXPECT_EQ(problem_of(terms), "");
  terms.minimum_minor = 150;
  EXPECT_NE(problem_of(terms), "") << "the least amount is no multiple of the step";
}

// For all valid terms, every amount in steps buys whole Credits.
RC_GTEST_PROP(Terms, EveryAmountOfSoundTermsBuysWholeCredits, ()) {
  Terms terms;
  terms.unit_minor = *rc::gen::inRange<std::int64_t>(1, 13);
  terms.unit_credits = *rc::gen::inRange<std::int64_t>(1, 100);
  terms.step_minor = *rc::gen::inRange<std::int64_t>(1, 200);
  terms.minimum_minor = terms.step_minor * *rc::gen::inRange<std::int64_t>(1, 20);
  RC_PRE(problem_of(terms).empty());
  const auto steps = (terms.maximum_minor - terms.minimum_minor) / terms.step_minor;
  const auto minor =
      terms.minimum_minor + terms.step_minor * *rc::gen::inRange<std::int64_t>(0, steps + 1);
  const auto credits = credits_for(terms, minor);
  RC_ASSERT(credits.has_value());
  RC_ASSERT(*credits * terms.unit_minor == minor * terms.unit_credits);
}

TEST(Offers, AreNamedByTheirTermsAndWhoSells) {
  const Terms base;
  Terms dearer = base;
  dearer.unit_credits = 900;
  EXPECT_EQ(offer_id(base, "stripe"), offer_id(Terms{}, "stripe"));
  EXPECT_NE(offer_id(base, "stripe"), offer_id(base, "manual"));
  EXPECT_NE(offer_id(base, "stripe"), offer_id(dearer, "stripe"));
  EXPECT_EQ(offer_id(base, "stripe").size(), std::string_view("off_").size() + 22);
}

}  // namespace
}  // namespace turnpike::commerce

// What pages say of offers and purchases: money, states, and what comes next. Pure functions; any
// Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commerce/offer.h"
#include "commerce/purchase.h"

namespace turnpike::hosts::dashboard {

std::string money(std::string_view currency, std::int64_t minor);  // "1,000.00 USD"
std::string credits_text(commerce::Credits credits);               // "10,000 Credits", "1 Credit"

// An amount as people type it: "10", "10.5", "10.50", " 1,000.00 ".
std::optional<std::int64_t> typed_amount(std::string_view text,
                                         std::size_t whole_digits_max = 4);

// Amounts that show what the terms mean, from the least to the greatest.
std::vector<std::int64_t> example_amounts(const commerce::Terms& terms);
// The amount that a form begins with.
std::int64_t usual_amount(const commerce::Terms& terms);
// "1.00 USD buys 1,000 Credits, which are valid for 365 days."
std::string price_sentence(const commerce::Terms& terms, std::int64_t minor);
// "From 1.00 to 1,000.00 USD, in steps of 0.10."
std::string range_sentence(const commerce::Terms& terms);

// How a purchase is shown: the class of its state in the pages' language, a word, and what that
// means for whoever bought.
struct PurchaseWords {
  std::string_view state;  // "ok", "warn", "bad", "unknown"
  std::string word;
  std::string meaning;
};
// `is_confirmed`: an operator has to see the money.
PurchaseWords words_of(const commerce::Purchase& purchase, bool is_confirmed);

// How long its Credits can be spent: "valid for 365 days from when they come"; once they are there:
// "valid until 2027-11-26 14:57:00 UTC".
std::string validity_text(const commerce::Purchase& purchase);

// How long until the page of a purchase looks again by itself; 0: it does not.
std::int64_t seconds_to_next_look(const commerce::Purchase& purchase, std::int64_t now_ms);

}  // namespace turnpike::hosts::dashboard

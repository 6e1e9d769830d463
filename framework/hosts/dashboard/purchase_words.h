// The texts of pages about offers and purchases: money, states, and next steps. Pure functions; any
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

// Reads an amount as people type it: "10", "10.5", "10.50", " 1,000.00 ".
std::optional<std::int64_t> typed_amount(std::string_view text,
                                         std::size_t whole_digits_max = 4);

// Returns amounts that illustrate the terms, in ascending order.
std::vector<std::int64_t> example_amounts(const commerce::Terms& terms);
// Returns the amount that a new form starts with.
std::int64_t usual_amount(const commerce::Terms& terms);
// Returns "1.00 USD buys 1,000 Credits, which are valid for 365 days."
std::string price_sentence(const commerce::Terms& terms, std::int64_t minor);
// Returns "From 1.00 to 1,000.00 USD, in steps of 0.10."
std::string range_sentence(const commerce::Terms& terms);

// The display of a purchase: the CSS class of its state, a word, and its meaning for the buyer.
struct PurchaseWords {
  std::string_view state;  // "ok", "warn", "bad", "unknown"
  std::string word;
  std::string meaning;
};
// `is_confirmed`: an operator confirms the payment.
PurchaseWords purchase_words(const commerce::Purchase& purchase, bool is_confirmed);

// Returns the validity of the purchase's Credits: "valid for 365 days from when they come"; once
// they are granted: "valid until 2027-11-26 14:57:00 UTC".
std::string validity_text(const commerce::Purchase& purchase);

// Returns the seconds until the purchase's page refreshes itself; 0: it does not.
std::int64_t seconds_to_next_look(const commerce::Purchase& purchase, std::int64_t now_ms);

}  // namespace turnpike::hosts::dashboard

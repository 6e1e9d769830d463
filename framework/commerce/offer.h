// Offers: the prices of Credits. Terms are published by an operator as immutable revisions; an
// offer is the terms as sold through one processor. Its id is a digest of both, so a purchase that
// names the offer means exactly this price. Amounts are in the smallest unit of the currency.
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"
#include "ledger/books.h"

namespace turnpike::commerce {

// `unit_minor` buys `unit_credits`; amounts go from minimum to maximum in whole steps.
struct Terms {
  std::string currency = "USD";  // ISO 4217; amounts have two decimals
  std::int64_t unit_minor = 100;
  ledger::Credits unit_credits = 1'000;
  std::int64_t minimum_minor = 100;
  std::int64_t maximum_minor = 100'000;
  std::int64_t step_minor = 10;
  std::int64_t validity_days = 365;  // validity of Credits, from when they are credited
};

inline constexpr std::int64_t minor_max = 9'999'99;  // "d{1,4}.dd"
inline constexpr std::int64_t validity_days_max = 3'650;

// The fault that makes terms unusable; empty: none. Every amount from minimum to maximum in steps
// must buy whole Credits.
std::string problem_of(const Terms& terms);

struct PublishedTerms {
  std::int64_t revision = 0;  // increases over all terms ever published
  std::string processor;      // the only processor that sells by them; empty: all
  Terms terms;
  std::int64_t published_at_ms = 0;
  std::int64_t retired_at_ms = -1;  // -1: in force
};

struct Offer {
  std::string id;  // "off_..."
  std::int64_t revision = 0;
  std::string processor;
  std::string processor_title;  // display name
  Terms terms;
};

std::string offer_id(const Terms& terms, std::string_view processor);

// The Credits that `minor` buys; nullopt: not an amount of these terms.
std::optional<ledger::Credits> credits_for(const Terms& terms, std::int64_t minor) noexcept;

// purchase.amount_invalid: lists the valid amounts.
base::Error amount_refusal(const Terms& terms);

// "10.00" for 1000, and back: 1 to 4 digits (more for sums), a point, two digits; no leading zero.
std::string amount_text(std::int64_t minor);
std::optional<std::int64_t> parse_amount(std::string_view text,
                                         std::size_t whole_digits_max = 4) noexcept;

}  // namespace turnpike::commerce

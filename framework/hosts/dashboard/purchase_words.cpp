#include "hosts/dashboard/purchase_words.h"

#include <algorithm>

#include "hosts/dashboard/words.h"

namespace turnpike::hosts::dashboard {

namespace {

using commerce::Purchase;
using commerce::State;

std::string grouped_amount(std::int64_t minor) {
  const std::string text = commerce::amount_text(minor);
  return figure(minor / 100) + text.substr(text.find('.'));
}

std::string waiting_text(const Purchase& purchase, bool is_confirmed) {
  if (is_confirmed) {
    return "Pay " + money(purchase.currency, purchase.minor) +
           " and name the id of this purchase as the reference of your payment. An operator of "
           "this gateway confirms it when the money is there; the Credits come with that.";
  }
  return "It is not paid yet, as far as we know. If you have paid, there is nothing to do: we look "
         "by ourselves, and the Credits come when the payment service says that it was paid.";
}

std::string ended_text(const Purchase& purchase) {
  return commerce::failure_text(purchase.failure_code) +
         " No Credits came of it. Should money arrive after all, they do.";
}

}  // namespace

std::string money(std::string_view currency, std::int64_t minor) {
  return grouped_amount(minor) + " " + std::string(currency);
}

std::string credits_text(commerce::Credits credits) {
  return text::credits_text(credits);
}

std::optional<std::int64_t> typed_amount(std::string_view text, std::size_t whole_digits_max) {
  std::string plain;
  for (const char c : text) {
    if (c != ' ' && c != ',') plain += c;
  }
  const std::size_t point = plain.find('.');
  if (point == plain.npos) {
    plain += ".00";
  } else if (point + 2 == plain.size()) {
    plain += '0';
  }
  return commerce::parse_amount(plain, whole_digits_max);
}

std::vector<std::int64_t> example_amounts(const commerce::Terms& terms) {
  std::vector<std::int64_t> amounts = {terms.minimum_minor, terms.maximum_minor};
  for (const std::int64_t minor : {500, 1'000, 2'500, 10'000, 25'000}) {
    if (commerce::credits_for(terms, minor)) amounts.push_back(minor);
  }
  std::sort(amounts.begin(), amounts.end());
  amounts.erase(std::unique(amounts.begin(), amounts.end()), amounts.end());
  std::erase_if(amounts, [&](std::int64_t minor) { return !commerce::credits_for(terms, minor); });
  return amounts;
}

std::int64_t usual_amount(const commerce::Terms& terms) {
  constexpr std::int64_t ten_minor = 1'000;
  return commerce::credits_for(terms, ten_minor) ? ten_minor : terms.minimum_minor;
}

std::string price_sentence(const commerce::Terms& terms, std::int64_t minor) {
  const auto credits = commerce::credits_for(terms, minor);
  if (!credits) return {};
  return money(terms.currency, minor) + " buys " + credits_text(*credits) +
         ", which are valid for " + counted(terms.validity_days, "day") + ".";
}

std::string range_sentence(const commerce::Terms& terms) {
  return "From " + grouped_amount(terms.minimum_minor) + " to " +
         money(terms.currency, terms.maximum_minor) + ", in steps of " +
         grouped_amount(terms.step_minor) + ".";
}

PurchaseWords purchase_words(const Purchase& purchase, bool is_confirmed) {
  switch (purchase.state) {
    case State::created:
      return {"unknown", "being begun",
              "The payment service has not answered yet, so there is nothing to pay. We ask it "
              "again by ourselves."};
    case State::awaiting_payment:
      return {"warn", "waits for payment", waiting_text(purchase, is_confirmed)};
    case State::paid:
      return {"bad", "paid, held for the operator",
              "Money came for this purchase, and it could not be credited as it is. An operator of "
              "this gateway judges it; the money is not lost."};
    case State::credited:
      if (purchase.refunded_minor > 0) {
        return {"ok", "credited, partly refunded",
                "A part of the money went back, and the Credits of that part as far as they were "
                "not spent."};
      }
      return {"ok", "paid and credited", "The Credits are there."};
    case State::refunded:
      return {"unknown", "refunded",
              "All of the money went back, and the Credits as far as they were not spent."};
    case State::disputed:
      if (purchase.failure_code == "dispute_lost") {
        return {"bad", "demanded back", commerce::failure_text(purchase.failure_code)};
      }
      return {"bad", "disputed",
              "The money was demanded back from the payment service. Until that is settled its "
              "Credits are withdrawn, and the account can buy nothing."};
    case State::failed:
      return {"bad", "failed", ended_text(purchase)};
    case State::expired:
      return {"unknown", "not paid in time", ended_text(purchase)};
    case State::cancelled:
      return {"unknown", "cancelled", ended_text(purchase)};
  }
  return {};
}

std::string validity_text(const Purchase& purchase) {
  // Credits that a dispute withdrew and returned have a new expiry, which is not shown here.
  if (purchase.state != State::credited || !purchase.dispute_id.empty()) {
    return "valid for " + counted(purchase.validity_days, "day") + " from when they come";
  }
  return "valid until " + when(purchase.credited_at_ms + purchase.validity_days * day_ms);
}

std::int64_t seconds_to_next_look(const Purchase& purchase, std::int64_t now_ms) {
  constexpr std::int64_t minute_ms = 60'000;
  const bool is_on_its_way = purchase.state == State::created ||
                             (purchase.state == State::awaiting_payment && !purchase.url.empty());
  const std::int64_t age_ms = now_ms - purchase.created_at_ms;
  if (!is_on_its_way || age_ms > 120 * minute_ms) return 0;
  return age_ms < 20 * minute_ms ? 5 : 30;
}

}  // namespace turnpike::hosts::dashboard

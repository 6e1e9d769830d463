// The bodies of offers, purchases and invoices (docs/decisions.md, "Bodies"): money as
// {"currency","amount"} with two decimals, Credits as canonical whole-number strings. Pure
// functions; any Thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "commerce/shop.h"
#include "hosts/account_query.h"
#include "hosts/invoice.h"
#include "ledger/usage.h"

namespace turnpike::hosts {

nlohmann::ordered_json money_json(std::string_view currency, std::int64_t minor);
// -1 becomes null: never.
nlohmann::ordered_json time_or_null(std::int64_t at_ms);
// Null: the purchase did not fail.
nlohmann::ordered_json failure_json(const commerce::Purchase& purchase);
// Names from a payment service may not be UTF-8; invalid bytes are replaced.
std::string body_text(const nlohmann::ordered_json& body);

// A JSON array.
std::string offers_body(const std::vector<commerce::Offer>& offers);
// The body is stored as the reply of the creation, and rendered again for its current state.
std::string purchase_body(const commerce::Purchase& purchase);
std::string purchase_page_body(std::string_view account_id, const commerce::PurchasePage& page,
                               std::string_view cursor_key, std::int64_t now_ms);

// "paid", "partially_refunded", "refunded"
std::string_view state_of(const Invoice& invoice) noexcept;
nlohmann::ordered_json row_json(const Invoice& invoice);
// Ordered by the sequence number of purchases.
ledger::Page<Invoice> invoices_of(const commerce::Shop& shop, commerce::PurchasePage page,
                                  std::int64_t now_ms);

}  // namespace turnpike::hosts

// The queries of the account routes: parses and validates billing pages, purchases and usage
// summaries, and the cursors that lead from page to page. A cursor is signed and bound to its
// account; a cursor of billing pages also to its collection. Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"
#include "hosts/query.h"
#include "ledger/statements/usage_summary.h"
#include "ledger/usage.h"

namespace turnpike::hosts {

enum class Collection : std::uint8_t { allocations, usage, invoices };
std::string_view name_of(Collection collection) noexcept;

struct BillingQuery {
  Collection collection = Collection::usage;
  ledger::PageQuery page;
};

// REQUIRES: the query has only the names of its route. Every error is a 400 that names the field
// and the fix.
Result<BillingQuery, base::Error> read_billing_query(const NamedValues& fields,
                                                     std::string_view account_id,
                                                     std::string_view cursor_key);

// The filters of a page of an account's calls: api_key_id, route_id, outcome, from and to; `after`
// is a cursor of the collection `usage`.
struct CallsQuery {
  ledger::PageQuery page;
  ledger::CallFilter filter;
};
Result<CallsQuery, base::Error> read_calls_query(const NamedValues& fields,
                                                 std::string_view account_id,
                                                 std::string_view cursor_key);

// A page of purchases. A cursor of another account or query is refused with
// purchase.cursor_invalid.
struct PurchasesQuery {
  std::int64_t before = 0;  // sequence; 0: from the newest
  std::uint32_t limit = 20;
  static constexpr std::uint32_t limit_max = 50;
};
Result<PurchasesQuery, base::Error> read_purchases_query(const NamedValues& fields,
                                                         std::string_view account_id,
                                                         std::string_view cursor_key);

// A page of deliveries of notifications. A cursor that does not match is refused with
// request.query_rejected.
struct DeliveriesQuery {
  ledger::Place before = {};  // time and id of the last one listed; 0: from the newest
  std::uint32_t limit = 20;
  static constexpr std::uint32_t limit_max = 100;
};
Result<DeliveriesQuery, base::Error> read_deliveries_query(const NamedValues& fields,
                                                           std::string_view account_id,
                                                           std::string_view cursor_key);

// Without `from` and `to` the query covers the last 30 days in UTC, including today.
Result<ledger::SummaryQuery, base::Error> read_usage_query(const NamedValues& fields,
                                                           std::string_view account_id,
                                                           std::int64_t now_ms);

std::string make_billing_cursor(std::string_view account_id, Collection collection,
                                const ledger::Place& place, std::string_view cursor_key);
// `last`: the last delivery of the page before, as in DeliveriesQuery.
std::string make_delivery_cursor(std::string_view account_id, const ledger::Place& last,
                                 std::string_view cursor_key);
// `sequence`: the sequence number of the last purchase of the previous page.
std::string make_purchase_cursor(std::string_view account_id, std::int64_t sequence,
                                 std::string_view cursor_key);

}  // namespace turnpike::hosts

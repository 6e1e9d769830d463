// The bodies of the account routes (docs/decisions.md, "Accounts and Credits"): camelCase, Credits
// as canonical whole-number strings, times in RFC 3339 UTC with milliseconds. Pure functions; any
// Thread.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "hosts/account_query.h"
#include "hosts/invoice.h"
#include "identity/principal.h"
#include "ledger/calls.h"
#include "ledger/ledger.h"

namespace turnpike::hosts {

// The rows of a page, for other functions that write the same rows.
nlohmann::ordered_json row_json(const ledger::UsageRow& row);
nlohmann::ordered_json row_json(const ledger::Allocation& allocation);

std::string auth_context_body(const identity::Principal& principal);
std::string credit_balance_body(std::string_view account_id, const ledger::Balance& balance);
std::string billing_body(const BillingQuery& query, const ledger::Page<ledger::UsageRow>& page,
                         std::string_view cursor_key);
std::string billing_body(const BillingQuery& query, const ledger::Page<ledger::Allocation>& page,
                         std::string_view cursor_key);
std::string billing_body(const BillingQuery& query, const ledger::Page<Invoice>& page,
                         std::string_view cursor_key);
// Members in snake_case, unlike those of the billing-account routes (docs/decisions.md, "Bodies").
// REQUIRES: the call is pending or on record.
std::string call_body(std::string_view request_id, const ledger::CallState& state);
std::string usage_summary_body(const ledger::SummaryQuery& query,
                               const ledger::UsageSummary& summary);

}  // namespace turnpike::hosts

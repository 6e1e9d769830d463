#include "hosts/dashboard/dashboard_routes.h"

#include "hosts/dashboard/pages.h"
#include "hosts/dashboard/playground.h"

namespace turnpike::hosts::dashboard {

namespace {

constexpr std::string_view any_text = R"({"type": "string"})";

constexpr Parameter calls_query[] = {
    {.name = "find", .description = "The id of a call, ours or its caller's.", .schema = any_text},
    {.name = "api_key_id", .description = "Calls with this key.", .schema = any_text},
    {.name = "route_id", .description = "Calls of this operation.", .schema = any_text},
    {.name = "outcome", .description = "charged, released or replayed.", .schema = any_text},
    {.name = "from", .description = "Begin, in UTC.", .schema = any_text},
    {.name = "to", .description = "End, exclusive, in UTC.", .schema = any_text},
    {.name = "after", .description = "The cursor of the page before.", .schema = any_text},
};

constexpr Parameter usage_query[] = {
    {.name = "granularity", .description = "hour, day or month.", .schema = any_text},
    {.name = "from", .description = "Begin, in UTC.", .schema = any_text},
    {.name = "to", .description = "End, exclusive, in UTC.", .schema = any_text},
    {.name = "route_id", .description = "Calls of this operation.", .schema = any_text},
    {.name = "api_key_id", .description = "Calls with this key.", .schema = any_text},
};

constexpr Parameter billing_query[] = {
    {.name = "month", .description = "Of the statement: 2026-11.", .schema = any_text},
    {.name = "after", .description = "The cursor of the allocations.", .schema = any_text},
};

constexpr Parameter status_query[] = {
    {.name = "days", .description = "1, 7 or 30.", .schema = any_text},
};

#define ACCOUNT "/dashboard/{billing_account_id}"

constexpr RouteFacts playground_facts = [] {
  RouteFacts facts = web::page(ACCOUNT "/playground", "dashboard_playground");
  facts.takes_any_query = true;
  return facts;
}();

constexpr Route<WebRooms> rows[] = {
    {.facts = web::page("/dashboard", "dashboard_accounts"), .answer = show_accounts},
    {.facts = web::page(ACCOUNT, "dashboard_overview"), .answer = show_overview},
    {.facts = playground_facts, .answer = show_playground},
    {.facts = page_with(ACCOUNT "/calls", "dashboard_calls", calls_query), .answer = show_calls},
    {.facts = page_with(ACCOUNT "/calls.csv", "dashboard_calls", calls_query),
     .answer = send_calls_csv},
    {.facts = page_with(ACCOUNT "/calls.ndjson", "dashboard_calls", calls_query),
     .answer = send_calls_ndjson},
    {.facts = web::page(ACCOUNT "/calls/{request_id}", "dashboard_call"), .answer = show_call},
    {.facts = page_with(ACCOUNT "/usage", "dashboard_usage", usage_query), .answer = show_usage},
    {.facts = page_with(ACCOUNT "/usage.csv", "dashboard_usage", usage_query),
     .answer = send_usage_csv},
    {.facts = page_with(ACCOUNT "/usage.ndjson", "dashboard_usage", usage_query),
     .answer = send_usage_ndjson},
    {.facts = web::page(ACCOUNT "/free-quotas", "dashboard_free_quotas"),
     .answer = show_free_quotas},
    {.facts = page_with(ACCOUNT "/billing", "dashboard_billing", billing_query),
     .answer = show_billing},
    {.facts = page_with(ACCOUNT "/status", "dashboard_status", status_query),
     .answer = show_status},
};
#undef ACCOUNT

}  // namespace

std::span<const Route<WebRooms>> dashboard_routes() noexcept { return rows; }

}  // namespace turnpike::hosts::dashboard

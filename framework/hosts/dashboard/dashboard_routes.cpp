#include "hosts/dashboard/dashboard_routes.h"

#include "hosts/dashboard/pages.h"
#include "hosts/dashboard/playground.h"

namespace turnpike::hosts::dashboard {

namespace {

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
};
#undef ACCOUNT

}  // namespace

std::span<const Route<WebRooms>> dashboard_routes() noexcept { return rows; }

}  // namespace turnpike::hosts::dashboard

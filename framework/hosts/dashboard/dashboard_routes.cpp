#include "hosts/dashboard/dashboard_routes.h"

#include "hosts/dashboard/pages.h"

namespace turnpike::hosts::dashboard {

namespace {

#define ACCOUNT "/dashboard/{billing_account_id}"

constexpr Route<WebRooms> rows[] = {
    {.facts = web::page("/dashboard", "dashboard_accounts"), .answer = show_accounts},
    {.facts = web::page(ACCOUNT, "dashboard_overview"), .answer = show_overview},
};
#undef ACCOUNT

}  // namespace

std::span<const Route<WebRooms>> dashboard_routes() noexcept { return rows; }

}  // namespace turnpike::hosts::dashboard

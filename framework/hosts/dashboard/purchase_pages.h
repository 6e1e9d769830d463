// The pages of an account about buying Credits, and their form: offers, purchases, their documents.
// They belong to the web host; the rules are those of the JSON routes
// (hosts/account/purchase_routes.h). Constants; any Thread.
#pragma once

#include <span>

#include "hosts/dashboard/account_page.h"

namespace turnpike::hosts::dashboard {

std::span<const Route<WebRooms>> purchase_routes() noexcept;

}  // namespace turnpike::hosts::dashboard

// The routes of Auto Top-Up, for people with a session: its policy, and the saved payment methods.
// The API host and the web host share the rows, like those of purchases
// (hosts/account/purchase_routes.h). Constants; any Thread.
#pragma once

#include <span>

#include "hosts/account/purchase_routes.h"

namespace turnpike::hosts::account {

std::span<const Route<PurchaseRooms>> auto_top_up_routes() noexcept;

}  // namespace turnpike::hosts::account

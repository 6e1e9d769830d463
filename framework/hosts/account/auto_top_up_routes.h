// The routes of Auto Top-Up, for people with a session: its policy, and the methods of payment that
// are saved for it. Both hosts have them, as those of purchases (hosts/account/purchase_routes.h).
// Constants; any Thread.
#pragma once

#include <span>

#include "hosts/account/purchase_routes.h"

namespace turnpike::hosts::account {

std::span<const Route<PurchaseRooms>> auto_top_up_routes() noexcept;

}  // namespace turnpike::hosts::account

// The pages of an account about Auto Top-Up, and their forms: the policy with its revisions, and
// the saved payment methods. They belong to the web host; the rules are those of the JSON routes
// (hosts/account/auto_top_up_routes.h). Constants; any Thread.
#pragma once

#include <span>

#include "commerce/auto_top_up.h"
#include "hosts/dashboard/account_page.h"

namespace turnpike::hosts::dashboard {

std::span<const Route<WebRooms>> auto_top_up_routes() noexcept;

// Returns the overview's warning of a paused Auto Top-Up; empty: it is not paused, or its state
// cannot be read.
std::string top_up_alert(const WebRooms& rooms, const AccountPage& page);

}  // namespace turnpike::hosts::dashboard

// The pages of an account about Auto Top-Up, and their forms: the policy with its revisions, and
// the saved methods of payment. They stand on the web host; the rules are those of the JSON routes
// (hosts/account/auto_top_up_routes.h). Constants; any Thread.
#pragma once

#include <span>

#include "commerce/auto_top_up.h"
#include "hosts/dashboard/account_page.h"

namespace turnpike::hosts::dashboard {

std::span<const Route<WebRooms>> auto_top_up_routes() noexcept;

// What the overview says of an Auto Top-Up that is paused; empty: it is not, or nobody knows.
std::string top_up_alert(const WebRooms& rooms, const AccountPage& page);

}  // namespace turnpike::hosts::dashboard

// The handlers of the dashboard's reading pages, one for each page. Called on the fibers of requests.
#pragma once

#include "hosts/dashboard/account_page.h"

namespace turnpike::hosts::dashboard {

// The accounts of the person; who has one alone is led to it.
void show_accounts(const WebRooms& rooms, Turn& turn, const Asked& asked);
void show_overview(const WebRooms& rooms, Turn& turn, const Asked& asked);

}  // namespace turnpike::hosts::dashboard

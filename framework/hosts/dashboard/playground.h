// The playground: a form made of what an operation declares, what the call costs before it is made,
// and how it is made in several languages. The browser makes the call itself, from the page's
// script to the API host, with a key that only that page holds; without a script the page shows
// the call. Called on the fibers of requests.
#pragma once

#include "hosts/dashboard/account_page.h"

namespace turnpike::hosts::dashboard {

void show_playground(const WebRooms& rooms, Turn& turn, const Asked& asked);

}  // namespace turnpike::hosts::dashboard

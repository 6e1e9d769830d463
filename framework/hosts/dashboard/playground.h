// The playground: a form generated from an operation's declaration, the cost of the call before it
// is made, and code for it in several languages. The browser makes the call itself, from the page's
// script to the API host, with a key that only that page holds; without scripts the page only shows
// the call. Called on the fibers of requests.
#pragma once

#include "hosts/dashboard/account_page.h"

namespace turnpike::hosts::dashboard {

void show_playground(const WebRooms& rooms, Turn& turn, const Asked& asked);

}  // namespace turnpike::hosts::dashboard

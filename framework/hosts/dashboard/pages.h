// The handlers of the dashboard's reading pages, one for each page, and of the files with the same
// rows. Called on the fibers of requests.
#pragma once

#include "hosts/dashboard/account_page.h"

namespace turnpike::hosts::dashboard {

// Lists the person's accounts; a person with a single account is redirected to it.
void show_accounts(const WebRooms& rooms, Turn& turn, const Asked& asked);
void show_overview(const WebRooms& rooms, Turn& turn, const Asked& asked);
void show_calls(const WebRooms& rooms, Turn& turn, const Asked& asked);
// Sends up to 1,000 rows; if there are more, the header field Link names the next file.
void send_calls_csv(const WebRooms& rooms, Turn& turn, const Asked& asked);
void send_calls_ndjson(const WebRooms& rooms, Turn& turn, const Asked& asked);
void show_call(const WebRooms& rooms, Turn& turn, const Asked& asked);
void show_usage(const WebRooms& rooms, Turn& turn, const Asked& asked);
void send_usage_csv(const WebRooms& rooms, Turn& turn, const Asked& asked);
void send_usage_ndjson(const WebRooms& rooms, Turn& turn, const Asked& asked);
void show_free_quotas(const WebRooms& rooms, Turn& turn, const Asked& asked);
void show_billing(const WebRooms& rooms, Turn& turn, const Asked& asked);
void show_status(const WebRooms& rooms, Turn& turn, const Asked& asked);

}  // namespace turnpike::hosts::dashboard

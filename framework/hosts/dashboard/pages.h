// The handlers of the dashboard's reading pages, one for each page, and of the files that hold the
// same rows. Called on the fibers of requests.
#pragma once

#include "hosts/dashboard/account_page.h"

namespace turnpike::hosts::dashboard {

// The accounts of the person; who has one alone is led to it.
void show_accounts(const WebRooms& rooms, Turn& turn, const Asked& asked);
void show_overview(const WebRooms& rooms, Turn& turn, const Asked& asked);
void show_calls(const WebRooms& rooms, Turn& turn, const Asked& asked);
// Up to 1,000 rows; where there are more, the header field Link names the file that goes on.
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

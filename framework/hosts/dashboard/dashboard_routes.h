// The routes of the dashboard's reading pages on the web host. Each is for the members of the
// account that its path names, and reads the same facts as the API. Constants; any Thread.
#pragma once

#include <span>

#include "hosts/dashboard/account_page.h"

namespace turnpike::hosts::dashboard {

std::span<const Route<WebRooms>> dashboard_routes() noexcept;

}  // namespace turnpike::hosts::dashboard

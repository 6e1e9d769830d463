// The pages of an account about its users, and their forms: API keys with caps, members and
// invitations, the security log. They belong to the web host; the rules are those of the JSON
// routes (hosts/account/people_routes.h). Constants; any Thread.
#pragma once

#include <span>

#include "hosts/dashboard/account_page.h"

namespace turnpike::hosts::dashboard {

std::span<const Route<WebRooms>> key_routes() noexcept;
std::span<const Route<WebRooms>> member_routes() noexcept;
std::span<const Route<WebRooms>> security_log_routes() noexcept;

}  // namespace turnpike::hosts::dashboard

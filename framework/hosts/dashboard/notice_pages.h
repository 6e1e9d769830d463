// The page of an account about its notifications, and their forms, which need no script: endpoints,
// their secrets and tests, the threshold of low Credits, the log of deliveries. It belongs to the
// web host; the rules are those of the JSON routes (hosts/account/notice_routes.h). Constants; any
// Thread.
#pragma once

#include <span>

#include "hosts/dashboard/account_page.h"

namespace turnpike::hosts::dashboard {

std::span<const Route<WebRooms>> notice_routes() noexcept;

}  // namespace turnpike::hosts::dashboard

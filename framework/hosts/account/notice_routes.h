// The routes of notifications, for people with a session: endpoints, deliveries, settings. The API
// host takes the session as a Bearer token, the web host in its cookie; the rows are the same.
// Constants; any Thread.
#pragma once

#include <span>

#include "hosts/account/purchase_routes.h"

namespace turnpike::hosts::account {

// Bound to PurchaseRooms, since the handlers need the same objects.
std::span<const Route<PurchaseRooms>> notice_routes() noexcept;

// Returns the office of the host; notification.unavailable where notifications are not configured.
Result<notices::Office*, base::Error> notice_office(const AccountReads& account);

}  // namespace turnpike::hosts::account

// The routes of notifications, for people with a session: endpoints, deliveries, settings. The API
// host takes the session as a Bearer token, the web host in its cookie; the rows are the same.
// Constants; any Thread.
#pragma once

#include <span>

#include "hosts/account/purchase_routes.h"

namespace turnpike::hosts::account {

// Answered in the rooms of purchases: they need the same.
std::span<const Route<PurchaseRooms>> notice_routes() noexcept;

// Of the hosts; notification.unavailable where nobody is notified.
Result<notices::Office*, base::Error> notice_office(const AccountReads& account);

}  // namespace turnpike::hosts::account

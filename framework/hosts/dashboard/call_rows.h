// The table of calls, shared by all pages that list calls. Pure but for the Slots; any Thread.
#pragma once

#include <span>

#include "hosts/dashboard/account_page.h"
#include "ledger/usage.h"

namespace turnpike::hosts::dashboard {

// Reads the names of the OAuth clients that made some of these calls (account_page.h).
void learn_clients(const WebRooms& rooms, AccountPage& page,
                   std::span<const ledger::UsageRow> calls);

// Fills the table; operations and keys link to the list of their own calls.
void fill_call_rows(site::Slots slots, const AccountPage& page, const catalog::View* view,
                    std::span<const ledger::UsageRow> calls);

}  // namespace turnpike::hosts::dashboard

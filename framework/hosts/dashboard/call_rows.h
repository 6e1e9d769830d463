// Calls as a table of a page: the same one wherever calls are listed. Pure but for the Slots;
// any Thread.
#pragma once

#include <span>

#include "hosts/dashboard/account_page.h"
#include "ledger/usage.h"

namespace turnpike::hosts::dashboard {

// The names of the programs that made some of these calls (account_page.h).
void learn_clients(const WebRooms& rooms, AccountPage& page,
                   std::span<const ledger::UsageRow> calls);

// The columns where an operation or a key is shown link to the calls with it alone.
void fill_call_rows(site::Slots slots, const AccountPage& page, const catalog::View* view,
                    std::span<const ledger::UsageRow> calls);

}  // namespace turnpike::hosts::dashboard

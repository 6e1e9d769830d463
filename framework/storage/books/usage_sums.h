// Reads the sums that the index of usage keeps (ledger/usage.h says of what). Free functions over a
// connection to the index; they throw StoreError. Private to storage/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ledger/usage.h"
#include "storage/engine/connection.h"

namespace turnpike::storage {

// As UsageStore::slots() and days_in_hours().
std::vector<ledger::SlotSums> sum_slots(Connection& connection, const ledger::UsageFilter& filter,
                                        ledger::Slot slot, std::int64_t first, std::int64_t end,
                                        const std::optional<ledger::SlotSums>& after);
ledger::DaysInHours sum_days_in_hours(Connection& connection, const ledger::UsageFilter& filter,
                                      std::int64_t first, std::int64_t end);

// What an account was charged in all hours before `end_hour`.
ledger::Credits sum_charged(Connection& connection, std::string_view account_id,
                            std::int64_t end_hour);

// As UsageStore::days() and callers().
std::vector<ledger::DaySums> sum_days(Connection& connection, std::int64_t first_day);
std::vector<ledger::RouteCallers> count_callers(Connection& connection, std::int64_t first_day);

}  // namespace turnpike::storage

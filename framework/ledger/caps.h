// The windows of spend caps: UTC days and months. A capped key draws leases of its own, which end
// with their day, so a unit counts in the windows in which it was held.
//
// Pure functions and values; safe on any Thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/books.h"

namespace turnpike::ledger {

// The beginning of the day, in ms since 1970.
inline std::int64_t ms_of(std::chrono::sys_days day) noexcept {
  return std::chrono::milliseconds(day.time_since_epoch()).count();
}

struct SpendWindow {
  std::int64_t starts_at_ms = 0;
  std::int64_t ends_at_ms = 0;
};
SpendWindow utc_day(std::int64_t at_ms) noexcept;
SpendWindow utc_month(std::int64_t at_ms) noexcept;

// The Credits that a key may still spend under one of its caps.
struct CapRoom {
  std::string_view span;  // "day" or "month"
  Credits cap = 0;
  Credits left = 0;  // unspent; includes held and leased units
  std::int64_t resets_at_ms = 0;
  std::int64_t resets_in_ms = 0;
  Credits free = 0;  // neither spent nor leased: nodes may lease them
};

struct CapsOfKey {
  std::string key_id;
  std::vector<CapRoom> caps;
};

}  // namespace turnpike::ledger

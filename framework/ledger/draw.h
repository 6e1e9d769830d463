// The rules that select the allocations for a lease and decide its size, without a database. Pure
// functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ledger/books.h"

namespace turnpike::ledger {

// An allocation that is effective, not expired, and has units left.
struct Drawable {
  std::string allocation_id;
  std::string account_id;
  Credits remaining = 0;
  std::int64_t created_at_ms = 0;
  std::int64_t expires_at_ms = 0;
};

// Soonest expiry first; ties: the oldest first, then by id.
bool drawn_before(const Drawable& left, const Drawable& right) noexcept;

// The sum of the calls, in their order, that `reach` pays whole. A call that it does not pay gets
// nothing, so that no node keeps a part that another one misses.
Credits whole_calls(std::span<const Credits> calls, Credits reach) noexcept;

// Units to lease: what calls wait for, as far as there is; beyond that what is wanted, but never
// more than a quarter of what remains, so that the last units of an account stay within reach of
// every node.
Credits lease_units(Credits needed, Credits wanted, Credits remaining) noexcept;

struct Draw {
  std::size_t index = 0;  // into the drawables
  Credits units = 0;
};

// REQUIRES: `drawables` is sorted by drawn_before().
std::vector<Draw> plan_draws(std::span<const Drawable> drawables, Credits units);

// The size of a lease by the account's rate: `lease_ms` of it, and at least eight calls as asked.
Credits wanted_units(Credits call_units, Credits spent, std::int64_t spent_in_ms,
                     std::int64_t lease_ms) noexcept;

}  // namespace turnpike::ledger

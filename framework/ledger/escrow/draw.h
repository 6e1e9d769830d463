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

// The sum of the calls, in their order, that `reach` pays in full. A call that cannot be paid in
// full gets nothing, so that no node holds a part that another node lacks.
Credits whole_calls(std::span<const Credits> calls, Credits reach) noexcept;

// Units to lease: those that calls wait for, as far as available; beyond that up to `wanted`, but
// at most a quarter of the remainder, so that the last units of an account stay available to every
// node.
Credits lease_units(Credits needed, Credits wanted, Credits remaining) noexcept;

struct Draw {
  std::size_t index = 0;  // into the drawables
  Credits units = 0;
};

// REQUIRES: `drawables` is sorted by drawn_before().
std::vector<Draw> plan_draws(std::span<const Drawable> drawables, Credits units);

// The size of a lease by the account's rate: spending of `lease_ms`, and at least eight calls.
Credits wanted_units(Credits call_units, Credits spent, std::int64_t spent_in_ms,
                     std::int64_t lease_ms) noexcept;

}  // namespace turnpike::ledger

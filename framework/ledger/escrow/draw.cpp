#include "ledger/escrow/draw.h"

#include <algorithm>
#include <tuple>

namespace turnpike::ledger {

bool drawn_before(const Drawable& left, const Drawable& right) noexcept {
  return std::tie(left.expires_at_ms, left.created_at_ms, left.allocation_id) <
         std::tie(right.expires_at_ms, right.created_at_ms, right.allocation_id);
}

Credits whole_calls(std::span<const Credits> calls, Credits reach) noexcept {
  Credits sum = 0;
  for (const Credits call : calls) {
    if (call <= reach - sum) sum += call;
  }
  return sum;
}

Credits lease_units(Credits needed, Credits wanted, Credits remaining) noexcept {
  return std::max(std::min(needed, remaining), std::min(wanted, remaining / 4));
}

std::vector<Draw> plan_draws(std::span<const Drawable> drawables, Credits units) {
  std::vector<Draw> draws;
  for (std::size_t index = 0; index < drawables.size() && units > 0; ++index) {
    const Credits taken = std::min(units, drawables[index].remaining);
    if (taken == 0) continue;
    draws.push_back({index, taken});
    units -= taken;
  }
  return draws;
}

Credits wanted_units(Credits call_units, Credits spent, std::int64_t spent_in_ms,
                     std::int64_t lease_ms) noexcept {
  constexpr Credits units_max = 1'000'000'000;
  const Credits least = std::min(call_units, units_max) * 8;
  if (spent_in_ms <= 0) return least;
  const double rate = static_cast<double>(spent) / static_cast<double>(spent_in_ms);
  const double by_rate = std::min(rate * static_cast<double>(lease_ms), double{units_max});
  return std::max(least, static_cast<Credits>(by_rate));
}

}  // namespace turnpike::ledger

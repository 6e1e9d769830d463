// The rules of one bucket of one account, independent of the store: what is counted, when a count
// restarts, and which limit refuses a request. Stores differ only in where they keep Counts.
//
// Values and pure functions; any Thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <turnpike/lane.h>

namespace turnpike::quota {

using Limits = FreeLimits;
using Window = RateWindow;

// The limits, in the order in which they refuse a request.
enum class Limit : std::uint8_t { cumulative, quota, window, concurrency };

// Requests that were granted. Starts are seconds since 1970.
struct Counts {
  std::int64_t window_start_s = 0;
  std::int64_t quota_start_s = 0;
  std::uint64_t cumulative = 0;
  std::uint32_t window = 0;
  std::uint32_t quota = 0;

  // Begins the windows that `now_ms` lies in; true when one of them is new. A count is never begun
  // twice: on a clock that stepped back it goes on until the window that it was begun for ends.
  bool turn_to(const Limits& limits, std::int64_t now_ms) noexcept;
  void add_one() noexcept {
    ++window;
    ++quota;
    ++cumulative;
  }
};

// The state of a bucket after a decision, as its account sees it, by the store's clock.
struct Standing {
  Counts counts;
  std::uint32_t in_use = 0;  // permits
  std::int64_t now_ms = 0;
  std::int64_t permit_end_ms = 0;  // of the permit that ends first by itself; 0: none is out
};

// When the window of this length that began at `start_s` ends, in milliseconds since 1970.
constexpr std::int64_t end_ms(std::int64_t start_s, const Window& window) noexcept {
  return (start_s / window.seconds + 1) * window.seconds * 1000;
}

constexpr std::uint64_t left(std::uint64_t limit, std::uint64_t used) noexcept {
  return limit - std::min(limit, used);
}

// The first limit that refuses one more request; nothing: it is granted.
std::optional<Limit> refused_by(const Limits& limits, const Counts& counts,
                                std::uint32_t in_use) noexcept;

// Whole seconds until a request refused by `limit` may be granted again, at least 1: until the last
// exhausted window ends, or the first permit does. 0: it never will be.
std::uint32_t retry_after_seconds(const Limits& limits, const Standing& standing,
                                  Limit limit) noexcept;

// The limits that each of `nodes` may grant alone so that all together stay within `limits`.
// Nothing where a limit is too small to be divided.
std::optional<Limits> share_of(const Limits& limits, std::uint32_t nodes) noexcept;

}  // namespace turnpike::quota

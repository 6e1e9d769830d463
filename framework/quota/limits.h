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

  // Starts the windows that contain `now_ms`; true when one of them is new. A window is never
  // restarted: after a clock step back its count continues until the end of that window.
  bool turn_to(const Limits& limits, std::int64_t now_ms) noexcept;
  void add_one() noexcept {
    ++window;
    ++quota;
    ++cumulative;
  }
};

// The state of a bucket after a decision, for its account, by the store's clock.
struct Standing {
  Counts counts;
  std::uint32_t in_use = 0;  // permits
  std::int64_t now_ms = 0;
  std::int64_t permit_end_ms = 0;  // expiry of the permit that ends first; 0: no permits
};

// The end of the window that began at `start_s`, in milliseconds since 1970.
constexpr std::int64_t end_ms(std::int64_t start_s, const Window& window) noexcept {
  return (start_s / window.seconds + 1) * window.seconds * 1000;
}

constexpr std::uint64_t left(std::uint64_t limit, std::uint64_t used) noexcept {
  return limit - std::min(limit, used);
}

// The first limit that refuses one more request; nullopt: granted.
std::optional<Limit> refused_by(const Limits& limits, const Counts& counts,
                                std::uint32_t in_use) noexcept;

// Whole seconds until a request refused by `limit` may be granted again, at least 1: until the last
// exhausted window ends, or the first permit expires. 0: never.
std::uint32_t retry_after_seconds(const Limits& limits, const Standing& standing,
                                  Limit limit) noexcept;

// The limits that each of `nodes` may grant alone so that together they stay within `limits`.
// nullopt if a limit is too small to be divided.
std::optional<Limits> share_of(const Limits& limits, std::uint32_t nodes) noexcept;

}  // namespace turnpike::quota

// How much the sessions of callers and the connections to upstreams read, keep and move at once.
// Private to wire/. Constants; any Thread.
#pragma once

#include <cstddef>

namespace turnpike::wire {

inline constexpr std::size_t input_bytes_initial = 16 * 1024;
inline constexpr std::size_t joined_bytes_max = 16 * 1024;  // bodies up to this join their head
inline constexpr std::size_t kept_bytes_max = 64 * 1024;    // larger buffers are given back
inline constexpr std::size_t bytes_per_turn = 256 * 1024;   // then other fibers have theirs

}  // namespace turnpike::wire

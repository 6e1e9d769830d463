// Buffer sizes that the sessions of callers and the connections to upstreams share. Private to
// wire/. Constants; any Thread.
#pragma once

#include <cstddef>

namespace turnpike::wire {

inline constexpr std::size_t input_bytes_initial = 16 * 1024;
inline constexpr std::size_t joined_bytes_max = 16 * 1024;  // bodies up to this join their head
inline constexpr std::size_t kept_bytes_max = 64 * 1024;    // larger buffers are freed
inline constexpr std::size_t bytes_per_turn = 256 * 1024;   // then other fibers get their turn

}  // namespace turnpike::wire

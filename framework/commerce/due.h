// Times of the next look at a processor, shared by purchases and setups; and the form of its codes.
// Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <turnpike/host.h>

namespace turnpike::commerce {

inline constexpr std::int64_t second_ms = 1'000;
inline constexpr std::int64_t minute_ms = 60 * second_ms;
inline constexpr std::int64_t hour_ms = 60 * minute_ms;
inline constexpr std::int64_t day_ms = 24 * hour_ms;

// Pauses after this many unanswered calls of begin(); after this many tries to charge or look up a
// charge; after this many looks at something that a person does.
std::int64_t pause_before_begin_ms(std::int64_t tries) noexcept;
std::int64_t pause_before_charge_look_ms(std::int64_t tries) noexcept;
std::int64_t pause_before_look_ms(std::int64_t looks) noexcept;

// Adds jitter of a fifth, so that purchases begun at one moment are not looked at together forever.
std::int64_t due_in(std::int64_t pause_ms, std::int64_t now_ms, Random& random);

// Converts a processor's code to the form of ours: its own texts do not enter our states.
std::string code_from(std::string_view code);

}  // namespace turnpike::commerce

// When to ask a processor again, shared by purchases and setups; and the form of its codes. Pure
// functions; any Thread.
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

// After so many answers to begin() that did not come; after so many tries to charge, or to see what
// became of it; after so many looks at something that a person does.
std::int64_t pause_before_begin_ms(std::int64_t tries) noexcept;
std::int64_t pause_before_charge_look_ms(std::int64_t tries) noexcept;
std::int64_t pause_before_look_ms(std::int64_t looks) noexcept;

// A fifth more or less by chance, so that what began in one moment is not looked at in one moment
// for ever.
std::int64_t due_in(std::int64_t pause_ms, std::int64_t now_ms, Random& random);

// A code of a processor as one of ours: its own words stay out of our states.
std::string code_from(std::string_view code);

}  // namespace turnpike::commerce

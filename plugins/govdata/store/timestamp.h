// Times are integer milliseconds since 1970-01-01 UTC. Reading and writing of ISO 8601, and the
// bounds within which a source's time is believed. Pure functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike::govdata {

inline constexpr std::int64_t ms_per_hour = 3'600'000;
inline constexpr std::int64_t ms_per_day = 24 * ms_per_hour;
// 0001-01-01 .. 9999-12-31: what ISO 8601 with four digits can say.
inline constexpr std::int64_t time_min_ms = -62'135'596'800'000;
inline constexpr std::int64_t time_max_ms = 253'402'300'799'999;

// "2026-03-17T10:00:00.000Z".
std::string iso_time(std::int64_t time_ms);

// A date, or date and time with optional fraction and `Z` or `+hh:mm`; nothing else.
std::optional<std::int64_t> parse_iso_time(std::string_view text);

// Unix seconds in decimal, or ISO 8601.
std::optional<std::int64_t> parse_time(std::string_view text);

// Milliseconds of unix seconds written in decimal; nullopt outside of the bounds.
std::optional<std::int64_t> ms_of_seconds(std::string_view seconds);

}  // namespace turnpike::govdata

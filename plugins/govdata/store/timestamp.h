// Times are integer milliseconds since 1970-01-01 UTC. Reads and writes ISO 8601. Pure functions;
// any Thread may call them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike::govdata {

inline constexpr std::int64_t ms_per_hour = 3'600'000;
inline constexpr std::int64_t ms_per_day = 24 * ms_per_hour;
// 0001-01-01 to 9999-12-31: the range of ISO 8601 with a year of four digits.
inline constexpr std::int64_t time_min_ms = -62'135'596'800'000;
inline constexpr std::int64_t time_max_ms = 253'402'300'799'999;

// "2026-03-17T10:00:00.000Z".
std::string iso_time(std::int64_t time_ms);

// Reads a date, or a date and a time of day with seconds, an optional fraction, and `Z`, "+hh:mm",
// "+hhmm" or nothing, which means UTC. Empty for anything else.
std::optional<std::int64_t> parse_iso_time(std::string_view text);

// Reads Unix seconds in decimal, or ISO 8601.
std::optional<std::int64_t> parse_time(std::string_view text);

// Milliseconds of Unix seconds in decimal. Empty outside of time_min_ms to time_max_ms.
std::optional<std::int64_t> ms_of_seconds(std::string_view seconds);

}  // namespace turnpike::govdata

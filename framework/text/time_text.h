// Times as text and back (RFC 3339, in UTC). Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike::text {

// "2026-11-21T06:29:00.123Z" from milliseconds since 1970 UTC, and back (offsets are refused).
std::string rfc3339(std::int64_t unix_ms);
std::optional<std::int64_t> parse_rfc3339(std::string_view text) noexcept;

}  // namespace turnpike::text

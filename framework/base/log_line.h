// A log line as bytes: one JSON object (RFC 8259). Rendered into memory of the caller's, so that a
// line costs no allocation where it is written for each call.
//
// Pure functions; safe on any Thread.
#pragma once

#include <span>
#include <string_view>

#include "base/log.h"

namespace turnpike::base {

// The length of an RFC 3339 time of ours, of which render_log_line() makes a part of the line.
inline constexpr std::size_t log_time_bytes = 24;

// The length that no line with these fields exceeds.
std::size_t log_line_bytes_max(std::string_view event, std::span<const LogField> fields) noexcept;

// The line without its newline; returns its end. REQUIRES: `to` has room for log_line_bytes_max().
char* render_log_line(char* to, std::string_view time, Severity severity, std::string_view event,
                      std::span<const LogField> fields) noexcept;

}  // namespace turnpike::base

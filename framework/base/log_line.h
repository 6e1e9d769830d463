// A log line as bytes: one JSON object (RFC 8259). Rendered into the caller's memory, so that lines
// written for every call need no allocation.
//
// Pure functions; safe on any Thread.
#pragma once

#include <span>
#include <string_view>

#include "base/log.h"

namespace turnpike::base {

// The length of the RFC 3339 time that render_log_line() inserts.
inline constexpr std::size_t log_time_bytes = 24;

// An upper bound of the length of a line with these fields.
std::size_t log_line_bytes_max(std::string_view event, std::span<const LogField> fields) noexcept;

// Writes the line without its newline; returns its end. REQUIRES: `to` has room for
// log_line_bytes_max().
char* render_log_line(char* to, std::string_view time, Severity severity, std::string_view event,
                      std::span<const LogField> fields) noexcept;

}  // namespace turnpike::base

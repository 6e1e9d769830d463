// The characters of URIs (RFC 3986), for code that parses or builds request targets. Table-driven;
// the checks allocate nothing. Safe on any Thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike::text {

// The offset at which `query` (without '?') violates RFC 3986 section 3.4, such as at a bad escape,
// a raw '<' or a byte over 0x7F; npos when all of it is valid.
[[nodiscard]] std::size_t query_fault(std::string_view query) noexcept;

// As query_fault(), for a path with its slashes, by section 3.3.
[[nodiscard]] std::size_t path_fault(std::string_view path) noexcept;

// The first unreplaced parameter of a pattern in a path, such as "{dao_id}"; empty: none.
[[nodiscard]] std::string_view unfilled_parameter(std::string_view path) noexcept;

// Appends `text` with everything escaped except the unreserved characters of section 2.3, so that
// it is never taken for a delimiter.
void append_percent_encoded(std::string& out, std::string_view text);

// Decodes the escapes, to any bytes; nullopt: an escape is invalid.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace turnpike::text

// The characters of URIs (RFC 3986), for whoever takes in a request target or makes one.
// Table-driven; what only looks allocates nothing. Safe on any Thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace turnpike::base {

// Where `query` (without '?') stops being a query by RFC 3986 section 3.4, such as at a bad escape,
// a raw '<' or a byte over 0x7F; npos when all of it is one.
[[nodiscard]] std::size_t query_fault(std::string_view query) noexcept;

// The same for a path by section 3.3, with its slashes.
[[nodiscard]] std::size_t path_fault(std::string_view path) noexcept;

// "{dao_id}" where the parameter of a pattern still stands in a path; empty where none does.
[[nodiscard]] std::string_view unfilled_parameter(std::string_view path) noexcept;

// Appends `text` with everything escaped but the unreserved characters of section 2.3, so that it
// is never taken for a delimiter.
void append_percent_encoded(std::string& out, std::string_view text);

// With its escapes decoded, whatever bytes they stand for; nothing: one of them is none.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace turnpike::base

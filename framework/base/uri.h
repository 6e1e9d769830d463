// The characters of URIs (RFC 3986), for whoever takes in a request target. Table-driven, allocates
// nothing; safe on any Thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace turnpike::base {

// Where `query` (without '?') stops being a query by RFC 3986 section 3.4, such as at a bad escape,
// a raw '<' or a byte over 0x7F; npos when all of it is one.
[[nodiscard]] std::size_t query_fault(std::string_view query) noexcept;

// The same for a path by section 3.3, with its slashes.
[[nodiscard]] std::size_t path_fault(std::string_view path) noexcept;

}  // namespace turnpike::base

// Compression with Brotli (RFC 7932) of text that is served often. Pure functions; any Thread.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::text {

// Empty: the result would not be smaller.
std::string brotli_of(std::string_view text);

}  // namespace turnpike::text

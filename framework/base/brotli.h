// Compression with Brotli (RFC 7932) of text that is served often. Pure functions; any Thread. A
// text of 34 kB takes about a millisecond at Effort::fast and 50 at Effort::most.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike::base {

enum class Effort : std::uint8_t { fast, most };

// Empty: the result would not be smaller.
std::string brotli_of(std::string_view text, Effort effort);

}  // namespace turnpike::base

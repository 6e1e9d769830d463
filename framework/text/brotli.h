// Compression with Brotli (RFC 7932) of text that is served often. Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike::text {

enum class Effort : std::uint8_t {
  fast,  // for text that changes while the gateway runs
  most,  // for files that are compressed once, at start
};

// Empty: the result would not be smaller.
std::string brotli_of(std::string_view text, Effort effort);

}  // namespace turnpike::text

// Accept: what forms of a reply a client takes (RFC 9110 section 12.5). Pure functions; any Thread.
#pragma once

#include <turnpike/message.h>

namespace turnpike::hosts {

// Whether Accept-Encoding names "br" with a weight above 0.
bool takes_brotli(Headers headers) noexcept;

}  // namespace turnpike::hosts

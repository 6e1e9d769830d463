// E-mail addresses, as far as they are read here: enough to tell a typing error; whether mail
// arrives shows when it does. A pure function; safe on any Thread.
#pragma once

#include <string_view>

namespace turnpike::identity {

// "name@example.org": printable ASCII with one "@", up to 254 bytes (RFC 5321 section 4.5.3.1.3,
// without the brackets).
bool is_email(std::string_view text) noexcept;

}  // namespace turnpike::identity

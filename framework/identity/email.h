// E-mail addresses as people type them. What is in the form may still be nobody's: whether mail
// arrives shows when it does. Pure functions; safe on any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace turnpike::identity {

// One address in visible ASCII, without what would end it or begin another one in a header field
// or an SMTP command (RFC 5321 section 4.1.2; quoted local parts and address literals are not
// taken), 254 bytes at most. request.malformed with a sentence, or nothing.
[[nodiscard]] std::optional<base::Error> fault_in_email(std::string_view text);

// Whether two addresses, or two domains of addresses, are taken for one: letters are compared
// without case.
[[nodiscard]] bool is_same_email(std::string_view left, std::string_view right) noexcept;

}  // namespace turnpike::identity

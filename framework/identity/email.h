// E-mail addresses as people type them. A well-formed address may still not exist; only delivery
// shows that. Pure functions; safe on any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace turnpike::identity {

// Checks for one address in visible ASCII, at most 254 bytes, without characters that would end it
// or begin another one in a header field or an SMTP command (RFC 5321 section 4.1.2; quoted local
// parts and address literals are refused). Returns request.malformed with a sentence, or nullopt.
[[nodiscard]] std::optional<base::Error> fault_in_email(std::string_view text);

// Compares two addresses, or two domains of addresses, without regard to case.
[[nodiscard]] bool is_same_email(std::string_view left, std::string_view right) noexcept;

}  // namespace turnpike::identity

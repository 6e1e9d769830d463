// Forms: bodies of application/x-www-form-urlencoded, as pages and OAuth clients send them (WHATWG
// URL Standard, "application/x-www-form-urlencoded"; RFC 6749 appendix B). Stricter than browsers:
// a bad escape, text that is not UTF-8, and a repeated name are refused. Unknown names are
// accepted, since OAuth servers must ignore them. Pure function; any Thread.
#pragma once

#include <cstddef>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"
#include "hosts/named_values.h"

namespace turnpike::hosts {

inline constexpr std::string_view form_type = "application/x-www-form-urlencoded";

// Error: request.body_rejected.
Result<NamedValues, base::Error> read_form(std::string_view body, std::size_t fields_max);

}  // namespace turnpike::hosts

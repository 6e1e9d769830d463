// The names that people give to accounts, keys and operators: 1 to 200 bytes of UTF-8 without
// control characters. A pure function; safe on any Thread.
#pragma once

#include <optional>
#include <string_view>

#include "base/error.h"

namespace turnpike::identity {

// Returns request.malformed with a sentence, or nullopt.
std::optional<base::Error> fault_in_name(std::string_view name);

}  // namespace turnpike::identity

// The one text that a JSON value has (RFC 8785): members ordered by the UTF-16 units of their
// names, numbers as ECMAScript writes them, the fewest escapes. What is signed is written like
// this. Pure function; safe on any thread.
#pragma once

#include <optional>
#include <string>

#include "x402/protocol/json.h"

namespace turnpike::x402 {

// Nothing for an absent value and for a number beyond the range of a double. Recurses as deep as
// the value is, which its reader has bounded.
[[nodiscard]] std::optional<std::string> canonical_json(JsonValue value);

}  // namespace turnpike::x402

// Writes the one canonical text of a JSON value (RFC 8785): members ordered by the UTF-16 units of
// their names, numbers as in ECMAScript, the fewest escapes. What is signed has this form. Pure
// function; safe on any thread.
#pragma once

#include <optional>
#include <string>

#include "x402/protocol/json.h"

namespace turnpike::x402 {

// Returns nullopt for an absent value and for a number beyond the range of a double. Recurses as
// deep as the value is; its reader has bounded that.
[[nodiscard]] std::optional<std::string> canonical_json(JsonValue value);

}  // namespace turnpike::x402

// Reading JSON texts: the only place that passes bytes to the JSON library. The library takes a NUL
// byte for the end of its input and ignores the rest, so that `{...}` NUL `anything` would be read
// as `{...}`. Here the whole text must be JSON (RFC 8259).
//
// Pure functions; safe on any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace turnpike::text {

// Feeds the text's contents to `reader`, and calls its parse_error() for a text that is not JSON.
// False when that happened or the reader stopped.
[[nodiscard]] bool read_json(std::string_view text, nlohmann::json_sax<nlohmann::json>& reader);

// The value; is_discarded() when the text is not JSON.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);

// A string member of an object; nullopt: it is absent or of another type.
[[nodiscard]] std::optional<std::string> text_member(const nlohmann::json& object,
                                                     const char* name);

}  // namespace turnpike::text

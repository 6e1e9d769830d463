// Reading JSON texts: the one place where the JSON library is given bytes. It takes a NUL byte for
// the end of its input and would leave what follows unread, so that `{...}` NUL `anything` would be
// `{...}`. Here the text is JSON as a whole or not at all (RFC 8259).
//
// Pure functions; safe on any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace turnpike::base {

// Tells `reader` what the text holds, its parse_error() for what is no JSON. False when that
// happened or the reader stopped.
[[nodiscard]] bool read_json(std::string_view text, nlohmann::json_sax<nlohmann::json>& reader);

// The value; is_discarded() when the text is no JSON.
[[nodiscard]] nlohmann::json parse_json(std::string_view text);

// A member of an object that is text; nothing: it is something else, or not there.
[[nodiscard]] std::optional<std::string> text_member(const nlohmann::json& object,
                                                     const char* name);

}  // namespace turnpike::base

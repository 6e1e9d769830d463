// Canonical JSON (RFC 8785): the unique text of a JSON value, for everything that is hashed, signed
// or compared: programs, cursors, receipts. Keys are ordered by their UTF-16 code units, numbers
// are written as in ECMAScript, strings are UTF-8 with the fewest escapes.
//
// Pure functions; safe on any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace turnpike::text {

// Deeper values are refused: the writer recurses, and stacks of fibers are small.
inline constexpr int canonical_json_depth_max = 64;

// nullopt when the value has no canonical form: a string that is not UTF-8, a number that is not
// finite, an integer that no double holds exactly, binary values, nesting beyond the limit.
std::optional<std::string> canonical_json(const nlohmann::json& value);

// Writers of parts, for callers without a json value. `text` must be UTF-8.
void append_canonical_string(std::string& out, std::string_view text);
void append_canonical_integer(std::string& out, std::int64_t value);
// False, and nothing is appended, for a number that is not finite.
bool append_canonical_number(std::string& out, double value);

// The order of keys: by UTF-16 code units, for two UTF-8 texts.
bool canonical_key_less(std::string_view left, std::string_view right) noexcept;

// Well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

}  // namespace turnpike::text

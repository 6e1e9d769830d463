// Reads JSON from callers and nodes within limits of depth and number of values; duplicate members
// are refused. Pure functions; any Thread may call them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace turnpike::substrate {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

struct JsonBounds {
  std::size_t depth_max = 16;
  std::size_t values_max = 1'000;
};

// Empty if the text is not JSON, exceeds the bounds or has a duplicate member.
std::optional<Json> read_bounded_json(std::string_view text, const JsonBounds& bounds);

// The text for a reply. Bytes that are not valid UTF-8 become U+FFFD.
std::string dump(const OrderedJson& json);

// The member of an object. A null pointer if there is no such member, it is JSON's null, or
// `object` is not an object.
const Json* member_of(const Json& object, std::string_view name) noexcept;
const std::string* text_member(const Json& object, std::string_view name) noexcept;
std::optional<std::uint64_t> natural_of(const Json& value) noexcept;

}  // namespace turnpike::substrate

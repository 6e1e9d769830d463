// JSON of callers and of nodes, read within bounds: depth, number of values, and no member twice.
// Pure functions; any Thread.
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

// Nothing when it is no JSON or goes beyond the bounds.
std::optional<Json> read_bounded_json(std::string_view text, const JsonBounds& bounds);

// Text for a reply: bytes that are not UTF-8 become U+FFFD.
std::string dump(const OrderedJson& json);

// A member of an object, or null when there is none, it is JSON's null or `object` is none.
const Json* member_of(const Json& object, std::string_view name) noexcept;
const std::string* text_member(const Json& object, std::string_view name) noexcept;
std::optional<std::uint64_t> natural_of(const Json& value) noexcept;

}  // namespace turnpike::substrate

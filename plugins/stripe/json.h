// JSON from Stripe. read_json() is the only place in this plugin that parses JSON. JsonValue is a
// view of a value that may be absent, so that callers can follow a path without checking each step.
//
// A JsonValue points into a Json, which must outlive it. Immutable; any Thread may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace turnpike::stripe {

using Json = nlohmann::json;

inline constexpr int json_depth_max = 64;

// Empty if the text is not valid JSON (RFC 8259) or nests deeper than json_depth_max.
std::optional<Json> read_json(std::string_view text);

// One value, or none. A null counts as absent.
class JsonValue {
 public:
  JsonValue() = default;
  explicit JsonValue(const Json& value) : value_(value.is_null() ? nullptr : &value) {}

  [[nodiscard]] bool is_absent() const noexcept { return value_ == nullptr; }
  [[nodiscard]] JsonValue operator[](std::string_view name) const;
  // An array's element and size. Absent and 0 if the value is not an array.
  [[nodiscard]] JsonValue at(std::size_t index) const;
  [[nodiscard]] std::size_t size() const noexcept;

  // Empty if the value is not a string.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is(std::string_view text) const;
  [[nodiscard]] bool is_true() const noexcept;
  // Empty if the value is not a signed 64-bit integer.
  [[nodiscard]] std::optional<std::int64_t> integer() const noexcept;
  // The id of an expandable field, which holds either the id or the object itself. Empty if it has
  // no valid id.
  [[nodiscard]] std::string id() const;

 private:
  const Json* value_ = nullptr;
};

// Whether `text` is 1 to 255 characters of a-z, A-Z, 0-9 and '_', like Stripe's ids. Such a text is
// safe in the path of a URL.
bool is_id(std::string_view text) noexcept;

// `text` if it is 1 to 60 characters of a-z, 0-9 and '_', like Stripe's codes, otherwise
// `otherwise`. This keeps Stripe's texts for people out, which may contain card data.
std::string word(std::string_view text, std::string_view otherwise);

}  // namespace turnpike::stripe

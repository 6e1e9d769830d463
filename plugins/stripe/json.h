// What Stripe writes, as JSON: the one place of this plugin where the library is given bytes, and a
// view of values that may be missing, so that a path is followed without a check at every step.
//
// Values that look into a Json and end with it. Immutable; safe on any Thread.
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

// Nothing: the text is no JSON as a whole (RFC 8259), or nests deeper than json_depth_max.
std::optional<Json> read_json(std::string_view text);

// One value, or the absence of one. What stands as null is absent.
class JsonValue {
 public:
  JsonValue() = default;
  explicit JsonValue(const Json& value) : value_(value.is_null() ? nullptr : &value) {}

  [[nodiscard]] bool is_absent() const noexcept { return value_ == nullptr; }
  [[nodiscard]] JsonValue operator[](std::string_view name) const;
  // Of an array.
  [[nodiscard]] JsonValue at(std::size_t index) const;
  [[nodiscard]] std::size_t size() const noexcept;

  // Empty: it is no string.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is(std::string_view text) const;
  [[nodiscard]] bool is_true() const noexcept;
  // Nothing: it is no integer of 64 bits.
  [[nodiscard]] std::optional<std::int64_t> integer() const noexcept;
  // Of what Stripe may expand: the id itself, or that of the object which stands in its place.
  // Empty: there is none that looks like an id.
  [[nodiscard]] std::string id() const;

 private:
  const Json* value_ = nullptr;
};

// 1 to 255 of a-z, A-Z, 0-9 and '_', as Stripe's ids are: fit for a path of a URL.
bool is_id(std::string_view text) noexcept;

// `text` if it is a word of Stripe's, such as a code: up to 60 of a-z, 0-9 and '_'. Else
// `otherwise`: what Stripe writes for people may hold data of a card.
std::string word(std::string_view text, std::string_view otherwise);

}  // namespace turnpike::stripe

#include "stripe/json.h"

#include <algorithm>

namespace turnpike::stripe {
namespace {

constexpr std::size_t id_bytes_max = 255;
constexpr std::size_t word_bytes_max = 60;

// Exact for valid JSON only. The parser refuses everything else.
bool is_too_deep(std::string_view text) noexcept {
  int depth = 0;
  bool is_in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char each = text[at];
    if (is_in_string) {
      if (each == '\\') ++at;
      if (each == '"') is_in_string = false;
    } else if (each == '"') {
      is_in_string = true;
    } else if (each == '[' || each == '{') {
      if (++depth > json_depth_max) return true;
    } else if (each == ']' || each == '}') {
      --depth;
    }
  }
  return false;
}

bool is_digit_or_lower(char each) noexcept {
  return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9');
}

}  // namespace

std::optional<Json> read_json(std::string_view text) {
  // The library would take a NUL byte as the end of its input.
  if (text.find('\0') != text.npos || is_too_deep(text)) return std::nullopt;
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

JsonValue JsonValue::operator[](std::string_view name) const {
  if (value_ == nullptr || !value_->is_object()) return {};
  const auto found = value_->find(name);
  return found == value_->end() ? JsonValue() : JsonValue(*found);
}

JsonValue JsonValue::at(std::size_t index) const {
  return index < size() ? JsonValue((*value_)[index]) : JsonValue();
}

std::size_t JsonValue::size() const noexcept {
  return value_ != nullptr && value_->is_array() ? value_->size() : 0;
}

std::string JsonValue::text() const {
  const auto* text = value_ == nullptr ? nullptr : value_->get_ptr<const std::string*>();
  return text == nullptr ? std::string() : *text;
}

bool JsonValue::is(std::string_view expected) const {
  const auto* text = value_ == nullptr ? nullptr : value_->get_ptr<const std::string*>();
  return text != nullptr && *text == expected;
}

bool JsonValue::is_true() const noexcept {
  const auto* truth = value_ == nullptr ? nullptr : value_->get_ptr<const Json::boolean_t*>();
  return truth != nullptr && *truth;
}

std::optional<std::int64_t> JsonValue::integer() const noexcept {
  if (value_ == nullptr || !value_->is_number_integer()) return std::nullopt;
  if (value_->is_number_unsigned()) {
    const std::uint64_t number = *value_->get_ptr<const Json::number_unsigned_t*>();
    if (number > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  return *value_->get_ptr<const Json::number_integer_t*>();
}

std::string JsonValue::id() const {
  std::string text = value_ != nullptr && value_->is_object() ? (*this)["id"].text() : this->text();
  return is_id(text) ? text : std::string();
}

bool is_id(std::string_view text) noexcept {
  return !text.empty() && text.size() <= id_bytes_max &&
         std::all_of(text.begin(), text.end(), [](char each) {
           return is_digit_or_lower(each) || (each >= 'A' && each <= 'Z') || each == '_';
         });
}

std::string word(std::string_view text, std::string_view otherwise) {
  const bool is_word = !text.empty() && text.size() <= word_bytes_max &&
                       std::all_of(text.begin(), text.end(), [](char each) {
                         return is_digit_or_lower(each) || each == '_';
                       });
  return std::string(is_word ? text : otherwise);
}

}  // namespace turnpike::stripe

#include "status/text_form.h"

#include <algorithm>

#include "crypto/digest.h"
#include "text/canonical_json.h"
#include "text/time_text.h"

namespace turnpike::status {

using nlohmann::json;

std::string& ObjectText::member(std::string_view name) {
  assert(is_first_ || last_ < name);
#ifndef NDEBUG
  last_ = name;
#endif
  if (!is_first_) out_ += ',';
  is_first_ = false;
  out_ += '"';
  out_ += name;  // a constant of ours: letters, digits and underscores
  out_ += "\":";
  return out_;
}

ObjectText& ObjectText::text(std::string_view name, std::string_view value) {
  text::append_canonical_string(member(name), value);
  return *this;
}

ObjectText& ObjectText::text_unless_empty(std::string_view name, std::string_view value) {
  return value.empty() ? *this : text(name, value);
}

ObjectText& ObjectText::integer(std::string_view name, std::int64_t value) {
  text::append_canonical_integer(member(name), value);
  return *this;
}

ObjectText& ObjectText::integer_unless_zero(std::string_view name, std::int64_t value) {
  return value == 0 ? *this : integer(name, value);
}

ObjectText& ObjectText::time(std::string_view name, std::int64_t unix_ms) {
  std::string& out = member(name);
  out += '"';
  out += text::rfc3339(unix_ms);
  out += '"';
  return *this;
}

ObjectText& ObjectText::boolean(std::string_view name, bool value) {
  member(name) += value ? "true" : "false";
  return *this;
}

ObjectText& ObjectText::raw(std::string_view name, std::string_view value) {
  member(name) += value;
  return *this;
}

const json* Fields::find(const char* name) {
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

bool Fields::has(const char* name) const { return object_.is_object() && object_.contains(name); }

std::string Fields::text(const char* name) {
  const json* const value = find(name);
  if (value != nullptr && value->is_string()) {
    const std::string& text = value->get_ref<const std::string&>();
    if (text.size() <= text_bytes_max) return text;
  }
  is_right_ = false;
  return "";
}

std::string Fields::text_or_empty(const char* name) { return has(name) ? text(name) : ""; }

std::int64_t Fields::integer(const char* name, std::int64_t minimum, std::int64_t maximum) {
  const json* const value = find(name);
  if (value != nullptr && value->is_number_integer() &&
      (!value->is_number_unsigned() || value->get<std::uint64_t>() <= std::uint64_t{integer_max})) {
    const auto number = value->get<std::int64_t>();
    if (number >= minimum && number <= maximum) return number;
  }
  is_right_ = false;
  return minimum;
}

std::int64_t Fields::integer_or_zero(const char* name, std::int64_t minimum,
                                     std::int64_t maximum) {
  return has(name) ? integer(name, minimum, maximum) : 0;
}

std::int64_t Fields::time(const char* name) {
  const auto unix_ms = text::parse_rfc3339(text(name));
  if (unix_ms && *unix_ms >= 0 && *unix_ms <= time_ms_max) return *unix_ms;
  is_right_ = false;
  return 0;
}

bool Fields::boolean(const char* name) {
  const json* const value = find(name);
  if (value != nullptr && value->is_boolean()) return value->get<bool>();
  is_right_ = false;
  return false;
}

namespace {
const json no_value;
}  // namespace

const json& Fields::array(const char* name) {
  const json* const value = find(name);
  if (value != nullptr && value->is_array()) return *value;
  is_right_ = false;
  return no_value;
}

const json& Fields::object(const char* name) {
  const json* const value = find(name);
  if (value != nullptr && value->is_object()) return *value;
  is_right_ = false;
  return no_value;
}

bool is_hash(std::string_view text) noexcept {
  constexpr std::string_view prefix = "sha256:";
  return text.size() == prefix.size() + 64 && text.starts_with(prefix) &&
         std::all_of(text.begin() + prefix.size(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string hash_of(std::string_view bytes) { return "sha256:" + crypto::sha256_hex(bytes); }

}  // namespace turnpike::status

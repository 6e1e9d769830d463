#include "base/strict_object.h"

#include <algorithm>
#include <charconv>

#include "text/json_text.h"
#include "text/time_text.h"

namespace turnpike::base {
namespace {

constexpr std::size_t name_bytes_shown = 64;

// The number of code points of a UTF-8 text.
std::size_t characters_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::string listed(std::span<const std::string_view> words) {
  std::string list;
  for (const std::string_view word : words) {
    list += list.empty() ? "" : ", ";
    list += word;
  }
  return list;
}

}  // namespace

// Collects the top-level members as the parser reports them; nested values are left to their own
// readers.
class StrictObject::Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Reader(StrictObject& body) : body_(body) {}

  bool null() override { return take(Kind::null); }
  bool boolean(bool value) override {
    if (is_member()) body_.members_.back().text = value ? "true" : "";
    return take(Kind::boolean);
  }
  bool number_integer(number_integer_t value) override { return take_number(value); }
  bool number_unsigned(number_unsigned_t value) override { return take_number(value); }
  bool number_float(number_float_t, const string_t&) override { return take(Kind::number); }
  bool string(string_t& text) override {
    if (is_member()) body_.members_.back().text = text;
    return take(Kind::text);
  }
  bool binary(binary_t&) override { return take(Kind::null); }
  bool start_object(std::size_t) override {
    if (depth_ == 0) body_.is_object_ = true;
    take(Kind::object);
    ++depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    take(Kind::array);
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(string_t& name) override {
    if (!is_member()) return true;
    if (body_.find(name) != nullptr) {
      body_.report(name, "it is here more than once", "Give it once.");
    }
    body_.members_.push_back({name, Kind::null, {}});
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  bool take(Kind kind) {
    if (is_member()) body_.members_.back().kind = kind;
    return true;
  }
  template <class Number>
  bool take_number(Number value) {
    if (is_member()) body_.members_.back().text = std::to_string(value);
    return take(Kind::number);
  }
  [[nodiscard]] bool is_member() const noexcept { return depth_ == 1 && body_.is_object_; }

  StrictObject& body_;
  int depth_ = 0;
};

StrictObject::StrictObject(std::string_view json, std::initializer_list<std::string_view> known)
    : json_(json) {
  Reader reader(*this);
  if (!text::read_json(json, reader)) {
    is_object_ = false;
    problems_ = {{"", "it is not JSON", "Send one JSON object."}};
    return;
  }
  if (!is_object_) {
    problems_ = {{"", "it is not a JSON object", "Send one JSON object."}};
    return;
  }
  for (const Member& member : members_) {
    if (std::find(known.begin(), known.end(), member.name) != known.end()) continue;
    report(member.name, "it is not known",
           "Leave it out; known are: " + listed({known.begin(), known.size()}) + ".");
  }
}

const StrictObject::Member* StrictObject::find(std::string_view name) const noexcept {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& member) { return member.name == name; });
  return found == members_.end() ? nullptr : &*found;
}

void StrictObject::report(std::string_view name, std::string problem, std::string fix) {
  problems_.push_back({pointer_to(name), std::move(problem), std::move(fix)});
}

// The text of a required member; `form` completes "Send ...".
const std::string* StrictObject::text_of(std::string_view name, std::string_view form) {
  if (!is_object_) return nullptr;  // reported already
  const Member* member = find(name);
  if (member != nullptr && member->kind == Kind::text) return &member->text;
  report(name, member == nullptr ? "it is missing" : "it is not a string",
         "Send " + std::string(form) + ".");
  return nullptr;
}

std::string StrictObject::text(std::string_view name, Characters length) {
  const std::string form = "a string of " + std::to_string(length.minimum) + " to " +
                           std::to_string(length.maximum) + " characters";
  const std::string* text = text_of(name, form);
  if (text == nullptr) return {};
  const std::size_t characters = characters_of(*text);
  if (std::any_of(text->begin(), text->end(), is_control)) {
    report(name, "it holds a control character", "Send " + form + ", none of them a control.");
    return {};
  }
  if (characters >= length.minimum && characters <= length.maximum) return *text;
  report(name, "it has " + std::to_string(characters) + " characters", "Send " + form + ".");
  return {};
}

std::string StrictObject::text_or(std::string_view name, Characters length,
                                  std::string_view absent) {
  return find(name) == nullptr ? std::string(absent) : text(name, length);
}

std::optional<std::string> StrictObject::text_or_null(std::string_view name, Characters length) {
  const Member* const member = find(name);
  if (member != nullptr && member->kind == Kind::null) return std::nullopt;
  return text(name, length);
}

bool StrictObject::boolean(std::string_view name) {
  if (!is_object_) return false;
  const Member* const member = find(name);
  if (member != nullptr && member->kind == Kind::boolean) return !member->text.empty();
  report(name, member == nullptr ? "it is missing" : "it is neither true nor false",
         "Send true or false.");
  return false;
}

std::size_t StrictObject::one_of(std::string_view name, std::span<const std::string_view> choices) {
  const std::string form = "one of: " + listed(choices);
  const std::string* text = text_of(name, form);
  if (text == nullptr) return 0;
  const auto found = std::find(choices.begin(), choices.end(), *text);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  report(name, "it is none of those allowed", "Send " + form + ".");
  return 0;
}

std::int64_t StrictObject::whole(std::string_view name, std::int64_t minimum,
                                 std::int64_t maximum) {
  const std::string form = "a string with a whole number from " + std::to_string(minimum) + " to " +
                           std::to_string(maximum) + ", without sign or leading zeros";
  const std::string* text = text_of(name, form);
  if (text == nullptr) return 0;
  std::int64_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, problem] = std::from_chars(text->data(), end, value);
  const bool is_canonical = *text == "0" || !text->starts_with('0');
  if (problem == std::errc{} && rest == end && is_canonical && value >= minimum &&
      value <= maximum) {
    return value;
  }
  report(name, "it is no such number", "Send " + form + ".");
  return 0;
}

std::int64_t StrictObject::units(std::string_view name, std::int64_t maximum) {
  return whole(name, 1, maximum);
}

std::optional<std::int64_t> StrictObject::units_or_null(std::string_view name,
                                                        std::int64_t maximum) {
  const Member* const member = find(name);
  if (member != nullptr && member->kind == Kind::null) return std::nullopt;
  return whole(name, 0, maximum);
}

std::optional<std::int64_t> StrictObject::time_or_null(std::string_view name) {
  const Member* const member = find(name);
  if (member != nullptr && member->kind == Kind::null) return std::nullopt;
  constexpr std::string_view form = "Send a time such as 2027-01-31T12:00:00Z, or null.";
  const std::string* const text = text_of(name, form);
  if (text == nullptr) return std::nullopt;
  const auto at_ms = text::parse_rfc3339(*text);
  if (!at_ms) report(name, "it is no time of RFC 3339", std::string(form));
  return at_ms;
}

std::int64_t StrictObject::integer(std::string_view name, std::int64_t minimum,
                                   std::int64_t maximum) {
  if (!is_object_) return 0;
  const Member* const member = find(name);
  std::int64_t value = 0;
  if (member != nullptr && member->kind == Kind::number && !member->text.empty()) {
    const char* const end = member->text.data() + member->text.size();
    const auto [rest, problem] = std::from_chars(member->text.data(), end, value);
    if (problem == std::errc{} && rest == end && value >= minimum && value <= maximum) {
      return value;
    }
  }
  report(name, member == nullptr ? "it is missing" : "it is no such number",
         "Send a whole number from " + std::to_string(minimum) + " to " + std::to_string(maximum) +
             ".");
  return 0;
}

std::string StrictObject::object(std::string_view name) {
  if (!is_object_) return {};
  const Member* const member = find(name);
  if (member != nullptr && member->kind == Kind::object) {
    return text::parse_json(json_)[name].dump();
  }
  report(name, member == nullptr ? "it is missing" : "it is not an object", "Send a JSON object.");
  return {};
}

std::string pointer_to(std::string_view member) {
  std::string pointer = "/";
  for (const char c : member.substr(0, name_bytes_shown)) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

}  // namespace turnpike::base

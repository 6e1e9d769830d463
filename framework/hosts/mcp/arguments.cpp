#include "hosts/mcp/arguments.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/strict_object.h"
#include "hosts/mcp/tool_call.h"
#include "text/uri.h"

namespace turnpike::hosts::mcp {
namespace {

// Beyond this, a double cannot represent every integer, so its text may be another number.
constexpr auto exact_integers_below = static_cast<double>(std::int64_t{1} << 53);

// Returns the text of a scalar in a query; nothing for other values.
std::optional<std::string> query_text(const Json& value) {
  if (const auto* text = value.get_ptr<const std::string*>()) return *text;
  if (value.is_boolean() || value.is_number_integer()) return text_of(value);
  const bool is_exact = value.is_number() && std::abs(value.get<double>()) < exact_integers_below;
  return is_exact ? std::optional(text_of(value)) : std::nullopt;
}

}  // namespace

Arguments::Arguments(const Json& arguments, std::initializer_list<std::string_view> known)
    : arguments_(arguments) {
  for (const auto& [name, value] : arguments.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (problems_.size() == tool_problems_max) break;
    std::string names;
    for (const std::string_view one : known) names.append(names.empty() ? "" : ", ").append(one);
    report(name, "it is not known",
           names.empty() ? "Leave it out; this tool has no arguments."
                         : "Leave it out; known are: " + names + ".");
  }
}

const Json* Arguments::given(const char* name) const noexcept {
  const Json* const value = find(arguments_, name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<std::string> Arguments::text(const char* name) {
  const Json* const value = given(name);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = value->get_ptr<const std::string*>()) return *text;
  report(name, "it is not a string", "Send a string.");
  return std::nullopt;
}

std::string Arguments::required(const char* name, std::string_view fix) {
  auto value = text(name);
  if (!value && given(name) == nullptr) report(name, "it is missing", std::string(fix));
  return std::move(value).value_or("");
}

std::optional<bool> Arguments::flag(const char* name) {
  const Json* const value = given(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  if (*value == "true" || *value == "false") return *value == "true";
  report(name, "it is not a boolean", "Send true or false.");
  return std::nullopt;
}

std::optional<std::string> Arguments::integer(const char* name) {
  const Json* const value = given(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_integer()) return text_of(*value);
  if (const auto* digits = value->get_ptr<const std::string*>()) return *digits;
  report(name, "it is not an integer", "Send an integer.");
  return std::nullopt;
}

std::string Arguments::query(const char* name) {
  const Json* const value = given(name);
  if (value == nullptr) return {};
  if (const auto* text = value->get_ptr<const std::string*>()) {
    return text->starts_with('?') ? text->substr(1) : *text;
  }
  if (!value->is_object()) {
    report(name, "it is neither a string nor an object",
           "Send the raw query string, such as hours=1&limit=5.");
    return {};
  }
  std::string query;
  for (const auto& [key, member] : value->items()) append_pair(query, name, key, member);
  return query;
}

// Appends a pair; the items of a list are separated by commas (OpenAPI: style form, not exploded).
void Arguments::append_pair(std::string& query, const char* name, std::string_view key,
                            const Json& value) {
  if (value.is_null()) return;
  query += query.empty() ? "" : "&";
  text::append_percent_encoded(query, key);
  query += '=';
  const Json single = value.is_array() ? Json() : Json::array({value});
  const Json& items = value.is_array() ? value : single;
  for (const Json& item : items) {
    const auto text = query_text(item);
    if (!text) {
      report(name, "a value in it has no one text",
             "Send strings, numbers, booleans or lists of them; long numbers as strings.");
      return;
    }
    if (&item != &items.front()) query += ',';
    text::append_percent_encoded(query, *text);
  }
}

// The number is bounded, since a caller may send as many names as a message holds.
void Arguments::report(std::string_view name, std::string problem, std::string fix) {
  if (problems_.size() == tool_problems_max) return;
  problems_.push_back({base::pointer_to(name), std::move(problem), std::move(fix)});
}

std::optional<base::Error> Arguments::error() {
  if (problems_.empty()) return std::nullopt;
  return base::Error{base::ErrorCode::request_malformed, "The arguments of the tool are not right.",
                     0, std::move(problems_)};
}

}  // namespace turnpike::hosts::mcp

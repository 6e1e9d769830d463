#include "hosts/mcp/tool_fixture.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace turnpike::hosts::mcp::tests {
namespace {

using Json = nlohmann::ordered_json;
using nlohmann::json;

bool is_type(const std::string& type, const json& value) {
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  if (type == "number") return value.is_number();
  if (type == "object") return value.is_object();
  if (type != "integer") throw std::runtime_error("type " + type);
  return value.is_number() && std::trunc(value.get<double>()) == value.get<double>();
}

std::size_t characters_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool keeps_members(const Json& schema, const json& value) {
  for (const Json& name : schema.value("required", Json::array())) {
    if (!value.contains(name.get<std::string>())) return false;
  }
  for (const auto& [name, member] : value.items()) {
    if (!schema.at("properties").contains(name)) return false;
    if (!keeps(schema.at("properties").at(name), member)) return false;
  }
  return true;
}

bool keeps_word(const Json& schema, const std::string& word, const Json& said, const json& value) {
  if (word == "description" || word == "default" || word == "required") return true;
  if (word == "type") return is_type(said.get<std::string>(), value);
  if (word == "enum") return std::find(said.begin(), said.end(), Json(value)) != said.end();
  if (word == "minimum") return value.get<std::int64_t>() >= said.get<std::int64_t>();
  if (word == "maximum") return value.get<std::int64_t>() <= said.get<std::int64_t>();
  if (word == "minLength") return characters_of(value.get<std::string>()) >= said;
  if (word == "maxLength") return characters_of(value.get<std::string>()) <= said;
  if (word == "pattern" && said == R"(^[^/\\]+$)") {
    const auto text = value.get<std::string>();
    return !text.empty() && text.find_first_of("/\\") == text.npos;
  }
  if (word == "minItems") return value.size() >= said;
  if (word == "maxItems") return value.size() <= said;
  if (word == "uniqueItems") {
    return !said.get<bool>() || std::set<json>(value.begin(), value.end()).size() == value.size();
  }
  if (word == "items") {
    return std::all_of(value.begin(), value.end(),
                       [&](const json& item) { return keeps(said, item); });
  }
  if (word == "properties") return keeps_members(schema, value);
  if (word == "additionalProperties") return !said.get<bool>();  // checked with the members
  throw std::runtime_error("no word of ours: " + word);
}

}  // namespace

bool keeps(const Json& schema, const json& value) {
  if (schema.contains("type") && !is_type(schema["type"].get<std::string>(), value)) return false;
  return std::all_of(schema.items().begin(), schema.items().end(), [&](const auto& entry) {
    return keeps_word(schema, entry.key(), entry.value(), value);
  });
}

}  // namespace turnpike::hosts::mcp::tests

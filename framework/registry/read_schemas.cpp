#include "registry/read_schemas.h"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "text/canonical_json.h"

namespace turnpike::registry {
namespace {

constexpr std::string_view reference_prefix = "#/$defs/";

// The names that `schema` refers to, with duplicates.
void collect_references(const nlohmann::json& schema, std::vector<std::string>& names) {
  if (schema.is_object()) {
    const auto reference = schema.find("$ref");
    if (reference != schema.end() && reference->is_string()) {
      const auto& target = reference->get_ref<const std::string&>();
      if (target.starts_with(reference_prefix)) {
        names.push_back(target.substr(reference_prefix.size()));
      } else {
        names.push_back(target);
      }
    }
  }
  if (schema.is_structured()) {
    for (const nlohmann::json& part : schema) collect_references(part, names);
  }
}

}  // namespace

nlohmann::json json_of(const Cursor& value) {
  switch (value.kind()) {
    case NodeKind::null:
      return nullptr;
    case NodeKind::list: {
      nlohmann::json list = nlohmann::json::array();
      for (const Cursor& item : value.items()) list.push_back(json_of(item));
      return list;
    }
    case NodeKind::map: {
      nlohmann::json object = nlohmann::json::object();
      for (const Cursor& field : value.fields()) object[std::string(field.key())] = json_of(field);
      return object;
    }
    case NodeKind::scalar:
      break;
  }
  const std::string_view text = value.raw_text();
  if (!value.quoted()) {
    if (text == "true" || text == "false") return text == "true";
    if (const auto integer = decimal_integer(text)) {
      if (*integer <= integer_max && *integer >= -integer_max) return *integer;
    }
    if (const auto number = decimal_number(text)) return *number;
  }
  return std::string(text);
}

void read_reply_schemas(const Cursor& section, Draft& draft) {
  if (!section.expect(NodeKind::map, "a map from names to JSON Schemas")) return;
  for (const Cursor& field : section.fields()) {
    auto name = field.key_name();
    if (!field.expect(NodeKind::map, "a JSON Schema") || !name) continue;
    draft.reply_schemas.add(std::move(*name), json_of(field), "reply schema", field);
  }
}

void check_reply_schemas(Draft& draft, Problems& problems) {
  std::vector<std::string_view> known;
  for (const auto& entry : draft.reply_schemas.entries()) known.push_back(entry.name);
  for (const auto& entry : draft.reply_schemas.entries()) {
    std::vector<std::string> names;
    collect_references(entry.value, names);
    for (const std::string& name : names) {
      if (const std::uint32_t* found = draft.reply_schemas.find(name)) {
        draft.reply_schemas.entries()[*found].is_used = true;
        continue;
      }
      problems.add(Rule::unknown_reference, entry.place, "reply_schemas." + entry.name,
                   {"reply schema", name, suggestion(name, known)});
    }
  }
}

std::shared_ptr<const ReplySchema> resolve_reply_schema(const Cursor& value, Draft& draft) {
  const std::uint32_t* found = draft.reply_schemas.resolve(value, "reply schema");
  if (found == nullptr) return nullptr;
  std::shared_ptr<const ReplySchema>& kept = draft.published_schemas[*found];
  if (kept) return kept;
  const auto& entry = draft.reply_schemas.entries()[*found];
  std::map<std::string, const nlohmann::json*> definitions;
  std::vector<std::string> open;
  collect_references(entry.value, open);
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    const std::uint32_t* definition = draft.reply_schemas.find(name);
    if (definition == nullptr || definitions.contains(name)) continue;
    const nlohmann::json& schema = draft.reply_schemas.entries()[*definition].value;
    definitions[name] = &schema;
    collect_references(schema, open);
  }
  nlohmann::json whole = entry.value;
  for (const auto& [name, schema] : definitions) whole["$defs"][name] = *schema;
  ReplySchema published;
  published.name = entry.name;
  published.json = text::canonical_json(whole).value_or("{}");
  kept = std::make_shared<const ReplySchema>(std::move(published));
  return kept;
}

}  // namespace turnpike::registry

#include "catalog/tool_schema.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/limits.h"
#include "catalog/parameter_schema.h"
#include "text/json_text.h"
#include "text/words.h"

namespace turnpike::catalog {
namespace {

using OrderedJson = nlohmann::ordered_json;

const registry::QueryPolicy& query_of(const registry::Program& program,
                                      const registry::Tool& tool) {
  return *program.operations()[tool.operation].query;
}

const registry::Route& route_of(const registry::Program& program, const registry::Tool& tool) {
  return program.routes()[program.operations()[tool.operation].route];
}

// Puts the operator's description of the argument before the note on rules that the schema lacks.
void describe(OrderedJson& schema, const registry::Tool& tool, const std::string& name,
              const std::string& note) {
  const auto words = tool.descriptions.find(name);
  std::string text = words == tool.descriptions.end() ? std::string() : words->second;
  if (!text.empty() && !note.empty()) text += text.back() == '.' ? " " : ". ";
  text += note;
  if (!text.empty()) schema["description"] = std::move(text);
}

// Declared string bounds count bytes, JSON Schema's count characters.
std::string note_of(const registry::Constraint& constraint) {
  const auto* text = std::get_if<registry::StringConstraint>(&constraint);
  if (text == nullptr || !text->allowed_values.empty()) return {};
  return std::to_string(text->min_bytes) + " to " + std::to_string(text->max_bytes) +
         " bytes of UTF-8.";
}

OrderedJson typed_schema(const registry::Constraint& constraint, const registry::Tool& tool,
                         const std::string& name) {
  OrderedJson schema = value_schema(constraint);
  schema.erase("format");  // of OpenAPI; plain JSON Schema readers may not know it
  describe(schema, tool, name, note_of(constraint));
  return schema;
}

OrderedJson path_schema(const registry::Segment& segment, const registry::Tool& tool) {
  const bool is_text = !segment.constraint ||
                       std::holds_alternative<registry::StringConstraint>(*segment.constraint);
  OrderedJson schema = {{"type", "string"}, {"minLength", 1}};
  if (segment.constraint) {
    schema = typed_schema(*segment.constraint, tool, segment.text);
  } else {
    describe(schema, tool, segment.text, {});
  }
  if (is_text && !segment.allows_slash && !schema.contains("enum")) {
    schema["pattern"] = R"(^[^/\\]+$)";
  }
  return schema;
}

void add_body(OrderedJson& properties, const registry::Program& program,
              const registry::Tool& tool) {
  const std::vector<std::string> types = body_types_of(program, tool);
  if (types.empty()) return;
  const auto json_types = std::count_if(types.begin(), types.end(), is_json_type);
  const bool takes_json = json_types > 0;
  const bool takes_text = json_types < static_cast<std::ptrdiff_t>(types.size());
  const std::string bounds =
      "; at most " + std::to_string(route_of(program, tool).body->max_bytes) + " bytes.";
  std::string note = takes_json ? "The request body: a JSON value" : "The request body: text";
  if (takes_json && takes_text) note += ", or text of another content_type";
  if (types.size() == 1) note += ", sent as " + types.front();
  OrderedJson body = OrderedJson::object();
  if (!takes_json) body["type"] = "string";
  describe(body, tool, std::string(registry::body_argument), note + bounds);
  properties[std::string(registry::body_argument)] = std::move(body);
  if (types.size() == 1) return;
  properties[std::string(registry::content_type_argument)] = {{"type", "string"},
                                                              {"enum", types},
                                                              {"default", default_body_type(types)},
                                                              {"description", "Of the body."}};
}

}  // namespace

OrderedJson tool_input_schema(const registry::Program& program, const registry::Tool& tool) {
  const registry::Route& route = route_of(program, tool);
  OrderedJson properties = OrderedJson::object();
  OrderedJson required = OrderedJson::array();
  for (const registry::Segment& segment : route.matcher.segments) {
    if (!segment.is_parameter) continue;
    properties[segment.text] = path_schema(segment, tool);
    required.push_back(segment.text);
  }
  for (const registry::QueryParameter& parameter : query_of(program, tool).parameters) {
    if (tool.fixed.contains(parameter.name)) continue;
    properties[parameter.name] = typed_schema(parameter.constraint, tool, parameter.name);
    if (parameter.required) required.push_back(parameter.name);
  }
  add_body(properties, program, tool);
  if (route.body->required && !body_types_of(program, tool).empty()) {
    required.push_back(registry::body_argument);
  }
  properties[std::string(registry::idempotency_key_argument)] = idempotency_key_schema();
  OrderedJson schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

ToolBodySchema tool_body_schema(const registry::Program& program, const registry::Tool& tool) {
  using Json = nlohmann::ordered_json;
  const registry::Operation& operation = program.operations()[tool.operation];
  ToolBodySchema body;
  if (!operation.reply_schema) return body;
  // A body that is not JSON is a text, or an object with its bytes.
  Json choices = Json::array();
  const auto add = [&](const registry::ReplySchema& schema) {
    Json json = text::parse_json(schema.json);
    if (const auto found = json.find("$defs"); found != json.end()) {
      for (auto& [name, definition] : found->items()) body.definitions[name] = definition;
      json.erase("$defs");
    }
    choices.push_back(std::move(json));
  };
  add(*operation.reply_schema);
  if (operation.error_schema) {
    add(*operation.error_schema);
    choices.push_back({{"type", "string"}});
    choices.push_back({{"type", "object"}, {"required", {"base64"}}});
  } else {
    choices.push_back({{"description", "An error of the provider."}});
  }
  body.schema = {{"anyOf", std::move(choices)}};
  return body;
}

std::string tool_description(const registry::Program& program, const registry::Tool& tool) {
  std::string text = tool.description;
  for (const registry::QueryRule& rule : query_of(program, tool).rules) {
    const auto* one_of = std::get_if<registry::AtLeastOne>(&rule);
    const bool is_kept =
        one_of != nullptr &&
        std::any_of(one_of->parameters.begin(), one_of->parameters.end(),
                    [&](const std::string& name) { return tool.fixed.contains(name); });
    if (!is_kept) text += ' ' + rule_text(rule);
  }
  const registry::Operation& operation = program.operations()[tool.operation];
  if (tool.is_free) return text += " Costs nothing, within the limits of the free variant.";
  if (!operation.price) return text;
  const std::uint32_t cost = program.prices()[*operation.price].credit_cost;
  return text += " A success costs " + text::credits_text(cost) + ".";
}

OrderedJson idempotency_key_schema() {
  return {{"type", "string"},
          {"minLength", 1},
          {"maxLength", base::limits::idempotency_key_bytes_max},
          {"description",
           "Makes a repeat safe: the same call with the same key is run and charged once."}};
}

std::vector<std::string> body_types_of(const registry::Program& program,
                                       const registry::Tool& tool) {
  const registry::BodyPolicy& body = *route_of(program, tool).body;
  const bool takes_body =
      program.operations()[tool.operation].method == Method::post && !body.forbidden;
  return takes_body ? body.media_types : std::vector<std::string>();
}

const std::string& default_body_type(const std::vector<std::string>& types) {
  const auto json = std::find_if(types.begin(), types.end(), is_json_type);
  return json == types.end() ? types.front() : *json;
}

bool is_json_type(std::string_view media_type) noexcept {
  return media_type == "application/json" || media_type.ends_with("+json");
}

}  // namespace turnpike::catalog

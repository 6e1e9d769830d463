#include "catalog/parameter_schema.h"

#include <algorithm>
#include <optional>

namespace turnpike::catalog {

namespace {

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "`" : ", `") + name + "`";
  return text;
}

// A schema, and a sentence about the rules that it cannot express.
struct Described {
  Json schema;
  std::string text;
};

struct SchemaOf {
  Described operator()(const registry::StringConstraint& constraint) const {
    Json schema = {{"type", "string"}};
    if (!constraint.allowed_values.empty()) {
      schema["enum"] = constraint.allowed_values;
      return {std::move(schema), {}};
    }
    schema["minLength"] = (constraint.min_bytes + 3) / 4;  // UTF-8: at most 4 bytes a character
    schema["maxLength"] = constraint.max_bytes;
    return {std::move(schema), std::to_string(constraint.min_bytes) + " to " +
                                   std::to_string(constraint.max_bytes) +
                                   " bytes (UTF-8, after percent-decoding)."};
  }
  Described operator()(const registry::IntegerConstraint& constraint) const {
    Json schema = {{"type", "integer"},
                   {"format", "int64"},
                   {"minimum", constraint.minimum},
                   {"maximum", constraint.maximum}};
    if (!constraint.allowed_values.empty()) schema["enum"] = constraint.allowed_values;
    return {std::move(schema), "A decimal integer."};
  }
  Described operator()(const registry::BooleanConstraint&) const {
    return {{{"type", "boolean"}}, {}};
  }
  Described operator()(const registry::NumberConstraint& constraint) const {
    return {{{"type", "number"},
             {"format", "double"},
             {"minimum", constraint.minimum},
             {"maximum", constraint.maximum}},
            "A decimal number, as JSON writes it."};
  }
  Described operator()(const registry::CommaListConstraint& constraint) const {
    const Json items = {{"type", "string"}, {"enum", constraint.allowed_values}};
    return {{{"type", "array"},
             {"items", items},
             {"minItems", constraint.min_items},
             {"maxItems", constraint.max_items},
             {"uniqueItems", constraint.unique}},
            std::string("One value with commas between the items") +
                (constraint.unique ? ", each at most once." : ".")};
  }
};

// An accepted value. The greater side of a comparison uses its upper bound, so that the examples of
// one operation are consistent.
struct ExampleOf {
  bool is_upper = false;
  std::optional<Json> operator()(const registry::StringConstraint& constraint) const {
    if (constraint.allowed_values.empty()) return std::nullopt;
    return Json(constraint.allowed_values.front());
  }
  std::optional<Json> operator()(const registry::IntegerConstraint& constraint) const {
    if (!constraint.allowed_values.empty()) return Json(constraint.allowed_values.front());
    return Json(is_upper ? constraint.maximum : constraint.minimum);
  }
  std::optional<Json> operator()(const registry::BooleanConstraint&) const { return Json(true); }
  std::optional<Json> operator()(const registry::NumberConstraint& constraint) const {
    return Json(is_upper ? constraint.maximum : constraint.minimum);
  }
  std::optional<Json> operator()(const registry::CommaListConstraint& constraint) const {
    const auto count =
        std::min<std::size_t>(constraint.allowed_values.size(), std::max(constraint.min_items, 1u));
    return Json(std::vector<std::string>(
        constraint.allowed_values.begin(),
        constraint.allowed_values.begin() + static_cast<std::ptrdiff_t>(count)));
  }
};

bool is_right_of_comparison(const registry::QueryPolicy& policy, const std::string& name) {
  return std::any_of(policy.rules.begin(), policy.rules.end(), [&](const auto& rule) {
    const auto* comparison = std::get_if<registry::IntegerComparison>(&rule);
    return comparison != nullptr && comparison->right == name;
  });
}

struct RuleText {
  std::string operator()(const registry::AtLeastOne& rule) const {
    return "At least one of " + quoted_list(rule.parameters) + " is given.";
  }
  std::string operator()(const registry::IntegerComparison& rule) const {
    return "`" + rule.left + "` is less than `" + rule.right + "`.";
  }
};

}  // namespace

Json value_schema(const registry::Constraint& constraint) {
  return std::visit(SchemaOf{}, constraint).schema;
}

std::string rule_text(const registry::QueryRule& rule) { return std::visit(RuleText{}, rule); }

Json path_parameters_json(const registry::Matcher& matcher) {
  Json parameters = Json::array();
  for (const registry::Segment& segment : matcher.segments) {
    if (!segment.is_parameter) continue;
    std::string text = segment.allows_slash
                           ? "One path segment, percent-encoded; `%2F` may stand in it."
                           : "One path segment, percent-encoded, without an encoded slash.";
    Json schema = {{"type", "string"}, {"minLength", 1}};
    if (segment.constraint) {
      Described described = std::visit(SchemaOf{}, *segment.constraint);
      if (!described.text.empty()) text += " " + described.text;
      schema = std::move(described.schema);
    }
    parameters.push_back({{"name", segment.text},
                          {"in", "path"},
                          {"required", true},
                          {"description", std::move(text)},
                          {"schema", std::move(schema)}});
  }
  return parameters;
}

Json query_parameters_json(const registry::QueryPolicy& query) {
  Json parameters = Json::array();
  for (const registry::QueryParameter& declared : query.parameters) {
    Described described = std::visit(SchemaOf{}, declared.constraint);
    Json parameter = {{"name", declared.name}, {"in", "query"}, {"required", declared.required}};
    if (!described.text.empty()) parameter["description"] = described.text;
    if (std::holds_alternative<registry::CommaListConstraint>(declared.constraint)) {
      parameter["style"] = "form";
      parameter["explode"] = false;
    }
    parameter["schema"] = std::move(described.schema);
    if (declared.required) {
      const bool is_upper = is_right_of_comparison(query, declared.name);
      if (auto example = std::visit(ExampleOf{is_upper}, declared.constraint)) {
        parameter["example"] = std::move(*example);
      }
    }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

std::string query_rules_text(const registry::QueryPolicy& policy) {
  std::string text;
  for (const registry::QueryRule& rule : policy.rules) {
    if (!text.empty()) text += ' ';
    text += rule_text(rule);
  }
  return text;
}

Json request_body_json(const registry::Route& route) {
  Json content = Json::object();
  for (const std::string& media_type : route.body->media_types) {
    content[media_type] = {{"schema", Json::object()}};
  }
  return {{"description",
           "Forwarded byte for byte; at most " + std::to_string(route.body->max_bytes) + " bytes."},
          {"required", route.body->required},
          {"content", std::move(content)}};
}

}  // namespace turnpike::catalog

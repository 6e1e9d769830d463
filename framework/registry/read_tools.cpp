#include "registry/read_tools.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "registry/policy.h"

namespace turnpike::registry {
namespace {

constexpr std::size_t text_bytes_max = 1024;
constexpr std::size_t title_bytes_max = 128;

// Characters that hosts and model APIs both accept in names of tools and arguments.
bool is_tool_word(std::string_view text) noexcept {
  constexpr std::size_t word_bytes_max = 64;
  constexpr std::string_view allowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  return !text.empty() && text.size() <= word_bytes_max &&
         text.find_first_not_of(allowed) == text.npos;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// Normalizes names that hosts may confuse: a call may use `_` for `.`, and some hosts ignore case.
std::string folded(std::string_view text) {
  std::string out = lower(text);
  std::replace(out.begin(), out.end(), '.', '_');
  return out;
}

bool check_name(const Cursor& field) {
  std::string_view expected;
  if (!is_tool_word(field.key())) expected = "1 to 64 letters, digits, _ . and -";
  if (folded(field.key()).starts_with("service_")) {
    expected = "a name that does not begin with `service.` or `service_`, as the gateway's own do";
  }
  if (!expected.empty()) field.report_key(Rule::bad_name, {field.key(), expected});
  return expected.empty();
}

const QueryParameter* parameter_of(const QueryPolicy& query, std::string_view name) {
  const auto& parameters = query.parameters;
  const auto found =
      std::find_if(parameters.begin(), parameters.end(),
                   [&](const QueryParameter& parameter) { return parameter.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

bool is_compared(const QueryPolicy& policy, std::string_view name) {
  return std::any_of(policy.rules.begin(), policy.rules.end(), [&](const QueryRule& rule) {
    const auto* comparison = std::get_if<IntegerComparison>(&rule);
    return comparison != nullptr && (comparison->left == name || comparison->right == name);
  });
}

// ---- checks against the operation ---------------------------------------------------------------

void read_fixed(const Cursor& map, const QueryPolicy& query, Tool& tool) {
  std::vector<std::string_view> names;
  for (const QueryParameter& parameter : query.parameters) names.push_back(parameter.name);
  for (const Cursor& field : map.fields()) {
    if (!field.expect(NodeKind::scalar, "one value; items of a list with commas between them")) {
      continue;
    }
    const QueryParameter* const parameter = parameter_of(query, field.key());
    if (parameter == nullptr) {
      field.report_key(Rule::unknown_reference,
                       {"query parameter", field.key(), suggestion(field.key(), names)});
    } else if (is_compared(query, parameter->name)) {
      field.report_key(Rule::fixed_compared, {parameter->name});
    } else if (const auto problem = check_parameter(*parameter, field.raw_text())) {
      field.report(Rule::fixed_refused, {parameter->name, problem->problem, problem->fix});
    } else {
      tool.fixed.emplace(parameter->name, field.raw_text());
    }
  }
}

// The names of the tool's arguments that may be described; unusable names are reported at `where`.
std::vector<std::string_view> arguments_of(const Cursor& where, const Route& route,
                                           const Operation& operation, const Tool& tool) {
  std::vector<std::string_view> names;
  const auto add = [&](std::string_view name) {
    std::string_view fault;
    if (!is_tool_word(name)) {
      fault = "its name is not of 1 to 64 letters, digits, _ . and -";
    } else if (name == body_argument || name == content_type_argument ||
               name == idempotency_key_argument) {
      fault = "every tool means something else by this name";
    } else if (std::find(names.begin(), names.end(), name) != names.end()) {
      fault = "the path and the query each have one of this name";
    }
    if (!fault.empty()) where.report(Rule::argument_unfit, {name, fault});
    names.push_back(name);
  };
  for (const Segment& segment : route.matcher.segments) {
    if (segment.is_parameter) add(segment.text);
  }
  for (const QueryParameter& parameter : operation.query->parameters) {
    if (!tool.fixed.contains(parameter.name)) add(parameter.name);
  }
  if (operation.method == Method::post && !route.body->forbidden) names.push_back(body_argument);
  return names;
}

void read_descriptions(const Cursor& map, const std::vector<std::string_view>& arguments,
                       Tool& tool) {
  for (const Cursor& field : map.fields()) {
    if (tool.fixed.contains(std::string(field.key()))) {
      field.report_key(Rule::argument_fixed, {field.key()});
    } else if (std::find(arguments.begin(), arguments.end(), field.key()) == arguments.end()) {
      field.report_key(Rule::unknown_reference,
                       {"argument", field.key(), suggestion(field.key(), arguments)});
    }
    if (const auto text = field.text(1, text_bytes_max)) {
      tool.descriptions.emplace(field.key(), *text);
    }
  }
}

// Reads the fixed values and the descriptions of arguments; requires the operation.
void read_arguments(const Cursor& field, const Cursor& where, const Route& route,
                    const Operation& operation, Tool& tool) {
  const auto fixed = field.find("fixed");
  if (fixed && fixed->expect(NodeKind::map, "a map from query parameters to values")) {
    read_fixed(*fixed, *operation.query, tool);
  }
  const std::vector<std::string_view> names = arguments_of(where, route, operation, tool);
  const auto descriptions = field.find("arguments");
  if (descriptions && descriptions->expect(NodeKind::map, "a map from arguments to descriptions")) {
    read_descriptions(*descriptions, names, tool);
  }
}

void read_tool(const Cursor& field, const OperationNames& operations, Draft& draft) {
  const bool is_named = check_name(field);
  if (!field.map_of(
          {"route", "title", "description", "variant", "read_only", "arguments", "fixed"})) {
    return;
  }
  DraftTool entry;
  Tool& tool = entry.tool;
  tool.name = field.key();
  if (const auto text = field.need("description", "what it is for: models choose tools by it")) {
    tool.description = text->text(1, text_bytes_max).value_or("");
  }
  if (const auto title = field.find("title")) {
    tool.title = title->text(1, title_bytes_max).value_or("");
  }
  const auto variant = field.find("variant");
  constexpr std::string_view variants[] = {"free"};
  if (variant) tool.is_free = variant->one_of(variants).has_value();
  const auto read_only = field.find("read_only");
  const auto stated = read_only ? read_only->boolean() : std::nullopt;

  const auto where = field.need("route", "an operation, such as `GET /v1/gateway/weather/now`");
  const OperationNames::Named* const named = where ? operations.resolve(*where) : nullptr;
  if (named == nullptr) return;
  const Route& route = draft.routes[named->route].route;
  const Operation& operation = draft.routes[named->route].operations[named->method].operation;
  entry.route = named->route;
  entry.method = named->method;
  tool.is_read_only = stated.value_or(operation.method == Method::get);
  if (tool.is_free && !route.free_policy) variant->report(Rule::variant_missing);
  read_arguments(field, *where, route, operation, tool);
  if (is_named && draft.tool_names.add(folded(field.key()), Unit{}, "tool", field)) {
    draft.tools.add(lower(field.key()), std::move(entry), "tool", field);
  }
}

}  // namespace

OperationNames::OperationNames(const std::vector<DraftRoute>& routes, bool are_sound)
    : are_sound_(are_sound) {
  if (!are_sound) return;
  for (std::uint32_t at = 0; at < routes.size(); ++at) {
    const Route& route = routes[at].route;
    for (std::uint32_t method = 0; method < route.methods.size(); ++method) {
      sorted_.push_back(
          {std::string(name_of(route.methods[method])) + " " + route.matcher.pattern, at, method});
    }
  }
  std::sort(sorted_.begin(), sorted_.end(),
            [](const Named& left, const Named& right) { return left.name < right.name; });
}

const OperationNames::Named* OperationNames::resolve(const Cursor& cursor) const {
  if (!cursor.expect(NodeKind::scalar, "an operation: its method and path") || !are_sound_) {
    return nullptr;
  }
  const std::string_view name = cursor.raw_text();
  const auto found = std::lower_bound(
      sorted_.begin(), sorted_.end(), name,
      [](const Named& left, std::string_view wanted) { return left.name < wanted; });
  if (found != sorted_.end() && found->name == name) return &*found;
  // Compares only names that sort near, which share the longest prefixes: there may be too many in
  // all.
  constexpr std::ptrdiff_t around = 512;
  std::vector<std::string_view> near;
  if (!cursor.problems().full()) {
    const auto begin = found - std::min(around, found - sorted_.begin());
    const auto end = found + std::min(around, sorted_.end() - found);
    for (auto at = begin; at != end; ++at) near.push_back(at->name);
  }
  cursor.report(Rule::unknown_reference, {"operation", name, suggestion(name, near)});
  return nullptr;
}

void read_tools(const Cursor& section, const OperationNames& operations, Draft& draft) {
  if (!section.expect(NodeKind::map, "a map from names to tools")) return;
  for (const Cursor& field : section.fields()) read_tool(field, operations, draft);
}

}  // namespace turnpike::registry

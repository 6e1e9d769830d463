#include "registry/read_policies.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"

namespace turnpike::registry {
namespace {

namespace limits = base::limits;

constexpr Bounds byte_bounds{0, limits::request_query_bytes_max};
constexpr Bounds integer_bounds{-integer_max, integer_max};

// A sorted list without duplicates; `read` reads one item.
template <class Value, class Read>
std::optional<std::vector<Value>> read_set(const Cursor& list, Read read) {
  if (!list.list_of(limits::declared_values_max, "a list")) return std::nullopt;
  std::vector<Value> values;
  bool sound = true;
  const std::vector<Cursor> items = list.items();
  if (items.empty()) list.report(Rule::empty_list);
  for (const Cursor& item : items) {
    std::optional<Value> value = read(item);
    if (!value) {
      sound = false;
    } else if (const auto at = std::lower_bound(values.begin(), values.end(), *value);
               at != values.end() && *at == *value) {
      item.report(Rule::duplicate_item, {item.raw_text()});
      sound = false;
    } else {
      values.insert(at, std::move(*value));
    }
  }
  if (!sound || values.empty()) return std::nullopt;
  return values;
}

std::optional<std::string> read_value(const Cursor& item) {
  const auto text = item.text(1, limits::declared_query_bytes_max);
  if (!text) return std::nullopt;
  return std::string(*text);
}

// A type/subtype in lower case, of RFC 9110 tokens.
std::optional<std::string> read_media_type(const Cursor& item) {
  const auto text = item.text(1, 128);
  if (!text) return std::nullopt;
  std::string value(*text);
  for (char& c : value) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::size_t slash = value.find('/');
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789!#$&^_.+-/";
  const bool sound = slash != value.npos && slash > 0 && slash + 1 < value.size() &&
                     value.find('/', slash + 1) == value.npos &&
                     value.find_first_not_of(allowed) == value.npos;
  if (sound) return value;
  item.report(Rule::bad_name, {*text, "a media type without parameters, such as application/json"});
  return std::nullopt;
}

// ---- query parameters ---------------------------------------------------------------------------

constexpr std::string_view parameter_types[] = {"string", "integer", "boolean", "list", "number"};
enum class ParameterType : std::size_t { string, integer, boolean, list, number };

std::optional<Constraint> read_string(const Cursor& parameter) {
  StringConstraint constraint;
  const auto values = parameter.find("values");
  const auto bytes = parameter.find("bytes");
  if (!values && !bytes) {
    parameter.report(Rule::constraint_missing, {"string", "`bytes: MIN..MAX` or `values`"});
    return std::nullopt;
  }
  if (values) {
    auto read = read_set<std::string>(*values, read_value);
    if (!read) return std::nullopt;
    constraint.allowed_values = std::move(*read);
    const auto [shortest, longest] =
        std::minmax_element(constraint.allowed_values.begin(), constraint.allowed_values.end(),
                            [](const std::string& left, const std::string& right) {
                              return left.size() < right.size();
                            });
    constraint.min_bytes = static_cast<std::uint32_t>(shortest->size());
    constraint.max_bytes = static_cast<std::uint32_t>(longest->size());
  }
  if (bytes) {
    const auto range = bytes->range(byte_bounds);
    if (!range) return std::nullopt;
    for (const std::string& value : constraint.allowed_values) {
      const auto size = static_cast<std::int64_t>(value.size());
      if (size >= range->minimum && size <= range->maximum) continue;
      values->report(Rule::value_out_of_bounds, {value, "bytes"});
      return std::nullopt;
    }
    constraint.min_bytes = static_cast<std::uint32_t>(range->minimum);
    constraint.max_bytes = static_cast<std::uint32_t>(range->maximum);
  }
  return constraint;
}

std::optional<Constraint> read_integer(const Cursor& parameter) {
  IntegerConstraint constraint;
  const auto values = parameter.find("values");
  const auto range = parameter.find("range");
  if (!values && !range) {
    parameter.report(Rule::constraint_missing, {"integer", "`range: MIN..MAX` or `values`"});
    return std::nullopt;
  }
  if (values) {
    auto read = read_set<std::int64_t>(
        *values, [](const Cursor& item) { return item.integer(integer_bounds); });
    if (!read) return std::nullopt;
    constraint.allowed_values = std::move(*read);
    constraint.minimum = constraint.allowed_values.front();
    constraint.maximum = constraint.allowed_values.back();
  }
  if (range) {
    const auto read = range->range(integer_bounds);
    if (!read) return std::nullopt;
    for (const std::int64_t value : constraint.allowed_values) {
      if (value >= read->minimum && value <= read->maximum) continue;
      values->report(Rule::value_out_of_bounds, {std::to_string(value), "range"});
      return std::nullopt;
    }
    constraint.minimum = read->minimum;
    constraint.maximum = read->maximum;
  }
  return constraint;
}

std::optional<Constraint> read_number(const Cursor& parameter) {
  const auto range = parameter.find("range");
  if (!range) {
    parameter.report(Rule::constraint_missing, {"number", "`range: MIN..MAX`"});
    return std::nullopt;
  }
  const auto bounds = range->number_range();
  if (!bounds) return std::nullopt;
  return NumberConstraint{bounds->minimum, bounds->maximum};
}

std::optional<Constraint> read_list(const Cursor& parameter) {
  CommaListConstraint constraint;
  const auto values = parameter.find("values");
  const auto items = parameter.find("items");
  if (!values || !items) {
    parameter.report(Rule::constraint_missing, {"list", "`values` and `items: MIN..MAX`"});
    return std::nullopt;
  }
  auto read = read_set<std::string>(*values, [](const Cursor& item) -> std::optional<std::string> {
    auto value = read_value(item);
    if (!value || value->find(',') == value->npos) return value;
    item.report(Rule::bad_name, {*value, "a value without commas, which divide the list"});
    return std::nullopt;
  });
  const auto range = items->range({1, limits::declared_values_max});
  if (!read || !range) return std::nullopt;
  constraint.allowed_values = std::move(*read);
  constraint.min_items = static_cast<std::uint32_t>(range->minimum);
  constraint.max_items = static_cast<std::uint32_t>(range->maximum);
  if (const auto unique = parameter.find("unique")) {
    const auto flag = unique->boolean();
    if (!flag) return std::nullopt;
    constraint.unique = *flag;
  }
  return constraint;
}

bool check_placement(const Cursor& parameter, ParameterType type) {
  struct Use {
    std::string_view key;
    std::initializer_list<ParameterType> types;
  };
  const Use uses[] = {
      {"bytes", {ParameterType::string}},
      {"range", {ParameterType::integer, ParameterType::number}},
      {"values", {ParameterType::string, ParameterType::integer, ParameterType::list}},
      {"items", {ParameterType::list}},
      {"unique", {ParameterType::list}}};
  bool sound = true;
  for (const Use& use : uses) {
    const auto found = parameter.find(use.key);
    if (!found || std::find(use.types.begin(), use.types.end(), type) != use.types.end()) continue;
    found->report_key(Rule::constraint_misplaced,
                      {use.key, parameter_types[static_cast<std::size_t>(type)]});
    sound = false;
  }
  return sound;
}

// Reads type and bounds, once the keys of `field` are known; `types`: the allowed types.
std::optional<Constraint> read_constraint(const Cursor& field,
                                          std::span<const std::string_view> types) {
  const auto type_field = field.need("type", listed(types));
  const auto read_type = type_field ? type_field->one_of(types) : std::nullopt;
  if (!read_type) return std::nullopt;
  const auto known =
      std::find(std::begin(parameter_types), std::end(parameter_types), types[*read_type]);
  const auto type = static_cast<ParameterType>(known - std::begin(parameter_types));
  if (!check_placement(field, type)) return std::nullopt;
  switch (type) {
    case ParameterType::string:
      return read_string(field);
    case ParameterType::integer:
      return read_integer(field);
    case ParameterType::boolean:
      return BooleanConstraint{};
    case ParameterType::list:
      return read_list(field);
    case ParameterType::number:
      break;
  }
  return read_number(field);
}

std::optional<QueryParameter> read_parameter(const Cursor& field) {
  QueryParameter parameter;
  parameter.name = field.key();
  constexpr std::size_t name_bytes_max = 128;
  const bool named = !parameter.name.empty() && parameter.name.size() <= name_bytes_max;
  if (!named) field.report_key(Rule::bad_name, {field.key(), "1 to 128 bytes"});
  if (!field.map_of({"type", "required", "bytes", "range", "values", "items", "unique"})) {
    return std::nullopt;
  }
  if (const auto required = field.find("required")) {
    parameter.required = required->boolean().value_or(false);
  }
  auto constraint = read_constraint(field, parameter_types);
  if (!constraint || !named) return std::nullopt;
  parameter.constraint = std::move(*constraint);
  return parameter;
}

// ---- rules of a query ---------------------------------------------------------------------------

constexpr std::string_view type_name(const Constraint& constraint) noexcept {
  return parameter_types[constraint.index()];
}

const QueryParameter* parameter_named(const QueryPolicy& policy, const Cursor& name) {
  if (!name.expect(NodeKind::scalar, "the name of a parameter")) return nullptr;
  std::vector<std::string_view> names;
  for (const QueryParameter& parameter : policy.parameters) {
    if (parameter.name == name.raw_text()) return &parameter;
    names.push_back(parameter.name);
  }
  name.report(Rule::rule_parameter, {name.raw_text(), suggestion(name.raw_text(), names)});
  return nullptr;
}

std::optional<QueryRule> read_rule(const Cursor& item, const QueryPolicy& policy) {
  const std::vector<Cursor> fields = item.fields();
  if (fields.size() != 1 || fields.front().kind() != NodeKind::list) {
    item.report(Rule::rule_shape);
    return std::nullopt;
  }
  const Cursor& rule = fields.front();
  if (rule.key() == "at_least_one") {
    auto names = read_set<std::string>(rule, [&](const Cursor& name) -> std::optional<std::string> {
      const QueryParameter* parameter = parameter_named(policy, name);
      if (parameter == nullptr) return std::nullopt;
      return parameter->name;
    });
    if (!names) return std::nullopt;
    return AtLeastOne{std::move(*names)};
  }
  const std::vector<Cursor> sides = rule.items();
  if (rule.key() != "less_than" || sides.size() != 2) {
    item.report(Rule::rule_shape);
    return std::nullopt;
  }
  std::string names[2];
  for (std::size_t side = 0; side < 2; ++side) {
    const QueryParameter* parameter = parameter_named(policy, sides[side]);
    if (parameter == nullptr) return std::nullopt;
    if (!std::holds_alternative<IntegerConstraint>(parameter->constraint) &&
        !std::holds_alternative<NumberConstraint>(parameter->constraint)) {
      sides[side].report(Rule::rule_not_integer,
                         {parameter->name, type_name(parameter->constraint)});
      return std::nullopt;
    }
    names[side] = parameter->name;
  }
  return IntegerComparison{std::move(names[0]), std::move(names[1])};
}

std::optional<QueryPolicy> read_query_policy(const Cursor& value) {
  if (!value.map_of({"max_encoded_bytes", "parameters", "rules"})) return std::nullopt;
  QueryPolicy policy;
  policy.deny = false;
  policy.max_encoded_bytes = limits::declared_query_bytes_max;
  bool sound = true;
  if (const auto bytes = value.find("max_encoded_bytes")) {
    const auto read = bytes->integer({1, limits::request_query_bytes_max});
    sound = read.has_value();
    policy.max_encoded_bytes = static_cast<std::uint32_t>(read.value_or(0));
  }
  const auto parameters = value.need("parameters", "a map from parameter names to their types");
  if (!parameters || !parameters->expect(NodeKind::map, "a map of parameters")) {
    return std::nullopt;
  }
  const std::vector<Cursor> fields = parameters->fields();
  if (fields.size() > limits::declared_parameters_max) {
    parameters->report(Rule::too_many_items, {std::to_string(fields.size()),
                                              std::to_string(limits::declared_parameters_max)});
    return std::nullopt;
  }
  for (const Cursor& field : fields) {
    auto parameter = read_parameter(field);
    sound = sound && parameter;
    if (parameter) policy.parameters.push_back(std::move(*parameter));
  }
  std::sort(policy.parameters.begin(), policy.parameters.end(),
            [](const auto& left, const auto& right) { return left.name < right.name; });
  const auto rules = value.find("rules");
  if (!sound) return std::nullopt;  // rules on rejected parameters would mislead
  if (rules && rules->list_of(limits::declared_rules_max, "a list of rules")) {
    for (const Cursor& item : rules->items()) {
      auto rule = read_rule(item, policy);
      sound = sound && rule;
      if (rule) policy.rules.push_back(std::move(*rule));
    }
  }
  if (!sound) return std::nullopt;
  return policy;
}

std::optional<std::string> read_error_type(const Cursor& item) {
  if (item.kind() == NodeKind::scalar && item.raw_text() == no_content_type) {
    return std::string(no_content_type);
  }
  return read_media_type(item);
}

// Providers often send errors in their framework's default format, which callers can read; and in
// the format of their successes.
std::vector<std::string> default_error_types(const ResponsePolicy& policy) {
  std::vector<std::string> types = {"application/json", "application/problem+json",
                                    std::string(no_content_type), "text/html", "text/plain"};
  for (const std::string& type : policy.allowed_content_types) {
    const auto at = std::lower_bound(types.begin(), types.end(), type);
    if (at == types.end() || *at != type) types.insert(at, type);
  }
  return types;
}

std::optional<ResponsePolicy> read_response_policy(const Cursor& value) {
  if (!value.map_of({"statuses", "content_types", "error_content_types", "max_bytes"})) {
    return std::nullopt;
  }
  ResponsePolicy policy = default_response();
  bool sound = true;
  if (const auto statuses = value.find("statuses")) {
    auto read = read_set<std::uint16_t>(*statuses, [](const Cursor& item) {
      const auto status = item.integer({200, 299});
      return status ? std::optional(static_cast<std::uint16_t>(*status)) : std::nullopt;
    });
    sound = read.has_value();
    if (read) policy.success_statuses = std::move(*read);
  }
  if (const auto types = value.find("content_types")) {
    auto read = read_set<std::string>(*types, read_media_type);
    sound = sound && read;
    if (read) policy.allowed_content_types = std::move(*read);
  }
  if (const auto types = value.find("error_content_types")) {
    auto read = read_set<std::string>(*types, read_error_type);
    sound = sound && read;
    policy.narrows_errors = true;
    if (read) policy.error_content_types = std::move(*read);
  } else {
    policy.error_content_types = default_error_types(policy);
  }
  if (const auto bytes = value.find("max_bytes")) {
    const auto read = bytes->integer({1, limits::response_bytes_max});
    sound = sound && read;
    policy.max_bytes = static_cast<std::uint64_t>(read.value_or(0));
  }
  if (!sound) return std::nullopt;
  return policy;
}

// ---- free policies ------------------------------------------------------------------------------

std::optional<Window> read_window(const Cursor& value) {
  if (!value.map_of({"limit", "seconds"})) return std::nullopt;
  constexpr std::int64_t seconds_max = 366 * 86'400;
  const auto limit_field = value.need("limit", "the number of requests in a window");
  const auto seconds_field = value.need("seconds", "the length of a window");
  const auto limit = limit_field
                         ? limit_field->integer({1, std::numeric_limits<std::int32_t>::max()})
                         : std::nullopt;
  const auto seconds = seconds_field ? seconds_field->integer({1, seconds_max}) : std::nullopt;
  if (!limit || !seconds) return std::nullopt;
  return Window{static_cast<std::uint32_t>(*limit), static_cast<std::uint32_t>(*seconds)};
}

// Reads `provider`, `route`, or `{shared: NAME}`.
std::optional<std::string> read_bucket_scope(const Cursor& value) {
  if (value.kind() == NodeKind::map) {
    if (!value.map_of({"shared"})) return std::nullopt;
    const auto shared = value.need("shared", "the name of the bucket");
    auto name = shared ? shared->name() : std::nullopt;
    if (name && (*name == "provider" || *name == "route")) {
      shared->report(Rule::bad_name, {*name, "a name other than `provider` and `route`"});
      return std::nullopt;
    }
    return name;
  }
  constexpr std::string_view scopes[] = {"provider", "route"};
  const auto scope = value.one_of(scopes);
  if (!scope) return std::nullopt;
  return std::string(scopes[*scope]);
}

FreePolicy read_free_policy(const Cursor& value) {
  FreePolicy policy;
  policy.permit_ttl_seconds = limits::permit_ttl_seconds;
  policy.bucket_scope = "provider";
  if (!value.map_of({"window", "concurrency", "permit_ttl_seconds", "quota", "cumulative_limit",
                     "bucket_scope"})) {
    return policy;
  }
  if (const auto window = value.need("window", "{limit, seconds}")) {
    policy.window = read_window(*window).value_or(Window());
  }
  if (const auto concurrency = value.need("concurrency", "how many requests may run at once")) {
    policy.concurrency =
        static_cast<std::uint32_t>(concurrency->integer({1, 1'000'000}).value_or(0));
  }
  if (const auto seconds = value.find("permit_ttl_seconds")) {
    policy.permit_ttl_seconds =
        static_cast<std::uint32_t>(seconds->integer({1, 3'600}).value_or(3'600));
  }
  if (const auto quota = value.find("quota")) policy.quota = read_window(*quota);
  if (const auto cumulative = value.find("cumulative_limit")) {
    if (const auto read = cumulative->integer({1, integer_max})) {
      policy.cumulative_limit = static_cast<std::uint64_t>(*read);
    }
  }
  if (const auto scope = value.find("bucket_scope")) {
    policy.bucket_scope = read_bucket_scope(*scope).value_or("provider");
  }
  return policy;
}

}  // namespace

ResponsePolicy default_response() {
  ResponsePolicy policy;
  policy.success_statuses = {200};
  policy.allowed_content_types = {"application/json"};
  policy.max_bytes = limits::response_bytes_max;
  policy.error_content_types = default_error_types(policy);
  return policy;
}

void read_query_policies(const Cursor& section, Draft& draft) {
  if (!section.expect(NodeKind::map, "a map from names to query policies")) return;
  for (const Cursor& field : section.fields()) {
    auto name = field.key_name();
    if (name && *name == "deny") {
      field.report_key(Rule::bad_name, {*name, "a name other than `deny`"});
      continue;
    }
    // Registered under its name even if invalid, so that references to it are not reported as well.
    QueryPolicy policy = read_query_policy(field).value_or(QueryPolicy());
    if (!name) continue;
    draft.query_policies.add(std::move(*name), draft.shared_query.of(std::move(policy)),
                             "query policy", field);
  }
}

void read_response_policies(const Cursor& section, Draft& draft) {
  if (!section.expect(NodeKind::map, "a map from names to response policies")) return;
  for (const Cursor& field : section.fields()) {
    auto name = field.key_name();
    ResponsePolicy policy = read_response_policy(field).value_or(default_response());
    if (!name) continue;
    draft.response_policies.add(std::move(*name), draft.shared_response.of(std::move(policy)),
                                "response policy", field);
  }
}

void read_free_policies(const Cursor& section, Draft& draft) {
  if (!section.expect(NodeKind::map, "a map from names to free policies")) return;
  for (const Cursor& field : section.fields()) {
    auto name = field.key_name();
    if (name && *name == "none") {
      field.report_key(Rule::bad_name, {*name, "a name other than `none`"});
      continue;
    }
    FreePolicy policy = read_free_policy(field);
    if (!name) continue;
    policy.policy_key = *name;
    draft.free_policies.add(std::move(*name), std::move(policy), "free policy", field);
  }
}

void read_path_parameters(const Cursor& value, Matcher& matcher) {
  if (!value.expect(NodeKind::map, "a map from path parameters to their types")) return;
  constexpr std::string_view types[] = {"string", "integer", "boolean", "number"};
  for (const Cursor& field : value.fields()) {
    const auto segment = std::find_if(
        matcher.segments.begin(), matcher.segments.end(),
        [&](const Segment& known) { return known.is_parameter && known.text == field.key(); });
    if (segment == matcher.segments.end()) {
      field.report_key(Rule::not_in_path, {field.key()});
    }
    if (!field.map_of({"type", "bytes", "range", "values"})) continue;
    auto constraint = read_constraint(field, types);
    if (constraint && segment != matcher.segments.end()) {
      segment->constraint = std::make_shared<const Constraint>(std::move(*constraint));
    }
  }
}

std::shared_ptr<const QueryPolicy> read_query(const Cursor& value, Draft& draft) {
  if (value.kind() == NodeKind::map) {
    return draft.shared_query.of(read_query_policy(value).value_or(QueryPolicy()));
  }
  if (value.kind() == NodeKind::scalar && value.raw_text() == "deny") {
    QueryPolicy policy;
    policy.max_encoded_bytes = limits::declared_query_bytes_max;
    return draft.shared_query.of(std::move(policy));
  }
  const std::uint32_t* found = draft.query_policies.resolve(value, "query policy");
  return found == nullptr ? draft.shared_query.of(QueryPolicy())
                          : draft.query_policies.entries()[*found].value;
}

std::shared_ptr<const BodyPolicy> read_body(const Cursor& value, Draft& draft) {
  constexpr std::string_view forbidden[] = {"forbidden"};
  BodyPolicy policy;
  if (value.kind() == NodeKind::scalar) {
    static_cast<void>(value.one_of(forbidden));
    return draft.shared_body.of(std::move(policy));
  }
  if (value.map_of({"max_bytes", "media_types", "required"})) {
    policy.forbidden = false;
    policy.max_bytes = limits::request_body_bytes_max;
    if (const auto bytes = value.find("max_bytes")) {
      policy.max_bytes = static_cast<std::uint32_t>(
          bytes->integer({1, limits::long_body_bytes_max}).value_or(0));
    }
    if (const auto types = value.need("media_types", "the media types a body may have")) {
      policy.media_types =
          read_set<std::string>(*types, read_media_type).value_or(std::vector<std::string>());
    }
    if (const auto required = value.find("required")) {
      policy.required = required->boolean().value_or(false);
    }
  }
  return draft.shared_body.of(std::move(policy));
}

std::shared_ptr<const ResponsePolicy> read_response(const Cursor& value, Draft& draft) {
  if (value.kind() == NodeKind::map) {
    return draft.shared_response.of(read_response_policy(value).value_or(default_response()));
  }
  const std::uint32_t* found = draft.response_policies.resolve(value, "response policy");
  return found == nullptr ? draft.shared_response.of(default_response())
                          : draft.response_policies.entries()[*found].value;
}

}  // namespace turnpike::registry

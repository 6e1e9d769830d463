#include "hosts/mcp/tool_call.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <variant>

#include "base/limits.h"
#include "base/strict_object.h"
#include "catalog/tool_schema.h"
#include "registry/policy.h"
#include "registry/reader.h"
#include "text/http_field.h"
#include "text/json_pointer.h"
#include "text/uri.h"

namespace turnpike::hosts::mcp {
namespace {

using nlohmann::json;

constexpr std::int64_t exact_in_double = std::int64_t{1} << 53;

using text::append_percent_encoded;  // also keeps values from being read as `:free`

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : ", ").append(name);
  return out;
}

// The problem of an argument, and its fix.
struct Fault {
  std::string problem;
  std::string fix;
};
using Text = Result<std::string, Fault>;

Fault wrong_type(const json& value, std::string fix) {
  return {std::string("has the type ") + value.type_name(), std::move(fix)};
}

// Renders the text of a value in a query.
struct QueryText {
  const json& value;

  Text operator()(const registry::StringConstraint&) const {
    if (const auto* text = value.get_ptr<const std::string*>()) return *text;
    return wrong_type(value, "give a string");
  }
  Text operator()(const registry::IntegerConstraint&) const {
    if (value.is_number_integer()) return value.dump();
    const auto* const digits = value.get_ptr<const std::string*>();
    if (digits != nullptr && registry::decimal_integer(*digits)) return *digits;
    if (!value.is_number()) return wrong_type(value, "give an integer, without quotes");
    const double number = value.get<double>();  // 42.0 is an integer, too
    if (std::trunc(number) == number && std::abs(number) <= exact_in_double) {
      return std::to_string(static_cast<std::int64_t>(number));
    }
    return Fault{"is no integer", "give an integer"};
  }
  Text operator()(const registry::NumberConstraint&) const {
    if (value.is_number()) return value.dump();
    const auto* const digits = value.get_ptr<const std::string*>();
    if (digits != nullptr && registry::decimal_number(*digits)) return *digits;
    return wrong_type(value, "give a number, without quotes");
  }
  Text operator()(const registry::BooleanConstraint&) const {
    if (value.is_boolean()) return std::string(value.get<bool>() ? "true" : "false");
    if (value == "true" || value == "false") return value.get<std::string>();
    return wrong_type(value, "give true or false, without quotes");
  }
  Text operator()(const registry::CommaListConstraint& constraint) const {
    const std::string fix = "give a list of " + std::to_string(constraint.min_items) + " to " +
                            std::to_string(constraint.max_items) + " strings";
    if (!value.is_array()) return wrong_type(value, fix);
    if (value.empty()) return Fault{"is empty", fix};
    std::string text;
    for (const json& item : value) {
      const auto* word = item.get_ptr<const std::string*>();
      if (word == nullptr) return Fault{"holds what is no string", fix};
      if (word->find(',') != word->npos) return Fault{"holds an item with a comma", fix};
      if (&item != &value.front()) text += ',';
      text += *word;
    }
    return text;
  }
};

class ToolCallReader {
 public:
  ToolCallReader(const registry::Program& program, const registry::Tool& tool,
                 const json& arguments, std::string_view body_text)
      : program_(program),
        tool_(tool),
        route_(program.routes()[program.operations()[tool.operation].route]),
        query_(*program.operations()[tool.operation].query),
        body_types_(catalog::body_types_of(program, tool)),
        arguments_(arguments),
        body_text_(body_text) {}

  ReadToolCall read() {
    if (!arguments_.is_object()) {
      report("", {"is no object", "give the arguments as an object"});
      return std::move(problems_);
    }
    refuse_unknown();
    read_path();
    read_query();
    read_body();
    read_idempotency_key();
    if (!problems_.empty()) return std::move(problems_);
    return std::move(call_);
  }

 private:
  void report(std::string location, Fault fault) {
    if (problems_.size() >= tool_problems_max) return;
    problems_.push_back({std::move(location), std::move(fault.problem), std::move(fault.fix)});
  }
  void report_argument(std::string_view name, Fault fault) {
    report(base::pointer_to(name), std::move(fault));
  }

  [[nodiscard]] const json* given(std::string_view name) const {
    const auto found = arguments_.find(name);
    return found == arguments_.end() || found->is_null() ? nullptr : &*found;
  }
  // Returns a string argument, or null; reports a value that is not a string.
  const std::string* given_text(std::string_view name) {
    const json* const value = given(name);
    if (value == nullptr) return nullptr;
    const auto* const text = value->get_ptr<const std::string*>();
    if (text == nullptr) report_argument(name, wrong_type(*value, "give a string"));
    return text;
  }

  void refuse_unknown();
  void read_path();
  void read_segment(const registry::Segment& segment, const json& value);
  void check_segment(const registry::Segment& segment, std::string_view value);
  void check_path();
  void read_query();
  void append_pair(const registry::QueryParameter& parameter, std::string_view text);
  void check_query(const std::vector<std::string_view>& mistyped);
  void read_body();
  [[nodiscard]] const std::string* read_body_type();
  void read_idempotency_key();

  const registry::Program& program_;
  const registry::Tool& tool_;
  const registry::Route& route_;
  const registry::QueryPolicy& query_;
  const std::vector<std::string> body_types_;
  const json& arguments_;
  const std::string_view body_text_;
  ToolCall call_;
  std::vector<base::FieldProblem> problems_;
};

void ToolCallReader::refuse_unknown() {
  std::vector<std::string> known;
  for (const registry::Segment& segment : route_.matcher.segments) {
    if (segment.is_parameter) known.push_back(segment.text);
  }
  for (const registry::QueryParameter& parameter : query_.parameters) {
    if (!tool_.fixed.contains(parameter.name)) known.push_back(parameter.name);
  }
  if (!body_types_.empty()) known.emplace_back(registry::body_argument);
  if (body_types_.size() > 1) known.emplace_back(registry::content_type_argument);
  known.emplace_back(registry::idempotency_key_argument);
  for (const auto& [name, value] : arguments_.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    report_argument(
        name, {"is no argument of this tool", "leave it out; the arguments are " + listed(known)});
  }
}

void ToolCallReader::check_segment(const registry::Segment& segment, std::string_view value) {
  if (value.empty()) {
    report_argument(segment.text, {"is empty", "give at least one character"});
  } else if (value == "." || value == "..") {
    report_argument(segment.text, {"is a dot segment", "give the name of something"});
  } else if (value.find('\0') != value.npos) {
    report_argument(segment.text, {"holds a NUL", "leave it out"});
  } else if (!segment.allows_slash && value.find_first_of("/\\") != value.npos) {
    report_argument(segment.text, {"holds a slash", "give one segment of a path"});
  } else if (auto problem = registry::check_segment(segment, value)) {
    report_argument(segment.text, {std::move(problem->problem), std::move(problem->fix)});
  }
}

void ToolCallReader::read_segment(const registry::Segment& segment, const json& value) {
  static const registry::Constraint any_text = registry::StringConstraint();
  const auto& constraint = segment.constraint ? *segment.constraint : any_text;
  Text text = std::visit(QueryText{value}, constraint);
  if (!text.ok()) return report_argument(segment.text, std::move(text).error());
  check_segment(segment, *text);
  append_percent_encoded(call_.path, *text);
}

void ToolCallReader::read_path() {
  const std::size_t problems_before = problems_.size();
  std::string_view pattern = route_.matcher.pattern;
  for (const registry::Segment& segment : route_.matcher.segments) {
    const std::size_t end = std::min(pattern.find('/', 1), pattern.size());
    const std::string_view as_written = pattern.substr(0, end);
    pattern.remove_prefix(end);
    if (!segment.is_parameter) {
      call_.path += as_written;
      continue;
    }
    call_.path += '/';
    if (const json* const value = given(segment.text)) {
      read_segment(segment, *value);
    } else {
      report_argument(segment.text, {"is missing", "it is required"});
    }
  }
  if (problems_.size() == problems_before) check_path();
  if (tool_.is_free) call_.path += ":free";
}

// A value may equal a literal of a more specific route, which is another operation at another
// price.
void ToolCallReader::check_path() {
  constexpr std::size_t bytes_max = base::limits::request_path_bytes_max;
  if (call_.path.size() > bytes_max) {
    return report("", {"make a path of " + std::to_string(call_.path.size()) + " bytes",
                       "give shorter values: the path may have " + std::to_string(bytes_max)});
  }
  const registry::Match match = program_.match(call_.path);
  call_.match = match;
  if (match.route == &route_) return;
  std::string location;
  std::string pattern = "none";
  if (match.route != nullptr) {
    pattern = match.route->matcher.pattern;
    const auto& segments = route_.matcher.segments;
    const auto& taken = match.route->matcher.segments;
    for (std::size_t at = 0; at < std::min(segments.size(), taken.size()); ++at) {
      if (!segments[at].is_parameter || taken[at].is_parameter) continue;
      location = base::pointer_to(segments[at].text);
      break;
    }
  }
  report(std::move(location),
         {"is the path of another route, " + pattern, "give another value, or run that route"});
}

void ToolCallReader::read_query() {
  std::vector<std::string_view> mistyped;
  for (const registry::QueryParameter& parameter : query_.parameters) {
    if (const auto fixed = tool_.fixed.find(parameter.name); fixed != tool_.fixed.end()) {
      append_pair(parameter, fixed->second);
      continue;
    }
    const json* const value = given(parameter.name);
    if (value == nullptr) continue;
    Text text = std::visit(QueryText{*value}, parameter.constraint);
    if (text.ok()) {
      append_pair(parameter, *text);
    } else {
      report_argument(parameter.name, std::move(text).error());
      mistyped.push_back(parameter.name);
    }
  }
  check_query(mistyped);
}

// Commas between the items of a list are not encoded (OpenAPI: style form, not exploded).
void ToolCallReader::append_pair(const registry::QueryParameter& parameter, std::string_view text) {
  if (!call_.query.empty()) call_.query += '&';
  append_percent_encoded(call_.query, parameter.name);
  call_.query += '=';
  if (!std::holds_alternative<registry::CommaListConstraint>(parameter.constraint)) {
    return append_percent_encoded(call_.query, text);
  }
  std::size_t end = text.find(',');
  for (; end != text.npos; end = text.find(',')) {
    append_percent_encoded(call_.query, text.substr(0, end));
    call_.query += ',';
    text.remove_prefix(end + 1);
  }
  append_percent_encoded(call_.query, text);
}

// A parameter that was dropped for its type is not missing, and rules about it are not checked.
void ToolCallReader::check_query(const std::vector<std::string_view>& mistyped) {
  constexpr std::string_view prefix = "query.";
  for (base::FieldProblem& problem : registry::check_query(query_, call_.query)) {
    Fault fault{std::move(problem.problem), std::move(problem.fix)};
    if (!problem.location.starts_with(prefix)) {
      if (mistyped.empty()) report("", std::move(fault));
      continue;
    }
    const std::string_view name = std::string_view(problem.location).substr(prefix.size());
    if (std::find(mistyped.begin(), mistyped.end(), name) != mistyped.end()) continue;
    report_argument(name, std::move(fault));
  }
}

const std::string* ToolCallReader::read_body_type() {
  if (body_types_.size() < 2) return &body_types_.front();
  if (given(registry::content_type_argument) == nullptr) {
    return &catalog::default_body_type(body_types_);
  }
  const std::string* const wanted = given_text(registry::content_type_argument);
  if (wanted == nullptr) return nullptr;
  const auto found = std::find(body_types_.begin(), body_types_.end(), *wanted);
  if (found != body_types_.end()) return &*found;
  report_argument(registry::content_type_argument,
                  {"is not allowed here", "give one of " + listed(body_types_)});
  return nullptr;
}

void ToolCallReader::read_body() {
  if (body_types_.empty()) return;
  const std::string* const type = read_body_type();
  const json* const value = given(registry::body_argument);
  if (type == nullptr) return;
  if (value == nullptr) {
    if (route_.body->required) {
      report_argument(registry::body_argument, {"is missing", "it is required"});
    }
    return;
  }
  const auto* const text = value->get_ptr<const std::string*>();
  std::string body = text != nullptr ? *text : std::string();
  if (!catalog::is_json_type(*type)) {
    if (text == nullptr) {
      return report_argument(registry::body_argument,
                             wrong_type(*value, "give the text of the body as a string"));
    }
  } else if (text == nullptr) {
    body = body_text_;  // re-rendering could change a number
  } else if (static const auto whole = text::JsonPointer::parse("");
             !body.empty() && text::point(body, *whole) == text::Pointed::malformed) {
    // Models often send JSON as text; text also preserves numbers exactly.
    return report_argument(registry::body_argument,
                           {"is a string that holds no JSON", "give a JSON value"});
  }
  if (body.empty()) {
    if (route_.body->required) report_argument(registry::body_argument, {"is empty", "give one"});
    return;
  }
  auto problems = registry::check_body(*route_.body, *type, body.size());
  for (base::FieldProblem& problem : problems) {
    report_argument(registry::body_argument, {std::move(problem.problem), std::move(problem.fix)});
  }
  call_.body = std::move(body);
  call_.content_type = *type;
}

void ToolCallReader::read_idempotency_key() {
  const std::string* const key = given_text(registry::idempotency_key_argument);
  if (key == nullptr) return;
  constexpr std::size_t bytes_max = base::limits::idempotency_key_bytes_max;
  if (key->empty() || key->size() > bytes_max || !text::is_visible_ascii(*key)) {
    report_argument(registry::idempotency_key_argument,
                    {"is not in its form",
                     "give 1 to " + std::to_string(bytes_max) + " visible ASCII characters"});
  }
  call_.idempotency_key = *key;
}

}  // namespace

ReadToolCall read_tool_call(const registry::Program& program, const registry::Tool& tool,
                            const json& arguments, std::string_view body_text) {
  return ToolCallReader(program, tool, arguments, body_text).read();
}

}  // namespace turnpike::hosts::mcp

#include "registry/policy.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "registry/reader.h"
#include "text/canonical_json.h"
#include "text/http_field.h"

namespace turnpike::registry {
namespace {

using base::FieldProblem;

// Collects problems up to the bound, and tells whether there is room for more.
class Findings {
 public:
  void add(std::string_view name, std::string problem, std::string fix) {
    if (full()) return;
    constexpr std::size_t name_bytes_max = 128;
    std::string location = "query";
    if (!name.empty()) location.append(".").append(name.substr(0, name_bytes_max));
    found_.push_back({std::move(location), std::move(problem), std::move(fix)});
  }
  [[nodiscard]] bool full() const noexcept { return found_.size() >= policy_problems_max; }
  [[nodiscard]] std::vector<FieldProblem> take() { return std::move(found_); }

 private:
  std::vector<FieldProblem> found_;
};

// Decodes a form-encoded word (WHATWG URL, application/x-www-form-urlencoded): '+' is a blank.
// Escapes are valid, since the query as a whole was checked; any other character stays.
std::string_view decoded(std::string_view word, std::string& room) {
  if (word.find_first_of("%+") == word.npos) return word;
  const auto value_of = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  room.clear();
  for (std::size_t at = 0; at < word.size(); ++at) {
    if (word[at] == '+') {
      room.push_back(' ');
    } else if (word[at] == '%' && at + 2 < word.size()) {
      room.push_back(static_cast<char>(value_of(word[at + 1]) << 4 | value_of(word[at + 2])));
      at += 2;
    } else {
      room.push_back(word[at]);
    }
  }
  return room;
}

std::string listing(const std::vector<std::string>& values) {
  constexpr std::size_t shown_max = 32;
  std::string out;
  for (std::size_t at = 0; at < values.size() && at < shown_max; ++at) {
    out += (at == 0 ? "" : ", ") + values[at];
  }
  return values.size() > shown_max ? out + ", ..." : out;
}

bool contains(const std::vector<std::string>& sorted, std::string_view value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

// The fault of a value, if any; keeps the parsed number for the rules.
struct Fault {
  std::string problem;
  std::string fix;
};
using MaybeFault = std::optional<Fault>;

MaybeFault check_value(const StringConstraint& constraint, std::string_view value, double&) {
  if (value.size() < constraint.min_bytes || value.size() > constraint.max_bytes) {
    return Fault{"has " + std::to_string(value.size()) + " bytes",
                 "give " + std::to_string(constraint.min_bytes) + " to " +
                     std::to_string(constraint.max_bytes) + " bytes"};
  }
  if (!constraint.allowed_values.empty() && !contains(constraint.allowed_values, value)) {
    return Fault{"is not an allowed value", "give one of " + listing(constraint.allowed_values)};
  }
  return std::nullopt;
}

MaybeFault check_value(const IntegerConstraint& constraint, std::string_view value,
                       double& number) {
  const std::optional<std::int64_t> read = decimal_integer(value);
  if (!read || *read < constraint.minimum || *read > constraint.maximum) {
    return Fault{read ? "is out of range" : "is no integer",
                 "give an integer from " + std::to_string(constraint.minimum) + " to " +
                     std::to_string(constraint.maximum)};
  }
  const auto& allowed = constraint.allowed_values;
  if (!allowed.empty() && !std::binary_search(allowed.begin(), allowed.end(), *read)) {
    std::vector<std::string> names;
    for (const std::int64_t known : allowed) names.push_back(std::to_string(known));
    return Fault{"is not an allowed value", "give one of " + listing(names)};
  }
  number = static_cast<double>(*read);  // exact: bounds are within what a double holds
  return std::nullopt;
}

std::string shown(double number) {
  std::string text;
  text::append_canonical_number(text, number);
  return text;
}

MaybeFault check_value(const NumberConstraint& constraint, std::string_view value, double& number) {
  const std::optional<double> read = decimal_number(value);
  if (!read || *read < constraint.minimum || *read > constraint.maximum) {
    return Fault{
        read ? "is out of range" : "is no number",
        "give a number from " + shown(constraint.minimum) + " to " + shown(constraint.maximum)};
  }
  number = *read;
  return std::nullopt;
}

MaybeFault check_value(const BooleanConstraint&, std::string_view value, double&) {
  if (value == "true" || value == "false") return std::nullopt;
  return Fault{"is no truth value", "give true or false"};
}

MaybeFault check_value(const CommaListConstraint& constraint, std::string_view value, double&) {
  // Marks the values seen, if they must be unique; there are at most 1,024.
  std::vector<bool> seen(constraint.unique ? constraint.allowed_values.size() : 0);
  std::size_t items = 0;
  for (std::string_view rest = value;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const auto known =
        std::lower_bound(constraint.allowed_values.begin(), constraint.allowed_values.end(), item);
    if (known == constraint.allowed_values.end() || *known != item) {
      return Fault{"holds an item that is not allowed",
                   "give items out of " + listing(constraint.allowed_values)};
    }
    const auto position = static_cast<std::size_t>(known - constraint.allowed_values.begin());
    if (constraint.unique && seen[position]) {
      return Fault{"holds \"" + *known + "\" twice", "give each item once"};
    }
    if (constraint.unique) seen[position] = true;
    ++items;
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (items >= constraint.min_items && items <= constraint.max_items) return std::nullopt;
  return Fault{"has " + std::to_string(items) + " items",
               "give " + std::to_string(constraint.min_items) + " to " +
                   std::to_string(constraint.max_items) + " items"};
}

MaybeFault check_value(const Constraint& constraint, std::string_view value, double& number) {
  return std::visit([&](const auto& kind) { return check_value(kind, value, number); }, constraint);
}

// The state of each declared parameter after one pass over the query.
struct Given {
  bool present = false;
  bool sound = false;
  double number = 0;
};

std::size_t position_of(const QueryPolicy& policy, std::string_view name) {
  const auto at = std::lower_bound(policy.parameters.begin(), policy.parameters.end(), name,
                                   [](const QueryParameter& parameter, std::string_view wanted) {
                                     return parameter.name < wanted;
                                   });
  const bool found = at != policy.parameters.end() && at->name == name;
  return found ? static_cast<std::size_t>(at - policy.parameters.begin())
               : policy.parameters.size();
}

void check_pair(const QueryPolicy& policy, std::string_view pair, std::vector<Given>& given,
                Findings& findings) {
  std::string name_room;
  std::string value_room;
  const std::size_t equals = pair.find('=');
  const std::string_view name = decoded(pair.substr(0, equals), name_room);
  const std::string_view value =
      equals == pair.npos ? std::string_view() : decoded(pair.substr(equals + 1), value_room);
  const std::size_t position = position_of(policy, name);
  if (position == policy.parameters.size()) {
    std::vector<std::string> declared;
    for (const QueryParameter& known : policy.parameters) declared.push_back(known.name);
    findings.add(name, "is no parameter that the operation declares",
                 declared.empty() ? "leave it out" : "give only: " + listing(declared));
    return;
  }
  const QueryParameter& parameter = policy.parameters[position];
  if (given[position].present) {
    findings.add(parameter.name, "is given twice", "give it once");
    return;
  }
  given[position].present = true;
  MaybeFault fault = check_value(parameter.constraint, value, given[position].number);
  given[position].sound = !fault;
  if (fault) findings.add(parameter.name, std::move(fault->problem), std::move(fault->fix));
}

void check_rule(const QueryPolicy& policy, const AtLeastOne& rule, const std::vector<Given>& given,
                Findings& findings) {
  for (const std::string& name : rule.parameters) {
    if (given[position_of(policy, name)].present) return;
  }
  findings.add({}, "has none of " + listing(rule.parameters), "give at least one of them");
}

void check_rule(const QueryPolicy& policy, const IntegerComparison& rule,
                const std::vector<Given>& given, Findings& findings) {
  const Given& left = given[position_of(policy, rule.left)];
  const Given& right = given[position_of(policy, rule.right)];
  if (!left.sound || !right.sound || left.number < right.number) return;
  findings.add(rule.left, "is not less than " + rule.right,
               "give a " + rule.left + " below " + rule.right);
}

bool equal_without_case(std::string_view left, std::string_view lower) {
  return left.size() == lower.size() &&
         std::equal(left.begin(), left.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

}  // namespace

std::vector<FieldProblem> check_query(const QueryPolicy& policy, std::string_view query) {
  Findings findings;
  if (policy.deny) {
    if (!query.empty()) findings.add({}, "is not allowed here", "leave the query out");
    return findings.take();
  }
  if (query.size() > policy.max_encoded_bytes) {
    findings.add({}, "has " + std::to_string(query.size()) + " bytes",
                 "give at most " + std::to_string(policy.max_encoded_bytes) + " bytes");
    return findings.take();
  }
  std::vector<Given> given(policy.parameters.size());
  for (std::string_view rest = query; !rest.empty() && !findings.full();) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    if (!pair.empty()) check_pair(policy, pair, given, findings);
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
  }
  for (std::size_t at = 0; at < given.size(); ++at) {
    const QueryParameter& parameter = policy.parameters[at];
    if (parameter.required && !given[at].present) {
      findings.add(parameter.name, "is missing", "it is required");
    }
  }
  for (const QueryRule& rule : policy.rules) {
    std::visit([&](const auto& kind) { check_rule(policy, kind, given, findings); }, rule);
  }
  return findings.take();
}

std::optional<FieldProblem> check_parameter(const QueryParameter& parameter,
                                            std::string_view value) {
  double number = 0;
  MaybeFault fault = check_value(parameter.constraint, value, number);
  if (!fault) return std::nullopt;
  return FieldProblem{"query." + parameter.name, std::move(fault->problem), std::move(fault->fix)};
}

std::optional<FieldProblem> check_segment(const Segment& segment, std::string_view value) {
  if (!segment.constraint) return std::nullopt;
  double number = 0;
  MaybeFault fault = check_value(*segment.constraint, value, number);
  if (!fault) return std::nullopt;
  return FieldProblem{"path." + segment.text, std::move(fault->problem), std::move(fault->fix)};
}

std::vector<FieldProblem> check_body(const BodyPolicy& policy, std::string_view content_type,
                                     std::size_t body_bytes) {
  std::vector<FieldProblem> problems;
  if (body_bytes == 0) return problems;
  if (policy.forbidden) {
    problems.push_back({"body", "is not allowed here", "leave the body out"});
    return problems;
  }
  if (body_bytes > policy.max_bytes) {
    problems.push_back({"body", "has " + std::to_string(body_bytes) + " bytes",
                        "give at most " + std::to_string(policy.max_bytes) + " bytes"});
  }
  const std::string_view media_type = text::media_type_of(content_type);
  const bool known = std::any_of(
      policy.media_types.begin(), policy.media_types.end(),
      [&](const std::string& allowed) { return equal_without_case(media_type, allowed); });
  if (!known) {
    problems.push_back({"header.content-type", "is not an allowed media type",
                        "send " + listing(policy.media_types)});
  }
  return problems;
}

bool is_allowed_type(const std::vector<std::string>& allowed, std::string_view content_type) {
  const std::string_view type = text::media_type_of(content_type);
  const bool names_one = type.find('/') != type.npos;
  if (!names_one && !type.empty()) return false;
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& other) {
    return equal_without_case(names_one ? type : no_content_type, other);
  });
}

}  // namespace turnpike::registry

// check_query compared with a slow equivalent that reads the whole query into a list of pairs and
// checks each declaration in turn. They must agree on the places of problems.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "registry/policy.h"
#include "registry/program.h"

namespace turnpike::registry {
namespace {

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string form_decoded(const std::string& raw) {
  std::string out;
  for (std::size_t at = 0; at < raw.size(); ++at) {
    if (raw[at] == '%') {
      out += static_cast<char>(std::stoi(raw.substr(at + 1, 2), nullptr, 16));
      at += 2;
    } else {
      out += raw[at] == '+' ? ' ' : raw[at];
    }
  }
  return out;
}

bool among(const std::vector<std::string>& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool reads_as_integer(const std::string& text) {
  const std::string digits = text.substr(text.starts_with("-") ? 1 : 0);
  if (digits.empty() || digits.size() > 15) return false;
  if (digits.find_first_not_of("0123456789") != digits.npos) return false;
  return digits[0] != '0' || text == "0";
}

// Our numbers are those of JSON, so another JSON reader decides.
bool reads_as_number(const std::string& text) {
  return text.find_first_of(" \t\r\n") == text.npos &&
         nlohmann::json::parse(text, nullptr, false).is_number();
}

bool fits(const Constraint& constraint, const std::string& value) {
  if (const auto* text = std::get_if<StringConstraint>(&constraint)) {
    return value.size() >= text->min_bytes && value.size() <= text->max_bytes &&
           (text->allowed_values.empty() || among(text->allowed_values, value));
  }
  if (const auto* integer = std::get_if<IntegerConstraint>(&constraint)) {
    if (!reads_as_integer(value)) return false;
    const std::int64_t number = std::stoll(value);
    const auto& allowed = integer->allowed_values;
    return number >= integer->minimum && number <= integer->maximum &&
           (allowed.empty() || std::find(allowed.begin(), allowed.end(), number) != allowed.end());
  }
  if (std::holds_alternative<BooleanConstraint>(constraint)) {
    return value == "true" || value == "false";
  }
  if (const auto* number = std::get_if<NumberConstraint>(&constraint)) {
    return reads_as_number(value) && std::stod(value) >= number->minimum &&
           std::stod(value) <= number->maximum;
  }
  const auto& list = std::get<CommaListConstraint>(constraint);
  const std::vector<std::string> items = parts_of(value, ',');
  const std::set<std::string> different(items.begin(), items.end());
  return std::all_of(items.begin(), items.end(),
                     [&](const std::string& item) { return among(list.allowed_values, item); }) &&
         items.size() >= list.min_items && items.size() <= list.max_items &&
         (!list.unique || different.size() == items.size());
}

std::multiset<std::string> slow_check(const QueryPolicy& policy, const std::string& query) {
  std::multiset<std::string> problems;
  if (policy.deny) {
    if (!query.empty()) problems.insert("query");
    return problems;
  }
  if (query.size() > policy.max_encoded_bytes) return {"query"};
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& pair : parts_of(query, '&')) {
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    pairs.emplace_back(form_decoded(pair.substr(0, equals)),
                       equals == pair.npos ? "" : form_decoded(pair.substr(equals + 1)));
  }
  std::map<std::string, std::string> first;
  std::map<std::string, bool> sound;
  for (const auto& [name, value] : pairs) {
    const QueryParameter* declared = nullptr;
    for (const QueryParameter& parameter : policy.parameters) {
      if (parameter.name == name) declared = &parameter;
    }
    if (declared == nullptr) {
      problems.insert(name.empty() ? "query" : "query." + name);
    } else if (first.contains(name)) {
      problems.insert("query." + name);
    } else {
      first[name] = value;
      sound[name] = fits(declared->constraint, value);
      if (!sound[name]) problems.insert("query." + name);
    }
  }
  for (const QueryParameter& parameter : policy.parameters) {
    if (parameter.required && !first.contains(parameter.name)) {
      problems.insert("query." + parameter.name);
    }
  }
  for (const QueryRule& rule : policy.rules) {
    if (const auto* any = std::get_if<AtLeastOne>(&rule)) {
      bool found = false;
      for (const std::string& name : any->parameters) found = found || first.contains(name);
      if (!found) problems.insert("query");
    } else {
      const auto& less = std::get<IntegerComparison>(rule);
      if (sound[less.left] && sound[less.right] &&
          std::stod(first[less.left]) >= std::stod(first[less.right])) {
        problems.insert("query." + less.left);
      }
    }
  }
  return problems;
}

QueryPolicy sample_policy(std::mt19937& random) {
  QueryPolicy policy;
  policy.deny = random() % 20 == 0;
  policy.max_encoded_bytes = 20 + random() % 200;
  const auto flag = [&] { return random() % 2 == 0; };
  policy.parameters = {
      {"flag", flag(), BooleanConstraint{}},
      {"from", flag(), IntegerConstraint{0, 20, {}}},
      {"list", flag(), CommaListConstraint{{"a", "b", "c"}, flag() ? 1u : 2u, 3, flag()}},
      {"pick", false, IntegerConstraint{-5, 9, {-5, 0, 9}}},
      {"ratio", flag(), NumberConstraint{-5, 9.5}},
      {"text", false, StringConstraint{static_cast<std::uint32_t>(random() % 3), 4, {}}},
      {"to", flag(), IntegerConstraint{0, 20, {}}},
      {"word", false, StringConstraint{1, 2, {"a", "bc"}}}};
  if (flag()) policy.rules.push_back(IntegerComparison{"from", "to"});
  if (flag()) policy.rules.push_back(IntegerComparison{"ratio", "from"});
  if (flag()) policy.rules.push_back(AtLeastOne{{"text", "word"}});
  return policy;
}

std::string sample_query(std::mt19937& random) {
  const std::string names[] = {"flag", "from",  "list",   "pick", "text", "to",
                               "word", "other", "te%78t", "",     "to+",  "ratio"};
  const std::string values[] = {"true",
                                "false",
                                "0",
                                "7",
                                "20",
                                "21",
                                "-5",
                                "9",
                                "007",
                                "+1",
                                "-0",
                                "9.5",
                                "9.51",
                                "-5e0",
                                "1.",
                                ".5",
                                "1e-2",
                                "a",
                                "bc",
                                "a,b",
                                "a,a",
                                "a,b,c,a",
                                "",
                                "%61",
                                "%2C",
                                "a%2cb",
                                "x+y",
                                "a,",
                                "99999999999999999999",
                                "%E2%82%AC"};
  std::string query;
  const std::size_t pairs = random() % 8;
  for (std::size_t at = 0; at < pairs; ++at) {
    if (at > 0) query += "&";
    query += names[random() % std::size(names)];
    if (random() % 10 != 0) query += "=" + values[random() % std::size(values)];
  }
  return query;
}

TEST(PolicyOracle, AgreesOnWhereTheProblemsAre) {
  std::mt19937 random(20'261'121);
  std::size_t sound = 0;
  for (int attempt = 0; attempt < 200'000; ++attempt) {
    const QueryPolicy policy = sample_policy(random);
    const std::string query = sample_query(random);
    std::multiset<std::string> found;
    for (const base::FieldProblem& problem : check_query(policy, query)) {
      EXPECT_FALSE(problem.problem.empty());
      EXPECT_FALSE(problem.fix.empty());
      found.insert(problem.location);
    }
    ASSERT_EQ(found, slow_check(policy, query)) << query;
    sound += found.empty() ? 1 : 0;
  }
  EXPECT_GT(sound, 500u);  // both verdicts must occur
}

TEST(PolicyOracle, AgreesOnEveryShortQuery) {
  std::mt19937 random(7);
  const QueryPolicy policy = sample_policy(random);
  const std::string alphabet = "ato=&,1-+";
  std::vector<std::string> queries = {""};
  for (std::size_t first = 0, length = 0; length < 5; ++length) {
    const std::size_t end = queries.size();
    for (; first < end; ++first) {
      for (const char c : alphabet) queries.push_back(queries[first] + c);
    }
  }
  for (const std::string& query : queries) {
    std::multiset<std::string> found;
    for (const base::FieldProblem& problem : check_query(policy, query)) {
      found.insert(problem.location);
    }
    ASSERT_EQ(found, slow_check(policy, query)) << query;
  }
}

}  // namespace
}  // namespace turnpike::registry

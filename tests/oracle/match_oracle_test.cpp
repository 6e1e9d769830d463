// Program::match and the ambiguity check compared with slow equivalents: every pattern of a set is
// tried in turn, every pair of patterns is compared.
#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "registry/compile.h"
#include "registry/program.h"
#include "registry/programs.h"

namespace turnpike::registry {
namespace {

std::vector<std::string> cut(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '/') {
      parts.push_back(part);
      part.clear();
    } else {
      part += text[at];
    }
  }
  parts.push_back(part);
  return parts;
}

bool is_parameter(const std::string& segment) { return segment.front() == '{'; }

std::optional<std::string> slow_decode(const std::string& raw) {
  std::string out;
  for (std::size_t at = 0; at < raw.size(); ++at) {
    if (raw[at] != '%') {
      out += raw[at];
      continue;
    }
    const std::string digits = raw.substr(at + 1, 2);
    if (digits.size() != 2 || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos) {
      return std::nullopt;
    }
    const int value = std::stoi(digits, nullptr, 16);
    if (value == 0) return std::nullopt;
    out += static_cast<char>(value);
    at += 2;
  }
  return out;
}

// Patterns are whole paths with {name} segments. `slashes_allowed`: parameters may contain a slash.
struct SlowMatch {
  MatchStatus status = MatchStatus::not_found;
  int pattern = -1;
  std::vector<std::string> parameters;  // not decoded
};

SlowMatch slow_match(const std::vector<std::string>& patterns, const std::string& path,
                     bool slashes_allowed) {
  SlowMatch result;
  const std::vector<std::string> raw = cut(path);
  std::vector<std::string> decoded;
  for (const std::string& segment : raw) {
    const auto value = slow_decode(segment);
    if (!value || *value == "." || *value == "..") {
      result.status = MatchStatus::path_malformed;
      return result;
    }
    decoded.push_back(*value);
  }
  if (std::find(decoded.begin(), decoded.end(), "") != decoded.end()) return result;
  std::size_t fewest = 1'000;
  for (std::size_t at = 0; at < patterns.size(); ++at) {
    const std::vector<std::string> pattern = cut(patterns[at]);
    if (pattern.size() != decoded.size()) continue;
    bool matches = true;
    bool has_slash = false;
    std::vector<std::string> parameters;
    for (std::size_t part = 0; part < pattern.size(); ++part) {
      if (is_parameter(pattern[part])) {
        parameters.push_back(raw[part]);
        has_slash = has_slash || decoded[part].find_first_of("/\\") != std::string::npos;
      } else {
        matches = matches && pattern[part] == decoded[part];
      }
    }
    if (!matches || parameters.size() >= fewest) continue;
    fewest = parameters.size();
    const bool refused = has_slash && !slashes_allowed;
    result = {refused ? MatchStatus::path_malformed : MatchStatus::found,
              refused ? -1 : static_cast<int>(at),
              refused ? std::vector<std::string>() : parameters};
  }
  return result;
}

bool matches_pattern(const std::string& pattern, const std::string& path) {
  return slow_match({pattern}, path, false).status == MatchStatus::found;
}

// Whether some path matches both, and each matches paths that the other does not.
bool conflict(const std::string& left, const std::string& right) {
  const auto a = cut(left);
  const auto b = cut(right);
  if (a.size() != b.size()) return false;
  bool left_wider = false;
  bool right_wider = false;
  for (std::size_t at = 0; at < a.size(); ++at) {
    if (!is_parameter(a[at]) && !is_parameter(b[at]) && a[at] != b[at]) return false;
    left_wider = left_wider || (is_parameter(a[at]) && !is_parameter(b[at]));
    right_wider = right_wider || (is_parameter(b[at]) && !is_parameter(a[at]));
  }
  return left_wider == right_wider;
}

void expect_same(const Program& program, const std::vector<std::string>& patterns,
                 const std::string& path, bool slashes_allowed) {
  const Match match = program.match(path);
  const SlowMatch slow = slow_match(patterns, path, slashes_allowed);
  ASSERT_EQ(match.status, slow.status) << path;
  if (slow.status != MatchStatus::found) return;
  ASSERT_EQ(match.route->matcher.pattern, patterns[static_cast<std::size_t>(slow.pattern)]) << path;
  ASSERT_EQ(match.parameter_count, slow.parameters.size()) << path;
  for (std::size_t at = 0; at < slow.parameters.size(); ++at) {
    ASSERT_EQ(path.substr(match.parameters[at].offset, match.parameters[at].length),
              slow.parameters[at]);
  }
}

const std::string base = "/v1/gateway/t";

// Every pattern of one to three segments over {a, b, parameter}: 3 + 9 + 27.
std::vector<std::string> all_patterns() {
  const std::string words[] = {"a", "b", "{p}"};
  std::vector<std::string> out;
  std::vector<std::string> grown = {""};
  for (int length = 1; length <= 3; ++length) {
    std::vector<std::string> next;
    for (const std::string& prefix : grown) {
      for (const std::string& word : words) {
        const std::string name = word == "{p}" ? "{p" + std::to_string(length) + "}" : word;
        next.push_back(prefix + "/" + name);
      }
    }
    out.insert(out.end(), next.begin(), next.end());
    grown = next;
  }
  return out;
}

// Every path of up to three segments over error-prone words.
std::vector<std::string> all_paths() {
  const std::string words[] = {"a",   "b",   "c", "",       "%61", "%2F", "a%2fb",
                               "%zz", "%00", ".", "%2e%2E", "a%",  "\\",  "..a"};
  std::vector<std::string> out;
  std::vector<std::string> grown = {""};
  for (int length = 1; length <= 3; ++length) {
    std::vector<std::string> next;
    for (const std::string& prefix : grown) {
      for (const std::string& word : words) next.push_back(prefix + "/" + word);
    }
    for (const std::string& path : next) out.push_back(base + path);
    grown = next;
  }
  return out;
}

class MatchOracle : public ::testing::TestWithParam<unsigned> {};

TEST_P(MatchOracle, AgreesOnEveryPathOfSomeSetsOfPatterns) {
  std::mt19937 random(GetParam());
  const std::vector<std::string> candidates = all_patterns();
  const std::vector<std::string> paths = all_paths();
  std::vector<std::string> patterns;
  std::string text = preamble + "routes:\n";
  const bool slashes = random() % 2 == 0;
  const std::size_t wanted = 1 + random() % 16;
  for (int attempt = 0; attempt < 200 && patterns.size() < wanted; ++attempt) {
    const std::string& one = candidates[random() % candidates.size()];
    const std::string whole = base + one;
    if (std::any_of(patterns.begin(), patterns.end(),
                    [&](const std::string& known) { return conflict(known, whole); })) {
      continue;
    }
    patterns.push_back(whole);
    text += "  - path: \"" + one + "\"\n";
    if (!slashes) continue;
    text += "    allow_slash: [";
    for (int name = 1; name <= 3; ++name) {
      const std::string parameter = "p" + std::to_string(name);
      if (one.find("{" + parameter + "}") != one.npos) text += parameter + ", ";
    }
    text += "]\n";
  }
  const auto program = program_of(text);
  for (const std::string& path : paths) expect_same(*program, patterns, path, slashes);
}

TEST_P(MatchOracle, FindsAnAmbiguityWhereverThereIsOne) {
  std::mt19937 random(GetParam() + 1'000);
  const std::vector<std::string> candidates = all_patterns();
  std::vector<std::string> chosen;
  for (int at = 0; at < 5; ++at) chosen.push_back(candidates[random() % candidates.size()]);
  bool expected = false;
  for (std::size_t left = 0; left < chosen.size(); ++left) {
    for (std::size_t right = left + 1; right < chosen.size(); ++right) {
      expected = expected || conflict(base + chosen[left], base + chosen[right]);
    }
  }
  const Compiled result = compiled(routes_text(chosen));
  ASSERT_EQ(!result.ok(), expected) << routes_text(chosen);
  if (result) return;
  for (const Problem& problem : result.error()) {
    if (problem.rule != "ambiguous_route") {
      EXPECT_EQ(problem.rule, "duplicate_route");
      continue;
    }
    const std::string witness = problem.message.substr(problem.message.rfind(' ') + 1);
    const auto matching = std::count_if(
        chosen.begin(), chosen.end(),
        [&](const std::string& pattern) { return matches_pattern(base + pattern, witness); });
    EXPECT_GE(matching, 2) << problem.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MatchOracle, ::testing::Range(0u, 60u));

TEST(MatchOracleRandom, AgreesOnLongPathsOfManyRoutes) {
  std::mt19937 random(42);
  const auto word = [&] {
    return "w" + std::string(random() % 20, 'x') + std::to_string(random() % 9);
  };
  std::vector<std::string> patterns;
  std::vector<std::string> relative;
  while (patterns.size() < 150) {
    std::string one;
    const std::size_t length = 1 + random() % 9;
    const std::size_t variant = random() % 6;  // a few shapes for each length
    for (std::size_t at = 0; at < length; ++at) {
      one += (at * 7 + variant) % 6 < 2 ? "/{p" + std::to_string(at) + "}" : "/" + word();
    }
    if (std::any_of(patterns.begin(), patterns.end(),
                    [&](const std::string& known) { return conflict(known, base + one); })) {
      continue;
    }
    patterns.push_back(base + one);
    relative.push_back(one);
  }
  const auto program = program_of(routes_text(relative));
  for (int attempt = 0; attempt < 2'000; ++attempt) {
    std::string path;
    for (const std::string& segment : cut(patterns[random() % patterns.size()])) {
      path += "/" + (is_parameter(segment) || random() % 30 == 0 ? word() : segment);
      if (random() % 100 == 0) path += "%2";
      if (random() % 50 == 0) path += "%41";
    }
    expect_same(*program, patterns, path, false);
  }
}

}  // namespace
}  // namespace turnpike::registry

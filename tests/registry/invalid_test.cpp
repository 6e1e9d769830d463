// Every way to be wrong has a fixture in tests/fixtures/registry/invalid. Its first lines are
//   # expect: LINE:COLUMN: PATH: MESSAGE        one for each problem, in the order of reporting
// then, if needed,
//   # installed: KEY DIGEST                     a fact of an earlier program
//   # plugins: NAME NAME                        the plugins that are loaded
// `#--- NAME` starts another file of the same program; problems in it are expected as NAME:LINE:...
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "registry/compile.h"
#include "registry/problems.h"
#include "support/paths.h"

namespace turnpike::registry {
namespace {

struct Fixture {
  std::vector<std::string> expected;
  std::vector<InstalledFact> installed;
  std::vector<std::string> plugins;
  std::vector<Source> sources;
};

Fixture read_fixture(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Fixture fixture;
  fixture.sources.push_back({"", ""});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto after = [&](std::string_view prefix) { return line.substr(prefix.size()); };
    if (line.starts_with("#--- ")) {
      fixture.sources.push_back({after("#--- "), ""});
      continue;
    }
    if (line.starts_with("# expect: ")) fixture.expected.push_back(after("# expect: "));
    if (line.starts_with("# installed: ")) {
      std::istringstream words(after("# installed: "));
      InstalledFact fact;
      words >> fact.key >> fact.digest;
      fixture.installed.push_back(fact);
    }
    if (line.starts_with("# plugins: ")) {
      std::istringstream words(after("# plugins: "));
      fixture.plugins.assign(std::istream_iterator<std::string>(words), {});
    }
    fixture.sources.back().text += line + "\n";
  }
  return fixture;
}

std::vector<std::filesystem::path> fixture_paths() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(
           support::source_path("tests/fixtures/registry/invalid"))) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The first file of a fixture has no name, so its problems read "LINE:COLUMN: ...".
std::string shown(const Problem& problem) {
  const std::string text = problem.text();
  return text.starts_with(":") ? text.substr(1 + (text[1] == ' ' ? 1 : 0)) : text;
}

TEST(Invalid, EveryFixtureSaysWhatItMust) {
  for (const auto& path : fixture_paths()) {
    const Fixture fixture = read_fixture(path);
    ASSERT_FALSE(fixture.expected.empty()) << path << ": the first line must say what to expect";
    const Compiled result = compile({fixture.sources, fixture.installed, fixture.plugins});
    ASSERT_FALSE(result.ok()) << path << ": compiled";
    std::vector<std::string> found;
    for (const Problem& problem : result.error()) found.push_back(shown(problem));
    EXPECT_EQ(found, fixture.expected) << path;
  }
}

// Rules that no file of a reasonable size breaks have tests of their own, in hostile_test.cpp.
const std::set<std::string_view> tested_elsewhere = {
    "file_unreadable", "no_files",          "file_misnamed", "file_too_large", "too_many_files",
    "too_many_nodes",  "program_too_large", "run_too_long",  "too_many_items", "more_problems"};

TEST(Invalid, EveryRuleHasAFixture) {
  std::set<std::string_view> seen = tested_elsewhere;
  for (const auto& path : fixture_paths()) {
    const Fixture fixture = read_fixture(path);
    const Compiled result = compile({fixture.sources, fixture.installed, fixture.plugins});
    if (result) continue;
    for (const Problem& problem : result.error()) seen.insert(problem.rule);
  }
  for (const RuleInfo& rule : rule_infos) {
    EXPECT_TRUE(seen.contains(rule.name)) << "no fixture breaks the rule " << rule.name;
  }
}

TEST(Invalid, AllProblemsAreReportedAtOnce) {
  const Source source{"all.yaml",
                      "provider: {key: t, name: T}\nupstreams: {u: {plugin: p}}\nroutes:\n"
                      "  - path: /a\n    methods: [PUT]\n    price: gone\n    revision: none\n"
                      "  - path: b\n    price: unavailable\n    colour: red\n"};
  const Compiled result = compile({{&source, 1}, {}, {}});
  ASSERT_FALSE(result.ok());
  std::vector<std::string_view> rules;
  for (const Problem& problem : result.error()) rules.push_back(problem.rule);
  EXPECT_EQ(rules, (std::vector<std::string_view>{"not_one_of", "unknown_reference", "not_integer",
                                                  "path_shape", "unknown_key"}));
}

}  // namespace
}  // namespace turnpike::registry

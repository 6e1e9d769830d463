// Every kind of mistake has a fixture in tests/fixtures/registry/invalid;
// support/registry_fixture.h describes their format.
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "registry/compile.h"
#include "registry/problems.h"
#include "support/registry_fixture.h"

namespace turnpike::registry {
namespace {

TEST(Invalid, EveryFixtureSaysWhatItMust) {
  for (const auto& path : fixture_paths("registry/invalid")) {
    const Fixture fixture = read_fixture(path);
    ASSERT_FALSE(fixture.expected.empty()) << path << ": the first line must say what to expect";
    EXPECT_EQ(said_of(fixture), fixture.expected) << path;
  }
}

// Rules that no file of reasonable size violates are tested in hostile_test.cpp.
const std::set<std::string_view> tested_elsewhere = {
    "file_unreadable", "no_files",          "file_misnamed",  "file_too_large", "too_many_files",
    "too_many_nodes",  "program_too_large", "run_too_long",   "too_many_items", "more_problems",
    "lane_failed",     "lane_terms",        "lane_name_taken"};

TEST(Invalid, EveryRuleHasAFixture) {
  std::set<std::string_view> seen = tested_elsewhere;
  for (const auto& path : fixture_paths("registry/invalid")) {
    const Fixture fixture = read_fixture(path);
    const Compiled result = compiled(fixture);
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
  const Compiled result = compile(
      {.sources = {&source, 1}, .installed = {}, .plugins = {}, .lane = &support::x402_lane()});
  ASSERT_FALSE(result.ok());
  std::vector<std::string_view> rules;
  for (const Problem& problem : result.error()) rules.push_back(problem.rule);
  EXPECT_EQ(rules, (std::vector<std::string_view>{"not_one_of", "unknown_reference", "not_integer",
                                                  "path_shape", "unknown_key"}));
}

}  // namespace
}  // namespace turnpike::registry

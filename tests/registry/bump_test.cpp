// bump(), and the refusal of a changed definition: numbers rise in place, and nothing else in a
// file changes.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "registry/bump.h"
#include "registry/programs.h"

namespace turnpike::registry {
namespace {

std::vector<InstalledFact> facts_with(const std::string& text) {
  return facts_of(*program_of(text));
}

std::string bumped(const std::string& text, const std::vector<InstalledFact>& installed) {
  const Source source{"a.yaml", text};
  const auto result = bump({&source, 1}, installed);
  if (!result.ok()) return result.error().front().text();
  EXPECT_EQ(result->changed.empty(), result->raised.empty());
  return result->changed.empty() ? text : result->changed.front().text;
}

const std::string before = R"(# Kept: é and all.
provider: {name: "Tést", key: t}   # no revision
upstreams:
  main: {plugin: http}             # one line
prices:
  standard:
    version: 1  # the first
    credit_cost: 1
defaults: {price: standard}

routes:
  # Short form.
  - {path: "/flow", summary: A}
  - path: "/block"   # its path

    # About the deadline.
    deadline_ms: 1000
  - query:
      parameters:
        a: {type: integer, range: 1..2}
    path: /multi
  -   path: /odd
      revision: 7
      deadline_ms: 5
  - path: /last)";

std::string changed(std::string text) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"Tést", "Tèst"},
           {"plugin: http", "plugin: other"},
           {"credit_cost: 1", "credit_cost: 2"},
           {"price: standard}", "price: standard, forwarded_headers: [accept]}"}}) {
    text.replace(text.find(from), from.size(), to);
  }
  return text;
}

TEST(Bump, RaisesNumbersInPlaceAndKeepsCommentsAndLayout) {
  std::string expected = changed(before);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"{name: \"Tèst\"", "{revision: 2, name: \"Tèst\""},
           {"{plugin: other}", "{revision: 2, plugin: other}"},
           {"version: 1  # the first", "version: 2  # the first"},
           {"{path: \"/flow\"", "{revision: 2, path: \"/flow\""},
           {"\"/block\"   # its path\n", "\"/block\"   # its path\n    revision: 2\n"},
           {"- query:\n", "- revision: 2\n    query:\n"},
           {"revision: 7", "revision: 8"},
           {"path: /last", "path: /last\n    revision: 2"}}) {
    ASSERT_NE(expected.find(from), std::string::npos) << from;
    expected.replace(expected.find(from), from.size(), to);
  }
  const auto installed = facts_with(before);
  EXPECT_EQ(bumped(changed(before), installed), expected);
  EXPECT_TRUE(compiled(expected, installed).ok());
}

TEST(Bump, ChangesNothingWhereNothingNeedsIt) {
  EXPECT_EQ(bumped(before, facts_with(before)), before);
  EXPECT_EQ(bumped(before, {}), before);
}

TEST(Bump, GoesAboveEveryNumberThatIsInstalled) {
  const auto route = [](const std::string& rest) {
    return preamble + "routes:\n  - path: /a\n" + rest;
  };
  auto installed = facts_with(route("    deadline_ms: 1\n"));
  for (const InstalledFact& fact : facts_with(route("    revision: 12\n    deadline_ms: 2\n"))) {
    installed.push_back(fact);
  }
  EXPECT_EQ(bumped(route("    deadline_ms: 3\n"), installed),
            route("    revision: 13\n    deadline_ms: 3\n"));
}

TEST(Bump, BreaksLinesAsTheFileDoes) {
  const std::string text =
      "provider: {key: t, name: T}\r\nupstreams: {u: {plugin: p}}\r\nroutes:\r\n"
      "  - path: /a\r\n    price: unavailable\r\n";
  std::string slow = text;
  slow.replace(slow.find("    price"), 0, "    deadline_ms: 5\r\n");
  std::string expected = slow;
  expected.replace(expected.find("    deadline_ms"), 0, "    revision: 2\r\n");
  EXPECT_EQ(bumped(slow, facts_with(text)), expected);
}

TEST(Bump, SaysWhatIsWrongWithFilesThatDoNotCompile) {
  EXPECT_EQ(bumped("routes: 5\n", {}).find("a.yaml:1:1: "), 0u);
}

TEST(Redefinition, IsRefusedNamingTheFieldsThatDiffer) {
  const std::string then = preamble +
                           "routes:\n  - path: /a\n    deadline_ms: 1000\n    query:\n"
                           "      parameters:\n        x: {type: integer, range: 1..200}\n"
                           "        y: {type: boolean}\n";
  std::string now = then;
  now.replace(now.find("200"), 3, "100");
  now.replace(now.find("1000"), 4, "500");
  now += "        z: {type: boolean}\n";
  const auto installed = facts_with(then);
  const Source source{"test.yaml", now};
  CompileInput input{.sources = {&source, 1}, .installed = installed, .plugins = {}};
  input.definition = [&](const std::string& key) {
    for (const InstalledFact& fact : installed) {
      if (fact.key == key) return fact.definition;
    }
    return std::string();
  };
  const Compiled refused = compile(input);
  ASSERT_FALSE(refused.ok());
  ASSERT_EQ(refused.error().size(), 1u);
  const std::string& message = refused.error().front().message;
  for (const char* said :
       {"/deadline_ms was 1000, is 500;", "/query/parameters/x/value/maximum was 200, is 100;",
        "/query/parameters/z was nothing, is {", "raise `revision`"}) {
    EXPECT_NE(message.find(said), std::string::npos) << said << "\n" << message;
  }
}

TEST(Redefinition, MayBeAllowedAndIsToldThen) {
  const auto installed = facts_with(before);
  const Source source{"a.yaml", changed(before)};
  std::vector<Redefinition> redefinitions;
  const Compiled allowed = compile({.sources = {&source, 1},
                                    .installed = installed,
                                    .plugins = {},
                                    .redefinitions = &redefinitions});
  ASSERT_TRUE(allowed.ok());
  EXPECT_EQ(redefinitions.size(), 8u);  // provider, upstream, price and five routes
  EXPECT_EQ((*allowed)->payload_hash(), program_of(changed(before))->payload_hash());
}

}  // namespace
}  // namespace turnpike::registry

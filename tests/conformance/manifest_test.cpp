// Conformance of ManifestStore.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "conformance/engines.h"
#include "registry/generation.h"
#include "registry/programs.h"
#include "support/paths.h"

namespace turnpike::registry {
namespace {

class Manifest : public OnEveryEngine {
 protected:
  // A program with one route. Another summary changes the program's hash but none of its facts.
  static std::shared_ptr<const Program> program(const std::string& summary, int credit_cost = 1,
                                                int price_version = 1,
                                                const std::string& path = "/a") {
    return program_of(
        "provider: {key: t, name: Test}\n"
        "upstreams: {main: {plugin: http}}\n"
        "prices: {standard: {version: " +
        std::to_string(price_version) + ", credit_cost: " + std::to_string(credit_cost) +
        "}}\n"
        "defaults: {price: standard}\n"
        "routes:\n  - {path: \"" +
        path + "\", summary: " + summary + "}\n");
  }
  Generation install(const Program& program, std::int64_t compiled_at_ms = 1) {
    return install(*node_, program, compiled_at_ms);
  }
  static Generation install(storage::Node& node, const Program& program,
                            std::int64_t compiled_at_ms = 1) {
    auto generation = node.manifest().install(
        {.program = program, .files = {}, .compiled_at_ms = compiled_at_ms});
    EXPECT_TRUE(generation.ok()) << generation.error().message;
    return generation.ok() ? *std::move(generation) : Generation{};
  }
  [[nodiscard]] std::vector<std::string> fact_keys() {
    std::vector<std::string> keys;
    const auto facts = node_->manifest().facts();
    EXPECT_TRUE(facts.ok());
    for (const InstalledFact& fact : *facts) keys.push_back(fact.key);
    return keys;
  }
};
TURNPIKE_ON_EVERY_ENGINE(Manifest);

TEST_P(Manifest, ANewHashGrowsBothSequencesByOne) {
  const auto first = program("one");
  const Generation one = install(*first, 77);
  EXPECT_EQ(one.epoch_id, "ep_01");
  EXPECT_EQ(one.payload_hash, first->payload_hash());
  EXPECT_EQ(one.id, generation_id(first->payload_hash()));
  EXPECT_EQ(one.sequence, 1u);
  EXPECT_EQ(one.manifest_sequence, 1u);
  EXPECT_EQ(one.compiled_at_ms, 77);
  const Generation two = install(*program("two"));
  EXPECT_EQ(two.sequence, 2u);
  EXPECT_EQ(two.manifest_sequence, 2u);
  EXPECT_NE(two.id, one.id);
  EXPECT_GE(two.installed_at_ms, one.installed_at_ms);
}

TEST_P(Manifest, AnOlderHashInstalledAgainKeepsItsNameAndOnlyTheManifestGrows) {
  const auto old = program("old");
  const Generation first = install(*old, 77);
  install(*program("new"));
  const Generation again = install(*old, 99);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.sequence, first.sequence);
  EXPECT_EQ(again.compiled_at_ms, 77);  // of the first compilation with this hash
  EXPECT_EQ(again.manifest_sequence, 3u);
  EXPECT_EQ(install(*program("newest")).sequence, 3u);  // the repeat used up no number
}

TEST_P(Manifest, AnotherProcessGoesOnWhereThisOneEnded) {
  const Generation one = install(*program("one"));
  node_.reset();
  node_ = store_->open();
  EXPECT_EQ(install(*program("one")).sequence, one.sequence);
  const Generation two = install(*program("two"));
  EXPECT_EQ(two.sequence, 2u);
  EXPECT_EQ(two.manifest_sequence, 3u);
}

TEST_P(Manifest, FactsAreThoseOfEveryProgramThatWasInstalled) {
  EXPECT_TRUE(fact_keys().empty());
  const auto first = program("one");
  install(*first);
  auto expected = facts_of(*first);
  auto facts = *node_->manifest().facts();
  const auto by_key = [](const auto& a, const auto& b) { return a.key < b.key; };
  std::sort(expected.begin(), expected.end(), by_key);
  std::sort(facts.begin(), facts.end(), by_key);
  ASSERT_EQ(facts.size(), expected.size());
  for (std::size_t at = 0; at < facts.size(); ++at) {
    EXPECT_EQ(facts[at].key, expected[at].key);
    EXPECT_EQ(facts[at].digest, expected[at].digest);
  }
  install(*program("one", 5, 2, "/b"));  // adds one price version and one route
  EXPECT_EQ(fact_keys().size(), expected.size() + 2);
}

TEST_P(Manifest, TheTermsOfAPriceVersionNeverChangeAndARefusalLeavesNoTrace) {
  install(*program("one", 1, 1));
  const auto before = fact_keys();
  const auto other_terms = program("one", 2, 1, "/other");
  const auto refused = node_->manifest().install({.program = *other_terms, .files = {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::ErrorCode::registry_unavailable);
  EXPECT_NE(refused.error().message.find("standard@1"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(fact_keys(), before);
  const Generation next = install(*program("one", 2, 2));
  EXPECT_EQ(next.sequence, 2u);
  EXPECT_EQ(next.manifest_sequence, 2u);
  EXPECT_EQ(install(*program("one", 1, 1)).sequence, 1u);  // unchanged terms are accepted
}

TEST_P(Manifest, WhatIsInstalledStopsACompilationThatWouldChangeIt) {
  install(*program("one", 1, 1));
  const std::string changed =
      "provider: {key: t, name: Test}\n"
      "upstreams: {main: {plugin: http}}\n"
      "prices: {standard: {version: 1, credit_cost: 2}}\n"
      "defaults: {price: standard}\n"
      "routes:\n  - {path: /a}\n";
  EXPECT_TRUE(compiled(changed).ok());
  const auto refused = compiled(changed, *node_->manifest().facts());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().front().rule, "installed_differs");
}

TEST_P(Manifest, ADefinitionIsKeptWithItsFactAndDevelopmentMayChangeBoth) {
  install(*program("one", 1, 1));
  const auto definition = [&](const char* key) { return done(node_->manifest().definition(key)); };
  EXPECT_NE(definition("price:standard@1").find(R"("credit_cost":1)"), std::string::npos);
  EXPECT_EQ(definition("price:standard@9"), "");
  const auto dearer = program("one", 2, 1);
  EXPECT_FALSE(node_->manifest().install({.program = *dearer, .files = {}}).ok());
  EXPECT_NE(definition("price:standard@1").find(R"("credit_cost":1)"), std::string::npos);
  ASSERT_TRUE(
      node_->manifest().install({.program = *dearer, .files = {}, .may_redefine = true}).ok());
  EXPECT_NE(definition("price:standard@1").find(R"("credit_cost":2)"), std::string::npos);
  EXPECT_TRUE(node_->manifest().install({.program = *dearer, .files = {}}).ok());
}

// An installed program must be recoverable without the original files.
TEST_P(Manifest, AProgramIsMadeAgainOfTheFilesThatAreKeptWithIt) {
  std::vector<std::vector<Source>> programs;
  for (const auto& entry :
       std::filesystem::directory_iterator(support::source_path("tests/fixtures/registry/valid"))) {
    programs.push_back(done(read_sources(entry.path().string())));
    programs.back() = without_directory(std::move(programs.back()), entry.path().string());
  }
  const std::string shipped = support::source_path("registry");
  programs.push_back(without_directory(done(read_sources(shipped)), shipped));
  ASSERT_GE(programs.size(), 4u);
  std::vector<Generation> installed;
  for (const auto& files : programs) {
    const auto program = done(
        compile({.sources = files, .installed = {}, .plugins = {}, .lane = &support::x402_lane()}));
    installed.push_back(done(
        node_->manifest().install({.program = *program, .files = files, .may_redefine = true})));
  }
  for (const Generation& generation : installed) {
    const auto files = done(node_->manifest().files(generation));
    const auto again = done(
        compile({.sources = files, .installed = {}, .plugins = {}, .lane = &support::x402_lane()}));
    EXPECT_EQ(again->payload_hash(), generation.payload_hash) << files.front().name;
  }
}

TEST_P(Manifest, TellsItsHistoryNewestFirstAndKeepsFilesOfTheNewest) {
  EXPECT_TRUE(done(node_->manifest().history(9)).empty());
  const Source file{"a \"b\".yaml", "# T\u00e9xt\n"};
  const auto with_file = [&](const std::string& summary, std::string_view from = {}) {
    return done(node_->manifest().install(
        {.program = *program(summary), .files = {&file, 1}, .rolled_back_from = from}));
  };
  const Generation first = with_file("first");
  const Generation second = with_file("second");
  const Generation again = with_file("first", second.payload_hash);
  const auto history = done(node_->manifest().history(2));
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].generation.manifest_sequence, again.manifest_sequence);
  EXPECT_EQ(history[0].generation.id, first.id);
  EXPECT_EQ(history[0].rolled_back_from, second.payload_hash);
  EXPECT_TRUE(history[0].has_files);
  EXPECT_EQ(history[1].generation.id, second.id);
  EXPECT_EQ(history[1].rolled_back_from, "");
  EXPECT_EQ(done(node_->manifest().files(first)).front().name, file.name);
  EXPECT_EQ(done(node_->manifest().files(first)).front().text, file.text);
  const auto found = done(node_->manifest().find(first.id));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->generation.manifest_sequence, again.manifest_sequence) << "the newest of it";
  EXPECT_FALSE(done(node_->manifest().find("gen_none")));
  constexpr std::uint32_t kept = generations_with_files_max;
  for (std::uint32_t at = 0; at < kept; ++at) with_file("later" + std::to_string(at));
  EXPECT_TRUE(done(node_->manifest().files(second)).empty());
  EXPECT_FALSE(done(node_->manifest().find(second.id))->has_files);
  EXPECT_EQ(done(node_->manifest().history(kept)).back().has_files, true);
}

TEST_P(Manifest, NodesThatInstallAtTheSameTimeAreOrdered) {
  const auto other = store_->open(storage::Role::gateway, "other");
  const std::shared_ptr<const Program> programs[] = {program("a"), program("b"), program("c")};
  constexpr int rounds = 12;
  std::vector<Generation> seen[2];
  const auto race = [&](storage::Node& node, std::vector<Generation>& into) {
    for (int round = 0; round < rounds; ++round)
      into.push_back(install(node, *programs[round % 3]));
  };
  std::thread left([&] { race(*node_, seen[0]); });
  std::thread right([&] { race(*other, seen[1]); });
  left.join();
  right.join();

  std::set<std::uint64_t> manifest;
  std::map<std::string, std::set<std::uint64_t>> sequences;
  for (const auto& generations : seen) {
    std::uint64_t previous = 0;
    for (const Generation& generation : generations) {
      EXPECT_GT(generation.manifest_sequence, previous);
      previous = generation.manifest_sequence;
      manifest.insert(generation.manifest_sequence);
      sequences[generation.payload_hash].insert(generation.sequence);
    }
  }
  EXPECT_EQ(manifest.size(), 2u * rounds);  // every installation has its own number
  EXPECT_EQ(*manifest.rbegin(), 2u * rounds);
  std::set<std::uint64_t> all;
  ASSERT_EQ(sequences.size(), 3u);
  for (const auto& [hash, numbers] : sequences) {
    EXPECT_EQ(numbers.size(), 1u) << hash;
    all.insert(numbers.begin(), numbers.end());
  }
  EXPECT_EQ(all, (std::set<std::uint64_t>{1, 2, 3}));
}

TEST_P(Manifest, OfNodesThatInstallOtherTermsAtTheSameTimeOneIsRefused) {
  const auto other = store_->open(storage::Role::gateway, "other");
  for (int version = 1; version <= 8; ++version) {
    const auto cheap = program("one", 1, version);
    const auto dear = program("one", 2, version);
    std::optional<bool> left_won, right_won;
    const auto installs = [](storage::Node& node, const Program& program) {
      return node.manifest().install({.program = program, .files = {}}).ok();
    };
    std::thread left([&] { left_won = installs(*node_, *cheap); });
    std::thread right([&] { right_won = installs(*other, *dear); });
    left.join();
    right.join();
    EXPECT_NE(*left_won, *right_won) << version;
  }
}

}  // namespace
}  // namespace turnpike::registry

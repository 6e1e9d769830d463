// Conformance of ManifestStore.
#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "conformance/engines.h"
#include "registry/generation.h"
#include "registry/programs.h"

namespace turnpike::registry {
namespace {

class Manifest : public OnEveryEngine {
 protected:
  // One route; programs with other summaries have other hashes and the same facts.
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
    auto generation = node.manifest().install(program, compiled_at_ms);
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
  EXPECT_EQ(again.compiled_at_ms, 77);  // of the compilation that first had this hash
  EXPECT_EQ(again.manifest_sequence, 3u);
  EXPECT_EQ(install(*program("newest")).sequence, 3u);  // no number was spent on the repeat
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
  install(*program("one", 5, 2, "/b"));  // one more price version, one more route
  EXPECT_EQ(fact_keys().size(), expected.size() + 2);
}

TEST_P(Manifest, TheTermsOfAPriceVersionNeverChangeAndARefusalLeavesNoTrace) {
  install(*program("one", 1, 1));
  const auto before = fact_keys();
  const auto other_terms = program("one", 2, 1, "/other");
  const auto refused = node_->manifest().install(*other_terms, 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::ErrorCode::registry_unavailable);
  EXPECT_NE(refused.error().message.find("standard@1"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(fact_keys(), before);
  const Generation next = install(*program("one", 2, 2));
  EXPECT_EQ(next.sequence, 2u);
  EXPECT_EQ(next.manifest_sequence, 2u);
  EXPECT_EQ(install(*program("one", 1, 1)).sequence, 1u);  // its own terms are no change
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
  EXPECT_EQ(manifest.size(), 2u * rounds);  // every installation has its own
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
    std::thread left([&] { left_won = node_->manifest().install(*cheap, 1).ok(); });
    std::thread right([&] { right_won = other->manifest().install(*dear, 1).ok(); });
    left.join();
    right.join();
    EXPECT_NE(*left_won, *right_won) << version;
  }
}

}  // namespace
}  // namespace turnpike::registry

#include "registry/facts.h"

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "crypto/digest.h"
#include "registry/canonical.h"
#include "registry/compile.h"

namespace turnpike::registry {
namespace {

std::string key_of(std::string_view word, std::string_view name, std::uint32_t version) {
  return std::string(word) + ":" + std::string(name) + "@" + std::to_string(version);
}

}  // namespace

void each_fact_of(const Program& program, const std::function<void(Fact)>& visit) {
  const auto each = [&](FactKind kind, const auto& entries, auto key, auto definition) {
    for (std::uint32_t at = 0; at < entries.size(); ++at) {
      visit({kind, at, key(entries[at]), definition(entries[at])});
    }
  };
  const auto plain = [](const auto& entry) { return definition_of(entry); };
  const auto within = [&](const auto& entry) { return definition_of(program, entry); };
  each(
      FactKind::provider, program.providers(),
      [](const Provider& entry) { return key_of("provider", entry.id, entry.revision); }, plain);
  each(
      FactKind::upstream, program.upstreams(),
      [](const Upstream& entry) { return key_of("upstream", entry.id, entry.revision); }, within);
  each(
      FactKind::route, program.routes(),
      [](const Route& entry) { return key_of("route", entry.id, entry.revision); }, within);
  each(
      FactKind::price, program.prices(),
      [](const Price& entry) { return key_of("price", entry.policy_key, entry.version); }, plain);
}

std::vector<InstalledFact> facts_of(const Program& program) {
  std::vector<InstalledFact> facts;
  each_fact_of(program, [&](Fact fact) {
    facts.push_back(
        {std::move(fact.key), crypto::sha256_hex(fact.definition), std::move(fact.definition)});
  });
  return facts;
}

}  // namespace turnpike::registry

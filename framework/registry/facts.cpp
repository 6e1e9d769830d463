#include "registry/facts.h"

#include <string>
#include <utility>

#include "crypto/digest.h"
#include "registry/canonical.h"

namespace turnpike::registry {
namespace {

Fact fact_of(FactKind kind, std::size_t index, std::string_view word, std::string_view name,
             char mark, std::uint32_t version, const std::string& definition) {
  Fact fact;
  fact.kind = kind;
  fact.index = static_cast<std::uint32_t>(index);
  fact.fact.key.append(word).append(":").append(name).push_back(mark);
  fact.fact.key += std::to_string(version);
  fact.fact.digest = crypto::sha256_hex(definition);
  return fact;
}

}  // namespace

std::vector<Fact> all_facts_of(const Program& program) {
  std::vector<Fact> facts;
  const auto& providers = program.providers();
  for (std::size_t at = 0; at < providers.size(); ++at) {
    facts.push_back(fact_of(FactKind::provider, at, "provider", providers[at].id, '@',
                            providers[at].revision, definition_of(providers[at])));
  }
  const auto& upstreams = program.upstreams();
  for (std::size_t at = 0; at < upstreams.size(); ++at) {
    facts.push_back(fact_of(FactKind::upstream, at, "upstream", upstreams[at].id, '@',
                            upstreams[at].revision, definition_of(program, upstreams[at])));
  }
  const auto& routes = program.routes();
  for (std::size_t at = 0; at < routes.size(); ++at) {
    facts.push_back(fact_of(FactKind::route, at, "route", routes[at].id, '@', routes[at].revision,
                            definition_of(program, routes[at])));
  }
  const auto& prices = program.prices();
  for (std::size_t at = 0; at < prices.size(); ++at) {
    facts.push_back(fact_of(FactKind::price, at, "price", prices[at].policy_key, '@',
                            prices[at].version, definition_of(prices[at])));
  }
  return facts;
}

std::vector<InstalledFact> facts_of(const Program& program) {
  std::vector<InstalledFact> facts;
  for (Fact& fact : all_facts_of(program)) facts.push_back(std::move(fact.fact));
  return facts;
}

}  // namespace turnpike::registry

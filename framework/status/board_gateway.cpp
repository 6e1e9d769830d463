// The documents of the gateway as a whole: /v1/status and /v1/status/gateway.
#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "status/board_documents.h"
#include "status/board_parts.h"
#include "status/documents.h"
#include "text/time_text.h"

namespace turnpike::status {
namespace {

struct ShownComponent {
  std::string id;
  ShownLevel standing;
};

// Components and the sentinel that reports on each; those without their sentinel are omitted.
constexpr std::pair<std::string_view, std::string_view> sentinel_components[] = {
    {"api", "gateway:healthz"},
    {"mcp", "gateway:mcp_ping"},
    {"web", "gateway:web_login"},
    {"registry", "gateway:catalog"},
    {"database", "gateway:database"}};

std::vector<ShownComponent> components_of(const BoardFacts& facts, Reading reading) {
  std::vector<ShownComponent> components;
  const TargetSet& targets = facts.input().targets;
  for (const auto& [id, name] : sentinel_components) {
    const Target* const target = targets.find(name);
    if (target == nullptr) continue;
    components.push_back({std::string(id), facts.target(*target, reading)});
  }
  for (const char* const id : {"gateway", "pricing"}) {
    components.push_back({id, facts.scope(id, reading)});
  }
  for (const Target& target : targets.targets) {
    if (target.kind != TargetKind::lane) continue;
    components.push_back({target.name, facts.scope(target.name, reading)});
  }
  return components;
}

std::string shown_time(const ShownLevel& standing, const BoardFacts& facts) {
  const bool was_observed = standing.observed_at_ms != 0;
  return text::rfc3339(was_observed ? standing.observed_at_ms : facts.as_of_ms());
}

std::int64_t count_ongoing(const BoardFacts& facts) {
  const auto& incidents = facts.input().incidents;
  return std::count_if(incidents.begin(), incidents.end(), [](const ShownIncident& one) {
    return is_ongoing(one.incident.state);
  });
}

Level worst_of(const std::vector<ShownComponent>& components) noexcept {
  Level level = Level::operational;
  for (const ShownComponent& component : components) {
    level = worse(level, component.standing.level);
  }
  return level;
}

std::string status_text(const BoardFacts& facts, Reading reading) {
  const std::vector<ShownComponent> components = components_of(facts, reading);
  BoardJson shown = BoardJson::array();
  for (const ShownComponent& component : components) {
    shown.push_back({{"id", component.id},
                     {"status", name_of(component.standing.level)},
                     {"evidence_status", name_of(component.standing.evidence)},
                     {"observed_at", time_or_null(component.standing.observed_at_ms)}});
  }
  BoardJson maintenance = BoardJson::array();
  for (const Maintenance& one : facts.input().maintenance) {
    maintenance.push_back(maintenance_json(one));
  }
  return board_text({{"schema_version", "service.status.v1"},
                     {"status", name_of(worst_of(components))},
                     {"observed_at", shown_time(facts.scope("gateway", reading), facts)},
                     {"valid_until", text::rfc3339(facts.valid_until_ms())},
                     {"generation", generation_json(facts.input().generation)},
                     {"components", std::move(shown)},
                     {"open_incidents", count_ongoing(facts)},
                     {"maintenance", std::move(maintenance)},
                     {"evidence", evidence_json(facts)}});
}

// ---- offer and coverage

// Counts of operations, by whether they are offered and by monitoring class.
class CoverageCounts {
 public:
  void add(bool is_offered, MonitoringClass monitoring) {
    ++counts_[is_offered ? 0 : 1][static_cast<std::size_t>(monitoring)];
  }
  [[nodiscard]] BoardJson json() const {
    return {{"offered", row_json(counts_[0])}, {"not_offered", row_json(counts_[1])}};
  }

 private:
  using Row = std::array<std::uint64_t, 4>;
  [[nodiscard]] static BoardJson row_json(const Row& row) {
    BoardJson shown = BoardJson::object();
    for (const MonitoringClass one :
         {MonitoringClass::continuous, MonitoringClass::manual, MonitoringClass::not_applicable,
          MonitoringClass::unreviewed}) {
      shown[std::string(name_of_class(one))] = row[static_cast<std::size_t>(one)];
    }
    return shown;
  }

  std::array<Row, 2> counts_{};
};

struct ShownOffer {
  BoardJson coverage;
  std::uint64_t route_variants = 0;
};

ShownOffer offer_of(const BoardFacts& facts) {
  CoverageCounts operations;
  CoverageCounts sources;
  CoverageCounts variants;
  ShownOffer offer;
  // Distinct upstream operations: two routes to the same one count once.
  std::set<std::pair<std::uint32_t, std::uint32_t>> counted;
  for (const registry::Operation& operation : facts.program().operations()) {
    const registry::Route& route = facts.program().routes()[operation.route];
    const bool is_offered = facts.input().offered[operation.index];
    const MonitoringClass monitoring = operation.monitoring->kind;
    operations.add(is_offered, monitoring);
    if (counted.emplace(route.upstream, operation.upstream_operation).second) {
      sources.add(is_offered, monitoring);
    }
    const int ways_to_pay = route.free_policy ? 2 : 1;
    for (int way = 0; way < ways_to_pay; ++way) variants.add(is_offered, monitoring);
    offer.route_variants += static_cast<std::uint64_t>(ways_to_pay);
  }
  offer.coverage = {{"api_operations", operations.json()},
                    {"source_operations", sources.json()},
                    {"route_variants", variants.json()}};
  return offer;
}

// ---- /v1/status/gateway

BoardJson providers_json(const BoardFacts& facts, Reading reading) {
  BoardJson shown = BoardJson::array();
  for (std::uint32_t at = 0; at < facts.program().providers().size(); ++at) {
    shown.push_back(provider_json(facts, at, reading));
  }
  return shown;
}

// The newest result of each node's own looks at the gateway.
BoardJson sentinels_json(const BoardFacts& facts, Reading reading) {
  constexpr std::string_view prefix = "gateway:";
  BoardJson shown = BoardJson::array();
  for (const Target& target : facts.input().targets.targets) {
    if (target.kind != TargetKind::sentinel) continue;
    const TargetFigures* const found = facts.figures(target.name);
    if (found == nullptr) continue;
    for (const auto& [node, look] : found->by_node) {
      const bool is_believed = reading == Reading::found && facts.is_fresh(target, look.at_ms);
      const Level level = is_believed ? found->level : Level::unknown;
      shown.push_back({{"sentinel", target.name.substr(prefix.size())},
                       {"node", node},
                       {"status", name_of(level)},
                       {"result", name_of(look.result)},
                       {"observed_at", text::rfc3339(look.at_ms)},
                       {"latency_ms", look.latency_ms ? BoardJson(*look.latency_ms) : BoardJson()},
                       {"round", look.round}});
    }
  }
  return shown;
}

BoardJson gateway_head(const BoardFacts& facts, const ShownOffer& offer, Reading reading) {
  const ShownLevel standing = facts.scope("gateway", reading);
  return {{"schema_version", "service.status.gateway.v1"},
          {"status", name_of(standing.level)},
          {"evidence_status", name_of(standing.evidence)},
          {"observed_at", shown_time(standing, facts)},
          {"valid_until", text::rfc3339(facts.valid_until_ms())},
          {"generation", generation_json(facts.input().generation)},
          {"manifest", manifest_json(facts.input().generation)},
          {"active_operations", facts.program().operations().size()},
          {"active_route_variants", offer.route_variants},
          {"operation_coverage", offer.coverage},
          {"operation_pricing_status", name_of(facts.scope("pricing", reading).level)},
          {"providers", providers_json(facts, reading)},
          {"sentinel_observations", sentinels_json(facts, reading)},
          {"incidents", all_incidents_json(facts)}};
}

}  // namespace

BoardOrigin origin_of(const BoardFacts& facts) {
  BoardOrigin origin;
  origin.level = worst_of(components_of(facts, Reading::found));
  origin.valid_until_ms = facts.valid_until_ms();
  if (const NewestRound* const newest = facts.input().newest) {
    origin.round = newest->round.head.round;
    origin.head = newest->round.head.head;
  }
  return origin;
}

BoardDocument status_document(const BoardFacts& facts) {
  return facts.document(facts.valid_until_ms(),
                        [&](Reading reading) { return status_text(facts, reading); });
}

BoardDocument gateway_document(const BoardFacts& facts) {
  const std::string history = history_text(facts, {"gateway"});
  const ShownOffer offer = offer_of(facts);
  return facts.document(facts.valid_until_ms(), [&](Reading reading) {
    return with_history(gateway_head(facts, offer, reading), history, facts);
  });
}

}  // namespace turnpike::status

#include "status/topology.h"

#include <algorithm>

namespace turnpike::status {
namespace {

class Builder {
 public:
  explicit Builder(Topology& topology) : topology_(topology) {}

  void add_scopes() {
    scope("gateway", ScopeKind::gateway, "");
    for (const Target& target : topology_.set.targets) {
      if (target.kind == TargetKind::pricing) scope("pricing", ScopeKind::pricing, "");
      if (target.kind == TargetKind::lane) scope(target.name, ScopeKind::lane, target.name);
      if (!target.provider.empty()) {
        scope("provider:" + target.provider, ScopeKind::provider, target.provider);
      }
      if (target.kind == TargetKind::contract) {
        scope(target.name, ScopeKind::operation, target.operation);
      }
    }
    for (auto& [name, parts] : scopes_) topology_.scopes.push_back(std::move(parts));
  }

  void add_members(Book::State& state) {
    for (const Target& target : topology_.set.targets) {
      Member& member = topology_.members.emplace_back();
      member.target = &target;
      member.state = &state.targets[target.name];
      member.phase_ms = phase_ms(target);
      member.is_looked_at =
          is_active(target.kind) && target.monitoring != MonitoringClass::unreviewed;
      if (target.kind != TargetKind::sentinel) member.state->tracks[""];
      place(topology_.members.size() - 1);
    }
    for (ScopeParts& parts : topology_.scopes) {
      if (parts.kind == ScopeKind::operation) find_enclosing(parts);
    }
  }

 private:
  void scope(const std::string& name, ScopeKind kind, const std::string& key) {
    ScopeParts& parts = scopes_[name];
    parts.name = name;
    parts.kind = kind;
    parts.key = key;
  }

  ScopeParts* parts(const std::string& name, Member& member) {
    const auto index = topology_.scope(name);
    if (!index) return nullptr;  // such as an operation that only has pricing
    member.scopes.push_back(*index);
    return &topology_.scopes[*index];
  }

  void place(std::size_t index) {
    Member& member = topology_.members[index];
    const Target& target = *member.target;
    const std::string provider = "provider:" + target.provider;
    const std::string operation = "operation:" + target.operation;
    switch (target.kind) {
      case TargetKind::sentinel:
        parts("gateway", member)->looked_at.push_back(index);
        break;
      case TargetKind::reachability:
        topology_.upstreams[target.upstream].reachability = index;
        for (const std::string& name : {std::string("gateway"), provider}) {
          parts(name, member)->looked_at.push_back(index);
        }
        break;
      case TargetKind::contract:
        if (!member.is_looked_at) break;
        if (target.monitoring == MonitoringClass::continuous) {
          topology_.upstreams[target.upstream].continuous.push_back(index);
        }
        for (const std::string& name : {std::string("gateway"), provider, operation}) {
          parts(name, member)->looked_at.push_back(index);
        }
        break;
      case TargetKind::traffic:
        place_traffic(index, provider, operation);
        break;
      case TargetKind::pricing:
        for (const std::string& name : {std::string("pricing"), provider, operation}) {
          if (ScopeParts* const place = parts(name, member)) place->pricing.push_back(index);
        }
        break;
      case TargetKind::lane:
        parts(target.name, member)->lanes.push_back(index);
        break;
    }
  }

  void place_traffic(std::size_t index, const std::string& provider,
                     const std::string& operation) {
    Member& member = topology_.members[index];
    const Target& target = *member.target;
    std::string name = "gateway";
    if (!target.provider.empty()) name = provider;
    if (!target.operation.empty()) name = operation;
    if (ScopeParts* const place = parts(name, member)) place->traffic = index;
  }

  void find_enclosing(ScopeParts& parts) {
    const Target* const target = topology_.set.find(parts.name);
    if (target != nullptr) parts.enclosing = topology_.scope("provider:" + target->provider);
  }

  Topology& topology_;
  std::map<std::string, ScopeParts> scopes_;
};

bool has_history(ScopeKind kind) {
  return kind == ScopeKind::gateway || kind == ScopeKind::provider || kind == ScopeKind::operation;
}

}  // namespace

std::optional<std::size_t> Topology::scope(std::string_view name) const {
  const auto found = std::lower_bound(
      scopes.begin(), scopes.end(), name,
      [](const ScopeParts& parts, std::string_view key) { return parts.name < key; });
  if (found == scopes.end() || found->name != name) return std::nullopt;
  return static_cast<std::size_t>(found - scopes.begin());
}

void build_topology(Book::State& state, const TargetSet& targets) {
  std::erase_if(state.targets, [&](const auto& target) {
    return targets.find(target.first) == nullptr;
  });
  Topology& topology = state.topology.emplace();
  topology.set = targets;
  Builder builder(topology);
  builder.add_scopes();
  builder.add_members(state);
  const auto is_kept = [&](const std::string& name) { return topology.scope(name).has_value(); };
  std::erase_if(state.scopes, [&](const auto& scope) { return !is_kept(scope.first); });
  std::erase_if(state.openings, [&](const auto& scope) { return !is_kept(scope.first); });
  state.history.retain(is_kept);
  for (ScopeParts& parts : topology.scopes) {
    parts.figures = &state.scopes[parts.name];
    if (has_history(parts.kind)) parts.history = &state.history.scope(parts.name);
  }
}

void set_nodes(Book::State& state, const std::vector<std::string>& nodes) {
  for (Member& member : state.topology->members) {
    if (member.target->kind != TargetKind::sentinel) continue;
    auto& tracks = member.state->tracks;
    std::erase_if(tracks, [&](const auto& track) {
      return !std::binary_search(nodes.begin(), nodes.end(), track.first);
    });
    for (const std::string& node : nodes) tracks[node];
  }
}

}  // namespace turnpike::status

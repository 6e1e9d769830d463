#include <algorithm>
#include <set>

#include "crypto/digest.h"
#include "status/fold.h"
#include "status/text_form.h"

// Each cause gets one incident. Each failure in a round is attributed to one component:
//   a sentinel          the gateway
//   a reachability look the provider
//   a contract look     the operation; the provider, when the upstream cannot be reached, or at
//                       least half of the upstream's continuous operations fail
//   traffic             the gateway, if its own faults exceed 5 % and the provider's do not; else
//                       the provider, else the operation, to which the traffic belongs
//   pricing, a lane     "pricing", "lane:<name>"
// An incident keeps everything that failed until it is resolved.
namespace turnpike::status {
namespace {

constexpr std::size_t resolved_incidents_max = 256;

bool is_at_fault(std::uint32_t parts) noexcept {
  return parts * 100 > traffic_parts * (100 - degraded_below_percent);
}

std::string incident_id(std::string_view scope, std::uint64_t round) {
  const std::string text = std::string(scope) + "\n" + std::to_string(round);
  return "inc_" + crypto::sha256_hex(text).substr(0, 16);
}

bool is_earlier(const Incident& left, const Incident& right) {
  return left.started_at_ms != right.started_at_ms ? left.started_at_ms < right.started_at_ms
                                                   : left.id < right.id;
}

template <class T>
void add_in_order(std::vector<T>& sorted, const T& value) {
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), value);
  if (found == sorted.end() || *found != value) sorted.insert(found, value);
}

bool is_flapping(const std::vector<std::int64_t>& openings) noexcept {
  return openings.size() >= flapping_openings &&
         openings.back() - openings[openings.size() - flapping_openings] <= flapping_window_ms;
}

}  // namespace

// ---- failures -----------------------------------------------------------------------------------

void Fold::blame(Causes& causes, std::string_view scope, const Member& member) const {
  const auto index = state_.topology->scope(scope);
  if (!index) return;
  for (const auto& [node, track] : member.state->tracks) {
    const bool is_bad =
        track.looks.failures_in_row() > 0 || level_of(track.seen) >= Level::degraded;
    // Traffic and pricing fail as a whole; a sentinel fails on individual nodes.
    if (member.target->kind == TargetKind::sentinel && !(track.seen.is_fresh && is_bad)) continue;
    add_in_order(causes[*index].failed, FailedTarget{member.target->name, node});
  }
}

bool Fold::is_provider_caused(const Target& target) const {
  const Topology& topology = *state_.topology;
  const auto upstream = topology.upstreams.find(target.upstream);
  if (upstream == topology.upstreams.end()) return false;
  const UpstreamParts& parts = upstream->second;
  if (parts.reachability && topology.members[*parts.reachability].is_bad) return true;
  const auto bad = std::count_if(parts.continuous.begin(), parts.continuous.end(),
                                 [&](std::size_t index) { return topology.members[index].is_bad; });
  return bad > 0 && 2 * static_cast<std::size_t>(bad) >= parts.continuous.size();
}

void Fold::blame_targets(Causes& causes) const {
  const Topology& topology = *state_.topology;
  for (const Member& member : topology.members) {
    if (!member.is_bad) continue;
    const Target& target = *member.target;
    switch (target.kind) {
      case TargetKind::sentinel: blame(causes, "gateway", member); break;
      case TargetKind::reachability: blame(causes, "provider:" + target.provider, member); break;
      case TargetKind::pricing: blame(causes, "pricing", member); break;
      case TargetKind::lane: blame(causes, target.name, member); break;
      case TargetKind::traffic: break;  // blame_traffic()
      case TargetKind::contract:
        if (!is_provider_caused(target)) {
          blame(causes, target.name, member);
          break;
        }
        blame(causes, "provider:" + target.provider, member);
        if (const auto index = topology.scope(target.name)) causes[*index].is_absorbed = true;
        break;
    }
  }
}

const Member* Fold::member(std::string_view target) const {
  const Topology& topology = *state_.topology;
  const Target* const found = topology.set.find(target);
  if (found == nullptr) return nullptr;
  return &topology.members[static_cast<std::size_t>(found - topology.set.targets.data())];
}

void Fold::blame_traffic(Causes& causes) const {
  const Topology& topology = *state_.topology;
  const Member* const gateway = member("traffic:gateway");
  const bool is_gateway_bad = gateway != nullptr && gateway->is_bad;
  const bool is_gateway_caused =
      is_gateway_bad && is_at_fault(gateway->state->figures.traffic->gateway_fault);
  bool is_another_bad = false;
  for (const Member& each : topology.members) {
    const Target& target = *each.target;
    if (target.kind != TargetKind::traffic || !each.is_bad || target.provider.empty()) continue;
    is_another_bad = true;
    if (is_gateway_caused && !is_at_fault(each.state->figures.traffic->provider_fault)) {
      blame(causes, "gateway", each);
      continue;
    }
    const std::string provider = "provider:" + target.provider;
    const Member* const all = member("traffic:" + provider);
    const bool is_whole = (all != nullptr && all->is_bad) || is_provider_caused(target);
    const auto operation = topology.scope("operation:" + target.operation);
    if (!operation || is_whole) {
      blame(causes, provider, each);
      if (operation) causes[*operation].is_absorbed = true;
    } else {
      blame(causes, topology.scopes[*operation].name, each);
    }
  }
  if (is_gateway_caused || (is_gateway_bad && !is_another_bad)) blame(causes, "gateway", *gateway);
}

Fold::Causes Fold::causes_of() const {
  Causes causes(state_.topology->scopes.size());
  blame_targets(causes);
  blame_traffic(causes);
  return causes;
}

// ---- incidents ----------------------------------------------------------------------------------

const Track* Fold::track_of(const FailedTarget& failed) const {
  const auto target = state_.targets.find(failed.target);
  if (target == state_.targets.end()) return nullptr;
  const auto track = target->second.tracks.find(failed.node);
  return track == target->second.tracks.end() ? nullptr : &track->second;
}

// The severity covers the failed targets alone: one failed sentinel is no outage of the gateway,
// and neither is the outage of a provider, which has an incident of its own.
Level Fold::cause_level(const ScopeParts& parts, const IncidentCase& kept) const {
  if (parts.kind != ScopeKind::gateway) return worse(parts.figures->level, Level::degraded);
  std::vector<Seen> sentinels;
  for (const std::size_t index : parts.looked_at) {
    const Member& each = state_.topology->members[index];
    if (each.target->kind != TargetKind::sentinel) continue;
    for (const auto& [node, track] : each.state->tracks) sentinels.push_back(track.seen);
  }
  Level level = worse(active_level(sentinels), Level::degraded);
  for (const FailedTarget& failed : kept.failed) {
    const Member& each = *member(failed.target);
    if (each.target->kind == TargetKind::traffic) level = worse(level, each.state->figures.level);
  }
  return level;
}

// The facts that do not need the set of targets.
Situation Fold::situation_of(const Incident& incident) const {
  const IncidentCase& kept = state_.cases.at(incident.id);
  Situation now;
  now.state = incident.state;
  now.severity = incident.severity;
  now.is_stale = incident.is_stale;
  now.is_missing = kept.missing_since_ms != 0;
  if (now.is_missing) now.missing_for_ms = now_ms_ - kept.missing_since_ms;
  now.evidence_lost_ms = targets_.evidence_lost_ms;
  return now;
}

void Fold::add_facts(Situation& now, const ScopeParts& parts, const Incident& incident,
                     const Cause& cause) const {
  const IncidentCase& kept = state_.cases.at(incident.id);
  now.is_in_catalog = !kept.failed.empty();
  now.is_absorbed = cause.is_absorbed;
  now.passes_in_row = UINT32_MAX;
  for (const FailedTarget& failed : kept.failed) {
    const Member& each = *member(failed.target);
    const Track& track = *track_of(failed);
    const bool is_sentinel = each.target->kind == TargetKind::sentinel;
    const Level level = is_sentinel ? level_of(track.seen) : each.state->figures.level;
    const std::uint32_t passes = track.looks.passes_in_row();
    now.fails = now.fails || track.looks.failures_in_row() > 0;
    now.left_operational = now.left_operational || level >= Level::degraded;
    // A release sweep makes one look, so one pass suffices.
    now.passes_in_row =
        std::min(now.passes_in_row, track.seen.is_single && passes > 0 ? UINT32_MAX : passes);
  }
  if (now.left_operational) now.level = cause_level(parts, kept);
  const auto openings = state_.openings.find(parts.name);
  const bool flaps = openings != state_.openings.end() && is_flapping(openings->second);
  now.passes_needed = flaps ? recovered_after_passes_flapping : recovered_after_passes;
}

std::size_t Fold::begin_incident(const ScopeParts& parts, const Cause& cause) {
  Incident incident;
  incident.id = incident_id(parts.name, head_.round);
  incident.scope = parts.name;
  incident.first_round = head_.round;
  incident.started_at_ms = now_ms_;
  for (const FailedTarget& failed : cause.failed) {
    const Track& track = *track_of(failed);
    const bool fails = track.failing_since_ms != 0;
    incident.started_at_ms = std::min(incident.started_at_ms,
                                      fails ? track.failing_since_ms : track.last->at_ms);
  }
  state_.cases[incident.id];
  state_.incidents.push_back(std::move(incident));
  return state_.incidents.size() - 1;
}

// Adds the current failures to the earlier ones, and checks whether all of them still have fresh
// looks.
void Fold::gather(IncidentCase& kept, const Cause& cause) const {
  std::erase_if(kept.failed, [&](const FailedTarget& each) { return track_of(each) == nullptr; });
  for (const FailedTarget& each : cause.failed) add_in_order(kept.failed, each);
  const bool is_missing =
      std::any_of(kept.failed.begin(), kept.failed.end(),
                  [&](const FailedTarget& each) { return !track_of(each)->seen.is_fresh; });
  if (!is_missing) kept.missing_since_ms = 0;
  if (is_missing && kept.missing_since_ms == 0) kept.missing_since_ms = now_ms_;
}

// Sets the public description from the failed targets.
void Fold::describe(Incident& incident) const {
  for (const FailedTarget& failed : state_.cases.at(incident.id).failed) {
    const Target& target = *member(failed.target)->target;
    add_in_order(incident.signals, std::string(name_of(target.kind)));
    if (!target.operation.empty()) add_in_order(incident.affected, target.operation);
    if (incident.difference.empty()) incident.difference = track_of(failed)->difference;
  }
}

void Fold::follow(const ScopeParts& parts, Causes& causes) {
  Cause& cause = causes[static_cast<std::size_t>(&parts - state_.topology->scopes.data())];
  const auto found = unresolved_.find(parts.name);
  const bool is_new = found == unresolved_.end();
  if (is_new && cause.failed.empty()) return;
  Incident& incident =
      state_.incidents[is_new ? begin_incident(parts, cause) : found->second];
  const Incident before = incident;
  gather(state_.cases.at(incident.id), cause);
  if (cause.started_at_ms != 0) {
    incident.started_at_ms = std::min(incident.started_at_ms, cause.started_at_ms);
  }
  describe(incident);
  const bool was_absorbed = cause.is_absorbed && incident.state == IncidentState::suspect;
  if (was_absorbed && parts.enclosing && !is_new) {
    std::int64_t& earlier = causes[*parts.enclosing].started_at_ms;
    earlier = earlier == 0 ? incident.started_at_ms : std::min(earlier, incident.started_at_ms);
  }
  Situation now = situation_of(incident);
  add_facts(now, parts, incident, cause);
  if (is_new) now.state.reset();
  const std::size_t events = changes_.events.size();
  follow_edges(incident, now, &parts, cause);
  if (incident != before && changes_.events.size() == events) incident.last_round = head_.round;
  if (incident != before || is_new) changes_.incidents.push_back(incident);
}

void Fold::follow_edges(Incident& incident, Situation now, const ScopeParts* parts, Cause& cause) {
  std::uint32_t followed = 0;
  while (const IncidentRule* const rule = next_edge(now, followed)) {
    followed |= 1u << (rule - incident_rules().data());
    follow_edge(*rule, incident, now);
    if (incident.state == IncidentState::resolved) return;
    now = situation_of(incident);
    if (parts != nullptr) add_facts(now, *parts, incident, cause);
  }
}

void Fold::follow_edge(const IncidentRule& rule, Incident& incident, const Situation& now) {
  const bool is_first = rule.from == EdgeFrom::none;
  const IncidentState from = incident.state;
  if (!rule.to) incident.is_stale = now.is_missing;
  if (rule.to && !is_first) change_state(rule, incident);
  if (rule.to == IncidentState::open || rule.edge == "severity_changed") {
    incident.severity = std::max(incident.severity, now.level);
  }
  incident.last_round = head_.round;
  changes_.events.push_back({.incident_id = incident.id,
                             .at_ms = is_first ? incident.started_at_ms : now_ms_,
                             .from = from,
                             .to = incident.state,
                             .is_first = is_first,
                             .round = head_.round,
                             .note = std::string(rule.edge)});
}

void Fold::change_state(const IncidentRule& rule, Incident& incident) {
  incident.state = *rule.to;
  switch (incident.state) {
    case IncidentState::suspect: break;
    case IncidentState::open: {
      std::vector<std::int64_t>& openings = state_.openings[incident.scope];
      openings.push_back(now_ms_);
      if (openings.size() > flapping_openings) openings.erase(openings.begin());
      if (incident.opened_at_ms == 0) incident.opened_at_ms = now_ms_;
      incident.recovering_at_ms = 0;
      break;
    }
    case IncidentState::recovering: incident.recovering_at_ms = now_ms_; break;
    case IncidentState::resolved:
      incident.resolution = rule.resolution;
      end_incident(incident);
      break;
  }
}

void Fold::end_incident(Incident& incident) {
  incident.resolved_at_ms = now_ms_;
  for (const FailedTarget& failed : state_.cases.at(incident.id).failed) {
    const auto target = state_.targets.find(failed.target);
    if (target == state_.targets.end()) continue;
    const auto track = target->second.tracks.find(failed.node);
    if (track == target->second.tracks.end()) continue;
    LookWindow& looks = track->second.looks;
    if (incident.resolution == Resolution::recovered) looks.keep_passes_in_row();
    if (incident.resolution == Resolution::evidence_lost) looks.clear();
  }
  windows_changed_ = true;
  state_.cases.erase(incident.id);
}

void Fold::follow_incidents() {
  Topology& topology = *state_.topology;
  for (std::size_t at = 0; at < state_.incidents.size(); ++at) {
    Incident& incident = state_.incidents[at];
    if (incident.state == IncidentState::resolved) continue;
    if (topology.scope(incident.scope)) {
      unresolved_[incident.scope] = at;
      continue;
    }
    Situation now = situation_of(incident);
    now.is_in_catalog = false;
    Cause none;
    follow_edges(incident, now, nullptr, none);
    changes_.incidents.push_back(incident);
  }
  Causes causes = causes_of();
  // Operations come first, since a provider's incident absorbs the suspicions of its operations.
  for (const bool is_operation : {true, false}) {
    for (const ScopeParts& parts : topology.scopes) {
      if ((parts.kind == ScopeKind::operation) == is_operation) follow(parts, causes);
    }
  }
  forget_old_incidents();
}

void Fold::doubt_incidents() {
  for (Incident& incident : state_.incidents) {
    if (incident.state == IncidentState::resolved) continue;
    IncidentCase& kept = state_.cases.at(incident.id);
    if (kept.missing_since_ms == 0) kept.missing_since_ms = now_ms_;
    const Incident before = incident;
    Cause none;
    follow_edges(incident, situation_of(incident), nullptr, none);
    if (incident != before) changes_.incidents.push_back(incident);
  }
  forget_old_incidents();
}

void Fold::forget_old_incidents() {
  std::vector<Incident>& incidents = state_.incidents;
  std::erase_if(incidents, [&](const Incident& incident) {
    return incident.state == IncidentState::resolved &&
           (incident.opened_at_ms == 0 || incident.resolved_at_ms + resolved_kept_ms <= now_ms_);
  });
  std::sort(incidents.begin(), incidents.end(), is_earlier);
  const auto is_over = [](const Incident& incident) {
    return incident.state == IncidentState::resolved;
  };
  auto count = static_cast<std::size_t>(std::count_if(incidents.begin(), incidents.end(), is_over));
  std::erase_if(incidents, [&](const Incident& incident) {
    if (!is_over(incident) || count <= resolved_incidents_max) return false;
    --count;
    return true;
  });
}

}  // namespace turnpike::status

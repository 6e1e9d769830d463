#include "status/fold.h"

#include <algorithm>
#include <utility>

#include "status/text_form.h"
#include "status/topology.h"

namespace turnpike::status {

void show_last(TargetState& state) {
  TargetFigures& figures = state.figures;
  figures.last.reset();
  figures.by_node.clear();
  for (const auto& [node, track] : state.tracks) {
    figures.day = track.day;
    figures.day_looks = track.day_looks;
    if (!track.last) continue;
    if (!node.empty()) figures.by_node[node] = *track.last;
    const bool tells =
        track.last->result == LookResult::pass || track.last->result == LookResult::fail;
    if (tells && (!figures.last || figures.last->at_ms <= track.last->at_ms)) {
      figures.last = track.last;
    }
  }
}

Changes Fold::run() {
  if (!is_coherent()) {
    // An incoherent round is no evidence: it adds no facts and invalidates the known ones.
    doubt_everything();
    advance();
    doubt_incidents();
    return std::move(changes_);
  }
  if (!state_.topology || state_.topology->set != targets_) build_topology(state_, targets_);
  set_nodes(state_, head_.nodes);
  take_round();
  advance();
  judge_targets();
  judge_scopes();
  follow_incidents();
  if (windows_changed_) {  // a recovered component is operational at once
    judge_targets();
    judge_scopes();
  }
  mark_segments();
  changes_.segments = state_.history.take_changes(now_ms_);
  return std::move(changes_);
}

// ---- looks --------------------------------------------------------------------------------------

bool Fold::is_coherent() const {
  const bool is_first = state_.round == 0;
  const std::int64_t length_ms = head_.ended_at_ms - head_.started_at_ms;
  if (head_.round != state_.round + 1 || head_.epoch < state_.epoch) return false;
  if (length_ms <= 0 || length_ms > round_lengths_max * targets_.round_ms) return false;
  if (!is_first && head_.started_at_ms < state_.ended_at_ms) return false;
  if (!is_first && head_.stream != state_.stream) return false;
  if (head_.count != records_.size()) return false;
  std::uint64_t sequence = state_.records;
  for (const Record& record : records_) {
    if (record.sequence != ++sequence || record.generation != head_.generation) return false;
    if (record.traffic && !adds_up(*record.traffic)) return false;
  }
  return true;
}

void Fold::take_round() {
  // Looks that were due between the rounds are expected too, and count as unknown.
  const bool is_first = state_.round == 0;
  const std::int64_t from_ms =
      is_first ? head_.started_at_ms : std::min(state_.covered_until_ms, head_.started_at_ms);
  expect_looks(from_ms, head_.ended_at_ms);
  state_.covered_until_ms = head_.ended_at_ms;
  answer_early_looks();
  for (const Record& record : records_) take(record);
}

void Fold::doubt_everything() {
  // The next coherent round counts this period as unknown. After a clock step back it counts from
  // there.
  const bool went_back = now_ms_ < state_.covered_until_ms;
  if (went_back) state_.covered_until_ms = now_ms_;
  for (auto& [name, target] : state_.targets) {
    target.figures.level = Level::unknown;
    if (!went_back) continue;
    for (auto& [node, track] : target.tracks) {
      track.newest_due_ms = std::min(track.newest_due_ms, now_ms_);
      track.early.clear();
    }
  }
  for (auto& [name, figures] : state_.scopes) {
    figures.level = figures.active = Level::unknown;
    figures.evidence = Evidence::unverified;
    figures.valid_until_ms = now_ms_;
    figures.traffic.reset();
    for (auto* const level : {&figures.reachability, &figures.contract, &figures.pricing}) {
      if (*level) *level = Level::unknown;
    }
  }
}

void Fold::advance() {
  state_.stream = head_.stream;
  state_.round = head_.round;
  state_.epoch = std::max(state_.epoch, head_.epoch);
  state_.ended_at_ms = head_.ended_at_ms;
  if (!records_.empty()) state_.records = records_.back().sequence;
}

void Fold::expect_looks(std::int64_t from_ms, std::int64_t to_ms) {
  Topology& topology = *state_.topology;
  for (const Member& member : topology.members) {
    if (!member.is_looked_at || member.target->interval_ms == 0) continue;
    const bool is_sentinel = member.target->kind == TargetKind::sentinel;
    const Grid grid{member.phase_ms, member.target->interval_ms,
                    is_sentinel ? head_.nodes.size() : 1, topology.members.size()};
    if (due_count(grid.phase_ms, grid.interval_ms, from_ms, to_ms) == 0) continue;
    for (const std::size_t scope : member.scopes) {
      ScopeParts& parts = topology.scopes[scope];
      state_.history.expect(*parts.history, parts.name, grid, from_ms, to_ms, head_.round);
    }
  }
}

void Fold::answer_early_looks() {
  for (const Member& member : state_.topology->members) {
    for (auto& [node, track] : member.state->tracks) {
      std::erase_if(track.early, [&](const EarlyLook& look) {
        if (look.due_at_ms >= state_.covered_until_ms) return false;
        answer(member, look);
        return true;
      });
    }
  }
}

void Fold::answer(const Member& member, const EarlyLook& look) {
  for (const std::size_t scope : member.scopes) {
    History::answer(*state_.topology->scopes[scope].history, look.due_at_ms, look.passed,
                    look.latency_ms, head_.round);
  }
}

void Fold::take(const Record& record) {
  const TargetSet& set = state_.topology->set;
  const Target* const target = set.find(record.target);
  if (target == nullptr) return;
  const Member& member =
      state_.topology->members[static_cast<std::size_t>(target - set.targets.data())];
  if (target->kind == TargetKind::traffic) {
    take_traffic(member, record);
    return;
  }
  auto& tracks = member.state->tracks;
  const auto track =
      tracks.find(target->kind == TargetKind::sentinel ? record.node : std::string());
  if (track != tracks.end()) take_look(member, track->second, record);
}

void Fold::take_look(const Member& member, Track& track, const Record& record) {
  if (record.result != LookResult::skipped) {
    const std::int64_t day = record.started_at_ms / Segment::day_ms;
    if (std::exchange(track.day, day) != day) track.day_looks = 0;
    ++track.day_looks;
  }
  if (member.is_looked_at) take_regular(member, track, record);
  const bool passed = record.result == LookResult::pass;
  if (!passed && record.result != LookResult::fail) return;
  // A node's clock may be ahead of the leader's.
  const std::int64_t at_ms = std::min(record.started_at_ms, now_ms_);
  track.looks.push(passed);
  track.last = LastLook{record.result, record.reason,     record.node,
                        at_ms,         record.latency_ms, head_.round};
  if (passed) track.failing_since_ms = 0;
  if (!passed && track.failing_since_ms == 0) track.failing_since_ms = at_ms;
  track.difference = passed ? std::string() : record.difference;
  if (member.target->monitoring == MonitoringClass::manual) track.generation = record.generation;
}

void Fold::take_regular(const Member& member, Track& track, const Record& record) {
  const Target& target = *member.target;
  const std::int64_t due_at_ms = record.due_at_ms;
  const bool is_regular = record.sweep_id.empty() && target.interval_ms > 0 &&
                          (due_at_ms - member.phase_ms) % target.interval_ms == 0;
  // Each due time counts once. With jitter a look may precede its due time, but by less than an
  // interval.
  if (!is_regular || due_at_ms <= track.newest_due_ms) return;
  if (due_at_ms >= now_ms_ + target.interval_ms) return;
  track.newest_due_ms = due_at_ms;
  const bool passed = record.result == LookResult::pass;
  if (!passed && record.result != LookResult::fail) return;
  const EarlyLook look{due_at_ms, passed, record.latency_ms};
  if (due_at_ms >= state_.covered_until_ms) {
    track.early.push_back(look);
  } else {
    answer(member, look);
  }
}

void Fold::take_traffic(const Member& member, const Record& record) {
  if (!record.traffic) return;
  const std::optional<Level> level = traffic_level(*record.traffic);
  const bool holds = !level || *level == Level::operational;
  const std::int64_t at_ms = std::min(record.started_at_ms, now_ms_);
  Track& track = member.state->tracks[""];
  track.looks.push(holds);
  track.last = LastLook{level ? (holds ? LookResult::pass : LookResult::fail) : LookResult::unknown,
                        Reason::none,
                        record.node,
                        at_ms,
                        std::nullopt,
                        head_.round};
  if (holds) track.failing_since_ms = 0;
  if (!holds && track.failing_since_ms == 0) track.failing_since_ms = at_ms;
  member.state->figures.traffic = record.traffic;
  for (const std::size_t scope : member.scopes) {
    ScopeParts& parts = state_.topology->scopes[scope];
    state_.history.add_traffic(*parts.history, parts.name, head_.started_at_ms, *record.traffic,
                               head_.round);
  }
}

// ---- figures ------------------------------------------------------------------------------------

void Fold::judge_targets() {
  for (Member& member : state_.topology->members) judge_target(member);
}

void Fold::judge_target(Member& member) {
  const Target& target = *member.target;
  TargetState& state = *member.state;
  const bool is_manual =
      target.kind == TargetKind::contract && target.monitoring == MonitoringClass::manual;
  Level level = state.tracks.empty() ? Level::unknown : Level::operational;
  bool fails = false;
  for (auto& [node, track] : state.tracks) {
    const std::int64_t at_ms = track.last ? track.last->at_ms : 0;
    const std::int64_t until_ms =
        is_manual ? at_ms + manual_holds_ms
                  : fresh_until_ms(at_ms, target.interval_ms, state_.topology->set.round_ms);
    const bool is_of_now = !is_manual || track.generation == head_.generation;
    track.seen = {&track.looks, track.last && is_of_now && now_ms_ < until_ms, is_manual};
    level = worse(level, level_of(track.seen));
    fails = fails || (track.seen.is_fresh && track.looks.failures_in_row() > 0);
  }
  if (target.kind == TargetKind::traffic) {
    const bool is_fresh = state.tracks[""].seen.is_fresh;
    if (!is_fresh) state.figures.traffic.reset();
    const auto traffic =
        state.figures.traffic ? traffic_level(*state.figures.traffic) : std::nullopt;
    level = traffic.value_or(Level::unknown);
    fails = level >= Level::degraded;
  }
  if (target.kind == TargetKind::pricing && level != Level::unknown) {
    level = fails ? Level::major_outage : Level::operational;
  }
  member.is_bad = fails || level >= Level::degraded;
  state.figures.level = level;
  show_last(state);
}

void Fold::judge_scopes() {
  for (ScopeParts& parts : state_.topology->scopes) judge_scope(parts);
}

// All kinds if `kind` is null. An expired result of a release sweep is missing in its own scope
// only, since the next look happens with the next release.
std::vector<Seen> Fold::seen_of(const ScopeParts& parts, const TargetKind* kind) const {
  std::vector<Seen> seen;
  for (const std::size_t index : parts.looked_at) {
    const Member& member = state_.topology->members[index];
    if (kind != nullptr && member.target->kind != *kind) continue;
    for (const auto& [node, track] : member.state->tracks) {
      const bool is_past = track.seen.is_single && !track.seen.is_fresh;
      if (!is_past || parts.kind == ScopeKind::operation) seen.push_back(track.seen);
    }
  }
  for (const std::size_t index : parts.lanes) {
    seen.push_back(state_.topology->members[index].state->tracks.at("").seen);
  }
  return seen;
}

std::optional<Level> Fold::pricing_of(const ScopeParts& parts) const {
  if (parts.pricing.empty()) return std::nullopt;
  std::size_t failing = 0;
  bool is_all_lost = false;
  bool is_unknown = false;
  for (const std::size_t index : parts.pricing) {
    const TargetState& state = *state_.topology->members[index].state;
    is_unknown = is_unknown || state.figures.level == Level::unknown;
    if (state.figures.level < Level::degraded) continue;
    ++failing;
    const Reason reason = state.figures.last ? state.figures.last->reason : Reason::none;
    is_all_lost = is_all_lost || reason == Reason::ledger || reason == Reason::inventory;
  }
  const Level level = pricing_level(failing, parts.pricing.size(), is_all_lost);
  return is_unknown ? worse(level, Level::unknown) : level;
}

std::optional<Level> Fold::traffic_of(const ScopeParts& parts) const {
  if (!parts.traffic) return std::nullopt;
  const auto& traffic = state_.topology->members[*parts.traffic].state->figures.traffic;
  return traffic ? traffic_level(*traffic) : std::nullopt;
}

void Fold::set_times(const ScopeParts& parts) {
  ScopeFigures& figures = *parts.figures;
  const std::int64_t round_ms = state_.topology->set.round_ms;
  std::vector<std::size_t> members = parts.looked_at;
  if (members.empty()) members = parts.lanes;
  if (members.empty() && parts.kind == ScopeKind::pricing) members = parts.pricing;
  if (members.empty() && parts.traffic && figures.traffic) members = {*parts.traffic};
  figures.observed_at_ms = 0;
  figures.valid_until_ms = 0;
  for (const std::size_t index : members) {
    const Member& member = state_.topology->members[index];
    for (const auto& [node, track] : member.state->tracks) {
      if (!track.last) continue;
      figures.observed_at_ms = std::max(figures.observed_at_ms, track.last->at_ms);
      if (!track.seen.is_fresh) continue;
      const std::int64_t until_ms =
          track.seen.is_single
              ? track.last->at_ms + manual_holds_ms
              : fresh_until_ms(track.last->at_ms, member.target->interval_ms, round_ms);
      const bool is_first = figures.valid_until_ms == 0;
      figures.valid_until_ms = is_first ? until_ms : std::min(figures.valid_until_ms, until_ms);
    }
  }
  if (figures.valid_until_ms == 0) {
    figures.valid_until_ms = fresh_until_ms(now_ms_, round_ms, round_ms);
  }
}

void Fold::judge_scope(ScopeParts& parts) {
  ScopeFigures& figures = *parts.figures;
  const auto level_by = [&](TargetKind kind) -> std::optional<Level> {
    const std::vector<Seen> seen = seen_of(parts, &kind);
    if (seen.empty()) return std::nullopt;
    return active_level(seen);
  };
  const std::vector<Seen> seen = seen_of(parts, nullptr);
  figures.has_active = !parts.looked_at.empty();
  figures.active = active_level(seen);
  figures.evidence = evidence_of(seen);
  figures.traffic = traffic_of(parts);
  figures.pricing = pricing_of(parts);
  figures.reachability.reset();
  figures.contract.reset();
  if (parts.kind == ScopeKind::gateway || parts.kind == ScopeKind::provider) {
    figures.reachability = level_by(TargetKind::reachability);
    figures.contract = level_by(TargetKind::contract);
  }
  const bool has_looks = !seen.empty();
  figures.level = level_together(has_looks ? std::optional(figures.active) : std::nullopt,
                                 figures.traffic);
  if (!has_looks && figures.traffic) figures.evidence = Evidence::current;
  if (parts.kind == ScopeKind::pricing) {
    figures.level = figures.pricing.value_or(Level::unknown);
    if (figures.level != Level::unknown) figures.evidence = Evidence::current;
  }
  set_times(parts);
}

// ---- segments -----------------------------------------------------------------------------------

void Fold::mark_segments() {
  const Topology& topology = *state_.topology;
  const auto mark = [&](std::optional<std::size_t> scope, const Incident& incident, Level level) {
    if (!scope || topology.scopes[*scope].history == nullptr) return;
    const std::int64_t until_ms =
        incident.resolved_at_ms == 0 ? time_ms_max : incident.resolved_at_ms;
    History::overlap(*topology.scopes[*scope].history, incident.started_at_ms, until_ms, level,
                     head_.round);
  };
  for (const Incident& incident : state_.incidents) {
    const auto scope = topology.scope(incident.scope);
    if (incident.opened_at_ms == 0 || !scope) continue;
    const ScopeParts& parts = topology.scopes[*scope];
    mark(scope, incident, incident.severity);
    if (parts.kind != ScopeKind::provider && parts.kind != ScopeKind::operation) continue;
    mark(topology.scope("gateway"), incident, Level::degraded);
    mark(parts.enclosing, incident, Level::degraded);
    if (parts.kind != ScopeKind::provider) continue;
    for (const std::string& operation : incident.affected) {
      mark(topology.scope("operation:" + operation), incident, incident.severity);
    }
  }
}

}  // namespace turnpike::status

#include "status/incidents.h"

#include <array>

#include "status/rules.h"

namespace turnpike::status {
namespace {

using enum IncidentState;

constexpr std::array<std::string_view, 4> incident_states = {"suspect", "open", "recovering",
                                                             "resolved"};
constexpr std::array<std::string_view, 5> resolutions = {"none", "recovered", "not_confirmed",
                                                         "evidence_lost", "removed"};
constexpr std::array<std::string_view, 5> edge_beginnings = {"none", "suspect", "open",
                                                             "recovering", "unresolved"};

constexpr bool passes(const Situation& now, std::uint32_t times) noexcept {
  return !now.fails && now.passes_in_row >= times;
}

constexpr IncidentRule table[] = {
    {"removed", EdgeFrom::unresolved, resolved, Resolution::removed,
     "the component, or all that failed of it, left the set of targets",
     [](const Situation& now) { return !now.is_in_catalog; }},
    {"evidence_lost", EdgeFrom::unresolved, resolved, Resolution::evidence_lost,
     "the evidence was missing for evidence_lost_ms",
     [](const Situation& now) {
       return now.is_missing && now.missing_for_ms >= now.evidence_lost_ms;
     }},
    {"evidence_missing", EdgeFrom::unresolved, std::nullopt, Resolution::none,
     "something that failed was not looked at inside of three intervals",
     [](const Situation& now) { return now.is_missing && !now.is_stale; }},
    {"evidence_back", EdgeFrom::unresolved, std::nullopt, Resolution::none,
     "all that failed was looked at again",
     [](const Situation& now) { return !now.is_missing && now.is_stale; }},
    {"first_failure", EdgeFrom::none, suspect, Resolution::none,
     "a look fails, traffic is below 95 %, or fewer than 95 % of the window passed",
     [](const Situation& now) { return now.fails || now.left_operational; }},
    {"absorbed", EdgeFrom::suspect, resolved, Resolution::not_confirmed,
     "its upstream cannot be reached, or half of the upstream's continuous operations fail: the "
     "incident is the provider's",
     [](const Situation& now) { return now.is_absorbed; }},
    {"opened", EdgeFrom::suspect, open, Resolution::none, "what failed is degraded or worse",
     [](const Situation& now) { return now.left_operational; }},
    {"not_confirmed", EdgeFrom::suspect, resolved, Resolution::not_confirmed,
     "the next two looks passed, and traffic holds",
     [](const Situation& now) { return passes(now, suspicion_ends_after_passes); }},
    {"severity_changed", EdgeFrom::open, std::nullopt, Resolution::none,
     "it is worse than it was: the worst is kept",
     [](const Situation& now) { return now.left_operational && now.level > now.severity; }},
    {"passing", EdgeFrom::open, recovering, Resolution::none,
     "the newest look at everything that failed passed, and traffic holds or is thin",
     [](const Situation& now) { return passes(now, 1); }},
    {"failed_again", EdgeFrom::recovering, open, Resolution::none, "a look fails",
     [](const Situation& now) { return now.fails; }},
    {"recovered", EdgeFrom::recovering, resolved, Resolution::recovered,
     "5 looks in a row passed at everything that failed; 15 after 3 openings in 30 minutes",
     [](const Situation& now) { return passes(now, now.passes_needed); }},
};

constexpr bool begins_at(EdgeFrom from, const std::optional<IncidentState>& state) noexcept {
  if (from == EdgeFrom::none || !state) return from == EdgeFrom::none && !state;
  if (from == EdgeFrom::unresolved) return *state != resolved;
  return static_cast<int>(from) - 1 == static_cast<int>(*state);
}
static_assert(begins_at(EdgeFrom::suspect, suspect) && begins_at(EdgeFrom::recovering, recovering));

}  // namespace

std::string_view name_of(IncidentState state) noexcept {
  return incident_states[static_cast<std::size_t>(state)];
}

std::string_view name_of(Resolution resolution) noexcept {
  return resolutions[static_cast<std::size_t>(resolution)];
}

std::string_view name_of(EdgeFrom from) noexcept {
  return edge_beginnings[static_cast<std::size_t>(from)];
}

std::span<const IncidentRule> incident_rules() noexcept { return table; }

const IncidentRule* next_edge(const Situation& situation, std::uint32_t followed) noexcept {
  for (std::size_t at = 0; at < std::size(table); ++at) {
    const bool is_new = (followed >> at & 1) == 0;
    if (is_new && begins_at(table[at].from, situation.state) && table[at].holds(situation)) {
      return &table[at];
    }
  }
  return nullptr;
}

}  // namespace turnpike::status

// The state machine of an incident as a table: which facts lead from which state to which. The book
// gathers the facts of a round and follows the edges; nothing else changes an incident.
//
// Pure functions; any Thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "status/book.h"
#include "status/level.h"

namespace turnpike::status {

// The facts about one component after a round that its incident depends on.
struct Situation {
  // ---- of the incident ----
  std::optional<IncidentState> state;  // nullopt: no unresolved incident
  Level severity = Level::unknown;     // the worst so far
  bool is_stale = false;
  // ---- of the round ----
  bool is_in_catalog = true;   // the component and a failed target are in the set
  bool fails = false;          // the newest look at a failed target failed, or traffic < 95 %
  bool left_operational = false;  // a failed target is degraded or worse
  Level level = Level::unknown;   // of the failed targets together
  std::uint32_t passes_in_row = 0;  // the minimum over the failed targets
  std::uint32_t passes_needed = 0;  // for a recovery; more when flapping
  bool is_absorbed = false;         // the failure is part of the provider's incident
  bool is_missing = false;          // a failed target has had no look for three intervals
  std::int64_t missing_for_ms = 0;
  std::int64_t evidence_lost_ms = 0;
};

// The states in which an edge may begin.
enum class EdgeFrom : std::uint8_t { none, suspect, open, recovering, unresolved };
std::string_view name_of(EdgeFrom from) noexcept;

struct IncidentRule {
  std::string_view edge;  // its name in events and in the rules
  EdgeFrom from = EdgeFrom::none;
  std::optional<IncidentState> to;  // nullopt: the state stays
  Resolution resolution = Resolution::none;
  std::string_view when;  // description for people
  bool (*holds)(const Situation& situation);
};

// In order of priority: the first rule that holds is followed.
std::span<const IncidentRule> incident_rules() noexcept;

// The next edge in this situation. `followed` has a bit for each edge that was followed in this
// round; no edge is followed twice. Null: the incident stays unchanged.
const IncidentRule* next_edge(const Situation& situation, std::uint32_t followed) noexcept;

}  // namespace turnpike::status

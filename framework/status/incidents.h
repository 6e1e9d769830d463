// The life of an incident as a table: which facts lead from which state to which. The book gathers
// the facts of a round and follows the edges; nothing else changes an incident.
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

// One component after a round, as its incident sees it.
struct Situation {
  // ---- of the incident ----
  std::optional<IncidentState> state;  // nothing: none is unresolved
  Level severity = Level::unknown;     // the worst so far
  bool is_stale = false;
  // ---- of the round ----
  bool is_in_catalog = true;   // the component, and one of the targets that failed, are in the set
  bool fails = false;          // the newest look at one of them failed, or traffic is below 95 %
  bool left_operational = false;  // one of them is degraded or worse
  Level level = Level::unknown;   // of what failed, together
  std::uint32_t passes_in_row = 0;  // the least of them
  std::uint32_t passes_needed = 0;  // for a recovery: more when it flaps
  bool is_absorbed = false;         // what fails is a part of the provider's incident now
  bool is_missing = false;          // one of them was not looked at inside of three intervals
  std::int64_t missing_for_ms = 0;
  std::int64_t evidence_lost_ms = 0;
};

// Where an edge begins.
enum class EdgeFrom : std::uint8_t { none, suspect, open, recovering, unresolved };
std::string_view name_of(EdgeFrom from) noexcept;

struct IncidentRule {
  std::string_view edge;  // its name in events and in the rules
  EdgeFrom from = EdgeFrom::none;
  std::optional<IncidentState> to;  // nothing: the state stays
  Resolution resolution = Resolution::none;
  std::string_view when;  // for people
  bool (*holds)(const Situation& situation);
};

// The first one that holds is followed.
std::span<const IncidentRule> incident_rules() noexcept;

// The next edge in this situation; `followed` holds a bit for each edge that was followed in this
// round, and none is followed twice. Null: the incident stays as it is.
const IncidentRule* next_edge(const Situation& situation, std::uint32_t followed) noexcept;

}  // namespace turnpike::status

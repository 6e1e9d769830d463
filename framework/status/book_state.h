// What a Book holds: the facts that its canonical form states, and beside them the topology, which
// follows from the set of targets and is made anew from it.
//
// A part of the Book (book.cpp, book_text.cpp); not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "status/book.h"
#include "status/history.h"
#include "status/rules.h"

namespace turnpike::status {

// A regular look that was made before its due time came: it counts once that time is in a round.
struct EarlyLook {
  std::int64_t due_at_ms = 0;
  bool passed = false;
  std::optional<std::uint32_t> latency_ms;
};

// All looks at one target; at a sentinel those of one node.
struct Track {
  LookWindow looks;
  std::optional<LastLook> last;  // that passed or failed; of traffic: the newest
  std::int64_t failing_since_ms = 0;  // the first failure of those that are in a row; 0: it passed
  std::int64_t newest_due_ms = 0;     // of the regular looks
  std::int64_t day = 0;               // of the newest look that was made
  std::uint32_t day_looks = 0;        // that were made on it
  std::vector<EarlyLook> early;       // by due time
  std::string generation;             // of the last look; of manual operations alone
  std::string difference;             // of the last look
  Seen seen;                          // after the newest round; not written
};

struct TargetState {
  TargetFigures figures;
  std::map<std::string, Track> tracks;  // by node; "": of all
};

// One thing that failed of an incident.
struct FailedTarget {
  std::string target;
  std::string node;  // of sentinels

  friend auto operator<=>(const FailedTarget&, const FailedTarget&) = default;
};

// What of an unresolved incident is not shown.
struct IncidentCase {
  std::vector<FailedTarget> failed;  // in order
  std::int64_t missing_since_ms = 0;  // 0: its evidence is there
};

// One target with what belongs to it.
struct Member {
  const Target* target = nullptr;
  TargetState* state = nullptr;
  std::int64_t phase_ms = 0;
  bool is_looked_at = false;  // of an active kind, and ever looked at
  bool is_bad = false;        // in this round: it fails, or is degraded or worse
  std::vector<std::size_t> scopes;  // that its looks count for
};

enum class ScopeKind : std::uint8_t { gateway, lane, operation, pricing, provider };

struct ScopeParts {
  std::string name;
  ScopeKind kind = ScopeKind::gateway;
  std::string key;                    // of the provider, the operation, the lane
  std::vector<std::size_t> looked_at;  // members of active kinds
  std::vector<std::size_t> pricing;
  std::vector<std::size_t> lanes;
  std::optional<std::size_t> traffic;
  std::optional<std::size_t> enclosing;  // of an operation: its provider's scope
  History::Scope* history = nullptr;     // null: it has none
  ScopeFigures* figures = nullptr;
};

struct UpstreamParts {
  std::optional<std::size_t> reachability;
  std::vector<std::size_t> continuous;  // contract looks
};

// Points into the state.
struct Topology {
  TargetSet set;
  std::vector<Member> members;     // as in the set
  std::vector<ScopeParts> scopes;  // by name
  std::map<std::string, UpstreamParts> upstreams;

  [[nodiscard]] std::optional<std::size_t> scope(std::string_view name) const;
};

struct Book::State {
  std::string stream;
  std::uint64_t round = 0;
  std::uint64_t epoch = 0;
  std::uint64_t records = 0;
  std::int64_t ended_at_ms = 0;
  std::int64_t covered_until_ms = 0;  // looks due before it are in the segments
  std::map<std::string, TargetState, std::less<>> targets;
  std::map<std::string, ScopeFigures, std::less<>> scopes;
  std::vector<Incident> incidents;            // oldest first
  std::map<std::string, IncidentCase> cases;  // of those not resolved, by id
  std::map<std::string, std::vector<std::int64_t>> openings;  // the newest, by scope
  History history;

  std::optional<Topology> topology;  // nothing: until a coherent round, and after read()
};

// Sets what figures show of the newest looks from the tracks.
void show_last(TargetState& state);

}  // namespace turnpike::status

// The contents of a Book: the facts that its canonical form states, and the topology, which is
// rebuilt from the set of targets.
//
// Part of the Book (book.cpp, book_text.cpp); not thread-safe.
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

// A regular look whose record came before its due time; counted once a round covers that time.
struct EarlyLook {
  std::int64_t due_at_ms = 0;
  bool passed = false;
  std::optional<std::uint32_t> latency_ms;
};

// All looks at one target; for a sentinel, those of one node.
struct Track {
  LookWindow looks;
  std::optional<LastLook> last;  // the newest that passed or failed; of traffic: the newest
  std::int64_t failing_since_ms = 0;  // first failure of the current row; 0: not failing
  std::int64_t newest_due_ms = 0;     // of the regular looks
  std::int64_t day = 0;               // of the newest look that was made
  std::uint32_t day_looks = 0;        // looks made on that day
  std::vector<EarlyLook> early;       // ordered by due time
  std::string generation;             // of the newest look; manual operations only
  std::string difference;             // of the newest look
  Seen seen;                          // after the newest round; not part of the text
};

struct TargetState {
  TargetFigures figures;
  std::map<std::string, Track> tracks;  // by node; "": all nodes
};

// One failed target of an incident.
struct FailedTarget {
  std::string target;
  std::string node;  // sentinels only

  friend auto operator<=>(const FailedTarget&, const FailedTarget&) = default;
};

// The internal state of an unresolved incident.
struct IncidentCase {
  std::vector<FailedTarget> failed;  // ordered
  std::int64_t missing_since_ms = 0;  // 0: no evidence is missing
};

// One target and the derived facts about it.
struct Member {
  const Target* target = nullptr;
  TargetState* state = nullptr;
  std::int64_t phase_ms = 0;
  bool is_looked_at = false;  // of an active kind, with looks
  bool is_bad = false;        // in this round: failing, or degraded or worse
  std::vector<std::size_t> scopes;  // scopes that count its looks
};

enum class ScopeKind : std::uint8_t { gateway, lane, operation, pricing, provider };

struct ScopeParts {
  std::string name;
  ScopeKind kind = ScopeKind::gateway;
  std::string key;                    // of the provider, the operation or the lane
  std::vector<std::size_t> looked_at;  // members of active kinds
  std::vector<std::size_t> pricing;
  std::vector<std::size_t> lanes;
  std::optional<std::size_t> traffic;
  std::optional<std::size_t> enclosing;  // of an operation: its provider's scope
  History::Scope* history = nullptr;     // null: the scope has no history
  ScopeFigures* figures = nullptr;
};

struct UpstreamParts {
  std::optional<std::size_t> reachability;
  std::vector<std::size_t> continuous;  // members with continuous contract looks
};

// Holds pointers into the state.
struct Topology {
  TargetSet set;
  std::vector<Member> members;     // in the order of the set
  std::vector<ScopeParts> scopes;  // ordered by name
  std::map<std::string, UpstreamParts> upstreams;

  [[nodiscard]] std::optional<std::size_t> scope(std::string_view name) const;
};

struct Book::State {
  std::string stream;
  std::uint64_t round = 0;
  std::uint64_t epoch = 0;
  std::uint64_t records = 0;
  std::int64_t ended_at_ms = 0;
  std::int64_t covered_until_ms = 0;  // looks due before this time are in the segments
  std::map<std::string, TargetState, std::less<>> targets;
  std::map<std::string, ScopeFigures, std::less<>> scopes;
  std::vector<Incident> incidents;            // oldest first
  std::map<std::string, IncidentCase> cases;  // unresolved ones, by id
  std::map<std::string, std::vector<std::int64_t>> openings;  // newest opening times, by scope
  History history;

  std::optional<Topology> topology;  // nullopt until a coherent round, and after read()
};

// Updates a target's figures from the newest looks of its tracks.
void show_last(TargetState& state);

}  // namespace turnpike::status

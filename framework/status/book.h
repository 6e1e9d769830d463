// Book: the state that is derived from the evidence. It is a fold: apply() takes the rounds in
// order, and all statuses, percentages, incidents and segments are functions of these rounds alone.
// The leader keeps one; a verifier of the evidence keeps another; after the same rounds their
// canonical forms have the same bytes.
//
// Not thread-safe: one Thread at a time, or const.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "status/level.h"
#include "status/record.h"
#include "status/round.h"
#include "status/target.h"

namespace turnpike::status {

// ---- figures ------------------------------------------------------------------------------------

// The state of one component after the newest round.
struct ScopeFigures {
  Level level = Level::unknown;
  Evidence evidence = Evidence::missing_or_stale;
  Level active = Level::unknown;  // by our own looks
  bool has_active = false;        // has targets of an active kind
  // Levels by looks of one kind alone, under the same rules: of a provider, and of the gateway
  // overall.
  std::optional<Level> reachability;  // nullopt: no upstream
  std::optional<Level> contract;      // nullopt: no operation has contract looks
  std::optional<Level> traffic;       // by real calls; nullopt: too few
  // True if the component's priced operations can be sold now; nullopt: none is priced. Affects
  // `level` in the scope "pricing" only: a failure to sell is a fault of the pricing, not of the
  // provider.
  std::optional<Level> pricing;
  std::int64_t observed_at_ms = 0;  // of the newest look; 0: none
  // Valid without a further round until this time: the earliest, over the active targets, of the
  // newest look plus three intervals.
  std::int64_t valid_until_ms = 0;
};

// The newest look at one target.
struct LastLook {
  LookResult result = LookResult::unknown;
  Reason reason = Reason::none;
  std::string node;
  std::int64_t at_ms = 0;
  std::optional<std::uint32_t> latency_ms;
  std::uint64_t round = 0;
};

struct TargetFigures {
  Level level = Level::unknown;
  std::optional<LastLook> last;  // the newest pass or fail; of a sentinel: on any node
  std::map<std::string, LastLook> by_node;  // sentinels only
  std::optional<Traffic> traffic;
  std::int64_t day = 0;       // UTC day since 1970 of day_looks
  std::uint32_t day_looks = 0;  // looks on that day, for the budget of a new leader

  [[nodiscard]] std::uint32_t looks_on(std::int64_t wanted) const noexcept {
    return wanted == day ? day_looks : 0;
  }
};

enum class IncidentState : std::uint8_t { suspect, open, recovering, resolved };
std::string_view name_of(IncidentState state) noexcept;
// Whether the failure is confirmed and not over.
constexpr bool is_ongoing(IncidentState state) noexcept {
  return state == IncidentState::open || state == IncidentState::recovering;
}

enum class Resolution : std::uint8_t { none, recovered, not_confirmed, evidence_lost, removed };
std::string_view name_of(Resolution resolution) noexcept;

struct Incident {
  std::string id;     // "inc_" and 16 hex digits of the SHA-256 of scope and first round
  std::string scope;  // "gateway", "pricing", "lane:<name>", "provider:<key>", "operation:<op>"
  IncidentState state = IncidentState::suspect;
  Level severity = Level::unknown;  // the worst so far; unknown while suspected
  Resolution resolution = Resolution::none;
  bool is_stale = false;              // its evidence is missing now
  // "reachability", "contract", "sentinel", "traffic", "pricing", "lane".
  std::vector<std::string> signals;
  std::vector<std::string> affected;  // failed operations "<capability_id>:<METHOD>", ordered
  std::string difference;             // of the first broken contract; empty: no contract broke
  std::int64_t started_at_ms = 0;     // time of the first failure
  std::int64_t opened_at_ms = 0;      // 0: not opened yet
  std::int64_t recovering_at_ms = 0;
  std::int64_t resolved_at_ms = 0;
  std::uint64_t first_round = 0;
  std::uint64_t last_round = 0;  // the newest round that changed the incident

  friend bool operator==(const Incident&, const Incident&) = default;
};

// One state change of an incident.
struct IncidentEvent {
  std::string incident_id;
  std::int64_t at_ms = 0;
  IncidentState from = IncidentState::suspect;
  IncidentState to = IncidentState::suspect;
  bool is_first = false;  // `from` is not used: the incident begins
  std::uint64_t round = 0;
  // The edge's name in the table of rules: "first_failure", "severity_changed".
  std::string note = {};

  friend bool operator==(const IncidentEvent&, const IncidentEvent&) = default;
};

// The looks at a component in a period. expected = passed + failed + unknown.
struct Segment {
  static constexpr std::int64_t lengths_ms[] = {300'000, 3'600'000, 86'400'000};
  static constexpr std::int64_t day_ms = lengths_ms[2];

  std::string scope;  // "gateway", "provider:<key>", "operation:<op>"
  std::int64_t length_ms = 0;
  std::int64_t started_at_ms = 0;  // a multiple of the length
  std::uint64_t expected = 0;
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t unknown = 0;
  // Sums of the shares per 10,000 over rounds with enough traffic, and the number of these rounds.
  std::uint64_t traffic_rounds = 0;
  std::uint64_t good = 0;
  std::uint64_t provider_fault = 0;
  std::uint64_t gateway_fault = 0;
  std::vector<std::uint32_t> latencies;  // counts per bucket, see latency_bounds_ms in rules.h
  Level status = Level::unknown;
  std::uint64_t first_round = 0;
  std::uint64_t last_round = 0;

  friend bool operator==(const Segment&, const Segment&) = default;
};

// The changes of one round, for the store.
struct Changes {
  std::vector<Incident> incidents;  // in their new state
  std::vector<IncidentEvent> events;
  std::vector<Segment> segments;  // the changed ones in their new state, open ones included
};

class Book {
 public:
  Book();
  ~Book();
  Book(Book&&) noexcept;
  Book& operator=(Book&&) noexcept;

  // Applies the next round. `targets` is the set that the round's hash names. Rounds are applied in
  // order. A round out of order, or whose clock went back, is accepted but leaves every component
  // unknown until the next round. Signature and chain are not checked here.
  Changes apply(const TargetSet& targets, const RoundHead& head, std::span<const Record> records);

  // The book as canonical JSON, and the hash of it that rounds commit to. The newest round's `head`
  // is not part of it.
  [[nodiscard]] std::string canonical() const;
  [[nodiscard]] std::string hash() const;  // "sha256:<hex>"
  static Result<Book, std::string> read(std::string_view json);

  [[nodiscard]] std::uint64_t round() const noexcept;  // 0: no round was applied
  [[nodiscard]] std::int64_t ended_at_ms() const noexcept;
  [[nodiscard]] std::uint64_t records() const noexcept;  // in the stream so far

  // `name`: "gateway", "pricing", "lane:<name>", "provider:<key>" or "operation:<op>"; null: no
  // such scope.
  [[nodiscard]] const ScopeFigures* scope(std::string_view name) const noexcept;
  [[nodiscard]] const TargetFigures* target(std::string_view name) const noexcept;
  // Unresolved incidents including suspicions, and the newest 256 confirmed ones that were resolved
  // in the last 24 hours, oldest first. Unconfirmed suspicions appear once, in Changes.
  [[nodiscard]] const std::vector<Incident>& incidents() const noexcept;
  // The open segments: those of the newest round and, for a while, the ones before them, since
  // looks may arrive late.
  [[nodiscard]] std::vector<Segment> open_segments() const;

  struct State;  // book_state.h

 private:
  std::unique_ptr<State> state_;
};

}  // namespace turnpike::status

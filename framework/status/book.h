// Book: what follows from the evidence. It is a fold: apply() takes one round after the other, and
// all statuses, percentages, incidents and segments are functions of what it took, of nothing else.
// The leader keeps one; who verifies the evidence keeps another; after the same rounds their
// canonical forms are the same bytes.
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

// ---- what is shown ------------------------------------------------------------------------------

// How one component does after the newest round.
struct ScopeFigures {
  Level level = Level::unknown;
  Evidence evidence = Evidence::missing_or_stale;
  Level active = Level::unknown;  // by our own looks
  bool has_active = false;        // it has targets of an active kind
  // By the looks of one kind alone, the same rules: of a provider, and of the gateway for all.
  std::optional<Level> reachability;  // nothing: no upstream
  std::optional<Level> contract;      // nothing: no operation is looked at
  std::optional<Level> traffic;       // by real calls; nothing: too few
  // Whether its priced operations can be sold now; nothing: none is priced. No part of `level`,
  // but in the scope "pricing": not selling is a fault of the pricing, not of the provider.
  std::optional<Level> pricing;
  std::int64_t observed_at_ms = 0;  // of its newest look; 0: none
  // Until when this may be believed without a further round: of each of its active targets the
  // newest look plus three intervals, the earliest of them.
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
  std::optional<LastLook> last;  // pass or fail, whichever is newer; a sentinel's: of any node
  std::map<std::string, LastLook> by_node;  // of sentinels
  std::optional<Traffic> traffic;
  std::int64_t day = 0;       // UTC, since 1970, that the next is of
  std::uint32_t day_looks = 0;  // that were made, so that a new leader knows what is left of a day

  [[nodiscard]] std::uint32_t looks_on(std::int64_t wanted) const noexcept {
    return wanted == day ? day_looks : 0;
  }
};

enum class IncidentState : std::uint8_t { suspect, open, recovering, resolved };
std::string_view name_of(IncidentState state) noexcept;

enum class Resolution : std::uint8_t { none, recovered, not_confirmed, evidence_lost, removed };
std::string_view name_of(Resolution resolution) noexcept;

struct Incident {
  std::string id;     // "inc_" and 16 hex digits of the SHA-256 of scope and first round
  std::string scope;  // "gateway", "pricing", "lane:<name>", "provider:<key>", "operation:<op>"
  IncidentState state = IncidentState::suspect;
  Level severity = Level::unknown;  // the worst so far; unknown while it is a suspicion
  Resolution resolution = Resolution::none;
  bool is_stale = false;              // the evidence on it is missing now
  // "reachability", "contract", "sentinel", "traffic", "pricing", "lane".
  std::vector<std::string> signals;
  std::vector<std::string> affected;  // "<capability_id>:<METHOD>" of what failed, in order
  std::string difference;             // of the first broken contract; empty: none was
  std::int64_t started_at_ms = 0;     // of the first failure
  std::int64_t opened_at_ms = 0;      // 0: it has not been
  std::int64_t recovering_at_ms = 0;
  std::int64_t resolved_at_ms = 0;
  std::uint64_t first_round = 0;
  std::uint64_t last_round = 0;  // the newest that changed it

  friend bool operator==(const Incident&, const Incident&) = default;
};

// One edge of an incident's life.
struct IncidentEvent {
  std::string incident_id;
  std::int64_t at_ms = 0;
  IncidentState from = IncidentState::suspect;
  IncidentState to = IncidentState::suspect;
  bool is_first = false;  // `from` means nothing: it begins
  std::uint64_t round = 0;
  // The edge's name in the table of rules: "first_failure", "severity_changed".
  std::string note = {};

  friend bool operator==(const IncidentEvent&, const IncidentEvent&) = default;
};

// What is known of a component in a span of time. expected = passed + failed + unknown.
struct Segment {
  static constexpr std::int64_t lengths_ms[] = {300'000, 3'600'000, 86'400'000};

  std::string scope;  // "gateway", "provider:<key>", "operation:<op>"
  std::int64_t length_ms = 0;
  std::int64_t started_at_ms = 0;  // a multiple of its length
  std::uint64_t expected = 0;
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t unknown = 0;
  // Sums of the parts per 10,000 of rounds whose traffic was not thin, and how many those were.
  std::uint64_t traffic_rounds = 0;
  std::uint64_t good = 0;
  std::uint64_t provider_fault = 0;
  std::uint64_t gateway_fault = 0;
  std::vector<std::uint32_t> latencies;  // counts by bucket, see latency_bounds_ms in rules.h
  Level status = Level::unknown;
  std::uint64_t first_round = 0;
  std::uint64_t last_round = 0;

  friend bool operator==(const Segment&, const Segment&) = default;
};

// What one round changed, for the store.
struct Changes {
  std::vector<Incident> incidents;  // as they are now
  std::vector<IncidentEvent> events;
  std::vector<Segment> segments;  // the ones touched: those still open, too, as they are now
};

class Book {
 public:
  Book();
  ~Book();
  Book(Book&&) noexcept;
  Book& operator=(Book&&) noexcept;

  // Takes the next round. `targets` is the set that the round's hash names. Rounds come in order;
  // one that is not the next, or whose clock went back, is taken and leaves every component
  // unknown until the next. Neither signature nor chain are looked at here.
  Changes apply(const TargetSet& targets, const RoundHead& head, std::span<const Record> records);

  // The book as canonical JSON, and the hash of it that rounds commit to. `head` of the newest
  // round is no part of it.
  [[nodiscard]] std::string canonical() const;
  [[nodiscard]] std::string hash() const;  // "sha256:<hex>"
  static Result<Book, std::string> read(std::string_view json);

  [[nodiscard]] std::uint64_t round() const noexcept;  // 0: none was taken
  [[nodiscard]] std::int64_t ended_at_ms() const noexcept;
  [[nodiscard]] std::uint64_t records() const noexcept;  // in the stream so far

  // Of "gateway", "pricing", "lane:<name>", "provider:<key>" or "operation:<op>"; null: there is no
  // such scope.
  [[nodiscard]] const ScopeFigures* scope(std::string_view name) const noexcept;
  [[nodiscard]] const TargetFigures* target(std::string_view name) const noexcept;
  // Not resolved, suspicions included, and those of the last 24 hours that were confirmed and are
  // resolved (the newest 256), oldest first. Suspicions that did not come true are in Changes once.
  [[nodiscard]] const std::vector<Incident>& incidents() const noexcept;
  // The segments that are not closed: those that the newest round is in, and for a while the ones
  // before them, since looks may come late.
  [[nodiscard]] std::vector<Segment> open_segments() const;

  struct State;  // book_state.h

 private:
  std::unique_ptr<State> state_;
};

}  // namespace turnpike::status

// The rules of the status: from looks to levels, with every number in them. They are the document
// of GET /v1/status/rules, and its hash stands in every round, so that whoever holds the evidence
// knows which rules were applied and can apply them again (docs/status.md, "Rules").
//
// Pure functions of their arguments; any Thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "status/level.h"
#include "status/record.h"

namespace turnpike::status {

// ---- the numbers --------------------------------------------------------------------------------

inline constexpr std::string_view rules_id = "status-rules.1";

// Of a target's newest looks that passed or failed. Smaller windows, and windows that are judged
// earlier, raise false alarms: tests/status simulates them.
inline constexpr std::uint32_t window_looks = 60;
inline constexpr std::uint32_t judged_from_looks = 20;
inline constexpr std::uint32_t degraded_below_percent = 95;  // of a target's own looks
inline constexpr std::uint32_t outage_below_percent = 50;    // of all looks of a component together
inline constexpr std::uint32_t degraded_from_failures = 2;   // in a row, of one target
inline constexpr std::uint32_t outage_from_failures = 3;     // in a row, of every target
inline constexpr std::int64_t stale_after_intervals = 3;
inline constexpr std::int64_t manual_holds_ms = 86'400'000;

inline constexpr std::uint32_t traffic_parts = 10'000;
inline constexpr std::int64_t traffic_window_ms = 300'000;
inline constexpr std::uint32_t traffic_calls_min = 100;
inline constexpr std::uint32_t traffic_accounts_min = 3;

inline constexpr std::uint32_t suspicion_ends_after_passes = 2;  // in a row
inline constexpr std::uint32_t recovered_after_passes = 5;       // in a row, the first included
inline constexpr std::uint32_t recovered_after_passes_flapping = 15;
inline constexpr std::uint32_t flapping_openings = 3;
inline constexpr std::int64_t flapping_window_ms = 30 * 60'000;
inline constexpr std::int64_t resolved_kept_ms = 86'400'000;  // by the book

// A segment takes late looks until so long after its end; then it is closed for ever.
inline constexpr std::int64_t segment_grace_ms = 300'000;
inline constexpr std::uint32_t segment_coverage_percent = 90;
inline constexpr std::uint32_t segment_operational_percent = 99;
inline constexpr std::uint32_t segment_degraded_percent = 50;
// Of a stretch without rounds, each length is filled up so far back from the next round; of the
// segments of one length at most so many are made, for all components together.
inline constexpr std::array<std::int64_t, 3> gap_kept_ms = {14 * 86'400'000LL, 90 * 86'400'000LL,
                                                            3'660 * 86'400'000LL};
inline constexpr std::int64_t gap_segments_max = 100'000;
// A round that is longer is none.
inline constexpr std::int64_t round_lengths_max = 10;

// Upper ends of the buckets in which latencies are counted, inclusive; one more is above them.
inline constexpr std::array<std::uint32_t, 24> latency_bounds_ms = {
    1,   2,   3,   5,   7,   10,    15,    20,    30,    50,    70,     100,
    150, 200, 300, 500, 700, 1'000, 1'500, 2'000, 3'000, 5'000, 10'000, 30'000};
inline constexpr std::size_t latency_buckets = latency_bounds_ms.size() + 1;

// ---- one target ---------------------------------------------------------------------------------

// The newest looks at a target that passed or failed. Looks that say nothing are not in it: they
// neither break nor lengthen what is in a row.
class LookWindow {
 public:
  void push(bool passed) noexcept;
  // Begins anew with the passes that are the newest in a row.
  void keep_passes_in_row() noexcept;
  void clear() noexcept { *this = LookWindow(); }

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t passed() const noexcept;
  // In a row, newest first; they are counted beyond the window.
  [[nodiscard]] std::uint32_t failures_in_row() const noexcept { return failures_; }
  [[nodiscard]] std::uint32_t passes_in_row() const noexcept { return passes_; }

  // Oldest first: '1' passed, '0' failed.
  [[nodiscard]] std::string text() const;
  // Nothing: there is no such window.
  static std::optional<LookWindow> read(std::string_view text, std::uint32_t failures,
                                        std::uint32_t passes) noexcept;

  friend bool operator==(const LookWindow&, const LookWindow&) = default;

 private:
  std::uint64_t bits_ = 0;  // the newest is bit 0; 1: it passed
  std::uint32_t size_ = 0;
  std::uint32_t failures_ = 0;
  std::uint32_t passes_ = 0;
};

// What is known of one target when a round ends.
struct Seen {
  const LookWindow* looks = nullptr;
  bool is_fresh = false;   // its newest look is inside of three intervals
  bool is_single = false;  // one look is the verdict: of a release sweep
};

// Until when a look of `at_ms` still tells something. An interval shorter than a round counts as
// one: nothing is known of it before the round's end.
constexpr std::int64_t fresh_until_ms(std::int64_t at_ms, std::int64_t interval_ms,
                                      std::int64_t round_ms) noexcept {
  return at_ms + stale_after_intervals * (interval_ms > round_ms ? interval_ms : round_ms);
}

Level level_of(const Seen& target) noexcept;

// ---- a component --------------------------------------------------------------------------------

// By our own looks at all of its targets; unknown where it has none.
Level active_level(std::span<const Seen> targets) noexcept;
// Whether each target, or only some, are fresh.
Evidence evidence_of(std::span<const Seen> targets) noexcept;
// Nothing: too few calls to tell.
std::optional<Level> traffic_level(const Traffic& traffic) noexcept;
bool adds_up(const Traffic& traffic) noexcept;

// All that can be sold, of which `failing` cannot now; `is_all_lost`: the reason is one for all.
Level pricing_level(std::size_t failing, std::size_t count, bool is_all_lost) noexcept;

// What a component's signals say together. `active`: nothing where it has no targets of ours.
Level level_together(std::optional<Level> active, std::optional<Level> traffic) noexcept;

// ---- a span of time -----------------------------------------------------------------------------

// `worst`: of the incidents that overlap it.
Level segment_level(std::optional<Level> worst, std::uint64_t expected, std::uint64_t passed,
                    std::uint64_t failed) noexcept;

// 100 * part / whole in hundredths, rounded down: 10,000 means that nothing is missing. Nothing
// where `whole` is 0.
std::optional<std::uint32_t> percent_hundredths(std::uint64_t part, std::uint64_t whole) noexcept;

std::size_t latency_bucket(std::uint32_t latency_ms) noexcept;
// The upper end of the bucket in which that share of the looks is reached; those above all bounds
// count as the greatest. Nothing: there are no looks.
std::optional<std::uint32_t> latency_percentile_ms(std::span<const std::uint32_t> latencies,
                                                   std::uint32_t percent) noexcept;

// ---- the document -------------------------------------------------------------------------------

const std::string& rules_json();  // canonical JSON
const std::string& rules_hash();  // "sha256:<hex>" of it

}  // namespace turnpike::status

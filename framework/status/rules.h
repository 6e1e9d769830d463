// The rules of the status: from looks to levels, with every number in them. They are published by
// GET /v1/status/rules, and every round contains their hash, so that a holder of the evidence knows
// which rules applied and can apply them again (docs/status.md, "Rules").
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

// Windows count a target's newest looks that passed or failed. Smaller windows, and windows that
// are judged earlier, raise false alarms: tests/status simulates them.
inline constexpr std::uint32_t window_looks = 60;
inline constexpr std::uint32_t judged_from_looks = 20;
inline constexpr std::uint32_t degraded_below_percent = 95;  // of a target's own looks
inline constexpr std::uint32_t outage_below_percent = 50;    // of all looks of a component
inline constexpr std::uint32_t degraded_from_failures = 2;   // in a row, of one target
inline constexpr std::uint32_t outage_from_failures = 3;     // in a row, of every target
inline constexpr std::int64_t stale_after_intervals = 3;
inline constexpr std::int64_t manual_holds_ms = 86'400'000;

inline constexpr std::uint32_t traffic_parts = 10'000;
inline constexpr std::int64_t traffic_window_ms = 300'000;
inline constexpr std::uint32_t traffic_calls_min = 100;
inline constexpr std::uint32_t traffic_accounts_min = 3;

inline constexpr std::uint32_t suspicion_ends_after_passes = 2;  // in a row
inline constexpr std::uint32_t recovered_after_passes = 5;       // in a row, including the first
inline constexpr std::uint32_t recovered_after_passes_flapping = 15;
inline constexpr std::uint32_t flapping_openings = 3;
inline constexpr std::int64_t flapping_window_ms = 30 * 60'000;
inline constexpr std::int64_t resolved_kept_ms = 86'400'000;  // in the book

// A segment accepts late looks for this long after its end; then it is closed permanently.
inline constexpr std::int64_t segment_grace_ms = 300'000;
inline constexpr std::uint32_t segment_coverage_percent = 90;
inline constexpr std::uint32_t segment_operational_percent = 99;
inline constexpr std::uint32_t segment_degraded_percent = 50;
// A gap without rounds is filled at most this far back per segment length, counted from the next
// round, and with at most gap_segments_max segments of one length per component, divided by the
// number of targets.
inline constexpr std::array<std::int64_t, 3> gap_kept_ms = {14 * 86'400'000LL, 90 * 86'400'000LL,
                                                            3'660 * 86'400'000LL};
inline constexpr std::int64_t gap_segments_max = 100'000;
// A round longer than this multiple of round_ms is incoherent.
inline constexpr std::int64_t round_lengths_max = 10;

// Inclusive upper bounds of the latency buckets; one more bucket is above them.
inline constexpr std::array<std::uint32_t, 24> latency_bounds_ms = {
    1,   2,   3,   5,   7,   10,    15,    20,    30,    50,    70,     100,
    150, 200, 300, 500, 700, 1'000, 1'500, 2'000, 3'000, 5'000, 10'000, 30'000};
inline constexpr std::size_t latency_buckets = latency_bounds_ms.size() + 1;

// ---- one target ---------------------------------------------------------------------------------

// The newest looks at a target that passed or failed. Inconclusive looks are not included: they
// neither break nor extend a row.
class LookWindow {
 public:
  void push(bool passed) noexcept;
  // Resets the window to the newest consecutive passes.
  void keep_passes_in_row() noexcept;
  void clear() noexcept { *this = LookWindow(); }

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t passed() const noexcept;
  // Consecutive results, newest first; counted beyond the window.
  [[nodiscard]] std::uint32_t failures_in_row() const noexcept { return failures_; }
  [[nodiscard]] std::uint32_t passes_in_row() const noexcept { return passes_; }

  // Oldest first: '1' passed, '0' failed.
  [[nodiscard]] std::string text() const;
  // nullopt: not a valid window.
  static std::optional<LookWindow> read(std::string_view text, std::uint32_t failures,
                                        std::uint32_t passes) noexcept;

  friend bool operator==(const LookWindow&, const LookWindow&) = default;

 private:
  std::uint64_t bits_ = 0;  // the newest is bit 0; 1: passed
  std::uint32_t size_ = 0;
  std::uint32_t failures_ = 0;
  std::uint32_t passes_ = 0;
};

// The facts about one target at the end of a round.
struct Seen {
  const LookWindow* looks = nullptr;
  bool is_fresh = false;   // the newest look is within three intervals
  bool is_single = false;  // one look decides: a release sweep
};

// The time until which a look at `at_ms` is fresh. An interval shorter than a round counts as one
// round, since results are known only at the round's end.
constexpr std::int64_t fresh_until_ms(std::int64_t at_ms, std::int64_t interval_ms,
                                      std::int64_t round_ms) noexcept {
  return at_ms + stale_after_intervals * (interval_ms > round_ms ? interval_ms : round_ms);
}

Level level_of(const Seen& target) noexcept;

// ---- a component --------------------------------------------------------------------------------

// By our own looks at all targets; unknown without targets.
Level active_level(std::span<const Seen> targets) noexcept;
// Quality of the evidence, by whether all targets have fresh looks or only some.
Evidence evidence_of(std::span<const Seen> targets) noexcept;
// nullopt: too few calls.
std::optional<Level> traffic_level(const Traffic& traffic) noexcept;
bool adds_up(const Traffic& traffic) noexcept;

// `failing` of `count` priced operations cannot be sold now; `is_all_lost`: one common reason
// affects all.
Level pricing_level(std::size_t failing, std::size_t count, bool is_all_lost) noexcept;

// Combines a component's signals. `active`: nullopt if it has no targets of active kinds.
Level level_together(std::optional<Level> active, std::optional<Level> traffic) noexcept;

// ---- a span of time -----------------------------------------------------------------------------

// `worst`: of the incidents that overlap the segment.
Level segment_level(std::optional<Level> worst, std::uint64_t expected, std::uint64_t passed,
                    std::uint64_t failed) noexcept;

// 100 * part / whole in hundredths, rounded down: 10,000 means that nothing is missing. nullopt if
// `whole` is 0.
std::optional<std::uint32_t> percent_hundredths(std::uint64_t part, std::uint64_t whole) noexcept;

std::size_t latency_bucket(std::uint32_t latency_ms) noexcept;
// The upper bound of the bucket that contains the percentile; looks above all bounds count as the
// greatest bound. nullopt: no looks.
std::optional<std::uint32_t> latency_percentile_ms(std::span<const std::uint32_t> latencies,
                                                   std::uint32_t percent) noexcept;

// ---- the document -------------------------------------------------------------------------------

const std::string& rules_json();  // canonical JSON
const std::string& rules_hash();  // "sha256:<hex>" of the document

}  // namespace turnpike::status

#include "status/rules.h"

#include <algorithm>
#include <bit>

#include "status/incidents.h"
#include "status/text_form.h"
#include "text/canonical_json.h"

namespace turnpike::status {
namespace {

using nlohmann::json;

constexpr std::uint64_t window_mask = (std::uint64_t{1} << window_looks) - 1;
constexpr std::uint32_t in_row_max = 1'000'000;  // upper bound of counts in a row

constexpr bool is_below(std::uint64_t part, std::uint64_t whole, std::uint32_t percent) noexcept {
  return part * 100 < whole * percent;
}

json numbers() {
  return {{"window_looks", window_looks},
          {"judged_from_looks", judged_from_looks},
          {"degraded_below_percent", degraded_below_percent},
          {"outage_below_percent", outage_below_percent},
          {"degraded_from_failures", degraded_from_failures},
          {"outage_from_failures", outage_from_failures},
          {"stale_after_intervals", stale_after_intervals},
          {"manual_holds_ms", manual_holds_ms},
          {"traffic_window_ms", traffic_window_ms},
          {"traffic_calls_min", traffic_calls_min},
          {"traffic_accounts_min", traffic_accounts_min},
          {"suspicion_ends_after_passes", suspicion_ends_after_passes},
          {"recovered_after_passes", recovered_after_passes},
          {"recovered_after_passes_flapping", recovered_after_passes_flapping},
          {"flapping_openings", flapping_openings},
          {"flapping_window_ms", flapping_window_ms},
          {"resolved_kept_ms", resolved_kept_ms},
          {"segment_lengths_ms", {300'000, 3'600'000, 86'400'000}},
          {"segment_grace_ms", segment_grace_ms},
          {"segment_coverage_percent", segment_coverage_percent},
          {"segment_operational_percent", segment_operational_percent},
          {"segment_degraded_percent", segment_degraded_percent},
          {"gap_kept_ms", gap_kept_ms},
          {"gap_segments_max", gap_segments_max},
          {"round_lengths_max", round_lengths_max},
          {"latency_bounds_ms", latency_bounds_ms}};
}

json incident_edges() {
  json edges = json::array();
  for (const IncidentRule& rule : incident_rules()) {
    edges.push_back({{"edge", rule.edge},
                     {"from", name_of(rule.from)},
                     {"resolution", name_of(rule.resolution)},
                     {"to", rule.to ? name_of(*rule.to) : name_of(rule.from)},
                     {"when", rule.when}});
  }
  return edges;
}

// Explanations of the numbers for people; docs/status.md, "Rules", has them in full.
json sentences() {
  return {
      {"level",
       "The order is major_outage, degraded, unknown, operational: the worst signal decides. "
       "Too few calls are no signal; missing looks are unknown."},
      {"looks",
       "A target is degraded after 2 failures in a row, or when fewer than 95 % of its last 60 "
       "looks passed (from 20 looks on). A component is degraded when one of its targets is, and "
       "in major_outage when each of them failed 3 times in a row, or when fewer than 50 % of all "
       "their looks passed. Looks that were skipped or say nothing are in no window. A target "
       "without a pass or failure inside of 3 intervals, or that never passed, is unknown."},
      {"gateway",
       "All looks of all components count for the gateway: one provider in outage makes it "
       "degraded, and so does one failing sentinel."},
      {"manual",
       "The last look of a release sweep holds 24 hours of its generation, one failure suffices."},
      {"unreviewed", "Operations that nobody reviewed know their traffic alone."},
      {"traffic",
       "Calls of the last 5 minutes, from 100 calls and 3 accounts on: below 95 % good is "
       "degraded, below 50 % major_outage."},
      {"pricing",
       "What is offered at a price and cannot be sold now is degraded, major_outage when nothing "
       "can or when the ledger does not answer."},
      {"segments",
       "expected = passed + failed + unknown. Only looks on a target's grid count, each once. "
       "Percentages are rounded down to two places. A segment has the worst severity of an "
       "incident that overlaps it; else it is unknown below 90 % coverage; else 99 % and 50 % of "
       "its looks decide. For an enclosing component an incident counts as degraded."},
      {"incoherent",
       "A round that is not the next, whose clock or epoch went back, or whose records do not add "
       "up is no evidence: everything is unknown until the next."},
      {"recomputable",
       "Every level, segment and incident follows from the evidence. Where traffic is published "
       "as ratios, levels are recomputable from them and the counts of calls behind them are not; "
       "neither are the numbers of refused calls of an incident."}};
}

}  // namespace

void LookWindow::push(bool passed) noexcept {
  bits_ = (bits_ << 1 | std::uint64_t{passed}) & window_mask;
  size_ = std::min(size_ + 1, window_looks);
  failures_ = passed ? 0 : std::min(failures_ + 1, in_row_max);
  passes_ = passed ? std::min(passes_ + 1, in_row_max) : 0;
}

void LookWindow::keep_passes_in_row() noexcept {
  size_ = std::min(size_, passes_);
  bits_ = (std::uint64_t{1} << size_) - 1;
}

std::uint32_t LookWindow::passed() const noexcept {
  return static_cast<std::uint32_t>(std::popcount(bits_));
}

std::string LookWindow::text() const {
  std::string text(size_, '0');
  for (std::uint32_t at = 0; at < size_; ++at) {
    if (bits_ >> (size_ - 1 - at) & 1) text[at] = '1';
  }
  return text;
}

std::optional<LookWindow> LookWindow::read(std::string_view text, std::uint32_t failures,
                                           std::uint32_t passes) noexcept {
  if (text.size() > window_looks || failures > in_row_max || passes > in_row_max) {
    return std::nullopt;
  }
  LookWindow window;
  for (const char c : text) {
    if (c != '0' && c != '1') return std::nullopt;
    window.push(c == '1');
  }
  // A row may be longer than the window, and not shorter than the row that the window shows.
  const bool is_all = window.failures_ == window.size_ || window.passes_ == window.size_;
  const auto fits = [&](std::uint32_t row, std::uint32_t shown) {
    return shown == 0 ? row == 0 : row == shown || (is_all && row > shown);
  };
  if (!fits(failures, window.failures_) || !fits(passes, window.passes_)) return std::nullopt;
  window.failures_ = failures;
  window.passes_ = passes;
  return window;
}

Level level_of(const Seen& target) noexcept {
  const LookWindow& looks = *target.looks;
  if (!target.is_fresh || looks.size() == 0) return Level::unknown;
  if (looks.failures_in_row() >= outage_from_failures) return Level::major_outage;
  if (target.is_single) {
    return looks.failures_in_row() > 0 ? Level::degraded : Level::operational;
  }
  const bool is_judged = looks.size() >= judged_from_looks;
  if (is_judged && is_below(looks.passed(), looks.size(), outage_below_percent)) {
    return Level::major_outage;
  }
  const bool is_low = is_judged && is_below(looks.passed(), looks.size(), degraded_below_percent);
  if (is_low || looks.failures_in_row() >= degraded_from_failures) return Level::degraded;
  return looks.passed() == 0 ? Level::unknown : Level::operational;
}

Level active_level(std::span<const Seen> targets) noexcept {
  Level worst = targets.empty() ? Level::unknown : Level::operational;
  std::uint64_t looks = 0;
  std::uint64_t passed = 0;
  bool all_failed = !targets.empty();
  for (const Seen& target : targets) {
    // One target in outage does not make the component an outage.
    worst = worse(worst, std::min(level_of(target), Level::degraded));
    all_failed = all_failed && target.is_fresh &&
                 target.looks->failures_in_row() >= outage_from_failures;
    if (!target.is_fresh || target.is_single) continue;
    looks += target.looks->size();
    passed += target.looks->passed();
  }
  const bool most_failed =
      looks >= judged_from_looks && is_below(passed, looks, outage_below_percent);
  return all_failed || most_failed ? Level::major_outage : worst;
}

Evidence evidence_of(std::span<const Seen> targets) noexcept {
  const auto is_fresh = [](const Seen& target) { return target.is_fresh; };
  const auto was_seen = [](const Seen& target) { return target.looks->size() > 0; };
  if (!targets.empty() && std::all_of(targets.begin(), targets.end(), is_fresh)) {
    return Evidence::current;
  }
  const bool is_old = std::none_of(targets.begin(), targets.end(), is_fresh) &&
                      std::any_of(targets.begin(), targets.end(), was_seen);
  return is_old ? Evidence::stale : Evidence::missing_or_stale;
}

std::optional<Level> traffic_level(const Traffic& traffic) noexcept {
  if (traffic.is_thin) return std::nullopt;
  if (is_below(traffic.good, traffic_parts, outage_below_percent)) return Level::major_outage;
  if (is_below(traffic.good, traffic_parts, degraded_below_percent)) return Level::degraded;
  return Level::operational;
}

bool adds_up(const Traffic& traffic) noexcept {
  const std::uint64_t sum =
      std::uint64_t{traffic.good} + traffic.provider_fault + traffic.gateway_fault;
  return traffic.is_thin ? sum == 0 : sum == traffic_parts;
}

Level pricing_level(std::size_t failing, std::size_t count, bool is_all_lost) noexcept {
  if (failing == 0) return Level::operational;
  return is_all_lost || failing == count ? Level::major_outage : Level::degraded;
}

Level level_together(std::optional<Level> active, std::optional<Level> traffic) noexcept {
  if (!active) return traffic.value_or(Level::unknown);
  return worse(*active, traffic.value_or(*active));
}

Level segment_level(std::optional<Level> worst, std::uint64_t expected, std::uint64_t passed,
                    std::uint64_t failed) noexcept {
  if (worst) return *worst;
  const std::uint64_t looks = passed + failed;
  if (looks == 0 || is_below(looks, expected, segment_coverage_percent)) return Level::unknown;
  if (!is_below(passed, looks, segment_operational_percent)) return Level::operational;
  return is_below(passed, looks, segment_degraded_percent) ? Level::major_outage
                                                           : Level::degraded;
}

std::optional<std::uint32_t> percent_hundredths(std::uint64_t part, std::uint64_t whole) noexcept {
  if (whole == 0) return std::nullopt;
  return static_cast<std::uint32_t>(part * 10'000 / whole);
}

std::size_t latency_bucket(std::uint32_t latency_ms) noexcept {
  return static_cast<std::size_t>(
      std::lower_bound(latency_bounds_ms.begin(), latency_bounds_ms.end(), latency_ms) -
      latency_bounds_ms.begin());
}

std::optional<std::uint32_t> latency_percentile_ms(std::span<const std::uint32_t> latencies,
                                                   std::uint32_t percent) noexcept {
  std::uint64_t count = 0;
  for (const std::uint32_t each : latencies) count += each;
  if (count == 0) return std::nullopt;
  std::uint64_t reached = 0;
  for (std::size_t at = 0; at < latencies.size(); ++at) {
    reached += latencies[at];
    if (reached * 100 >= count * percent) {
      return latency_bounds_ms[std::min(at, latency_bounds_ms.size() - 1)];
    }
  }
  return latency_bounds_ms.back();
}

const std::string& rules_json() {
  static const std::string text =
      *text::canonical_json({{"id", rules_id},
                             {"incidents", incident_edges()},
                             {"numbers", numbers()},
                             {"sentences", sentences()}});
  return text;
}

const std::string& rules_hash() {
  static const std::string hash = hash_of(rules_json());
  return hash;
}

}  // namespace turnpike::status

#include "status/schedule.h"

#include <algorithm>
#include <array>

namespace turnpike::status {
namespace {

constexpr std::int64_t utc_day_ms = 86'400'000;

std::int64_t day_of(std::int64_t at_ms) noexcept { return at_ms / utc_day_ms; }

// The first due time on the target's grid at or after `from_ms`.
std::int64_t next_due(const Target& target, std::int64_t from_ms) noexcept {
  const std::int64_t phase = phase_ms(target);
  const std::int64_t intervals =
      (from_ms - phase + target.interval_ms - 1) / target.interval_ms;  // times are after 1970
  return phase + intervals * target.interval_ms;
}

std::uint32_t chance_below(Random& random, std::uint32_t bound) noexcept {
  std::array<std::uint8_t, 4> bytes;
  random.fill(bytes);
  std::uint32_t number = 0;
  for (const std::uint8_t byte : bytes) number = number << 8 | byte;
  return static_cast<std::uint32_t>(std::uint64_t{number} * bound >> 32);
}

}  // namespace

bool Schedule::is_scheduled(const Target& target) noexcept {
  return (target.kind == TargetKind::reachability || target.kind == TargetKind::contract) &&
         target.monitoring == MonitoringClass::continuous && target.interval_ms > 0;
}

Schedule::Entry Schedule::begun(const Target& target, std::int64_t now_ms,
                                std::optional<std::uint32_t> looks_today) {
  Entry entry;
  entry.day = day_of(now_ms);
  entry.looks = looks_today.value_or(0);
  plan(entry, target, now_ms);
  if (!looks_today) entry.extras_at_ms[0] = now_ms + delay_ms(target);
  return entry;
}

// A random delay, so that targets with the same due time do not start together.
std::int64_t Schedule::delay_ms(const Target& target) {
  const std::int64_t most_ms = std::min(target.interval_ms, round_ms_) / delay_parts;
  return chance_below(random_, static_cast<std::uint32_t>(most_ms) + 1);
}

void Schedule::plan(Entry& entry, const Target& target, std::int64_t from_ms) {
  entry.due_at_ms = next_due(target, from_ms);
  entry.begin_at_ms = entry.due_at_ms + delay_ms(target);
}

// True if the day's budget has an extra look left after the remaining regular ones.
bool Schedule::has_extra(Entry& entry, std::int64_t now_ms) const {
  const Target& target = entry.target;
  if (target.per_day_max == 0) return true;
  const std::int64_t regular =
      due_count(target, entry.due_at_ms, (day_of(now_ms) + 1) * utc_day_ms);
  return entry.looks + regular < target.per_day_max;
}

std::vector<DueLook> Schedule::take(std::int64_t now_ms) {
  std::vector<Entry*> waiting;
  std::vector<std::string_view> busy;  // upstreams with a running look
  std::uint32_t running = 0;
  for (auto& [name, entry] : entries_) {
    if (entry.day != day_of(now_ms)) {
      entry.day = day_of(now_ms);
      entry.looks = 0;
    }
    if (entry.is_running) {
      ++running;
      busy.push_back(entry.target.upstream);
      continue;
    }
    const bool is_extra_due = entry.extras_at_ms[0] != 0 && entry.extras_at_ms[0] <= now_ms;
    if (is_extra_due || entry.begin_at_ms <= now_ms) waiting.push_back(&entry);
  }
  std::sort(waiting.begin(), waiting.end(),
            [](const Entry* left, const Entry* right) {
              return left->begin_at_ms < right->begin_at_ms;
            });
  std::vector<DueLook> looks;
  for (Entry* entry : waiting) {
    const std::string_view upstream = entry->target.upstream;
    const bool is_busy = std::find(busy.begin(), busy.end(), upstream) != busy.end();
    if (is_busy || running == looks_at_once_max) continue;
    if (entry->begin_at_ms <= now_ms) {
      take_regular(*entry, now_ms, looks);
    } else {
      take_extra(*entry, now_ms, looks);
    }
    if (!entry->is_running) continue;
    ++running;
    busy.push_back(upstream);
  }
  return looks;
}

void Schedule::take_regular(Entry& entry, std::int64_t now_ms, std::vector<DueLook>& looks) {
  const Target& target = entry.target;
  const std::int64_t due_at_ms = entry.due_at_ms;
  plan(entry, target, due_at_ms + 1);
  // Missed looks, such as while the machine slept, are not made up for.
  if (now_ms - due_at_ms > round_ms_ / lateness_parts) {
    if (entry.due_at_ms <= now_ms) plan(entry, target, now_ms);
    return;
  }
  const bool is_spent = target.per_day_max != 0 && entry.looks >= target.per_day_max;
  looks.push_back({target, due_at_ms, is_spent});
  if (is_spent) return;
  ++entry.looks;
  entry.is_running = true;
}

void Schedule::take_extra(Entry& entry, std::int64_t now_ms, std::vector<DueLook>& looks) {
  const std::int64_t due_at_ms = entry.extras_at_ms[0];
  entry.extras_at_ms[0] = std::exchange(entry.extras_at_ms[1], 0);
  if (!has_extra(entry, now_ms) || now_ms - due_at_ms > round_ms_ / lateness_parts) return;
  ++entry.looks;
  entry.is_running = true;
  // A due time off the grid does not count as a regular look.
  looks.push_back({entry.target, due_at_ms + (is_on_grid(entry.target, due_at_ms) ? 1 : 0), false});
}

void Schedule::ended(std::string_view target, bool has_answer, bool has_passed,
                     std::int64_t now_ms) {
  const auto found = entries_.find(target);
  if (found == entries_.end()) return;  // the target left the catalog meanwhile
  Entry& entry = found->second;
  entry.is_running = false;
  if (!has_answer) return;
  const bool is_first_failure = !has_passed && !entry.has_failed;
  entry.has_failed = !has_passed;
  if (!is_first_failure) return;
  const std::int64_t quarter_ms = entry.target.interval_ms / 4;
  entry.extras_at_ms[0] = now_ms + quarter_ms;
  entry.extras_at_ms[1] = now_ms + 2 * quarter_ms;
}

}  // namespace turnpike::status

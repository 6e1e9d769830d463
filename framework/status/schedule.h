// Schedule: when the leader looks at which target: upstreams, and operations with continuous
// monitoring. Looks are due on the grid of their target (target.h) and begin after a short random
// delay, so that targets of the same interval do not start together. After a first failure two
// extra looks follow at a quarter of the interval, if the day's budget has them left beside the
// regular ones. Once the budget is spent, due looks are reported as skipped.
//
// Pure apart from its random source; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/host.h>

#include "status/target.h"

namespace turnpike::status {

struct DueLook {
  Target target;
  std::int64_t due_at_ms = 0;
  bool is_over_budget = false;  // not to be made: the day's budget is spent
};

class Schedule {
 public:
  static constexpr std::uint32_t looks_at_once_max = 4;  // in total, and one per upstream
  // A look begins at most this part of its interval, and of a round, after its due time, at random,
  // since its round is closed a sixth of a round after the round's end.
  static constexpr std::int64_t delay_parts = 10;
  // A look that could not begin by then is skipped: its record would come too late.
  static constexpr std::int64_t lateness_parts = 6;

  explicit Schedule(Random& random) : random_(random) {}

  // Looks at the targets of this set from now on. The state of targets in both sets is kept.
  // `looks_today(name)`: the number of looks at a new target in this UTC day, by the evidence;
  // nullopt: no look yet. Such a target gets an extra look soon, so that its state is known before
  // its first interval ends.
  template <class LooksToday>
  void install(const TargetSet& targets, std::int64_t now_ms, LooksToday looks_today) {
    std::map<std::string, Entry, std::less<>> entries;
    for (const Target& target : targets.targets) {
      if (!is_scheduled(target)) continue;
      const auto known = entries_.find(target.name);
      Entry entry = known != entries_.end() ? std::move(known->second)
                                            : begun(target, now_ms, looks_today(target.name));
      if (entry.target.interval_ms != target.interval_ms) plan(entry, target, now_ms);
      entry.target = target;
      entries.emplace(target.name, std::move(entry));
    }
    entries_ = std::move(entries);
    round_ms_ = targets.round_ms;
  }
  void clear() { entries_.clear(); }

  // The looks to begin now, ordered by start time. Each counts as running until ended(), except
  // those over budget.
  [[nodiscard]] std::vector<DueLook> take(std::int64_t now_ms);
  // REQUIRES: take() returned the target. An inconclusive look (`has_answer` false) changes no
  // state.
  void ended(std::string_view target, bool has_answer, bool has_passed, std::int64_t now_ms);

  [[nodiscard]] static bool is_scheduled(const Target& target) noexcept;

 private:
  struct Entry {
    Target target;
    std::int64_t due_at_ms = 0;    // the next regular look
    std::int64_t begin_at_ms = 0;  // start of the next regular look
    std::int64_t extras_at_ms[2] = {0, 0};  // 0: none
    std::int64_t day = 0;
    std::uint32_t looks = 0;  // on that day
    bool is_running = false;
    bool has_failed = false;  // by the newest look
  };

  Entry begun(const Target& target, std::int64_t now_ms,
              std::optional<std::uint32_t> looks_today);
  [[nodiscard]] std::int64_t delay_ms(const Target& target);
  void plan(Entry& entry, const Target& target, std::int64_t from_ms);
  [[nodiscard]] bool has_extra(Entry& entry, std::int64_t now_ms) const;
  void take_regular(Entry& entry, std::int64_t now_ms, std::vector<DueLook>& looks);
  void take_extra(Entry& entry, std::int64_t now_ms, std::vector<DueLook>& looks);

  Random& random_;
  std::int64_t round_ms_ = 60'000;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace turnpike::status

#include "runtime/watchdog.h"

#include <algorithm>

#include "base/thread_name.h"

namespace turnpike::runtime {

Watchdog::Watchdog(std::span<const std::unique_ptr<Loop>> loops, std::int64_t threshold_ms,
                   Report report)
    : loops_(loops),
      threshold_ms_(threshold_ms),
      report_(std::move(report)),
      reported_(loops.size(), 0),
      thread_([this] { watch(); }) {}

Watchdog::~Watchdog() {
  stop_.set();
  thread_.join();
}

std::uint64_t Watchdog::stalls(std::uint32_t tag) const {
  const std::lock_guard lock(mutex_);
  const auto found = stalls_.find(tag);
  return found == stalls_.end() ? 0 : found->second;
}

void Watchdog::watch() {
  base::name_this_thread("watchdog");
  const std::int64_t period_ms = std::max<std::int64_t>(threshold_ms_ / 2, 1);
  while (stop_.wait(Deadline::after_ms(period_ms)) != Wake::ready) look(now_ns());
}

void Watchdog::look(std::int64_t now_ns) {
  for (std::size_t at = 0; at < loops_.size(); ++at) {
    const LoopActivity activity = loops_[at]->activity();
    const std::int64_t since_ns = activity.busy_since_ns;
    const std::int64_t duration_ms = (now_ns - since_ns) / 1'000'000;
    if (since_ns == 0 || since_ns == reported_[at] || duration_ms < threshold_ms_) continue;
    reported_[at] = since_ns;
    {
      const std::lock_guard lock(mutex_);
      ++stalls_[activity.tag];
    }
    report_({loops_[at]->index(), duration_ms, activity.fiber, activity.tag});
  }
}

}  // namespace turnpike::runtime

#include "runtime/watchdog.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/thread_name.h"

namespace turnpike::runtime {

namespace {

// The total time that the Thread was runnable but not running; 0 if the kernel does not report it.
std::int64_t waited_for_processor_ns(int thread_id) noexcept {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", thread_id);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[96] = {};
  const ssize_t length = ::read(file, text, sizeof(text) - 1);
  ::close(file);
  long long ran_ns = 0;
  long long waited_ns = 0;
  if (length <= 0 || std::sscanf(text, "%lld %lld", &ran_ns, &waited_ns) != 2) return 0;
  return waited_ns;
}

}  // namespace

Watchdog::Watchdog(std::span<const std::unique_ptr<Loop>> loops, std::int64_t threshold_ms,
                   Report report)
    : loops_(loops),
      threshold_ns_(threshold_ms * 1'000'000),
      report_(std::move(report)),
      seen_(loops.size()),
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
  while (stop_.wait(Deadline{now_ns() + threshold_ns_ / 4}) != Wake::ready) look(now_ns());
}

// True if the running fiber alone has held the loop for half of the threshold.
bool Watchdog::is_to_blame(Seen& seen, const Loop& loop, const LoopActivity& activity,
                           std::int64_t now_ns) const {
  if (activity.tag == 0) {  // our own code, or no fiber
    seen.resumes = 0;
    return false;
  }
  const std::int64_t since_ns = std::exchange(seen.at_ns, now_ns);
  if (std::exchange(seen.resumes, activity.resumes) != activity.resumes) {
    seen.held_ns = 0;
    seen.waited_ns = -1;
    return false;
  }
  // The kernel is asked only now, since two checks rarely find the same fiber.
  const std::int64_t waited_ns = waited_for_processor_ns(loop.thread_id());
  const std::int64_t before_ns = std::exchange(seen.waited_ns, waited_ns);
  if (before_ns < 0) return false;
  const std::int64_t between_ns = std::min(now_ns - since_ns, threshold_ns_ / 2);
  const std::int64_t idle_ns = std::max<std::int64_t>(0, waited_ns - before_ns);
  seen.held_ns += std::max<std::int64_t>(0, between_ns - idle_ns);
  return seen.held_ns >= threshold_ns_ / 2;
}

void Watchdog::look(std::int64_t now_ns) {
  for (std::size_t at = 0; at < loops_.size(); ++at) {
    Seen& seen = seen_[at];
    const LoopActivity activity = loops_[at]->activity();
    const std::int64_t turn_ns = activity.busy_since_ns;
    const bool is_to_blame = this->is_to_blame(seen, *loops_[at], activity, now_ns);
    if (turn_ns == 0 || now_ns - turn_ns < threshold_ns_) continue;
    const bool is_new = std::exchange(seen.told_turn_ns, turn_ns) != turn_ns;
    if (is_new) seen.has_blamed = false;
    const std::uint32_t tag = is_to_blame ? activity.tag : 0;
    if (!is_new && (tag == 0 || seen.has_blamed)) continue;
    seen.has_blamed = tag != 0;
    {
      const std::lock_guard lock(mutex_);
      ++stalls_[tag];
    }
    report_({loops_[at]->index(), (now_ns - turn_ns) / 1'000'000, activity.fiber, tag});
  }
}

}  // namespace turnpike::runtime

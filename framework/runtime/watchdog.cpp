#include "runtime/watchdog.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/thread_name.h"

namespace turnpike::runtime {

namespace {

// The beginning of a file about the Thread (proc(5)); empty if the kernel does not have it.
std::array<char, 96> read_of_thread(int thread_id, const char* name) noexcept {
  std::array<char, 96> text{};
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%d/%s", thread_id, name);
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  if (::read(file, text.data(), text.size() - 1) < 0) text[0] = '\0';
  ::close(file);
  return text;
}

// True if the Thread runs or waits for a processor, rather than for anything else.
bool is_runnable(int thread_id) noexcept {
  const auto text = read_of_thread(thread_id, "stat");
  // The state follows the name, which may have any character.
  const char* const state = std::strrchr(text.data(), ')');
  return state != nullptr && std::strncmp(state, ") R", 3) == 0;
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

Watchdog::Times Watchdog::times_of(int thread_id) noexcept {
  const auto text = read_of_thread(thread_id, "schedstat");
  long long ran_ns = 0;
  long long waited_ns = 0;
  if (std::sscanf(text.data(), "%lld %lld", &ran_ns, &waited_ns) != 2) return {};
  return {true, ran_ns, waited_ns};
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
    seen.times.reset();
    return false;
  }
  // The kernel is asked only now, since two checks rarely find the same fiber.
  const Times times = times_of(loop.thread_id());
  const auto before = std::exchange(seen.times, times);
  if (!before) return false;
  // A wait for a processor is counted when it is over. Until then, only what the Thread ran tells
  // how long its fiber has held it.
  const std::int64_t held_ns = times.is_known && is_runnable(loop.thread_id())
                                   ? times.ran_ns - before->ran_ns
                                   : now_ns - since_ns - (times.waited_ns - before->waited_ns);
  seen.held_ns += std::clamp<std::int64_t>(held_ns, 0, threshold_ns_ / 2);
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

// Watchdog: a Thread that detects a loop that does not turn, because a fiber computes too long or
// makes a blocking call, and reports the fiber. Counts such stalls per tag, so that a plugin that
// stalls often can be moved to the blocking pool.
//
// A long turn is no proof against the fiber that is running at the check: many short fibers may
// have filled the turn, or the machine may have had no processor for the loop. A fiber is blamed
// for the time in which consecutive checks find it running without a wait, less the time that its
// Thread waited for a processor. A suspended process is recognized, as the checks themselves are
// late.
//
// Owned by Runtime. The callback runs on the watchdog's Thread; stalls() is for any Thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "runtime/loop.h"
#include "runtime/wait.h"

namespace turnpike::runtime {

struct Stall {
  unsigned loop = 0;
  std::int64_t duration_ms = 0;  // so far
  FiberName::Text fiber{};       // empty: no fiber was running (a posted function, a watcher)
  std::uint32_t tag = 0;         // of the fiber, when it is to blame
};

class Watchdog {
 public:
  using Report = std::function<void(const Stall&)>;
  // Reports each stall after `threshold_ms`, and again if a fiber is found to blame only later.
  // Loops must outlive it.
  Watchdog(std::span<const std::unique_ptr<Loop>> loops, std::int64_t threshold_ms, Report report);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  [[nodiscard]] std::uint64_t stalls(std::uint32_t tag) const;

 private:
  // How long a Thread ran in all, and how long it waited for a processor; 0 if not known.
  struct Times {
    bool is_known = false;
    std::int64_t ran_ns = 0;
    std::int64_t waited_ns = 0;
  };
  // The activity of a loop at the last check.
  struct Seen {
    std::uint64_t resumes = 0;
    std::int64_t at_ns = 0;
    std::int64_t held_ns = 0;     // by the fiber of this resume
    std::optional<Times> times;   // of its Thread; nullopt: not read
    std::int64_t told_turn_ns = 0;
    bool has_blamed = false;  // in the turn that was reported
  };

  [[nodiscard]] static Times times_of(int thread_id) noexcept;
  void watch();
  void look(std::int64_t now_ns);
  [[nodiscard]] bool is_to_blame(Seen& seen, const Loop& loop, const LoopActivity& activity,
                                 std::int64_t now_ns) const;

  const std::span<const std::unique_ptr<Loop>> loops_;
  const std::int64_t threshold_ns_;
  const Report report_;
  std::vector<Seen> seen_;  // per loop
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::uint64_t> stalls_;
  Event stop_;
  std::thread thread_;
};

}  // namespace turnpike::runtime

// Watchdog: a Thread that notices a loop that does not turn, because a fiber computes too long or
// blocks in a call it should not make, and says which fiber it is. Counts such stalls per tag, so
// that a plugin that stalls often can be moved to the blocking pool.
//
// Owned by Runtime. The callback runs on the watchdog's Thread; stalls() is for any Thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
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
  std::uint32_t tag = 0;
};

class Watchdog {
 public:
  using Report = std::function<void(const Stall&)>;
  // Reports each stall once, when it has lasted `threshold_ms`. Loops must outlive it.
  Watchdog(std::span<const std::unique_ptr<Loop>> loops, std::int64_t threshold_ms, Report report);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  [[nodiscard]] std::uint64_t stalls(std::uint32_t tag) const;

 private:
  void watch();
  void look(std::int64_t now_ns);

  const std::span<const std::unique_ptr<Loop>> loops_;
  const std::int64_t threshold_ms_;
  const Report report_;
  std::vector<std::int64_t> reported_;  // per loop: busy_since_ns of the stall told last
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::uint64_t> stalls_;
  Event stop_;
  std::thread thread_;
};

}  // namespace turnpike::runtime

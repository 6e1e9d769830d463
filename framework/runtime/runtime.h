// Runtime: the loop Threads, the blocking pool and the watchdog, started and stopped together. The
// composition root owns the one Runtime of the process; tests make their own. Functions are for any
// Thread unless they say otherwise.
//
// Stop order: the owner stops accepting; stop() lets the calls in flight end until the drain
// deadline, then cancels every fiber, waits for their ends, and ends the loops and the pool.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "runtime/loop.h"
#include "runtime/pool.h"
#include "runtime/watchdog.h"

namespace turnpike::runtime {

struct RuntimeOptions {
  std::uint32_t loops = 1;
  std::uint32_t pool_threads = 4;
  std::uint32_t pool_queued_max = 1024;
  std::int64_t stall_threshold_ms = 50;
  Watchdog::Report on_stall = [](const Stall&) {};
};

// A place on a loop, counted while it is held: one per connection.
class LoopSeat {
 public:
  LoopSeat() noexcept = default;
  explicit LoopSeat(Loop& loop) noexcept;
  ~LoopSeat() { reset(); }
  LoopSeat(LoopSeat&& other) noexcept : loop_(std::exchange(other.loop_, nullptr)) {}
  LoopSeat& operator=(LoopSeat&& other) noexcept {
    if (this != &other) {
      reset();
      loop_ = std::exchange(other.loop_, nullptr);
    }
    return *this;
  }
  // REQUIRES: not empty.
  [[nodiscard]] Loop& loop() const noexcept { return *loop_; }
  void reset() noexcept;

 private:
  Loop* loop_ = nullptr;
};

struct StopReport {
  bool drained = false;           // every call ended without cancellation
  std::uint32_t fibers_left = 0;  // at the give-up deadline; the process can then only exit
  bool pool_stopped = false;
};

class Runtime {
 public:
  explicit Runtime(RuntimeOptions options);  // starts; throws std::system_error
  ~Runtime();  // stop(): cancels running fibers, and waits for them without a limit
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // loops()[i]->post(...) for each reaches all: a program swap, a change of settings.
  [[nodiscard]] std::span<const std::unique_ptr<Loop>> loops() const noexcept { return loops_; }
  [[nodiscard]] BlockingPool& pool() noexcept { return *pool_; }
  [[nodiscard]] const Watchdog& watchdog() const noexcept { return *watchdog_; }

  // A seat on the loop with the fewest seats, for a new connection.
  [[nodiscard]] LoopSeat take_seat() noexcept;

  // The state of every fiber. A loop that does not answer by the deadline is omitted.
  [[nodiscard]] std::vector<FiberInfo> list_fibers(Deadline deadline);

  // Once, on a plain Thread. `give_up` bounds the wait for cancelled fibers and pool work.
  StopReport stop(Deadline drain, Deadline give_up);

 private:
  bool wait_until_idle(bool calls_only, Deadline deadline);
  void end_loops();  // also waits for their Threads

  std::vector<std::unique_ptr<Loop>> loops_;
  std::unique_ptr<BlockingPool> pool_;
  std::unique_ptr<Watchdog> watchdog_;
  std::vector<std::thread> threads_;
  std::atomic<std::uint32_t> next_seat_{0};
};

}  // namespace turnpike::runtime

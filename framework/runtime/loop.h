// Loop: one Thread that runs fibers, timers and sockets (epoll). Requests live on one loop from the
// first byte to the last. spawn(), post() and the counters may be used from any Thread, everything
// else from the loop's own.
//
// Owned by Runtime, which also runs it; must outlive every Thread that may still wake its fibers.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/context.h"
#include "runtime/deadline.h"
#include "runtime/fiber.h"
#include "runtime/stack.h"
#include "runtime/task.h"
#include "runtime/timer_wheel.h"

namespace turnpike::runtime {

struct FdState;

// One line of the list of fibers.
struct FiberInfo {
  unsigned loop = 0;
  FiberName::Text name{};
  const char* waits_for = "";  // "" when ready or running
  std::int64_t age_ms = 0;
  FiberKind kind = FiberKind::call;
  bool cancelled = false;
};

// The activity of a loop, for the watchdog.
struct LoopActivity {
  std::int64_t busy_since_ns = 0;  // 0: waiting for events
  std::uint64_t resumes = 0;
  FiberName::Text fiber{};  // empty: no fiber is running
  std::uint32_t tag = 0;
};

class Loop {
 public:
  explicit Loop(unsigned index);
  ~Loop();  // REQUIRES: run() is not running
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Null on a plain Thread.
  static Loop* current() noexcept;

  [[nodiscard]] unsigned index() const noexcept { return index_; }

  // Runs `function` on a fiber of this loop, soon. Functions from one Thread start in order.
  // `function` must not throw. Any Thread.
  FiberHandle spawn(Task function, FiberKind kind = FiberKind::call);
  // Runs `function` on the loop's Thread outside of any fiber, soon: it must not wait. Any Thread.
  void post(Task function);

  // Any Thread: values of a moment ago.
  [[nodiscard]] std::uint32_t fibers() const noexcept { return counts_.fibers.load(relaxed); }
  [[nodiscard]] std::uint32_t calls() const noexcept { return counts_.calls.load(relaxed); }
  [[nodiscard]] std::uint32_t ready() const noexcept { return counts_.ready.load(relaxed); }
  [[nodiscard]] std::uint32_t idle_stacks() const noexcept {
    return counts_.idle_stacks.load(relaxed);
  }
  [[nodiscard]] std::uint32_t descriptors() const noexcept {
    return counts_.descriptors.load(relaxed);
  }
  // The number of seats taken, by which the acceptor balances (see Runtime::take_seat). Any Thread.
  [[nodiscard]] std::int32_t seats() const noexcept { return seats_.load(relaxed); }
  [[nodiscard]] LoopActivity activity() const noexcept;
  // The kernel's id of the Thread; 0 before run(). Any Thread.
  [[nodiscard]] int thread_id() const noexcept { return thread_id_.load(relaxed); }

  // The time at which the loop's current turn began: precise enough for ages and idle timeouts.
  [[nodiscard]] std::int64_t turn_ns() const noexcept { return turn_ns_; }
  [[nodiscard]] TimerWheel& timers() noexcept { return timers_; }
  // Appends the loop's fibers. Loop Thread.
  void list_fibers(std::vector<FiberInfo>& into) const;
  // Cancels every fiber and all that are spawned later. Loop Thread.
  void cancel_fibers() noexcept;

  // Serves until exit() was called and the last fiber ended. Called once, by the loop's Thread.
  void run();
  void exit() noexcept;  // any Thread
  // Runs `notice` once, as soon as no fiber (of kind call, if `calls_only`) is left. Loop Thread.
  void notify_when_idle(Task notice, bool calls_only);

 private:
  friend class Fd;
  friend class Fiber;
  friend class LoopSeat;
  friend class WakeBatch;
  friend class Waiter;

  struct Post {
    Task task;
    Post* next;
  };
  struct IdleNotice {
    Task task;
    bool calls_only;
  };
  static constexpr auto relaxed = std::memory_order_relaxed;
  static constexpr int resumes_per_poll_max = 64;
  static constexpr std::size_t idle_stacks_max = 1024;

  // Hands fibers, linked by next_ from the newest to the oldest, to this loop. Any Thread.
  void hand_over(Fiber* newest, Fiber* oldest) noexcept;
  void notify() noexcept;  // any Thread
  Fiber& take_unused();    // any Thread
  void admit(Fiber& fiber) noexcept;
  void make_ready(Fiber& fiber) noexcept;
  void resume(Fiber& fiber);
  void retire(Fiber& fiber) noexcept;
  void suspend() noexcept;  // suspends the running fiber
  void count_descriptors(int change) noexcept;
  [[nodiscard]] Fiber* running() const noexcept { return running_.load(relaxed); }

  void turn();
  void drain_inbox();
  void run_ready();
  void poll();
  void tell_idle();
  [[nodiscard]] int poll_timeout_ms() noexcept;
  void free_retired_descriptors() noexcept;

  const unsigned index_;
  int epoll_ = -1;
  int wake_up_ = -1;  // eventfd

  // Written by other Threads.
  alignas(64) std::atomic<Fiber*> woken_{nullptr};  // newest first
  std::atomic<Post*> posts_{nullptr};
  std::atomic<bool> is_asleep_{false};
  std::atomic<bool> is_exiting_{false};
  std::atomic<std::int32_t> seats_{0};
  // Fibers for spawns from other Threads; the loop's own need no lock.
  std::mutex unused_by_others_mutex_;
  Fiber* unused_by_others_ = nullptr;

  // Read by other Threads.
  struct Counts {
    std::atomic<std::uint32_t> fibers{0};
    std::atomic<std::uint32_t> calls{0};
    std::atomic<std::uint32_t> ready{0};
    std::atomic<std::uint32_t> idle_stacks{0};
    std::atomic<std::uint32_t> descriptors{0};
  };
  alignas(64) Counts counts_;
  std::atomic<Fiber*> running_{nullptr};
  std::atomic<std::uint64_t> resumes_{0};
  std::atomic<std::int64_t> busy_since_ns_{0};
  std::atomic<int> thread_id_{0};

  // Used by the loop's Thread only.
  alignas(64) Context scheduler_;
  std::int64_t turn_ns_;
  TimerWheel timers_;
  StackPool stacks_{idle_stacks_max};
  Fiber* ready_first_ = nullptr;
  Fiber* ready_last_ = nullptr;
  std::uint32_t ready_count_ = 0;
  Fiber* without_stack_ = nullptr;  // started, but the system grants no more memory maps
  std::uint32_t stacks_in_use_ = 0;
  Fiber* alive_ = nullptr;
  Fiber* unused_ = nullptr;
  bool cancels_all_ = false;
  FdState* retired_descriptors_ = nullptr;
  std::vector<IdleNotice> idle_notices_;
};

// A callback on a loop at a deadline, for objects without a fiber (an idle connection). Owned by
// the object that it times; used by the loop's Thread only. The callback must not wait.
class Timer final : private TimerNode {
 public:
  using Callback = void (*)(void* context) noexcept;
  Timer(Loop& loop, Callback callback, void* context) noexcept
      : loop_(loop), callback_(callback), context_(context) {}
  ~Timer() { disarm(); }
  // Replaces an earlier deadline.
  void arm(Deadline deadline) noexcept {
    disarm();
    loop_.timers().arm(*this, deadline);
  }
  void disarm() noexcept { loop_.timers().disarm(*this); }
  using TimerNode::armed;

 private:
  void expired() noexcept override { callback_(context_); }
  Loop& loop_;
  Callback callback_;
  void* context_;
};

}  // namespace turnpike::runtime

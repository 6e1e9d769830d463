// Waiter: a fiber or a plain Thread that can wait, and how it is woken. The primitives of wait.h,
// fd.h and pool.h are built on it; other folders use those.
//
// A wait has a number. begin() starts it, park() gives up the processor until it ends, and any
// Thread may end it by wake() with that number. The first wake of a number wins; later ones, and
// wakes of earlier numbers, are dropped. So deadline, cancellation and result may race freely.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "runtime/deadline.h"

namespace turnpike::runtime {

class Fiber;
class Loop;

// Fibers woken together: each loop gets its fibers at once with at most one wake-up of its Thread.
// Lives on the waking Thread's stack; the fibers run after flush() (or the destructor).
class WakeBatch {
 public:
  WakeBatch() noexcept = default;
  WakeBatch(const WakeBatch&) = delete;
  WakeBatch& operator=(const WakeBatch&) = delete;
  ~WakeBatch() { flush(); }
  void flush() noexcept;

 private:
  friend class Waiter;
  struct Share {
    Loop* loop;
    Fiber* newest;  // linked by next_ to the oldest
    Fiber* oldest;
  };
  static constexpr int shares_max = 8;
  void add(Fiber& fiber) noexcept;

  Share shares_[shares_max];
  int share_count_ = 0;
};

class Waiter {
 public:
  // The running fiber, else the running plain Thread. Ends the process on a loop Thread outside a
  // fiber: a wait there would stop every request of the loop.
  static Waiter& current() noexcept;

  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Starts a wait and returns its number. `what` names it in lists of fibers; it is a literal.
  [[nodiscard]] std::uint64_t begin(const char* what) noexcept;
  // Returns how the wait ended. REQUIRES: begin() came before, on this Thread or fiber.
  [[nodiscard]] Wake park(Deadline deadline) noexcept;
  // Ends wait `number`; false when it has ended already. The waiter must not be destroyed
  // meanwhile: it is a fiber, or takes a lock after the wait. Any Thread.
  bool wake(std::uint64_t number, Wake cause, WakeBatch& batch) noexcept;

 protected:
  explicit Waiter(Loop* loop) noexcept : loop_(loop) {}
  ~Waiter() = default;

  enum class State : std::uint8_t { running, waiting, waiting_masked, ready, deadline, cancelled };
  static constexpr int state_bits = 3;
  static std::uint64_t word_of(std::uint64_t number, State state) noexcept {
    return number << state_bits | static_cast<std::uint64_t>(state);
  }
  static State state_of(std::uint64_t word) noexcept {
    return static_cast<State>(word & ((1u << state_bits) - 1));
  }
  static bool is_waiting(std::uint64_t word) noexcept {
    return state_of(word) == State::waiting || state_of(word) == State::waiting_masked;
  }
  // Ends the wait in `word` if the waiter is still in that wait.
  bool end_wait(std::uint64_t word, Wake cause) noexcept;
  [[nodiscard]] Wake finish_wait() noexcept;

  Loop* const loop_;  // null: a plain Thread
  std::atomic<std::uint64_t> wait_{0};
};

}  // namespace turnpike::runtime

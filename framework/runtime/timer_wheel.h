// TimerWheel: the deadlines of one loop. Hierarchical: 6 levels of 64 slots, the finest slot is a
// millisecond, the coarsest covers two years; insert and cancel are O(1), without allocation (nodes
// are members of the waiting objects) and without a system call. It reads no clock: the caller
// passes the time.
//
// Owned by a loop, used by its Thread only.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/deadline.h"

namespace turnpike::runtime {

class TimerNode {
 public:
  TimerNode(const TimerNode&) = delete;
  TimerNode& operator=(const TimerNode&) = delete;
  [[nodiscard]] bool armed() const noexcept { return link_ != nullptr; }

 protected:
  TimerNode() noexcept = default;
  virtual ~TimerNode() = default;  // REQUIRES: not armed

 private:
  friend class TimerWheel;
  // The wheel has released the node; it may be armed again, or destroyed.
  virtual void expired() noexcept = 0;

  TimerNode* next_ = nullptr;
  TimerNode** link_ = nullptr;  // the pointer to this node; null: not armed
  std::int64_t tick_ = 0;
  std::uint16_t place_ = 0;  // level * slots + slot
};

class TimerWheel {
 public:
  // Ticks are milliseconds of CLOCK_BOOTTIME; deadlines are rounded up, so they never expire early.
  explicit TimerWheel(std::int64_t now_ns) noexcept;
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // REQUIRES: not armed. A deadline that has passed expires within a tick.
  void arm(TimerNode& node, Deadline deadline) noexcept;
  void disarm(TimerNode& node) noexcept;  // no effect when not armed
  // Calls expired() of every node whose deadline is at or before `now_ns`.
  void advance(std::int64_t now_ns) noexcept;
  // The time of the next work of advance(); Deadline::never() when nothing is armed. May be earlier
  // than the earliest deadline (nodes then move to a finer level), never later.
  [[nodiscard]] Deadline next() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr int slot_bits = 6;
  static constexpr int slots = 1 << slot_bits;
  static constexpr int levels = 6;

  struct Due {
    int level;
    int slot;
    std::int64_t tick;
  };
  [[nodiscard]] bool find_due(Due& due) const noexcept;
  void place(TimerNode& node) noexcept;
  void unlink(TimerNode& node) noexcept;
  void open_slot(const Due& due) noexcept;

  std::int64_t tick_;  // all earlier ticks are processed
  std::size_t size_ = 0;
  std::array<std::uint64_t, levels> occupied_{};
  std::array<TimerNode*, levels * slots> heads_{};
};

}  // namespace turnpike::runtime

// The objects that a fiber or a plain Thread waits for, besides sockets and the pool. Each works
// the same on both, may be signalled from any Thread, takes a Deadline, allocates nothing and
// returns how the wait ended: ready (also when the deadline or a cancellation came at the same
// moment: the result wins), the deadline passed, or the fiber was cancelled.
//
// Owned by the code that shares it. A waiter may destroy the primitive as soon as its wait ended
// `ready`; a waiter that leaves for another cause must keep it alive for later signals. No
// std::mutex may be held across a wait (the loop would lock itself out): use Mutex.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/deadline.h"
#include "runtime/fiber.h"
#include "runtime/waiter.h"

namespace turnpike::runtime {

// Wake::deadline after the whole time, Wake::cancelled otherwise.
Wake sleep_until(Deadline deadline) noexcept;

// The waiters of one primitive, first come first served; nodes live on their stacks. Guarded by the
// primitive's mutex.
class WaitList {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  // Waits until granted by grant_first(), releasing `lock` meanwhile.
  Wake wait(std::unique_lock<std::mutex>& lock, Deadline deadline, const char* what) noexcept;
  // REQUIRES: not empty.
  void grant_first(WakeBatch& batch) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct Node {
    Waiter* waiter;
    std::uint64_t number;
    Node* previous = nullptr;
    Node* next = nullptr;
    bool is_granted = false;
  };
  void remove(Node& node) noexcept;

  Node* first_ = nullptr;
  Node* last_ = nullptr;
  std::size_t size_ = 0;
};

// Stays set from set() until reset(). Any number of waiters.
class Event {
 public:
  Event() noexcept = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  Wake wait(Deadline deadline) noexcept;
  void set() noexcept;
  // The woken fibers run once the batch is flushed: for setting many events at a time.
  void set(WakeBatch& batch) noexcept;
  void reset() noexcept;
  // Checks without waiting; does not make it safe to destroy the event.
  [[nodiscard]] bool is_set() const noexcept { return is_set_.load(std::memory_order_acquire); }

 private:
  std::mutex mutex_;
  std::atomic<bool> is_set_{false};
  WaitList waiters_;
};

// A result that one Thread sets once and another takes once. If the taker may leave at a deadline,
// both hold it by shared_ptr.
template <class T>
class OneShot {
 public:
  // REQUIRES: not set before.
  void set(T value) noexcept {
    value_.emplace(std::move(value));
    done_.set();
  }
  void set(T value, WakeBatch& batch) noexcept {
    value_.emplace(std::move(value));
    done_.set(batch);
  }
  Wake wait(Deadline deadline) noexcept { return done_.wait(deadline); }
  [[nodiscard]] bool is_set() const noexcept { return done_.is_set(); }
  // REQUIRES: wait() ended ready; call once.
  [[nodiscard]] T take() noexcept { return std::move(*value_); }

 private:
  std::optional<T> value_;
  Event done_;
};

// Units that are acquired and released; waiters are served in the order of arrival.
class Semaphore {
 public:
  explicit Semaphore(std::uint32_t units) noexcept : units_(units) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  Wake acquire(Deadline deadline) noexcept;
  [[nodiscard]] bool try_acquire() noexcept;
  void release(std::uint32_t units = 1) noexcept;
  [[nodiscard]] std::size_t waiting() const noexcept;

 private:
  mutable std::mutex mutex_;
  std::uint32_t units_;
  WaitList waiters_;
};

// Mutual exclusion that may be held across waits. Fair, not recursive.
class Mutex {
 public:
  Wake lock(Deadline deadline) noexcept { return semaphore_.acquire(deadline); }
  [[nodiscard]] bool try_lock() noexcept { return semaphore_.try_acquire(); }
  void unlock() noexcept { semaphore_.release(); }

 private:
  Semaphore semaphore_{1};
};

// Tries to lock until the deadline in its constructor; unlocks in its destructor if it succeeded.
class MutexLock {
 public:
  MutexLock(Mutex& mutex, Deadline deadline) noexcept
      : mutex_(mutex), wake_(mutex.lock(deadline)) {}
  ~MutexLock() {
    if (owns()) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  [[nodiscard]] bool owns() const noexcept { return wake_ == Wake::ready; }
  [[nodiscard]] Wake wake() const noexcept { return wake_; }

 private:
  Mutex& mutex_;
  Wake wake_;
};

// A bounded queue from many fibers and Threads to one taker that works in batches (a committer).
template <class T>
class BatchQueue {
 public:
  explicit BatchQueue(std::size_t items_max) : items_max_(items_max) {}
  BatchQueue(const BatchQueue&) = delete;
  BatchQueue& operator=(const BatchQueue&) = delete;

  // False when full or closed. Never waits.
  [[nodiscard]] bool push(T item) {
    WakeBatch batch;
    const std::lock_guard lock(mutex_);
    if (is_closed_ || items_.size() >= items_max_) return false;
    items_.push_back(std::move(item));
    if (items_.size() >= wanted_ && !taker_.empty()) taker_.grant_first(batch);
    return true;
  }
  // Waits until `wanted` items are queued, the deadline passes or close() is called; then moves all
  // queued items, perhaps none, to the empty vector `into`. One taker at a time. `ready` without
  // items means closed and empty.
  Wake take(std::vector<T>& into, std::size_t wanted, Deadline deadline) {
    std::unique_lock lock(mutex_);
    wanted_ = wanted;
    Wake wake = Wake::ready;
    while (items_.size() < wanted && !is_closed_ && wake == Wake::ready) {
      wake = taker_.wait(lock, deadline, "queue");
    }
    std::swap(items_, into);
    return wake;
  }
  // Refuses further pushes; queued items can still be taken.
  void close() noexcept {
    WakeBatch batch;
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    if (!taker_.empty()) taker_.grant_first(batch);
  }
  [[nodiscard]] std::size_t size() const noexcept {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }
  [[nodiscard]] bool closed() const noexcept {
    const std::lock_guard lock(mutex_);
    return is_closed_;
  }

 private:
  const std::size_t items_max_;
  mutable std::mutex mutex_;
  std::vector<T> items_;
  std::size_t wanted_ = 1;
  bool is_closed_ = false;
  WaitList taker_;
};

}  // namespace turnpike::runtime

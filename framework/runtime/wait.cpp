#include "runtime/wait.h"

namespace turnpike::runtime {

Wake sleep_until(Deadline deadline) noexcept {
  Waiter& waiter = Waiter::current();
  static_cast<void>(waiter.begin("sleep"));
  return waiter.park(deadline);
}

Wake WaitList::wait(std::unique_lock<std::mutex>& lock, Deadline deadline,
                    const char* what) noexcept {
  Waiter& waiter = Waiter::current();
  Node node{&waiter, waiter.begin(what), last_};
  (last_ == nullptr ? first_ : last_->next) = &node;
  last_ = &node;
  ++size_;
  lock.unlock();
  const Wake wake = waiter.park(deadline);
  lock.lock();
  if (node.is_granted) return Wake::ready;
  remove(node);
  return wake;
}

void WaitList::grant_first(WakeBatch& batch) noexcept {
  Node& node = *first_;
  remove(node);
  node.is_granted = true;
  // The deadline may have woken it already; it then finds the grant under the lock.
  node.waiter->wake(node.number, Wake::ready, batch);
}

void WaitList::remove(Node& node) noexcept {
  (node.previous == nullptr ? first_ : node.previous->next) = node.next;
  (node.next == nullptr ? last_ : node.next->previous) = node.previous;
  --size_;
}

Wake Event::wait(Deadline deadline) noexcept {
  std::unique_lock lock(mutex_);
  if (is_set_.load(std::memory_order_relaxed)) return Wake::ready;
  return waiters_.wait(lock, deadline, "event");
}

void Event::set() noexcept {
  WakeBatch batch;
  set(batch);
}

void Event::set(WakeBatch& batch) noexcept {
  const std::lock_guard lock(mutex_);
  is_set_.store(true, std::memory_order_release);
  while (!waiters_.empty()) waiters_.grant_first(batch);
}

void Event::reset() noexcept {
  const std::lock_guard lock(mutex_);
  is_set_.store(false, std::memory_order_relaxed);
}

Wake Semaphore::acquire(Deadline deadline) noexcept {
  std::unique_lock lock(mutex_);
  // Units are left only when no waiter is queued, so taking one here is fair.
  if (units_ > 0) {
    --units_;
    return Wake::ready;
  }
  return waiters_.wait(lock, deadline, "semaphore");
}

bool Semaphore::try_acquire() noexcept {
  const std::lock_guard lock(mutex_);
  if (units_ == 0) return false;
  --units_;
  return true;
}

void Semaphore::release(std::uint32_t units) noexcept {
  WakeBatch batch;
  const std::lock_guard lock(mutex_);
  for (; units > 0 && !waiters_.empty(); --units) waiters_.grant_first(batch);
  units_ += units;
}

std::size_t Semaphore::waiting() const noexcept {
  const std::lock_guard lock(mutex_);
  return waiters_.size();
}

}  // namespace turnpike::runtime

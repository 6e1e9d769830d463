#include "runtime/waiter.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "runtime/fiber.h"
#include "runtime/loop.h"

namespace turnpike::runtime {
namespace {

constexpr std::int64_t never_ns = Deadline::never().ns;

[[noreturn]] void refuse_wait_on_loop() noexcept {
  std::fputs("turnpike: a wait on a loop thread outside of a fiber\n", stderr);
  std::abort();
}

}  // namespace

// The waiter of a plain Thread; thread-local, so it lives as long as the Thread.
class ThreadWaiter final : public Waiter {
 public:
  ThreadWaiter() noexcept : Waiter(nullptr) {}

  Wake park_thread(Deadline deadline) noexcept {
    std::unique_lock lock(mutex_);
    while (true) {
      const std::uint64_t word = wait_.load(std::memory_order_acquire);
      if (!is_waiting(word)) return finish_wait();
      if (deadline.ns == never_ns) {
        woken_.wait(lock);
        continue;
      }
      const std::int64_t left_ns = deadline.ns - now_ns();
      if (left_ns <= 0) {
        end_wait(word, Wake::deadline);
        continue;
      }
      // The condition's clock stops while the machine is suspended, ours does not: check again.
      constexpr std::int64_t look_again_ns = 1'000'000'000;
      woken_.wait_for(lock, std::chrono::nanoseconds(std::min(left_ns, look_again_ns)));
    }
  }

  void notify() noexcept {
    const std::lock_guard lock(mutex_);
    woken_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
};

Waiter& Waiter::current() noexcept {
  if (Loop* const loop = Loop::current()) {
    if (loop->running() == nullptr) refuse_wait_on_loop();
    return *loop->running();
  }
  thread_local ThreadWaiter waiter;
  return waiter;
}

std::uint64_t Waiter::begin(const char* what) noexcept {
  const std::uint64_t number = (wait_.load(std::memory_order_relaxed) >> state_bits) + 1;
  if (loop_ == nullptr) {
    wait_.store(word_of(number, State::waiting), std::memory_order_release);
    return number;
  }
  auto& fiber = static_cast<Fiber&>(*this);
  fiber.waits_for_ = what;
  if (fiber.mask_depth_ > 0) {
    wait_.store(word_of(number, State::waiting_masked), std::memory_order_release);
    return number;
  }
  // Sequentially consistent with Fiber::cancel(), which sets its mark and then checks for a wait:
  // one of the two sees the other.
  const std::uint64_t word = word_of(number, State::waiting);
  wait_.store(word, std::memory_order_seq_cst);
  if (fiber.cancelled() && end_wait(word, Wake::cancelled)) loop_->make_ready(fiber);
  return number;
}

Wake Waiter::park(Deadline deadline) noexcept {
  if (loop_ == nullptr) return static_cast<ThreadWaiter*>(this)->park_thread(deadline);
  auto& fiber = static_cast<Fiber&>(*this);
  if (deadline.ns <= loop_->turn_ns()) {
    fiber.expired();
  } else if (deadline.ns != never_ns) {
    loop_->timers().arm(fiber, deadline);
  }
  loop_->suspend();
  loop_->timers().disarm(fiber);
  fiber.waits_for_ = "";
  return finish_wait();
}

bool Waiter::wake(std::uint64_t number, Wake cause, WakeBatch& batch) noexcept {
  const std::uint64_t word = wait_.load(std::memory_order_acquire);
  if (word >> state_bits != number || !is_waiting(word)) return false;
  if (!end_wait(word, cause)) return false;
  if (loop_ != nullptr) {
    batch.add(static_cast<Fiber&>(*this));
  } else {
    static_cast<ThreadWaiter*>(this)->notify();
  }
  return true;
}

bool Waiter::end_wait(std::uint64_t word, Wake cause) noexcept {
  constexpr State states[] = {State::ready, State::deadline, State::cancelled};
  const State state = states[static_cast<std::size_t>(cause)];
  return wait_.compare_exchange_strong(word, word_of(word >> state_bits, state),
                                       std::memory_order_seq_cst);
}

Wake Waiter::finish_wait() noexcept {
  const std::uint64_t word = wait_.load(std::memory_order_acquire);
  wait_.store(word_of(word >> state_bits, State::running), std::memory_order_relaxed);
  switch (state_of(word)) {
    case State::ready:
      return Wake::ready;
    case State::cancelled:
      return Wake::cancelled;
    default:
      return Wake::deadline;
  }
}

void WakeBatch::add(Fiber& fiber) noexcept {
  Loop* const loop = fiber.loop_;
  for (int at = 0; at < share_count_; ++at) {
    if (shares_[at].loop != loop) continue;
    fiber.next_ = shares_[at].newest;
    shares_[at].newest = &fiber;
    return;
  }
  if (share_count_ == shares_max) flush();
  fiber.next_ = nullptr;
  shares_[share_count_++] = {loop, &fiber, &fiber};
}

void WakeBatch::flush() noexcept {
  for (int at = 0; at < share_count_; ++at) {
    shares_[at].loop->hand_over(shares_[at].newest, shares_[at].oldest);
  }
  share_count_ = 0;
}

}  // namespace turnpike::runtime

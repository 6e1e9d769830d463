#include "runtime/fiber.h"

#include <algorithm>
#include <cstring>

#include "runtime/loop.h"

namespace turnpike::runtime {

void FiberHandle::cancel() const noexcept {
  if (fiber_ != nullptr) fiber_->cancel(generation_);
}

bool FiberHandle::ended() const noexcept {
  return fiber_ == nullptr || fiber_->cancel_.load(std::memory_order_acquire) >> 1 != generation_;
}

void FiberName::set(std::string_view name) noexcept {
  char padded[bytes_max] = {};
  std::copy_n(name.begin(), std::min(name.size(), bytes_max), padded);  // also for an empty view
  for (std::size_t at = 0; at < words_.size(); ++at) {
    std::uint64_t word = 0;
    std::memcpy(&word, padded + at * 8, 8);
    words_[at].store(word, std::memory_order_relaxed);
  }
}

FiberName::Text FiberName::text() const noexcept {
  Text text{};
  for (std::size_t at = 0; at < words_.size(); ++at) {
    const std::uint64_t word = words_[at].load(std::memory_order_relaxed);
    std::memcpy(text.data() + at * 8, &word, 8);
  }
  return text;
}

Fiber* Fiber::current() noexcept {
  Loop* const loop = Loop::current();
  return loop == nullptr ? nullptr : loop->running();
}

FiberHandle Fiber::handle() noexcept {
  return {this, cancel_.load(std::memory_order_relaxed) >> 1};
}

bool Fiber::cancelled() const noexcept {
  return (cancel_.load(std::memory_order_seq_cst) & 1) != 0;
}

void Fiber::enter() {
  Fiber& fiber = *current();
  [&]() noexcept {
    // Captures are destroyed here, on the fiber, where they may wait.
    Task function = std::move(fiber.entry_);
    function();
  }();
  fiber.is_finished_ = true;
  Context::switch_from_finished(fiber.context_, fiber.loop_->scheduler_);
}

void Fiber::cancel(std::uint64_t generation) noexcept {
  std::uint64_t expected = generation << 1;
  if (!cancel_.compare_exchange_strong(expected, expected | 1, std::memory_order_seq_cst)) return;
  const std::uint64_t word = wait_.load(std::memory_order_seq_cst);
  // The wait belongs to this generation only if the generation is unchanged after reading it.
  if (cancel_.load(std::memory_order_seq_cst) >> 1 != generation) return;
  if (state_of(word) != State::waiting) return;
  if (end_wait(word, Wake::cancelled)) loop_->hand_over(this, this);
}

void Fiber::expired() noexcept {
  const std::uint64_t word = wait_.load(std::memory_order_relaxed);
  if (is_waiting(word) && end_wait(word, Wake::deadline)) loop_->make_ready(*this);
}

CancelMask::CancelMask() noexcept : fiber_(Fiber::current()) {
  if (fiber_ != nullptr) ++fiber_->mask_depth_;
}

CancelMask::~CancelMask() {
  if (fiber_ != nullptr) --fiber_->mask_depth_;
}

bool cancelled() noexcept {
  const Fiber* const fiber = Fiber::current();
  return fiber != nullptr && fiber->cancelled();
}

void yield() noexcept {
  Fiber* const fiber = Fiber::current();
  if (fiber == nullptr) return;
  const std::uint64_t number = fiber->begin("turn");
  {
    WakeBatch batch;
    fiber->wake(number, Wake::ready, batch);
  }
  static_cast<void>(fiber->park(Deadline::never()));
}

}  // namespace turnpike::runtime

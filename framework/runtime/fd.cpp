#include "runtime/fd.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "runtime/fd_state.h"
#include "runtime/loop.h"

namespace turnpike::runtime {
namespace {

constexpr std::uint32_t hangup_events = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

// poll(2) uses a clock that stops while the machine is suspended: check again each second.
int poll_timeout_ms(Deadline deadline) noexcept {
  const std::int64_t left_ns = deadline.ns - now_ns();
  return static_cast<int>(std::clamp<std::int64_t>((left_ns + 999'999) / 1'000'000, 0, 1'000));
}

Wake wait_on_thread(int descriptor, bool for_reading, Deadline deadline) noexcept {
  pollfd entry{descriptor, static_cast<short>(for_reading ? POLLIN | POLLRDHUP : POLLOUT), 0};
  while (true) {
    const int timeout_ms = deadline.ns == Deadline::never().ns ? -1 : poll_timeout_ms(deadline);
    const int ready = ::poll(&entry, 1, timeout_ms);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return Wake::ready;
    if (ready == 0 && deadline.passed()) return Wake::deadline;
  }
}

// Wakes the parked waiter, else sets `mark` for the next one.
void signal(FdState::Parked& parked, bool& mark) noexcept {
  const FdState::Parked one = std::exchange(parked, {});
  WakeBatch batch;
  if (one.waiter == nullptr || !one.waiter->wake(one.number, Wake::ready, batch)) mark = true;
}

}  // namespace

void FdState::deliver(std::uint32_t events) noexcept {
  if (is_retired) return;
  const bool has_failed = (events & (EPOLLHUP | EPOLLERR)) != 0;
  if ((events & EPOLLOUT) != 0 || has_failed) signal(writer, writable);
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0 || has_failed) signal(reader, readable);
  if ((events & hangup_events) != 0 && !is_hung_up.load(std::memory_order_relaxed)) {
    is_hung_up.store(true, std::memory_order_relaxed);
    if (watcher != nullptr) watcher->on_hangup();
  }
  if (!is_retired && readable && is_armed) {
    readable = false;
    is_armed = false;
    watcher->on_readable();
  }
}

Fd::Fd(int descriptor, FdWatcher* watcher) {
  Loop* const loop = Loop::current();
  auto* const state = new FdState;
  state->loop = loop;
  state->watcher = watcher;
  state->descriptor = descriptor;
  if (loop != nullptr) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.ptr = state;
    if (::epoll_ctl(loop->epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) {
      delete state;
      return;
    }
    loop->count_descriptors(1);
  }
  state_ = state;
}

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    state_ = std::exchange(other.state_, nullptr);
  }
  return *this;
}

int Fd::descriptor() const noexcept { return state_ == nullptr ? -1 : state_->descriptor; }

Wake Fd::wait_readable(Deadline deadline) noexcept { return wait(true, deadline); }
Wake Fd::wait_writable(Deadline deadline) noexcept { return wait(false, deadline); }

Wake Fd::wait(bool for_reading, Deadline deadline) noexcept {
  FdState& state = *state_;
  if (state.loop == nullptr) return wait_on_thread(state.descriptor, for_reading, deadline);
  bool& mark = for_reading ? state.readable : state.writable;
  if (std::exchange(mark, false)) return Wake::ready;
  FdState::Parked& parked = for_reading ? state.reader : state.writer;
  assert(parked.waiter == nullptr && Loop::current() == state.loop);
  Waiter& waiter = Waiter::current();
  parked = {&waiter, waiter.begin(for_reading ? "readable" : "writable")};
  const Wake wake = waiter.park(deadline);
  if (wake != Wake::ready) parked = {};
  return wake;
}

void Fd::set_watcher(FdWatcher* watcher) noexcept {
  state_->watcher = watcher;
  if (watcher == nullptr) state_->is_armed = false;
}

bool Fd::arm() noexcept {
  assert(state_->loop != nullptr && state_->watcher != nullptr);
  if (std::exchange(state_->readable, false)) return false;
  state_->is_armed = true;
  return true;
}

void Fd::disarm() noexcept { state_->is_armed = false; }

bool Fd::hung_up() const noexcept { return state_->is_hung_up.load(std::memory_order_relaxed); }

void Fd::reset() noexcept {
  FdState* const state = std::exchange(state_, nullptr);
  if (state == nullptr) return;
  if (state->loop == nullptr) {
    delete state;
    return;
  }
  assert(state->reader.waiter == nullptr && state->writer.waiter == nullptr);
  Loop& loop = *state->loop;
  ::epoll_ctl(loop.epoll_, EPOLL_CTL_DEL, state->descriptor, nullptr);
  state->is_retired = true;
  state->next_retired = std::exchange(loop.retired_descriptors_, state);
  loop.count_descriptors(-1);
}

}  // namespace turnpike::runtime

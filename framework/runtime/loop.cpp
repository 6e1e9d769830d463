#include "runtime/loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "runtime/fd_state.h"

namespace turnpike::runtime {
namespace {

thread_local Loop* current_loop = nullptr;

template <class Node>
void push(std::atomic<Node*>& head, Node* newest, Node* oldest, Node*(Node::*next)) noexcept {
  Node* expected = head.load(std::memory_order_relaxed);
  do {
    oldest->*next = expected;
  } while (!head.compare_exchange_weak(expected, newest, std::memory_order_seq_cst,
                                       std::memory_order_relaxed));
}

template <class Node>
Node* reversed(Node* node, Node*(Node::*next)) noexcept {
  Node* result = nullptr;
  while (node != nullptr) {
    Node* const rest = std::exchange(node->*next, result);
    result = std::exchange(node, rest);
  }
  return result;
}

void add(std::atomic<std::uint32_t>& count, int change) noexcept {
  // Written by one Thread only, so no read-modify-write.
  count.store(count.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(change),
              std::memory_order_relaxed);
}

int checked(int descriptor, const char* what) {
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), what);
  return descriptor;
}

}  // namespace

Loop::Loop(unsigned index) : index_(index), turn_ns_(now_ns()), timers_(turn_ns_) {
  epoll_ = checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  wake_up_ = checked(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd");
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;  // each write is an edge, so the counter is never read
  checked(::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_up_, &event), "epoll_ctl");
}

Loop::~Loop() {
  const auto free_all = [](Fiber* fiber) {
    while (fiber != nullptr) delete std::exchange(fiber, fiber->next_);
  };
  // Posted too late to be run.
  free_all(woken_.load());
  for (Post* post = posts_.load(); post != nullptr;) delete std::exchange(post, post->next);
  free_all(unused_);
  free_all(unused_by_others_);
  free_retired_descriptors();
  ::close(wake_up_);
  ::close(epoll_);
}

Loop* Loop::current() noexcept { return current_loop; }

FiberHandle Loop::spawn(Task function, FiberKind kind) {
  Fiber& fiber = take_unused();
  fiber.entry_ = std::move(function);
  fiber.kind_ = kind;
  const FiberHandle handle = fiber.handle();
  hand_over(&fiber, &fiber);
  return handle;
}

void Loop::post(Task function) {
  auto* const post = new Post{std::move(function), nullptr};
  push(posts_, post, post, &Post::next);
  notify();
}

LoopActivity Loop::activity() const noexcept {
  LoopActivity activity;
  activity.busy_since_ns = busy_since_ns_.load(std::memory_order_acquire);
  activity.resumes = resumes_.load(std::memory_order_acquire);
  const Fiber* const fiber = running();
  if (fiber == nullptr) return activity;
  activity.fiber = fiber->name_.text();
  activity.tag = fiber->tag();
  // Reading the fiber is safe, since fibers are never freed; but another fiber may have run
  // meanwhile.
  if (resumes_.load(std::memory_order_acquire) != activity.resumes || running() != fiber) {
    activity.fiber = {};
    activity.tag = 0;
  }
  return activity;
}

void Loop::list_fibers(std::vector<FiberInfo>& into) const {
  for (const Fiber* fiber = alive_; fiber != nullptr; fiber = fiber->next_alive_) {
    FiberInfo info;
    info.loop = index_;
    info.name = fiber->name_.text();
    info.waits_for = fiber->waits_for_;
    info.age_ms = (turn_ns_ - fiber->started_ns_) / 1'000'000;
    info.kind = fiber->kind_;
    info.cancelled = fiber->cancelled();
    into.push_back(info);
  }
}

void Loop::cancel_fibers() noexcept {
  cancels_all_ = true;
  for (Fiber* fiber = alive_; fiber != nullptr; fiber = fiber->next_alive_) {
    fiber->handle().cancel();
  }
}

void Loop::run() {
  current_loop = this;
  scheduler_.adopt_thread();
  thread_id_.store(::gettid(), relaxed);
  while (!is_exiting_.load(std::memory_order_acquire) || alive_ != nullptr) turn();
  busy_since_ns_.store(0, std::memory_order_release);
  current_loop = nullptr;
}

void Loop::exit() noexcept {
  is_exiting_.store(true, std::memory_order_release);
  // Writes in any state: the loop may be between checking the flag and its sleep.
  ::eventfd_write(wake_up_, 1);
}

void Loop::notify_when_idle(Task notice, bool calls_only) {
  idle_notices_.push_back({std::move(notice), calls_only});
  tell_idle();
}

void Loop::hand_over(Fiber* newest, Fiber* oldest) noexcept {
  if (current_loop != this) {
    push(woken_, newest, oldest, &Fiber::next_);
    notify();
    return;
  }
  oldest->next_ = nullptr;
  for (Fiber* fiber = reversed(newest, &Fiber::next_); fiber != nullptr;) {
    Fiber& ready = *std::exchange(fiber, fiber->next_);
    make_ready(ready);
  }
}

void Loop::notify() noexcept {
  // poll() sets its sleep flag and then checks for handed-over work; hand_over() stores the work
  // and then checks the flag. Both are sequentially consistent, so one sees the other. The first
  // Thread wakes for all.
  if (is_asleep_.load(std::memory_order_seq_cst) &&
      is_asleep_.exchange(false, std::memory_order_seq_cst)) {
    ::eventfd_write(wake_up_, 1);
  }
}

Fiber& Loop::take_unused() {
  if (current_loop == this) {
    if (unused_ == nullptr) return *new Fiber(*this);
    return *std::exchange(unused_, unused_->next_);
  }
  {
    const std::lock_guard lock(unused_by_others_mutex_);
    if (unused_by_others_ != nullptr) {
      return *std::exchange(unused_by_others_, unused_by_others_->next_);
    }
  }
  auto* const fiber = new Fiber(*this);
  fiber->is_spawned_by_others_ = true;
  return *fiber;
}

void Loop::admit(Fiber& fiber) noexcept {
  fiber.is_alive_ = true;
  fiber.started_ns_ = turn_ns_;
  fiber.previous_alive_ = nullptr;
  fiber.next_alive_ = alive_;
  if (alive_ != nullptr) alive_->previous_alive_ = &fiber;
  alive_ = &fiber;
  add(counts_.fibers, 1);
  if (fiber.kind_ == FiberKind::call) add(counts_.calls, 1);
  if (cancels_all_) fiber.handle().cancel();
}

void Loop::make_ready(Fiber& fiber) noexcept {
  if (!fiber.is_alive_) admit(fiber);
  fiber.next_ = nullptr;
  if (ready_first_ == nullptr) {
    ready_first_ = &fiber;
  } else {
    ready_last_->next_ = &fiber;
  }
  ready_last_ = &fiber;
  ++ready_count_;
}

void Loop::resume(Fiber& fiber) {
  if (!fiber.stack_) {
    fiber.stack_ = stacks_.take();
    if (!fiber.stack_) {
      if (stacks_in_use_ == 0) {
        std::fputs("turnpike: no memory for the stack of a fiber\n", stderr);
        std::abort();
      }
      fiber.next_ = std::exchange(without_stack_, &fiber);
      return;
    }
    ++stacks_in_use_;
    fiber.context_.prepare(fiber.stack_, &Fiber::enter);
  }
  resumes_.store(resumes_.load(relaxed) + 1, std::memory_order_release);
  running_.store(&fiber, std::memory_order_release);
  Context::switch_from(scheduler_, fiber.context_);
  running_.store(nullptr, std::memory_order_release);
  if (fiber.is_finished_) retire(fiber);
}

void Loop::retire(Fiber& fiber) noexcept {
  fiber.context_.release();
  stacks_.give_back(std::exchange(fiber.stack_, {}));
  --stacks_in_use_;
  if (without_stack_ != nullptr) {
    Fiber& waiting = *std::exchange(without_stack_, without_stack_->next_);
    make_ready(waiting);
  }
  if (fiber.previous_alive_ != nullptr) {
    fiber.previous_alive_->next_alive_ = fiber.next_alive_;
  } else {
    alive_ = fiber.next_alive_;
  }
  if (fiber.next_alive_ != nullptr) fiber.next_alive_->previous_alive_ = fiber.previous_alive_;
  add(counts_.fibers, -1);
  if (fiber.kind_ == FiberKind::call) add(counts_.calls, -1);
  fiber.is_alive_ = false;
  fiber.is_finished_ = false;
  fiber.set_name({});
  fiber.set_tag(0);
  // From here on, handles of this generation refer to no fiber.
  const std::uint64_t generation = fiber.cancel_.load(relaxed) >> 1;
  fiber.cancel_.store((generation + 1) << 1, std::memory_order_seq_cst);
  if (fiber.is_spawned_by_others_) {
    const std::lock_guard lock(unused_by_others_mutex_);
    fiber.next_ = std::exchange(unused_by_others_, &fiber);
  } else {
    fiber.next_ = std::exchange(unused_, &fiber);
  }
  if (!idle_notices_.empty()) tell_idle();
}

void Loop::suspend() noexcept { Context::switch_from(running()->context_, scheduler_); }

void Loop::count_descriptors(int change) noexcept { add(counts_.descriptors, change); }

void Loop::turn() {
  poll();
  timers_.advance(turn_ns_);
  drain_inbox();
  run_ready();
}

void Loop::drain_inbox() {
  // Takes posts before fibers: a fiber that a Thread handed over before its post is then seen
  // before it.
  Post* post = nullptr;
  if (posts_.load(relaxed) != nullptr) {
    post = reversed(posts_.exchange(nullptr, std::memory_order_acquire), &Post::next);
  }
  if (woken_.load(relaxed) != nullptr) {
    Fiber* fiber = reversed(woken_.exchange(nullptr, std::memory_order_acquire), &Fiber::next_);
    while (fiber != nullptr) {
      Fiber& ready = *std::exchange(fiber, fiber->next_);
      make_ready(ready);
    }
  }
  while (post != nullptr) {
    [&]() noexcept { post->task(); }();
    delete std::exchange(post, post->next);
  }
}

void Loop::run_ready() {
  for (int resumed = 0; resumed < resumes_per_poll_max && ready_first_ != nullptr; ++resumed) {
    Fiber& fiber = *std::exchange(ready_first_, ready_first_->next_);
    --ready_count_;
    resume(fiber);
  }
  counts_.ready.store(ready_count_, relaxed);
  counts_.idle_stacks.store(static_cast<std::uint32_t>(stacks_.idle()), relaxed);
}

int Loop::poll_timeout_ms() noexcept {
  if (ready_first_ != nullptr) return 0;
  // epoll uses a clock that stops while the machine is suspended: check again each second.
  constexpr std::int64_t look_again_ms = 1'000;
  const Deadline next = timers_.next();
  int timeout_ms = -1;
  if (next.ns != Deadline::never().ns) {
    const std::int64_t left_ns = next.ns - now_ns();
    timeout_ms = static_cast<int>(
        std::clamp<std::int64_t>((left_ns + 999'999) / 1'000'000, 0, look_again_ms));
  }
  is_asleep_.store(true, std::memory_order_seq_cst);
  const bool has_gifts = woken_.load(std::memory_order_seq_cst) != nullptr ||
                         posts_.load(std::memory_order_seq_cst) != nullptr;
  return has_gifts || is_exiting_.load(std::memory_order_acquire) ? 0 : timeout_ms;
}

void Loop::poll() {
  epoll_event events[256];
  const int timeout_ms = poll_timeout_ms();
  if (timeout_ms != 0) busy_since_ns_.store(0, std::memory_order_release);
  const int count = ::epoll_wait(epoll_, events, 256, timeout_ms);
  is_asleep_.store(false, relaxed);
  turn_ns_ = now_ns();
  busy_since_ns_.store(turn_ns_, std::memory_order_release);
  for (int at = 0; at < count; ++at) {
    if (auto* const state = static_cast<FdState*>(events[at].data.ptr)) {
      state->deliver(events[at].events);
    }
  }
  free_retired_descriptors();
}

void Loop::tell_idle() {
  const auto is_due = [this](const IdleNotice& notice) {
    return notice.calls_only ? calls() == 0 : alive_ == nullptr;
  };
  for (IdleNotice& notice : idle_notices_) {
    if (is_due(notice)) notice.task();
  }
  std::erase_if(idle_notices_, is_due);
}

void Loop::free_retired_descriptors() noexcept {
  while (retired_descriptors_ != nullptr) {
    delete std::exchange(retired_descriptors_, retired_descriptors_->next_retired);
  }
}

}  // namespace turnpike::runtime

// Fiber: one line of execution on a loop Thread, with its own stack. It is written as plain
// blocking code; where it waits (wait.h, fd.h, pool.h), the loop runs others. A fiber never leaves
// its loop and always runs to its end; cancelling ends its current and later waits, not the fiber.
//
// Owned by its loop. Fibers are reused and not freed before their loop, so a stale FiberHandle or a
// late wake is harmless. Functions are for the fiber itself unless they say "any Thread".
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "runtime/context.h"
#include "runtime/task.h"
#include "runtime/timer_wheel.h"
#include "runtime/waiter.h"

namespace turnpike::runtime {

// A stop waits for calls and then cancels the background fibers (accept loops, heartbeats).
enum class FiberKind : std::uint8_t { call, background };

// Names one fiber for as long as its loop lives, also after the fiber ended. Copyable; any Thread.
class FiberHandle {
 public:
  FiberHandle() noexcept = default;
  // Ends the fiber's current and later waits with Wake::cancelled. No effect after its end.
  void cancel() const noexcept;
  [[nodiscard]] bool ended() const noexcept;

 private:
  friend class Fiber;
  FiberHandle(Fiber* fiber, std::uint64_t generation) : fiber_(fiber), generation_(generation) {}
  Fiber* fiber_ = nullptr;
  std::uint64_t generation_ = 0;
};

// A name of at most 40 bytes (a UUID has 36), written by its fiber, readable from any Thread. A
// read during a write may mix both; the watchdog checks that the fiber did not change meanwhile.
class FiberName {
 public:
  static constexpr std::size_t bytes_max = 40;
  using Text = std::array<char, bytes_max + 1>;
  void set(std::string_view name) noexcept;
  [[nodiscard]] Text text() const noexcept;

 private:
  std::array<std::atomic<std::uint64_t>, bytes_max / 8> words_{};
};

class Fiber final : public Waiter, private TimerNode {
 public:
  // Null on a plain Thread, and on a loop Thread outside a fiber.
  static Fiber* current() noexcept;

  [[nodiscard]] FiberHandle handle() noexcept;
  [[nodiscard]] Loop& loop() const noexcept { return *loop_; }
  // Shown by the watchdog and in the list of fibers: the request id.
  void set_name(std::string_view name) noexcept { name_.set(name); }
  [[nodiscard]] FiberName::Text name() const noexcept { return name_.text(); }
  [[nodiscard]] const Stack& stack() const noexcept { return stack_; }
  // The number of the plugin whose code runs, for the watchdog's stall counts; 0: the gateway's own
  // code.
  void set_tag(std::uint32_t tag) noexcept { tag_.store(tag, std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t tag() const noexcept { return tag_.load(std::memory_order_relaxed); }
  // True if this fiber was cancelled; a CancelMask does not hide that. Any Thread.
  [[nodiscard]] bool cancelled() const noexcept;

 private:
  friend class CancelMask;
  friend class FiberHandle;
  friend class Loop;
  friend class WakeBatch;
  friend class Waiter;

  explicit Fiber(Loop& loop) noexcept : Waiter(&loop) {}
  ~Fiber() = default;

  static void enter();  // first function on the stack
  void cancel(std::uint64_t generation) noexcept;
  void expired() noexcept override;

  Fiber* next_ = nullptr;  // link in a list of the loop: woken, ready, without stack, unused
  bool is_alive_ = false;
  bool is_finished_ = false;
  bool is_spawned_by_others_ = false;
  FiberKind kind_ = FiberKind::call;
  std::uint16_t mask_depth_ = 0;
  std::atomic<std::uint32_t> tag_{0};
  // generation << 1 | cancelled
  std::atomic<std::uint64_t> cancel_{0};
  Context context_;
  Stack stack_;
  Task entry_;
  FiberName name_;
  const char* waits_for_ = nullptr;
  std::int64_t started_ns_ = 0;
  Fiber* previous_alive_ = nullptr;
  Fiber* next_alive_ = nullptr;
};

// While it lives, cancellation does not end the running fiber's waits: for work whose outcome must
// be known, such as a settlement. Nests. No effect on a plain Thread.
class CancelMask {
 public:
  CancelMask() noexcept;
  ~CancelMask();
  CancelMask(const CancelMask&) = delete;
  CancelMask& operator=(const CancelMask&) = delete;

 private:
  Fiber* fiber_;
};

// True if the running fiber was cancelled; false on a plain Thread.
[[nodiscard]] bool cancelled() noexcept;
// Gives the loop's other fibers and sockets a turn; no effect on a plain Thread.
void yield() noexcept;

}  // namespace turnpike::runtime

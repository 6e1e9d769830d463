// Fd: waiting for a descriptor. It watches the descriptor without owning it: make it after the
// descriptor is non-blocking, destroy it before the descriptor is closed. Made on a loop Thread it
// belongs to that loop (edge-triggered epoll, registered once) and only that Thread may use it, on
// any fiber, at most one reader and one writer at a time. Made on a plain Thread it waits by
// poll(2).
//
// Use: try the operation first; on EAGAIN wait, then try again until EAGAIN. Waits may have
// spurious wake-ups but never miss an event. An idle connection has no fiber: its FdWatcher is
// called. Every send on a socket must pass MSG_NOSIGNAL.
#pragma once

#include <cstdint>

#include "runtime/deadline.h"

namespace turnpike::runtime {

struct FdState;

// Called on the loop Thread outside of any fiber: must not wait, may destroy the Fd.
class FdWatcher {
 public:
  // The descriptor became readable (or failed) while armed; arm() again for the next time.
  virtual void on_readable() noexcept = 0;
  // The peer closed its sending side or the connection broke; at most once, armed or not.
  virtual void on_hangup() noexcept {}

 protected:
  ~FdWatcher() = default;
};

class Fd {
 public:
  Fd() noexcept = default;  // watches nothing
  // ok() is false when epoll refuses the descriptor.
  explicit Fd(int descriptor, FdWatcher* watcher = nullptr);
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : state_(other.state_) { other.state_ = nullptr; }
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;

  [[nodiscard]] bool ok() const noexcept { return state_ != nullptr; }
  [[nodiscard]] int descriptor() const noexcept;

  // Also ready when the peer is gone or the connection broke: the next operation reports that.
  Wake wait_readable(Deadline deadline) noexcept;
  Wake wait_writable(Deadline deadline) noexcept;

  void set_watcher(FdWatcher* watcher) noexcept;
  // Requests on_readable(). False, without a request, when something arrived since the last wait:
  // try reading again.
  [[nodiscard]] bool arm() noexcept;
  void disarm() noexcept;
  // True if the peer closed its sending side or the connection broke, as far as the loop has
  // noticed. Any Thread, as long as the Fd exists.
  [[nodiscard]] bool hung_up() const noexcept;

  // Stops watching. REQUIRES: no waiter.
  void reset() noexcept;

 private:
  Wake wait(bool for_reading, Deadline deadline) noexcept;

  FdState* state_ = nullptr;
};

}  // namespace turnpike::runtime

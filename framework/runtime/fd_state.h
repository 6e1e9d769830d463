// FdState: a loop's state of a watched descriptor. Made by Fd, used by the loop's Thread only (on a
// plain Thread by its Fd alone). The loop frees it after the batch of epoll events in which it was
// released, since a later event of that batch may still point at it.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/fd.h"
#include "runtime/waiter.h"

namespace turnpike::runtime {

struct FdState {
  struct Parked {
    Waiter* waiter = nullptr;
    std::uint64_t number = 0;
  };

  // Takes one epoll event.
  void deliver(std::uint32_t events) noexcept;

  Loop* loop = nullptr;  // null: made on a plain Thread
  FdWatcher* watcher = nullptr;
  Parked reader;
  Parked writer;
  int descriptor = -1;
  // An event arrived without a waiter; consumed by the next wait.
  bool readable = false;
  bool writable = false;
  bool is_armed = false;
  std::atomic<bool> is_hung_up{false};  // read by any Thread
  bool is_retired = false;
  FdState* next_retired = nullptr;
};

}  // namespace turnpike::runtime

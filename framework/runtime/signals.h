// SignalSource: signals as readable input (signalfd) instead of handlers. Made by main() before any
// other Thread starts: it blocks the signals in its Thread, and later Threads inherit that mask.
// One fiber or one plain Thread reads it.
#pragma once

#include <csignal>
#include <initializer_list>
#include <optional>

#include "runtime/deadline.h"

namespace turnpike::runtime {

class SignalSource {
 public:
  explicit SignalSource(std::initializer_list<int> signals);  // throws std::system_error
  ~SignalSource();  // restores the Thread's previous mask
  SignalSource(const SignalSource&) = delete;
  SignalSource& operator=(const SignalSource&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  // The next signal that has arrived, if any; does not wait.
  [[nodiscard]] std::optional<int> read() noexcept;
  // Waits for the next signal; nullopt when the deadline passed or the fiber was cancelled.
  [[nodiscard]] std::optional<int> wait(Deadline deadline);

 private:
  int descriptor_ = -1;
  sigset_t previous_{};
};

}  // namespace turnpike::runtime

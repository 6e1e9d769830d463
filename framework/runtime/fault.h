// Fault: reports why a fatal signal ends the process. Code in the process, above all code of
// plugins, may write to invalid memory, exhaust its stack or call abort(). The process cannot be
// saved then. But one line on standard error names the code that ran and the request, and the
// gathered log is written, before the system ends the process as usual (with a core dump, where
// enabled). Under the sanitizers it does nothing, since they report faults themselves.
//
// Call name_fatal_signals() and make AtFatalSignal once, at start. Make a FaultStack on every
// Thread that runs code of plugins, for as long as it does. The rest is for any Thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace turnpike::runtime {

void name_fatal_signals() noexcept;

// Work to do after the line, on the faulting Thread. It must be async-signal-safe and must not
// hang.
class AtFatalSignal {
 public:
  using Work = void (*)(void* argument) noexcept;
  AtFatalSignal(Work work, void* argument) noexcept;
  ~AtFatalSignal();
  AtFatalSignal(const AtFatalSignal&) = delete;
  AtFatalSignal& operator=(const AtFatalSignal&) = delete;

  void run() const noexcept { work_(argument_); }

 private:
  const Work work_;
  void* const argument_;
};

// Registers the plugin's name for the number that tags a fiber (fiber.h).
void name_tag(std::uint32_t tag, std::string_view name) noexcept;

// The signal handler's stack of this Thread, since its normal stack may be exhausted.
class FaultStack {
 public:
  FaultStack() noexcept;
  ~FaultStack();
  FaultStack(const FaultStack&) = delete;
  FaultStack& operator=(const FaultStack&) = delete;

 private:
  std::unique_ptr<char[]> memory_;
};

// While it lives, this Thread's work is attributed to `name`, which must outlive it; for pool
// Threads, which have no fiber to tag.
class WorkOf {
 public:
  explicit WorkOf(const char* name) noexcept;
  ~WorkOf();
  WorkOf(const WorkOf&) = delete;
  WorkOf& operator=(const WorkOf&) = delete;
};

}  // namespace turnpike::runtime

// Fault: reports why a fatal signal ends the process. Code in the process, above all code of
// plugins, may write to invalid memory, exhaust its stack or call abort(). The process cannot be
// saved then. But one line on standard error says whose code ran and for which request, and the
// gathered log is written, before the system ends the process as usual (with a core dump, where
// they are enabled). Under the sanitizers it does nothing, since they report themselves.
//
// name_fatal_signals() and AtFatalSignal once, at start. A FaultStack for every Thread that runs
// code of plugins, for as long as it does. The rest is for any Thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace turnpike::runtime {

void name_fatal_signals() noexcept;

// Work to do after the line, on the Thread that was hit. It is async-signal-safe and cannot hang.
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

// Says which plugin the number that tags a fiber (fiber.h) stands for.
void name_tag(std::uint32_t tag, std::string_view name) noexcept;

// Where this Thread's handler runs: the stack in use may be what is exhausted.
class FaultStack {
 public:
  FaultStack() noexcept;
  ~FaultStack();
  FaultStack(const FaultStack&) = delete;
  FaultStack& operator=(const FaultStack&) = delete;

 private:
  std::unique_ptr<char[]> memory_;
};

// While it lives, this Thread's work is that of `name`, which must outlive it: of pool Threads,
// which have no fiber to tag.
class WorkOf {
 public:
  explicit WorkOf(const char* name) noexcept;
  ~WorkOf();
  WorkOf(const WorkOf&) = delete;
  WorkOf& operator=(const WorkOf&) = delete;
};

}  // namespace turnpike::runtime

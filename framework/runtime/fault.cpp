#include "runtime/fault.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>

#include "base/patient_write.h"
#include "runtime/fiber.h"

namespace turnpike::runtime {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

constexpr std::size_t fault_stack_bytes = 32 * 1024;
constexpr std::size_t tags_named_max = 64;

// Written at start, before a tag number is used.
std::array<std::array<char, 48>, tags_named_max> tag_names;

thread_local const char* work_of = nullptr;

std::atomic<const AtFatalSignal*> at_fatal_signal{nullptr};

constexpr int patience_ms = 1'000;  // for a blocked reader of standard error

// Everything below runs in a signal handler: only write() and plain memory accesses.

class Line {
 public:
  Line& add(std::string_view text) noexcept {
    const std::size_t count = std::min(text.size(), sizeof(bytes_) - size_);
    std::memcpy(bytes_ + size_, text.data(), count);
    size_ += count;
    return *this;
  }
  void write() const noexcept {
    base::patient_write(STDERR_FILENO, {bytes_, size_}, base::patience_until(patience_ms));
  }

 private:
  char bytes_[512];
  std::size_t size_ = 0;
};

std::string_view name_of(int signal) noexcept {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV (memory that is not there)";
    case SIGBUS:
      return "SIGBUS (memory that is not there)";
    case SIGILL:
      return "SIGILL (no instruction)";
    case SIGFPE:
      return "SIGFPE (a division by zero)";
    case SIGABRT:
      return "SIGABRT (the process gave up)";
    case SIGQUIT:
      return "SIGQUIT";
    default:
      return "a signal";
  }
}

void tell(int signal, siginfo_t* info, void*) {
  const bool is_sent = info->si_code <= 0;  // by kill() or abort(), not by an instruction
  Line line;
  line.add("turnpike: killed by ").add(name_of(signal));
  if (const Fiber* fiber = Fiber::current()) {
    const std::uint32_t tag = fiber->tag();
    const bool is_plugin = tag > 0 && tag < tags_named_max;
    line.add(is_plugin ? " in plugin " : " in the gateway itself");
    if (is_plugin) line.add(tag_names[tag].data());
    const FiberName::Text name = fiber->name();
    if (name[0] != '\0') line.add(", request ").add(name.data());
    if (!is_sent && fiber->stack().guards(info->si_addr)) {
      line.add(
          ": it used more than the 64 KiB of stack that code on a loop thread has; use less, or "
          "declare the plugin blocking");
    }
  } else if (work_of != nullptr) {
    line.add(" in ").add(work_of).add(", on the pool");
  }
  line.add("\n").write();
  if (const auto* const last = at_fatal_signal.load()) last->run();
  // SA_RESETHAND: the instruction faults again, and now the system ends the process.
  if (is_sent) ::raise(signal);
}

}  // namespace

void name_fatal_signals() noexcept {
  if (is_sanitized) return;
  struct sigaction action {};
  action.sa_sigaction = &tell;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGQUIT}) {
    sigaction(signal, &action, nullptr);
  }
}

AtFatalSignal::AtFatalSignal(Work work, void* argument) noexcept
    : work_(work), argument_(argument) {
  at_fatal_signal.store(this);
}

AtFatalSignal::~AtFatalSignal() { at_fatal_signal.store(nullptr); }

void name_tag(std::uint32_t tag, std::string_view name) noexcept {
  if (tag >= tags_named_max) return;
  const std::size_t count = std::min(name.size(), tag_names[tag].size() - 1);
  std::copy_n(name.begin(), count, tag_names[tag].begin());
  tag_names[tag][count] = '\0';
}

FaultStack::FaultStack() noexcept
    : memory_(is_sanitized ? nullptr : new (std::nothrow) char[fault_stack_bytes]) {
  if (memory_ == nullptr) return;
  stack_t stack{};
  stack.ss_sp = memory_.get();
  stack.ss_size = fault_stack_bytes;
  sigaltstack(&stack, nullptr);
}

FaultStack::~FaultStack() {
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

WorkOf::WorkOf(const char* name) noexcept { work_of = name; }
WorkOf::~WorkOf() { work_of = nullptr; }

}  // namespace turnpike::runtime

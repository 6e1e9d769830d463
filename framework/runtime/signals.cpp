#include "runtime/signals.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "runtime/fd.h"

namespace turnpike::runtime {

SignalSource::SignalSource(std::initializer_list<int> signals) {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : signals) sigaddset(&mask, signal);
  ::pthread_sigmask(SIG_BLOCK, &mask, &previous_);
  descriptor_ = ::signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

SignalSource::~SignalSource() {
  ::close(descriptor_);
  ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

std::optional<int> SignalSource::read() noexcept {
  signalfd_siginfo info;
  if (::read(descriptor_, &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

std::optional<int> SignalSource::wait(Deadline deadline) {
  Fd fd(descriptor_);
  while (true) {
    if (const auto signal = read()) return signal;
    if (fd.wait_readable(deadline) != Wake::ready) return std::nullopt;
  }
}

}  // namespace turnpike::runtime

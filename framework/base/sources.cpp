#include "base/sources.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

namespace turnpike::base {

std::int64_t SystemClock::now_ms() const noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

std::int64_t SystemClock::monotonic_ns() const noexcept {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void SystemRandom::fill(std::span<std::uint8_t> out) noexcept {
  while (!out.empty()) {
    const ssize_t got = getrandom(out.data(), out.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) std::abort();
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace turnpike::base

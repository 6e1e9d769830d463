#include "base/patient_write.h"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace turnpike::base {

std::int64_t patience_until(int patience_ms) noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000 + patience_ms;
}

std::size_t patient_write(int descriptor, std::string_view bytes, std::int64_t until_ms) noexcept {
  struct stat state {};
  const bool is_file = ::fstat(descriptor, &state) == 0 && S_ISREG(state.st_mode);
  // A writable pipe accepts PIPE_BUF bytes without blocking the writer (POSIX, write()).
  const std::size_t piece_bytes = is_file ? bytes.size() : PIPE_BUF;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::int64_t left_ms = until_ms - patience_until(0);
    pollfd entry{descriptor, POLLOUT, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(left_ms, 0)));
    if (ready == 0) break;
    if (ready < 0 && errno == EINTR) continue;
    const std::string_view piece = bytes.substr(done, piece_bytes);
    const ssize_t written = ::write(descriptor, piece.data(), piece.size());
    if (written > 0) done += static_cast<std::size_t>(written);
    if (written < 0 && errno != EINTR && errno != EAGAIN) break;
  }
  return done;
}

}  // namespace turnpike::base

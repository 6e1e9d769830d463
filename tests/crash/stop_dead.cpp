// The crash points of the test build. A crash point appends its name to the file that
// TURNPIKE_CRASH_LOG names. If the file that TURNPIKE_CRASH_AT names contains its name, it kills
// the process as `kill -9` does. `NAME N` means the N-th pass since that was written. Files are
// used because a test can change them while a gateway runs.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <string>

#include "base/crash_points.h"

namespace turnpike::base::armed {
namespace {

std::string read_order(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char text[64];
  const ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  return {text, size < 0 ? 0 : static_cast<std::size_t>(size)};
}

// Whether `order` means this pass. Passes are counted from the first time that the order is seen. A
// fulfilled order ends the process, so the same order never occurs twice.
bool is_meant(std::string_view name, const std::string& order) {
  static std::mutex mutex;
  static std::string current;
  static long passes;
  const std::scoped_lock lock(mutex);
  if (order != current) {
    current = order;
    passes = 0;
  }
  const std::size_t blank = order.find(' ');
  if (std::string_view(order).substr(0, blank) != name) return false;
  const long wanted = blank == std::string::npos ? 1 : std::atol(order.c_str() + blank);
  return ++passes == wanted;
}

}  // namespace

void pass(CrashPoint point) noexcept {
  const std::string_view name = name_of(point);
  if (const char* path = std::getenv("TURNPIKE_CRASH_LOG")) {
    const int log = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const std::string line = std::string(name) + "\n";
    if (log >= 0 && ::write(log, line.data(), line.size()) < 0) std::abort();
    ::close(log);
  }
  const char* path = std::getenv("TURNPIKE_CRASH_AT");
  if (path == nullptr || !is_meant(name, read_order(path))) return;
  ::kill(::getpid(), SIGKILL);
  while (true) ::pause();
}

}  // namespace turnpike::base::armed

// What a crash point does in the test build: it appends its name to the file that
// TURNPIKE_CRASH_LOG names, and when the file that TURNPIKE_CRASH_AT names holds its name, kills
// the process as `kill -9` does. Files, so that a running gateway can be told.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/crash_points.h"

namespace turnpike::base::armed {

void pass(CrashPoint point) noexcept {
  const std::string_view name = name_of(point);
  if (const char* path = std::getenv("TURNPIKE_CRASH_LOG")) {
    const int log = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const std::string line = std::string(name) + "\n";
    if (log >= 0 && ::write(log, line.data(), line.size()) < 0) std::abort();
    ::close(log);
  }
  const char* path = std::getenv("TURNPIKE_CRASH_AT");
  if (path == nullptr) return;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[64];
  const ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  if (size < 0 || std::string_view(text, static_cast<std::size_t>(size)) != name) return;
  ::kill(::getpid(), SIGKILL);
  while (true) ::pause();
}

}  // namespace turnpike::base::armed

#include "app/last_resort.h"

#include <unistd.h>

#include <cstdlib>

#include "app/command_line.h"
#include "base/ids.h"
#include "base/log.h"

namespace turnpike::app {

LastResort::~LastResort() {
  called_off_.set();
  if (thread_.joinable()) thread_.join();
}

void LastResort::arm(runtime::Deadline deadline) {
  thread_ = std::thread([this, deadline] {
    if (called_off_.wait(deadline) != runtime::Wake::deadline) return;
    report("");
    std::_Exit(exit_failed);
  });
}

void LastResort::report(std::string_view calls_inside) const {
  const std::string line = base::render_log_line(
      base::rfc3339(clock_.now_ms()), Severity::error, "stopped_with_work_left",
      {{"waited_for", what_.load()}, {"calls_inside", calls_inside}});
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, (line + "\n").data(), line.size() + 1);
}

}  // namespace turnpike::app

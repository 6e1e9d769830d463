#include "app/last_resort.h"

#include <cstdlib>

#include "app/commands/command_line.h"

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
  log_.write(Severity::error, "stopped_with_work_left",
             {{"waited_for", what_.load()}, {"calls_inside", calls_inside}});
  log_.write_gathered();
}

}  // namespace turnpike::app

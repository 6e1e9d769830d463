// LogToNowhere: the log of the process, with its lines written to /dev/null, for measuring what a
// line costs the Thread that writes it and the log's own Thread. Any Thread may call it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>
#include <memory>
#include <string_view>

#include "base/log.h"
#include "base/sources.h"

namespace turnpike::hosts {

class LogToNowhere final : public base::Log {
 public:
  ~LogToNowhere() override {
    log_.reset();
    ::close(nowhere_);
  }

  // Does what a loop of the gateway does.
  void gather_here() { log_->gather_here(); }
  using base::Log::write;
  void write(Severity severity, std::string_view event,
             std::initializer_list<base::LogField> fields) noexcept override {
    log_->write(severity, event, fields);
  }

 private:
  base::SystemClock clock_;
  const int nowhere_ = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  std::unique_ptr<base::ProcessLog> log_ = base::make_process_log(clock_, {.descriptor = nowhere_});
};

}  // namespace turnpike::hosts

// KeptLog: a log that keeps its lines, for tests that check what the operator reads. Any Thread.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "base/log.h"

namespace turnpike::support {

class KeptLog final : public base::Log {
 public:
  using base::Log::write;
  void write(Severity severity, std::string_view event,
             std::initializer_list<base::LogField> fields) noexcept override {
    const std::lock_guard lock(mutex_);
    lines_ += base::render_log_line("", severity, event, fields) + "\n";
  }
  // All lines, each with its line break.
  [[nodiscard]] std::string lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  // The lines since the last call.
  [[nodiscard]] std::string take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::string lines_;
};

}  // namespace turnpike::support

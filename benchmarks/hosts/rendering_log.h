// RenderingLog: renders each line as the real log does on the Thread that writes it, and drops it.
// Any Thread.
#pragma once

#include <initializer_list>
#include <string_view>

#include <benchmark/benchmark.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/sources.h"

namespace turnpike::hosts {

class RenderingLog final : public base::Log {
 public:
  void write(Severity severity, std::string_view event,
             std::initializer_list<base::LogField> fields) noexcept override {
    benchmark::DoNotOptimize(
        base::render_log_line(base::rfc3339(clock_.now_ms()), severity, event, fields));
  }

 private:
  base::SystemClock clock_;
};

}  // namespace turnpike::hosts

// Log: one JSON object a line on stderr, written by a thread of its own over a bounded queue, so
// that a slow reader of the log never stops a loop; when the queue is full the oldest lines are
// dropped and counted. Chosen library: spdlog (its asynchronous logger is exactly that queue).
//
// Owned by app/; every method may be called from any Thread. Fields are data, never formatted
// text; secrets, bodies and query strings must not be passed.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include <turnpike/host.h>

namespace turnpike::base {

struct LogField {
  std::string_view key;
  std::variant<std::string_view, std::int64_t, bool> value;

  LogField(std::string_view name, std::string_view text) : key(name), value(text) {}
  LogField(std::string_view name, const std::string& text)
      : LogField(name, std::string_view(text)) {}
  LogField(std::string_view name, const char* text) : LogField(name, std::string_view(text)) {}
  LogField(std::string_view name, bool flag) : key(name), value(flag) {}
  template <std::integral Number>
  LogField(std::string_view name, Number number) : key(name), value(std::int64_t(number)) {}
};

class Log {
 public:
  virtual ~Log() = default;
  // `event` is a stable snake_case name such as "registry_reloaded".
  virtual void write(Severity severity, std::string_view event,
                     std::initializer_list<LogField> fields) noexcept = 0;
  void write(Severity severity, std::string_view event) noexcept { write(severity, event, {}); }
};

// The line as it is written, without the newline; exposed for tests.
std::string render_log_line(std::string_view time, Severity severity, std::string_view event,
                            std::initializer_list<LogField> fields);

// Lines below `minimum` are not rendered. Flushes what is queued when destroyed.
std::unique_ptr<Log> make_stderr_log(const Clock& clock, Severity minimum);

// For tests and tools that want none.
std::unique_ptr<Log> make_silent_log();

}  // namespace turnpike::base

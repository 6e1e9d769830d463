// Log: one JSON object per line. The log of the process gathers lines in blocks, for loops without
// a lock, a system call or a wake-up, and a Thread of its own writes them: after 250 ms at the
// latest, at once when some blocks are full or a line is a warning or an error. A slow reader never
// blocks a writer of lines: when all blocks are full, lines are dropped, counted and reported.
//
// Owned by app/; every method may be called from any Thread. Fields are data, never formatted text;
// secrets, bodies and query strings must not be passed. The lines of one Thread stay in order;
// lines of several Threads are in the order of their blocks, so compare their times.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include <turnpike/host.h>

#include "base/metrics.h"

namespace turnpike::base {

// The names of severities, by their values: in lines, in the configuration and in commands.
inline constexpr std::array<std::string_view, 4> severity_names = {"debug", "info", "warning",
                                                                   "error"};
constexpr std::string_view name_of(Severity severity) noexcept {
  return severity_names[static_cast<std::size_t>(severity)];
}

// The name of a field: snake_case, which the compiler checks, so that no line has to be searched
// for characters of it that need escaping.
class LogKey {
 public:
  template <std::size_t size>
  consteval LogKey(const char (&name)[size]) : LogKey(std::string_view(name, size - 1)) {}
  consteval explicit LogKey(std::string_view name) : text_(name) {
    for (const char c : text_) {
      const bool is_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      if (!is_word) throw "the key of a log field is snake_case";
    }
  }
  [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }

 private:
  std::string_view text_;
};

struct LogField {
  LogKey key;
  std::variant<std::string_view, std::int64_t, bool> value;

  LogField(LogKey name, std::string_view text) : key(name), value(text) {}
  LogField(LogKey name, const std::string& text) : LogField(name, std::string_view(text)) {}
  LogField(LogKey name, const char* text) : LogField(name, std::string_view(text)) {}
  LogField(LogKey name, bool flag) : key(name), value(flag) {}
  template <std::integral Number>
  LogField(LogKey name, Number number) : key(name), value(std::int64_t(number)) {}
};

class Log {
 public:
  virtual ~Log() = default;
  // `event` is a stable snake_case name such as "registry_reloaded". A field with an empty text is
  // left out of the line.
  virtual void write(Severity severity, std::string_view event,
                     std::initializer_list<LogField> fields) noexcept = 0;
  void write(Severity severity, std::string_view event) noexcept { write(severity, event, {}); }
};

// The line as written, without the newline.
std::string render_log_line(std::string_view time, Severity severity, std::string_view event,
                            std::initializer_list<LogField> fields);

class ProcessLog : public Log {
 public:
  using Log::write;
  // From now on the lines of the calling Thread, a loop's, are gathered in blocks of its own; all
  // other Threads share blocks and a lock. The log must outlive the Thread's writes.
  virtual void gather_here() = 0;
  // Lines below this severity are not rendered. Other Threads see a change soon, not at once.
  [[nodiscard]] virtual Severity minimum() const noexcept = 0;
  virtual void set_minimum(Severity minimum) noexcept = 0;
  // Writes all gathered lines on the calling Thread, for a second at most: for a process that is
  // about to end without destroying the log. Async-signal-safe.
  virtual void write_gathered() noexcept = 0;
};

struct LogSettings {
  Severity minimum = Severity::info;  // at first
  int descriptor = 2;                 // standard error
  Counter* dropped = nullptr;         // counts dropped lines; outlives the log
  int gather_ms = 250;
  int patience_ms = 1'000;  // limit for a blocked reader when the log is destroyed
};

// Writes the gathered lines when destroyed.
std::unique_ptr<ProcessLog> make_process_log(const Clock& clock, const LogSettings& settings);

// A log that discards everything, for tests and tools.
std::unique_ptr<Log> make_silent_log();

}  // namespace turnpike::base

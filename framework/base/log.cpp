#include "base/log.h"

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <optional>

#include "base/canonical_json.h"
#include "base/ids.h"

namespace turnpike::base {
namespace {

constexpr std::size_t queued_lines_max = 8192;

std::string_view name_of(Severity severity) noexcept {
  constexpr std::string_view names[] = {"debug", "info", "warning", "error"};
  return names[static_cast<std::size_t>(severity)];
}

// RFC 8259 section 7. Callers choose bytes of paths: those of a text that is not UTF-8 are escaped
// one by one, since a line that is no JSON is lost to whoever reads the log.
void append_json_string(std::string& line, std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::optional<bool> is_valid;  // looked at once there is a byte beyond ASCII
  const auto is_plain = [&](unsigned char byte) {
    if (byte < 0x80) return byte >= 0x20;
    if (!is_valid) is_valid = is_utf8(text);
    return *is_valid;
  };
  line += '"';
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (!is_plain(byte)) {
      line += "\\u00";
      line += digits[byte >> 4];
      line += digits[byte & 15];
    } else {
      line += c;
    }
  }
  line += '"';
}

class StderrLog final : public Log {
 public:
  StderrLog(const Clock& clock, Severity minimum)
      : clock_(clock),
        minimum_(minimum),
        pool_(std::make_shared<spdlog::details::thread_pool>(queued_lines_max, 1)),
        logger_(std::make_shared<spdlog::async_logger>(
            "turnpike", std::make_shared<spdlog::sinks::stderr_sink_mt>(), pool_,
            spdlog::async_overflow_policy::overrun_oldest)) {
    logger_->set_level(spdlog::level::trace);
    logger_->set_formatter(std::make_unique<spdlog::pattern_formatter>("%v"));
  }

  void write(Severity severity, std::string_view event,
             std::initializer_list<LogField> fields) noexcept override {
    if (severity < minimum_) return;
    try {
      logger_->log(spdlog::level::info,
                   render_log_line(rfc3339(clock_.now_ms()), severity, event, fields));
    } catch (...) {  // out of memory: a lost line must not become a lost request
    }
  }

 private:
  const Clock& clock_;
  const Severity minimum_;
  // Declared before the logger: the logger flushes into the pool, the pool drains when it goes.
  const std::shared_ptr<spdlog::details::thread_pool> pool_;
  const std::shared_ptr<spdlog::async_logger> logger_;
};

class SilentLog final : public Log {
 public:
  void write(Severity, std::string_view, std::initializer_list<LogField>) noexcept override {}
};

}  // namespace

std::string render_log_line(std::string_view time, Severity severity, std::string_view event,
                            std::initializer_list<LogField> fields) {
  std::string line;
  line.reserve(256);
  line += R"({"time":")";
  line += time;
  line += R"(","severity":")";
  line += name_of(severity);
  line += R"(","event":)";
  append_json_string(line, event);
  for (const LogField& field : fields) {
    line += ',';
    append_json_string(line, field.key);
    line += ':';
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
      append_json_string(line, *text);
    } else if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
      line += std::to_string(*number);
    } else {
      line += std::get<bool>(field.value) ? "true" : "false";
    }
  }
  line += '}';
  return line;
}

std::unique_ptr<Log> make_stderr_log(const Clock& clock, Severity minimum) {
  return std::make_unique<StderrLog>(clock, minimum);
}

std::unique_ptr<Log> make_silent_log() { return std::make_unique<SilentLog>(); }

}  // namespace turnpike::base

// Progress: sends notifications/progress to a client that asked for them, one at every interval
// while its call lasts. The first one turns the reply into an event stream; a call that ends within
// the first interval gets an ordinary reply. Without progress, clients abandon requests, and
// proxies close connections, that are silent for too long.
//
// Lives on the stack of the call's fiber, whose loop writes the notifications on fibers of their
// own. From construction until stop() only those fibers may write to the reply.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hosts/turn.h"
#include "runtime/loop.h"
#include "runtime/wait.h"

namespace turnpike::hosts::mcp {

class Progress {
 public:
  // `token`: the client's, as JSON text; empty: the client did not ask for progress.
  Progress(Turn& turn, std::string token, std::uint32_t interval_ms);
  ~Progress() { stop(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Sends no further notification; waits for the one that is being written.
  void stop() noexcept;

 private:
  static void on_timer(void* progress) noexcept;
  void arm() noexcept;
  void notify() noexcept;
  void write_notification();

  Turn& turn_;
  const std::string token_;
  const std::uint32_t interval_ms_;
  const std::int64_t started_ns_;
  std::optional<runtime::Timer> timer_;
  bool is_writing_ = false;
  bool is_stopped_ = false;
  runtime::Event written_;
};

// Begins the reply as an event stream; false when the client is gone.
bool begin_event_stream(Turn& turn);

}  // namespace turnpike::hosts::mcp

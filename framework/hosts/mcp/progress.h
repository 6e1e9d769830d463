// Progress: what a client that asked for it hears while its call lasts. At every interval the
// reply, which by then is an event stream, carries one notifications/progress; a call that is
// answered before the first interval is over is answered as if there were none. Clients give a
// request up when they hear nothing of it for a while, and so do proxies with a connection.
//
// Lives on the stack of the call's fiber, whose loop writes the notifications on fibers of their
// own: from its making until stop() the reply is theirs.
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
  // `token`: the client's, as JSON text; empty: it did not ask.
  Progress(Turn& turn, std::string token, std::uint32_t interval_ms);
  ~Progress() { stop(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Nothing is written any more; waits until what is being written is.
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

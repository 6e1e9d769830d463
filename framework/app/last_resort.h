// LastResort: ends the process when a stop takes too long, wherever the stop hangs: in a plugin's
// destructor, the database, a lock. Once armed, only its own destruction disarms it, so it is made
// before everything that it watches and destroyed afterwards.
//
// Owned by the gateway; arm() once, by the gateway's Thread. A plain Thread of its own waits.
#pragma once

#include <atomic>
#include <string_view>
#include <thread>

#include "base/log.h"
#include "runtime/wait.h"

namespace turnpike::app {

class LastResort {
 public:
  explicit LastResort(base::ProcessLog& log) : log_(log) {}
  ~LastResort();
  LastResort(const LastResort&) = delete;
  LastResort& operator=(const LastResort&) = delete;

  // At the deadline the process reports what it was waiting for and exits.
  void arm(runtime::Deadline deadline);
  // Names what the stop waits for from here on. `what` is a literal.
  void now_waiting_for(const char* what) noexcept { what_.store(what); }
  // Writes what the stop waits for, the calls inside plugins, and all that the log has buffered,
  // since no destructor can do it any more. A stalled reader of the log does not keep the process
  // alive.
  void report(std::string_view calls_inside) const;

 private:
  base::ProcessLog& log_;
  std::atomic<const char*> what_{""};
  runtime::Event called_off_;
  std::thread thread_;
};

}  // namespace turnpike::app

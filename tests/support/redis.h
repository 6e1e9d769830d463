// Redis: a server of the test's own on a free loopback port, without a file. It is stopped
// by its process id when the object ends, and by the kernel when the test dies. Thread: the test's
// own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "support/temporary.h"

namespace turnpike::support {

class Redis {
 public:
  Redis();  // throws std::runtime_error
  ~Redis();
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;

  [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  // Runs one command, its words apart by blanks, and gives the first line of the answer.
  std::string run(const std::string& command) const;
  void stop();   // at once, and what it held is gone
  void start();  // again, on the same port
  void pause();  // takes what it is sent and does not look at it, until resume()
  void resume();

 private:
  TemporaryDirectory directory_;
  const int reserved_;  // bound to the port from first to last
  std::uint16_t port_ = 0;
  pid_t server_ = -1;
};

// Why tests on Redis cannot run here; empty: they can. Throws instead where TURNPIKE_REQUIRE_REDIS
// is set.
std::string redis_missing();

}  // namespace turnpike::support

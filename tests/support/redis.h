// Redis: a server that belongs to the test, on a free loopback port, without persistence. The
// destructor stops it by its process id; the kernel stops it if the test dies. Used by the test's
// Thread.
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
  // Runs one command, whose words are separated by spaces, and returns the first line of the
  // answer.
  std::string run(const std::string& command) const;
  void stop();   // kills it; its data is lost
  void start();  // starts again on the same port
  void pause();  // accepts bytes but processes nothing until resume()
  void resume();

 private:
  TemporaryDirectory directory_;
  const int reserved_;  // bound to the port for the whole lifetime
  std::uint16_t port_ = 0;
  pid_t server_ = -1;
};

// The reason why tests cannot use Redis here, or "". Throws instead if TURNPIKE_REQUIRE_REDIS is
// set.
std::string redis_missing();

}  // namespace turnpike::support

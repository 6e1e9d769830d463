// Gate: a FIFO at which the `faulty` fixture waits. wait_for_plugin() returns once the plugin has
// reached it, so a test knows without sleeping that the call is inside. open() lets the plugin
// continue. One Thread.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "support/temporary.h"

namespace turnpike::plugin {

class Gate {
 public:
  Gate() { mkfifo(path_.c_str(), 0600); }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Opening a FIFO for writing waits until it is opened for reading.
  void wait_for_plugin() { writer_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC); }
  void open() {
    if (writer_ >= 0) ::close(writer_);
    writer_ = -1;
  }

 private:
  const support::TemporaryDirectory directory_;
  const std::string path_ = directory_.file("gate");
  int writer_ = -1;
};

}  // namespace turnpike::plugin

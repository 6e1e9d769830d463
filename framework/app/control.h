// Control: the connection from `turnpike reload` to the running gateway: a Unix socket in the data
// directory that only its owner can open. One line of JSON in (`{"command":"reload"}`), one line of
// JSON out. The server answers one client after the other on a Thread of its own, which also runs
// the command. post() and stop() may be called from any Thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/wait.h"

namespace turnpike::app {

// The bound of the socket's path, by the size of a Unix socket address.
inline constexpr std::size_t control_path_bytes_max = 107;

class ControlServer {
 public:
  // `answer` maps one line to one line; it is called on the server's Thread. Throws
  // std::system_error when the socket cannot be made.
  ControlServer(std::string path, std::function<std::string(const std::string&)> answer);
  ~ControlServer();  // stop() without a deadline
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Queues the command of this line for the server's Thread, after the running one; its answer is
  // discarded. Returns at once. A posted command replaces a posted one that has not started.
  void post(std::string line);

  // Accepts no further command. False: the running command had not ended at the deadline.
  [[nodiscard]] bool stop(runtime::Deadline deadline) noexcept;

 private:
  void serve();
  void serve_client(int client);
  void wake() const noexcept;
  std::string run(const std::string& line) const;
  std::optional<std::string> take_posted();

  const std::string path_;
  const std::function<std::string(const std::string&)> answer_;
  int listener_ = -1;
  int wake_ = -1;  // eventfd that wakes the Thread: a command was posted, or stop() was called
  std::atomic<bool> is_stopping_{false};
  std::mutex posted_mutex_;
  std::optional<std::string> posted_;
  runtime::Event ended_;
  std::thread thread_;
};

// Sends one line and returns the answer; throws std::system_error when no gateway listens there.
std::string ask_control(const std::string& path, const std::string& line);

}  // namespace turnpike::app

// Control: how `turnpike reload` speaks to the running gateway: a Unix socket in the data
// directory, readable by its owner alone. One line of JSON in (`{"command":"reload"}`), one line of
// JSON out. The server answers one client after the other on a Thread of its own, which also runs
// the command.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <thread>

#include "runtime/wait.h"

namespace turnpike::app {

// Of the socket's path: what a Unix socket's address holds.
inline constexpr std::size_t control_path_bytes_max = 107;

class ControlServer {
 public:
  // `answer` maps one line to one line; it is called on the server's Thread. Throws
  // std::system_error when the socket cannot be made.
  ControlServer(std::string path, std::function<std::string(const std::string&)> answer);
  ~ControlServer();  // stop(), without end
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Takes no further command. False when the one under way had not ended at the deadline.
  [[nodiscard]] bool stop(runtime::Deadline deadline) noexcept;

 private:
  void serve();
  void serve_client(int client);

  const std::string path_;
  const std::function<std::string(const std::string&)> answer_;
  int listener_ = -1;
  int stop_ = -1;  // eventfd
  runtime::Event ended_;
  std::thread thread_;
};

// Sends one line and returns the answer; throws std::system_error when nobody listens there.
std::string ask_control(const std::string& path, const std::string& line);

// The same without waiting for anything; throws also when the server has its hands full.
void tell_control(const std::string& path, const std::string& line);

}  // namespace turnpike::app

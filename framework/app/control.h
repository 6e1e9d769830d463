// Control: how `turnpike reload` speaks to the running gateway: a Unix socket in the data
// directory, readable by its owner alone. One line of JSON in (`{"command":"reload"}`), one line of
// JSON out. The server answers one client after the other on a Thread of its own, which also runs
// the command.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace turnpike::app {

class ControlServer {
 public:
  // `answer` maps one line to one line; it is called on the server's Thread. Throws
  // std::system_error when the socket cannot be made.
  ControlServer(std::string path, std::function<std::string(const std::string&)> answer);
  ~ControlServer();  // ends the command under way, then the thread, then the socket's name
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  void serve();
  void serve_client(int client);

  const std::string path_;
  const std::function<std::string(const std::string&)> answer_;
  int listener_ = -1;
  int stop_ = -1;  // eventfd
  std::thread thread_;
};

// Sends one line and returns the answer; throws std::system_error when nobody listens there.
std::string ask_control(const std::string& path, const std::string& line);

}  // namespace turnpike::app

// ScriptedUpstream: accepts on a free loopback port and runs the test's script for each connection
// on its own Thread, one after the other. Owned by a test; the destructor ends it.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "wire/raw_socket.h"

namespace turnpike::wire {

class ScriptedUpstream {
 public:
  // `number` counts the connections from 0.
  using Script = std::function<void(RawSocket& client, int number)>;

  explicit ScriptedUpstream(Script script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      std::abort();
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~ScriptedUpstream() {
    ::shutdown(listener_, SHUT_RDWR);
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
      if (serving_ >= 0) ::shutdown(serving_, SHUT_RDWR);
    }
    thread_.join();
    ::close(listener_);
  }
  ScriptedUpstream(const ScriptedUpstream&) = delete;
  ScriptedUpstream& operator=(const ScriptedUpstream&) = delete;

  [[nodiscard]] std::string url(std::string_view target = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + std::string(target);
  }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] int connections() const { return connections_; }

 private:
  void run() {
    for (;;) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) return;
      RawSocket client(socket);
      if (!serve(socket)) return;
      script_(client, connections_++);
      serve(-1);
    }
  }

  bool serve(int socket) {
    const std::lock_guard lock(mutex_);
    serving_ = socket;
    return !is_ending_;
  }

  Script script_;
  std::mutex mutex_;
  int serving_ = -1;
  bool is_ending_ = false;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> connections_{0};
  std::thread thread_;
};

// Answers every request on a connection with the same bytes until the peer closes.
inline ScriptedUpstream::Script always(std::string reply) {
  return [reply = std::move(reply)](RawSocket& client, int) {
    while (client.read_past("\r\n\r\n")) {
      if (!client.send(reply)) return;
    }
  };
}
// Answers one request, then closes.
inline ScriptedUpstream::Script once(std::string reply) {
  return [reply = std::move(reply)](RawSocket& client, int) {
    if (client.read_past("\r\n\r\n")) client.send(reply);
  };
}

}  // namespace turnpike::wire

// RawUpstream: an upstream on its own loopback port. It keeps the bytes of each request and answers
// with given bytes, one request per connection. Its Thread ends in the destructor.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace turnpike::http {

class RawUpstream {
 public:
  // `reply` is sent unchanged. If it is empty, connections stay silent until the test ends.
  explicit RawUpstream(std::string reply) : reply_(std::move(reply)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 16);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~RawUpstream() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (const int connection : silent_) ::close(connection);
    ::close(listener_);
  }
  RawUpstream(const RawUpstream&) = delete;
  RawUpstream& operator=(const RawUpstream&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    for (;;) {
      const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) return;
      std::string request = read_request(connection);
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(std::move(request));
      }
      if (reply_.empty()) {
        silent_.push_back(connection);
        continue;
      }
      for (std::size_t sent = 0; sent < reply_.size();) {
        const ssize_t count =
            ::send(connection, reply_.data() + sent, reply_.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) break;
        sent += static_cast<std::size_t>(count);
      }
      ::close(connection);
    }
  }

  static std::string read_request(int connection) {
    std::string request;
    char bytes[4096];
    while (!is_whole(request)) {
      const ssize_t count = ::recv(connection, bytes, sizeof(bytes), 0);
      if (count <= 0) break;
      request.append(bytes, static_cast<std::size_t>(count));
    }
    return request;
  }
  static bool is_whole(const std::string& request) {
    const std::size_t head = request.find("\r\n\r\n");
    if (head == std::string::npos) return false;
    std::size_t length = 0;
    std::string lower = request.substr(0, head);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char letter) { return std::tolower(letter); });
    const std::size_t field = lower.find("content-length: ");
    if (field != std::string::npos) {
      std::from_chars(lower.data() + field + 16, lower.data() + lower.size(), length);
    }
    return request.size() >= head + 4 + length;
  }

  const std::string reply_;
  int listener_ = -1;
  int port_ = 0;
  std::vector<int> silent_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace turnpike::http

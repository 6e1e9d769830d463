// RawSocket: a client or a scripted upstream that sends exactly the bytes that a test gives. Its
// waits use poll(2) with one deadline for all, so a broken server fails a test instead of hanging
// it. Used by the test's Thread.
#pragma once

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "runtime/deadline.h"

namespace turnpike::wire {

inline constexpr std::int64_t patience_ms = 20'000;

// A chunked body of this many bytes that is all framing, except for one byte of content per line.
inline std::string chunks_of_framing(std::size_t bytes) {
  constexpr std::string_view end = "0\r\n\r\n";
  const std::string_view line = "1;\r\nx\r\n";
  std::string body;
  while (body.size() + end.size() < bytes) {
    const std::size_t left = bytes - body.size() - end.size();
    const std::size_t size = left < 8'000 ? left : 4'000;
    body.append("1;").append(size - line.size(), 'e').append("\r\nx\r\n");
  }
  return body.append(end);
}

struct RawReply {
  int status = 0;
  std::string head;
  std::string body;
  bool is_whole = false;
  [[nodiscard]] bool has(std::string_view text) const {
    return head.find(text) != std::string::npos;
  }
};

class RawSocket {
 public:
  explicit RawSocket(int socket) : socket_(socket) {}
  // `address` is "127.0.0.1:port". A small receive buffer makes this a slow reader if it reads
  // slowly.
  static RawSocket connect(const std::string& address, int receive_buffer_bytes = 0) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer_bytes != 0) {
      ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof(int));
    }
    if (::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) std::abort();
    return RawSocket(socket);
  }
  ~RawSocket() { close(); }
  RawSocket(RawSocket&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), buffer_(std::move(other.buffer_)) {}
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  [[nodiscard]] int descriptor() const { return socket_; }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  void shut_down_writing() { ::shutdown(socket_, SHUT_WR); }
  // Closes with a reset of the connection.
  void reset() {
    const linger hard{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close();
  }

  // Returns false if the peer leaves before all is sent.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Waits until the peer's kernel has received everything; false at the deadline.
  [[nodiscard]] bool has_been_taken() const {
    int left = 0;
    while (::ioctl(socket_, SIOCOUTQ, &left) == 0 && left > 0) {
      if (deadline_.passed()) return false;
      std::this_thread::yield();
    }
    return left == 0;
  }

  // Reads until `bytes` are buffered; false at the end of the stream or at the deadline.
  bool fill(std::size_t bytes) {
    while (buffer_.size() < bytes) {
      if (!receive_some()) return false;
    }
    return true;
  }
  // Takes from the buffer up to and including `mark`.
  std::optional<std::string> read_past(std::string_view mark) {
    for (;;) {
      const std::size_t at = buffer_.find(mark);
      if (at != std::string::npos) return take(at + mark.size());
      if (!receive_some()) return std::nullopt;
    }
  }
  std::string take(std::size_t bytes) {
    std::string taken = buffer_.substr(0, bytes);
    buffer_.erase(0, bytes);
    return taken;
  }
  // Reads until the peer closes; nothing if it has not done so by the deadline.
  std::optional<std::string> read_to_end() {
    while (receive_some()) {
    }
    if (!is_at_end_) return std::nullopt;
    return take(buffer_.size());
  }
  bool is_closed_by_peer() {
    const auto rest = read_to_end();
    return rest && rest->empty();
  }

  RawReply read_reply(bool is_head_request = false) {
    RawReply reply;
    const auto head = read_past("\r\n\r\n");
    if (!head) return reply;
    reply.head = *head;
    reply.status = std::atoi(reply.head.c_str() + reply.head.find(' '));
    const bool has_no_body =
        is_head_request || reply.status < 200 || reply.status == 204 || reply.status == 304;
    if (has_no_body) {
      reply.is_whole = true;
    } else if (reply.has("Transfer-Encoding: chunked")) {
      reply.is_whole = read_chunks(reply.body);
    } else if (const std::size_t at = reply.head.find("Content-Length: ");
               at != std::string::npos) {
      const auto length = static_cast<std::size_t>(std::atoll(reply.head.c_str() + at + 16));
      reply.is_whole = fill(length);
      reply.body = take(length);
    }
    return reply;
  }

 private:
  bool receive_some() {
    pollfd entry{socket_, POLLIN, 0};
    const std::int64_t left_ns = deadline_.ns - runtime::now_ns();
    if (left_ns <= 0 || ::poll(&entry, 1, static_cast<int>(left_ns / 1'000'000) + 1) <= 0) {
      return false;
    }
    char bytes[64 * 1024];
    const ssize_t received = ::recv(socket_, bytes, sizeof(bytes), 0);
    if (received <= 0) {
      is_at_end_ = true;
      return false;
    }
    buffer_.append(bytes, static_cast<std::size_t>(received));
    return true;
  }
  bool read_chunks(std::string& body) {
    for (;;) {
      const auto line = read_past("\r\n");
      if (!line) return false;
      const std::size_t size = std::strtoul(line->c_str(), nullptr, 16);
      if (!fill(size + 2)) return false;
      body += take(size);
      if (take(2) != "\r\n") return false;
      if (size == 0) return true;
    }
  }

  int socket_;
  std::string buffer_;
  bool is_at_end_ = false;
  runtime::Deadline deadline_ = runtime::Deadline::after_ms(patience_ms);
};

}  // namespace turnpike::wire

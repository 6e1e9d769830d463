// ServerLoop: the server's state on one loop: its connections, pooled sessions, the date. Owned by
// the Server, used by its loop's Thread only; the flags and counters of ServerShared are for any
// Thread.
#pragma once

#include <netinet/in.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/loop.h"
#include "runtime/wait.h"
#include "wire/reply_head.h"
#include "wire/request_parser.h"
#include "wire/server.h"

namespace turnpike::wire {

class Connection;
class Session;

// The peer's address, as accept(2) returns it.
union PeerAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

struct ServerShared {
  ServerShared(const ServerLimits& server_limits, base::Log& server_log);

  const ServerLimits limits;
  const HeadBounds head_bounds;
  base::Log& log;
  std::atomic<std::uint64_t> connections{0};
  std::atomic<std::uint32_t> overloaded{0};  // connections that only get their 503
  std::atomic<std::uint64_t> lingering{0};   // connections that have sent their last reply
  std::atomic<bool> is_draining{false};
  runtime::Event all_closed;  // set while draining
};

class ServerLoop {
 public:
  ServerLoop(ServerShared& shared, runtime::Loop& loop);
  ~ServerLoop();  // REQUIRES: no connection is left
  ServerLoop(const ServerLoop&) = delete;
  ServerLoop& operator=(const ServerLoop&) = delete;

  [[nodiscard]] ServerShared& shared() noexcept { return shared_; }
  [[nodiscard]] runtime::Loop& loop() noexcept { return loop_; }
  std::string_view date() noexcept;

  std::unique_ptr<Session> take_session();
  void give_back(std::unique_ptr<Session> session) noexcept;

  void link(Connection& connection) noexcept;
  void unlink(Connection& connection) noexcept;
  // Closes the connections that are idle.
  void close_idle() noexcept;
  // Aborts all other connections: shuts their sockets down and cancels their fibers.
  void break_off() noexcept;

 private:
  static constexpr std::size_t idle_sessions_max = 1024;

  ServerShared& shared_;
  runtime::Loop& loop_;
  DateText date_;
  Connection* first_ = nullptr;
  std::vector<std::unique_ptr<Session>> idle_sessions_;
};

}  // namespace turnpike::wire

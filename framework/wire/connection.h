// Connection: one client's socket. While idle it is this object only: no fiber, no buffer. When
// bytes arrive it takes a Session and a fiber, which serve the requests, and then returns both. It
// destroys itself when it closes.
//
// Belongs to one loop, whose Thread alone may use it.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/fd.h"
#include "runtime/fiber.h"
#include "runtime/loop.h"
#include "runtime/runtime.h"
#include "wire/server_loop.h"

namespace turnpike::wire {

class Connection final : private runtime::FdWatcher {
 public:
  // Takes over an accepted, non-blocking socket and starts to serve it. `is_overload`: the only
  // answer is 503.
  static void adopt(ServerLoop& home, runtime::LoopSeat seat, int socket, const PeerAddress& peer,
                    Handler& handler, bool is_overload);

  [[nodiscard]] int socket() const noexcept { return socket_; }
  [[nodiscard]] runtime::Fd& fd() noexcept { return fd_; }
  [[nodiscard]] ServerLoop& home() noexcept { return home_; }
  [[nodiscard]] Handler& handler() noexcept { return handler_; }
  [[nodiscard]] const PeerAddress& peer() const noexcept { return peer_; }

 private:
  friend class ServerLoop;

  Connection(ServerLoop& home, runtime::LoopSeat seat, int socket, const PeerAddress& peer,
             Handler& handler, bool is_overload);
  ~Connection();

  void on_readable() noexcept override;
  void on_hangup() noexcept override;
  static void on_timer(void* connection) noexcept;

  void start() noexcept;
  void begin_session(std::unique_ptr<Session> session) noexcept;
  void serve() noexcept;  // on the fiber; may destroy the connection
  void linger() noexcept;
  void close_if_idle() noexcept;
  void break_off() noexcept;

  ServerLoop& home_;
  Handler& handler_;
  Connection* previous_ = nullptr;
  Connection* next_ = nullptr;
  runtime::LoopSeat seat_;
  const int socket_;
  const bool is_overload_;
  runtime::Fd fd_;
  std::unique_ptr<Session> session_;  // null: idle
  runtime::FiberHandle fiber_;
  std::int64_t idle_since_ns_ = 0;
  runtime::Timer timer_;
  PeerAddress peer_{};
};

}  // namespace turnpike::wire

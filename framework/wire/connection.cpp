#include "wire/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "wire/session.h"

namespace turnpike::wire {
namespace {

using runtime::Deadline;
using runtime::Wake;

// After the last reply, remaining input is read and dropped for this long and up to this size: a
// close with unread bytes would reset the connection and might lose the reply.
constexpr std::int64_t linger_ms = 1'000;
constexpr std::uint64_t linger_bytes_max = 1024 * 1024;

}  // namespace

void Connection::adopt(ServerLoop& home, runtime::LoopSeat seat, int socket,
                       const PeerAddress& peer, Handler& handler, bool is_overload) {
  auto* const connection =
      new Connection(home, std::move(seat), socket, peer, handler, is_overload);
  connection->start();
}

Connection::Connection(ServerLoop& home, runtime::LoopSeat seat, int socket,
                       const PeerAddress& peer, Handler& handler, bool is_overload)
    : home_(home),
      handler_(handler),
      seat_(std::move(seat)),
      socket_(socket),
      is_overload_(is_overload),
      fd_(socket, this),
      timer_(home.loop(), &Connection::on_timer, this),
      peer_(peer) {
  home_.link(*this);
}

Connection::~Connection() {
  timer_.disarm();
  home_.unlink(*this);
  fd_.reset();
  ::close(socket_);
  ServerShared& shared = home_.shared();
  if (is_overload_) shared.overloaded.fetch_sub(1, std::memory_order_relaxed);
  seat_.reset();
  if (shared.connections.fetch_sub(1) == 1 && shared.is_draining.load()) shared.all_closed.set();
}

void Connection::start() noexcept {
  if (!fd_.ok()) {
    delete this;
    return;
  }
  if (is_overload_) {
    begin_session(home_.take_session());
    return;
  }
  idle_since_ns_ = home_.loop().turn_ns();
  timer_.arm(
      Deadline{idle_since_ns_ + std::int64_t{home_.shared().limits.idle_timeout_ms} * 1'000'000});
  if (!fd_.arm()) {
    on_readable();
  } else if (home_.shared().is_draining.load()) {
    close_if_idle();
  }
}

// Reads at once, outside of a fiber: usually the whole request has arrived, and the end of an idle
// connection needs no fiber.
void Connection::on_readable() noexcept {
  std::unique_ptr<Session> session = home_.take_session();
  session->attach(*this);
  Session::Received received = session->receive();
  while (received == Session::Received::nothing_yet && !fd_.arm()) received = session->receive();
  if (received == Session::Received::bytes) {
    begin_session(std::move(session));
    return;
  }
  home_.give_back(std::move(session));
  if (received == Session::Received::end) delete this;
}

void Connection::begin_session(std::unique_ptr<Session> session) noexcept {
  if (is_overload_) session->attach(*this);
  session_ = std::move(session);
  fiber_ = home_.loop().spawn([this] { serve(); });
}

void Connection::on_hangup() noexcept {
  if (session_ != nullptr) fiber_.cancel();
}

void Connection::serve() noexcept {
  const Session::After after = is_overload_ ? session_->run_overloaded() : session_->run();
  if (after == Session::After::linger) {
    home_.shared().lingering.fetch_add(1);
    linger();
    home_.shared().lingering.fetch_sub(1);
  }
  home_.give_back(std::move(session_));
  if (after != Session::After::idle) {
    delete this;
    return;
  }
  idle_since_ns_ = home_.loop().turn_ns();
  if (home_.shared().is_draining.load(std::memory_order_relaxed)) close_if_idle();
}

void Connection::linger() noexcept {
  const runtime::CancelMask mask;
  if (::shutdown(socket_, SHUT_WR) != 0) return;
  const Deadline deadline = Deadline::after_ms(linger_ms);
  std::uint64_t received_bytes = 0;
  while (received_bytes < linger_bytes_max) {
    char unread[4096];
    const ssize_t received = ::recv(socket_, unread, sizeof(unread), MSG_DONTWAIT);
    if (received == 0) return;
    if (received > 0) {
      received_bytes += static_cast<std::uint64_t>(received);
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) return;
    if (fd_.wait_readable(deadline) != Wake::ready) return;
  }
}

// The timer is armed once and re-checks the deadline: cheaper than arming it for each request.
void Connection::on_timer(void* object) noexcept {
  auto& connection = *static_cast<Connection*>(object);
  const std::int64_t timeout_ns =
      std::int64_t{connection.home_.shared().limits.idle_timeout_ms} * 1'000'000;
  const std::int64_t now_ns = runtime::now_ns();
  if (connection.session_ != nullptr) connection.idle_since_ns_ = now_ns;
  const Deadline end{connection.idle_since_ns_ + timeout_ns};
  if (now_ns < end.ns) {
    connection.timer_.arm(end);
    return;
  }
  delete &connection;
}

// A request that arrived but was not noticed yet is served (with `Connection: close`).
void Connection::close_if_idle() noexcept {
  if (session_ != nullptr) return;
  char byte = 0;
  if (::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) return;
  delete this;
}

void Connection::break_off() noexcept {
  if (session_ == nullptr) {
    delete this;
    return;
  }
  ::shutdown(socket_, SHUT_RDWR);
  fiber_.cancel();
}

}  // namespace turnpike::wire

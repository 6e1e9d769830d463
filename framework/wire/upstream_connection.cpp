#include "wire/upstream_connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "runtime/fiber.h"
#include "runtime/loop.h"
#include "wire/buffer_sizes.h"
#include "wire/origin_pool.h"
#include "wire/send_pieces.h"

namespace turnpike::wire {
namespace {

using runtime::Deadline;
using runtime::Wake;

// Interval at which a waiting plain Thread checks for cancellation, and a blocked sender checks for
// an early reply.
constexpr std::int64_t look_ms = 100;
Io io_of(Wake wake) noexcept {
  return wake == Wake::ready ? Io::done : wake == Wake::deadline ? Io::deadline : Io::cancelled;
}

}  // namespace

UpstreamConnection::~UpstreamConnection() {
  fd_.reset();
  tls_.reset();
  if (socket_ >= 0) ::close(socket_);
}

Io UpstreamConnection::failed(int error, Io as) noexcept {
  try {
    problem_ = std::generic_category().message(error);
  } catch (...) {  // out of memory: fails without a text
  }
  return as;
}

Io UpstreamConnection::wait(bool for_reading, const Patience& patience) noexcept {
  const auto once = [&](Deadline deadline) {
    return for_reading ? fd_.wait_readable(deadline) : fd_.wait_writable(deadline);
  };
  if (is_watched_) return io_of(once(patience.deadline()));
  for (;;) {
    if (patience.call.cancelled()) return Io::cancelled;
    const Wake wake = once(patience.deadline().earlier(Deadline::after_ms(look_ms)));
    if (wake != Wake::deadline || patience.deadline().passed()) return io_of(wake);
  }
}

Io UpstreamConnection::connect(const Address& address, const Patience& patience) {
  socket_ = ::socket(address.value.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return failed(errno, Io::lacking);
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (::connect(socket_, &address.value.any, address.size()) != 0 && errno != EINPROGRESS) {
    return failed(errno);
  }
  is_watched_ = runtime::Loop::current() != nullptr;
  fd_ = is_watched_ ? runtime::Fd(socket_, this) : runtime::Fd(socket_);
  if (!fd_.ok()) return failed(ENOMEM, Io::lacking);
  for (;;) {
    const Io waited = wait(false, patience);
    if (waited != Io::done) return waited;
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return failed(error);
    Address peer;
    size = sizeof(peer.value);
    if (::getpeername(socket_, &peer.value.any, &size) == 0) return Io::done;
    if (errno != ENOTCONN) return failed(errno);  // otherwise a spurious wake-up
  }
}

Io UpstreamConnection::wait_for(TlsStep step, const Patience& patience) noexcept {
  switch (step) {
    case TlsStep::wants_read:
      return wait(true, patience);
    case TlsStep::wants_write:
      return wait(false, patience);
    case TlsStep::end:
      return Io::end;
    default:
      break;
  }
  try {
    problem_ = "TLS: " + tls_->problem();
  } catch (...) {  // out of memory: fails without a text
  }
  return Io::broken;
}

Io UpstreamConnection::handshake(TlsContext& context, const std::string& host,
                                 const Patience& patience) {
  tls_ = context.open(socket_, host);
  if (tls_ == nullptr) return failed(ENOMEM, Io::lacking);
  for (;;) {
    const TlsStep step = tls_->handshake();
    if (step == TlsStep::done) return Io::done;
    const Io waited = wait_for(step, patience);
    if (waited != Io::done) return waited;
  }
}

Io UpstreamConnection::send(std::string_view head, std::string_view body, const Patience& patience,
                            bool& is_begun, bool& is_whole) noexcept {
  if (tls_ != nullptr) {
    Io io = send_tls(head, patience, is_begun);
    if (io == Io::done) io = send_tls(body, patience, is_begun);
    is_whole = io == Io::done;
    return io;
  }
  iovec pieces[2] = {{const_cast<char*>(head.data()), head.size()},
                     {const_cast<char*>(body.data()), body.size()}};
  return send_plain(pieces, body.empty() ? 1 : 2, patience, is_begun, is_whole);
}

Io UpstreamConnection::send_tls(std::string_view bytes, const Patience& patience,
                                bool& is_begun) noexcept {
  while (!bytes.empty()) {
    is_begun = true;
    std::size_t sent = 0;
    const TlsStep step = tls_->write(bytes.data(), bytes.size(), sent);
    if (step == TlsStep::done) {
      bytes.remove_prefix(sent);
      continue;
    }
    const Io waited = wait_for(step, patience);
    if (waited != Io::done) return waited;
  }
  return Io::done;
}

Io UpstreamConnection::send_plain(iovec* pieces, int count, const Patience& patience,
                                  bool& is_begun, bool& is_whole) noexcept {
  while (count > 0) {
    const ssize_t sent = send_pieces(socket_, pieces, count);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return failed(errno);
    if (sent >= 0) {
      is_begun = true;
      continue;
    }
    const Patience look{patience.call, patience.at_most.earlier(Deadline::after_ms(look_ms))};
    const Io waited = wait(false, look);
    if (waited == Io::done) continue;
    if (waited != Io::deadline || patience.deadline().passed()) return waited;
    char byte = 0;
    if (::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0) return Io::done;
  }
  is_whole = true;
  return Io::done;
}

Io UpstreamConnection::receive(char* to, std::size_t room, std::size_t& received,
                               const Patience& patience) noexcept {
  if (received_since_yield_ >= bytes_per_turn) {
    received_since_yield_ = 0;
    runtime::yield();
    // An upstream that always has more data never makes us wait, so the limits are checked here.
    if (patience.call.cancelled()) return Io::cancelled;
    if (patience.deadline().passed()) return Io::deadline;
  }
  const Io io = receive_some(to, room, received, patience);
  if (io == Io::done) received_since_yield_ += received;
  return io;
}

Io UpstreamConnection::receive_some(char* to, std::size_t room, std::size_t& received,
                                    const Patience& patience) noexcept {
  if (tls_ != nullptr) {
    for (;;) {
      const TlsStep step = tls_->read(to, room, received);
      if (step == TlsStep::done) return Io::done;
      const Io waited = wait_for(step, patience);
      if (waited != Io::done) return waited;
    }
  }
  for (;;) {
    // A reply is rarely there at once, so waiting first saves a failed read. But the hang-up may
    // have been reported together with the last bytes.
    const bool is_known = may_have_more_ || fd_.hung_up();
    const Io waited = is_known ? Io::done : wait(true, patience);
    if (waited != Io::done) return waited;
    const ssize_t got = ::recv(socket_, to, room, MSG_DONTWAIT);
    may_have_more_ = got > 0 && static_cast<std::size_t>(got) == room;
    if (got > 0) {
      received = static_cast<std::size_t>(got);
      return Io::done;
    }
    if (got == 0) return Io::end;
    if (errno != EAGAIN && errno != EINTR) return failed(errno);
  }
}

// True if nothing can be read and the peer has not closed. TLS may consume its own messages
// (session tickets).
bool UpstreamConnection::is_quiet() noexcept {
  char byte = 0;
  if (tls_ != nullptr) {
    std::size_t received = 0;
    return tls_->read(&byte, 1, received) == TlsStep::wants_read;
  }
  return ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EINTR);
}

bool UpstreamConnection::rest(std::int64_t now_ns) noexcept {
  idle_since_ns_ = now_ns;
  if (!is_watched_) return is_quiet();
  while (!fd_.arm()) {
    if (fd_.hung_up() || !is_quiet()) return false;
  }
  is_resting_ = true;
  return true;
}

bool UpstreamConnection::rouse() noexcept {
  is_resting_ = false;
  if (!is_watched_) return is_quiet();
  fd_.disarm();
  // Checks the socket itself: bytes or a close since the loop last polled would otherwise be taken
  // for the reply to the next request.
  return !fd_.hung_up() && is_quiet();
}

void UpstreamConnection::on_readable() noexcept {
  if (!is_resting_) return;
  if (rest(idle_since_ns_) && is_quiet()) return;
  pool_.remove_idle(*this);  // destroys this object
}

void UpstreamConnection::on_hangup() noexcept {
  if (is_resting_) pool_.remove_idle(*this);  // destroys this object
}

}  // namespace turnpike::wire

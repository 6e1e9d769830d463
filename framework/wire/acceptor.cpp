#include "wire/acceptor.h"

#include <Poco/Exception.h>
#include <Poco/Net/SocketAddress.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/log.h"
#include "base/thread_name.h"
#include "wire/connection.h"

namespace turnpike::wire {
namespace {

constexpr int backlog = 4096;
constexpr int accepts_per_turn = 64;
constexpr int pause_ms = 10;
// If more connections over the cap than this are open, further ones are closed without a reply.
constexpr std::uint32_t overloaded_max = 256;

int open_spare() noexcept { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

Acceptor::Acceptor(runtime::Runtime& runtime, ServerShared& shared,
                   const std::vector<std::unique_ptr<ServerLoop>>& loops)
    : runtime_(runtime), shared_(shared), loops_(loops) {}

Result<ListenerAddress, std::string> Acceptor::listen(const ListenerSettings& settings) {
  for (Listener& listener : listeners_) {
    if (listener.name != settings.name) continue;
    listener.handler = settings.handler;
    return ListenerAddress{listener.name, listener.socket.address().toString()};
  }
  try {
    const Poco::Net::SocketAddress wanted(settings.address);
    Poco::Net::ServerSocket socket;
    socket.bind(wanted, true, false);
    socket.listen(backlog);
    socket.setBlocking(false);
    ListenerAddress taken{settings.name, socket.address().toString()};
    listeners_.push_back({settings.name, socket, settings.handler});
    return taken;
  } catch (const Poco::Exception& error) {
    return settings.name + ": cannot listen on " + settings.address + ": " + error.displayText();
  }
}

void Acceptor::start() {
  stop_event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  spare_ = open_spare();
  if (stop_event_ < 0 || spare_ < 0) {
    throw std::system_error(errno, std::generic_category(), "the acceptor's descriptors");
  }
  thread_ = std::thread([this] { run(); });
}

void Acceptor::stop() noexcept {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stop_event_, &one, sizeof(one));
    thread_.join();
  }
  listeners_.clear();
  for (int* descriptor : {&stop_event_, &spare_}) {
    if (*descriptor >= 0) ::close(*descriptor);
    *descriptor = -1;
  }
}

void Acceptor::run() noexcept {
  base::name_this_thread("acceptor");
  std::vector<pollfd> polled;
  for (const Listener& listener : listeners_) {
    polled.push_back({listener.socket.impl()->sockfd(), POLLIN, 0});
  }
  polled.push_back({stop_event_, POLLIN, 0});
  for (;;) {
    if (::poll(polled.data(), polled.size(), -1) < 0) continue;
    // Connections that are queued at the stop are still accepted: closing the listener would reset
    // them.
    const bool is_last_turn = polled.back().revents != 0;
    for (std::size_t at = 0; at < listeners_.size(); ++at) {
      if (polled[at].revents == 0) continue;
      accept_from(listeners_[at], is_last_turn ? backlog : accepts_per_turn);
    }
    if (is_last_turn) return;
  }
}

void Acceptor::accept_from(Listener& listener, int connections_max) noexcept {
  const int descriptor = listener.socket.impl()->sockfd();
  for (int accepted = 0; accepted < connections_max; ++accepted) {
    PeerAddress peer{};
    socklen_t size = sizeof(peer);
    // accept4() instead of Poco's accept, which needs two more system calls for the flags and
    // throws when out of memory.
    const int socket = ::accept4(descriptor, &peer.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      accept_one(socket, peer, *listener.handler);
    } else if (errno == EMFILE || errno == ENFILE) {
      shed(descriptor);
    } else if (errno == EAGAIN) {
      return;
    } else if (errno == ENOBUFS || errno == ENOMEM) {
      return pause();
    }  // aborted meanwhile: try the next connection
  }
}

void Acceptor::accept_one(int socket, const PeerAddress& peer, Handler& handler) noexcept {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const bool is_overload = shared_.connections.fetch_add(1) >= shared_.limits.connections_max;
  if (is_overload && shared_.overloaded.fetch_add(1) >= overloaded_max) {
    shared_.overloaded.fetch_sub(1);
    shared_.connections.fetch_sub(1);
    ::close(socket);
    return;
  }
  runtime::LoopSeat seat = runtime_.take_seat();
  ServerLoop& home = *loops_[seat.loop().index()];
  runtime::Loop& loop = seat.loop();
  loop.post([&home, seat = std::move(seat), socket, peer, &handler, is_overload]() mutable {
    Connection::adopt(home, std::move(seat), socket, peer, handler, is_overload);
  });
}

// No descriptor is left: gives up the spare one to accept a connection and close it.
void Acceptor::shed(int listener) noexcept {
  // One line per second at most: a flood of connections must not flood the log.
  ++turned_away_;
  if (const std::int64_t now = runtime::now_ns(); now - told_of_it_ns_ >= 1'000'000'000) {
    shared_.log.write(Severity::warning, "descriptors_exhausted",
                      {{"connections", shared_.connections.load()}, {"turned_away", turned_away_}});
    turned_away_ = 0;
    told_of_it_ns_ = now;
  }
  if (spare_ >= 0) ::close(spare_);
  const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket >= 0) ::close(socket);
  spare_ = open_spare();
  if (spare_ < 0) pause();
}

// The listeners stay readable while the system lacks resources: sleeps instead of spinning.
void Acceptor::pause() noexcept {
  pollfd stop{stop_event_, POLLIN, 0};
  ::poll(&stop, 1, pause_ms);
}

}  // namespace turnpike::wire

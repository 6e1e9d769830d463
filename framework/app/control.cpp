#include "app/control.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <system_error>
#include <utility>

#include "app/commands/command_line.h"
#include "base/thread_name.h"

namespace turnpike::app {
namespace {

constexpr std::size_t line_bytes_max = 1024;
constexpr int client_timeout_ms = 5'000;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  static_assert(control_path_bytes_max + 1 == sizeof address.sun_path);
  if (path.size() > control_path_bytes_max) {
    errno = ENAMETOOLONG;
    fail("control socket '" + path + "'");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

void send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the client is gone
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// Reads up to the newline; false: the peer closed, stalled or sent too much.
bool receive_line(int socket, int timeout_ms, std::size_t bytes_max, std::string& line) {
  char buffer[4096];
  for (;;) {
    pollfd readable{socket, POLLIN, 0};
    if (poll(&readable, 1, timeout_ms) <= 0) return false;
    const ssize_t received = recv(socket, buffer, sizeof buffer, 0);
    if (received <= 0) return false;
    line.append(buffer, static_cast<std::size_t>(received));
    if (const std::size_t end = line.find('\n'); end != std::string::npos) {
      line.resize(end);
      return true;
    }
    if (line.size() > bytes_max) return false;
  }
}

int connect_to(const std::string& path) {
  const sockaddr_un address = address_of(path);
  const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (client < 0) fail("socket");
  if (connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int reason = errno;
    close(client);
    errno = reason;
    fail("no gateway answers at '" + path + "'");
  }
  return client;
}

}  // namespace

ControlServer::ControlServer(std::string path,
                             std::function<std::string(const std::string&)> answer)
    : path_(std::move(path)), answer_(std::move(answer)) {
  const sockaddr_un address = address_of(path_);
  unlink(path_.c_str());  // of a crashed process: the data directory's lock proves that it is gone
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (listener_ < 0 || wake_ < 0) fail("control socket '" + path_ + "'");
  fchmod(listener_, 0600);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path_.c_str(), 0600) != 0 || listen(listener_, 8) != 0) {
    fail("control socket '" + path_ + "'");
  }
  thread_ = std::thread([this] {
    base::name_this_thread("control");
    serve();
    ended_.set();
  });
}

ControlServer::~ControlServer() {
  (void)stop(runtime::Deadline::never());
  thread_.join();
  close(listener_);
  close(wake_);
  unlink(path_.c_str());
}

bool ControlServer::stop(runtime::Deadline deadline) noexcept {
  is_stopping_.store(true);
  wake();
  return ended_.wait(deadline) == runtime::Wake::ready;
}

void ControlServer::post(std::string line) {
  const std::lock_guard lock(posted_mutex_);
  posted_ = std::move(line);
  wake();
}

std::optional<std::string> ControlServer::take_posted() {
  const std::lock_guard lock(posted_mutex_);
  return std::exchange(posted_, std::nullopt);
}

void ControlServer::wake() const noexcept {
  const std::uint64_t one = 1;
  // Writing 1 to an eventfd can fail only if the counter is full, and a full counter also wakes the
  // poll.
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
}

void ControlServer::serve() {
  for (;;) {
    pollfd events[] = {{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (poll(events, 2, -1) < 0 && errno != EINTR) return;
    std::uint64_t wakes = 0;
    [[maybe_unused]] const ssize_t received = read(wake_, &wakes, sizeof wakes);
    if (is_stopping_.load()) return;
    if (const auto line = take_posted()) (void)run(*line);
    if ((events[0].revents & POLLIN) == 0) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    serve_client(client);
    close(client);
  }
}

std::string ControlServer::run(const std::string& line) const {
  try {
    return answer_(line);
  } catch (const std::exception& error) {  // the gateway continues with what it has
    return json_text({{"ok", false}, {"problems", {{{"message", error.what()}}}}});
  }
}

void ControlServer::serve_client(int client) {
  std::string line;
  if (!receive_line(client, client_timeout_ms, line_bytes_max, line)) return;
  send_all(client, run(line) + "\n");
}

std::string ask_control(const std::string& path, const std::string& line) {
  const int client = connect_to(path);
  send_all(client, line + "\n");
  std::string answer;
  const bool whole = receive_line(client, -1, SIZE_MAX, answer);
  close(client);
  if (!whole) {
    errno = ECONNRESET;
    fail("the gateway at '" + path + "' gave no answer");
  }
  return answer;
}

}  // namespace turnpike::app

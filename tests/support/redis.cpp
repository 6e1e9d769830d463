#include "support/redis.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace turnpike::support {
namespace {

constexpr const char* program = "/usr/bin/redis-server";

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Returns the first line of the answer, or "" if there is none.
std::string ask(std::uint16_t port, const std::string& command) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  const std::string line = command + "\r\n";
  std::string answer;
  char byte = 0;
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::send(socket, line.data(), line.size(), MSG_NOSIGNAL) > 0) {
    while (::recv(socket, &byte, 1, 0) == 1 && byte != '\r') answer += byte;
  }
  ::close(socket);
  return answer;
}

}  // namespace

Redis::Redis() : reserved_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  // With SO_REUSEADDR on both sockets, the server may bind this port too, as long as this socket
  // does not listen. The kernel gives the port to no other process, even while the server is
  // stopped.
  const int yes = 1;
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::setsockopt(reserved_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(reserved_, generic, size) != 0 || ::getsockname(reserved_, generic, &size) != 0) {
    throw std::runtime_error("no free port");
  }
  port_ = ntohs(address.sin_port);
  start();
}

Redis::~Redis() {
  stop();
  ::close(reserved_);
}

std::string Redis::run(const std::string& command) const { return ask(port_, command); }

void Redis::stop() {
  if (server_ <= 0) return;
  ::kill(server_, SIGKILL);
  ::waitpid(server_, nullptr, 0);
  server_ = -1;
}

void Redis::pause() {
  ::kill(server_, SIGSTOP);
  ::waitpid(server_, nullptr, WUNTRACED);
}

void Redis::resume() { ::kill(server_, SIGCONT); }

void Redis::start() {
  const std::string port = std::to_string(port_);
  const pid_t parent = ::getpid();
  server_ = ::fork();
  if (server_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(126);
    const int out = ::open((directory_.path() + "/log").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(out, 1);
    ::execl(program, program, "--bind", "127.0.0.1", "--port", port.c_str(), "--save", "",
            "--appendonly", "no", "--dir", directory_.path().c_str(), nullptr);
    ::_exit(127);
  }
  while (ask(port_, "PING") != "+PONG") {
    if (::waitpid(server_, nullptr, WNOHANG) == server_) {
      server_ = -1;
      throw std::runtime_error("redis-server did not start");
    }
    ::sched_yield();
  }
}

std::string redis_missing() {
  if (std::filesystem::exists(program)) return "";
  const std::string why = "redis-server is not installed";
  if (std::getenv("TURNPIKE_REQUIRE_REDIS") != nullptr) throw std::runtime_error(why);
  return why;
}

}  // namespace turnpike::support

#include "hosts/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cctype>
#include <stdexcept>

namespace turnpike::tests {

namespace {

std::string exchange_bytes(const std::string& address, const std::string& request) {
  const std::size_t colon = address.rfind(':');
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &peer.sin_addr);
  const timeval patience{20, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&peer), sizeof peer) != 0) {
    ::close(socket);
    throw std::runtime_error("cannot connect to " + address);
  }
  std::size_t sent = 0;
  while (sent < request.size()) {
    const auto count = ::send(socket, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  std::string received;
  char buffer[16384];
  for (;;) {
    const auto count = ::recv(socket, buffer, sizeof buffer, 0);
    if (count <= 0) break;
    received.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(socket);
  return received;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

void read_chunks(const std::string& bytes, HttpReply& reply) {
  std::size_t at = 0;
  for (;;) {
    const std::size_t end = bytes.find("\r\n", at);
    if (end == std::string::npos) return;
    const std::size_t size = std::stoul(bytes.substr(at, end - at), nullptr, 16);
    if (bytes.size() < end + 2 + size + 2) {
      reply.body += bytes.substr(end + 2);
      return;
    }
    if (size == 0) {
      reply.is_whole = true;
      return;
    }
    reply.body += bytes.substr(end + 2, size);
    at = end + 2 + size + 2;
  }
}

}  // namespace

HttpReply http_call(const std::string& address, const HttpCall& call) {
  std::string request = call.method + " " + call.target + " HTTP/1.1\r\nHost: " + address +
                        "\r\nConnection: close\r\n";
  for (const std::string& header : call.headers) request += header + "\r\n";
  const bool may_have_body =
      call.method == "POST" || call.method == "PUT" || call.method == "PATCH";
  if (may_have_body || !call.body.empty()) {
    request += "Content-Length: " + std::to_string(call.body.size()) + "\r\n";
  }
  const std::string bytes = exchange_bytes(address, request + "\r\n" + call.body);
  HttpReply reply;
  const std::size_t head_end = bytes.find("\r\n\r\n");
  if (head_end == std::string::npos) return reply;
  reply.status = std::stoi(bytes.substr(9, 3));
  std::size_t at = bytes.find("\r\n") + 2;
  while (at < head_end + 2) {
    const std::size_t end = bytes.find("\r\n", at);
    const std::string line = bytes.substr(at, end - at);
    const std::size_t colon = line.find(':');
    reply.header_lines.push_back(line);
    reply.headers[lower(line.substr(0, colon))] =
        line.substr(line.find_first_not_of(' ', colon + 1));
    at = end + 2;
  }
  const std::string body = bytes.substr(head_end + 4);
  const bool has_no_body = call.method == "HEAD" || reply.status == 204 || reply.status == 304;
  if (lower(reply.header("transfer-encoding")) == "chunked") {
    read_chunks(body, reply);
  } else {
    reply.body = body;
    const std::string length = reply.header("content-length");
    reply.is_whole = has_no_body ? body.empty() : body.size() == std::stoul("0" + length);
  }
  return reply;
}

}  // namespace turnpike::tests

// A small blocking HTTP/1.1 client for tests: one connection, one request, everything until the
// server closes or the body is whole. It judges nothing, so tests see what was sent. One Thread.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace turnpike::tests {

struct HttpReply {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case; the last one of a name
  std::vector<std::string> header_lines;
  std::string body;
  bool is_whole = false;  // as its length or its last chunk tells

  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

struct HttpCall {
  std::string method = "GET";
  std::string target = "/";
  std::vector<std::string> headers = {};  // "Name: value"
  std::string body = {};
};

// `address` is "127.0.0.1:port". Sends Host, Connection: close, and Content-Length with a body or
// a method that could have one.
HttpReply http_call(const std::string& address, const HttpCall& call);

}  // namespace turnpike::tests

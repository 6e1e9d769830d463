// A small blocking HTTP/1.1 client for tests: one request per connection, read until the server
// closes or the body is complete. It does not validate replies, so tests see exactly what was sent.
// One Thread.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace turnpike::tests {

struct HttpReply {
  int status = 0;
  std::map<std::string, std::string> headers;  // by name in lower case; the last of a name
  std::vector<std::string> header_lines;
  std::string body;
  bool is_whole = false;  // according to its length or last chunk

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

// `address` is "127.0.0.1:port". Sends Host and Connection: close, and Content-Length if there is a
// body or the method may have one.
HttpReply http_call(const std::string& address, const HttpCall& call);

}  // namespace turnpike::tests

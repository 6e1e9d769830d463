// The server side of the wire: listeners, and what a protocol host sees of a request and its reply.
// The Server is owned by app/; start(), drain() and its destructor belong to the one Thread that
// made it. A Handler is shared by all loop Threads: handle() and refuse() run on a fiber of the
// connection's loop, one request of a connection at a time, and may wait through the runtime. The
// Request and the Responder are valid until the Handler returns and are used by that fiber alone,
// or by one fiber of its loop at a time.
//
// The wire does these itself, so that no host can get them wrong: the grammar and the bounds of the
// head, Date, Connection, Content-Length, Transfer-Encoding, HEAD, `Expect: 100-continue`,
// pipelining, draining or closing after an unread body, and the deadlines of reading and writing.
//
// Half-close: a client that shuts its side down while its request runs counts as gone, as most
// servers have it, since a closed connection looks the same. The fiber's waits then end with
// `cancelled`; what the handler still sends is tried. Requests that were received whole before are
// answered as long as they need no wait; after the reply that was running the connection closes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/message.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "base/limits.h"
#include "runtime/deadline.h"

namespace turnpike::base {
class Log;
}  // namespace turnpike::base

namespace turnpike::runtime {
class Runtime;
}  // namespace turnpike::runtime

namespace turnpike::wire {

// Told of every byte that a body adds to what is in memory, as it arrives; what was only announced
// takes nothing. Owned by the host, used on the fiber of the request.
class BodyMeter {
 public:
  virtual ~BodyMeter() = default;
  // Whether `bytes` more may be kept; false refuses the body. May wait.
  [[nodiscard]] virtual bool admit(std::uint64_t bytes) noexcept = 0;
};

// A request whose head is read. Views stand in the connection's buffer: nothing is copied, nothing
// is decoded, header names and values are as they came.
class Request {
 public:
  virtual ~Request() = default;

  [[nodiscard]] std::string_view method() const noexcept { return method_; }
  // The target without '?' and query. An absolute-form target loses its scheme and authority.
  [[nodiscard]] std::string_view path() const noexcept { return path_; }
  [[nodiscard]] std::string_view query() const noexcept { return query_; }
  [[nodiscard]] bool has_query() const noexcept { return has_query_; }
  // The authority of an absolute-form target, which overrules Host (RFC 9112 section 3.2.2), or "".
  [[nodiscard]] std::string_view target_authority() const noexcept { return target_authority_; }
  [[nodiscard]] Headers headers() const noexcept { return headers_; }
  // 0 or 1: HTTP/1.0 or HTTP/1.1.
  [[nodiscard]] int version_minor() const noexcept { return version_minor_; }
  // The declared length; none when the body is chunked.
  [[nodiscard]] std::optional<std::uint64_t> body_length() const noexcept { return body_length_; }
  [[nodiscard]] bool has_body() const noexcept { return body_length_ != 0u; }
  // "203.0.113.7:50512" or "[2001:db8::1]:50512".
  [[nodiscard]] virtual std::string_view peer_address() noexcept = 0;
  // Tells clients apart: their IPv4 address, or the /64 network of an IPv6 one, as a number.
  [[nodiscard]] virtual std::uint64_t peer_network() const noexcept = 0;

  // The value of the first field of this name, or none.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept {
    for (const HeaderField& field : headers_) {
      if (same_header_name(field.name, name)) return field.value;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::size_t count(std::string_view name) const noexcept {
    std::size_t fields = 0;
    for (const HeaderField& field : headers_) fields += same_header_name(field.name, name) ? 1 : 0;
    return fields;
  }

  // Reads the whole body, at most `bytes_max`; the view is valid until the Handler returns. A
  // declared length over the bound is refused before a byte is read. May wait. Codes:
  // request_body_too_large, request_malformed (bad chunks, cut short), request_timeout,
  // gateway_overloaded (`meter`, which may be null, refused it). May be called again; the outcome
  // stays the same.
  virtual Result<std::string_view, base::Error> read_body(std::uint64_t bytes_max,
                                                          BodyMeter* meter) noexcept = 0;
  Result<std::string_view, base::Error> read_body(std::uint64_t bytes_max) noexcept {
    return read_body(bytes_max, nullptr);
  }

  // The client closed its side or the connection broke.
  [[nodiscard]] virtual bool client_gone() const noexcept = 0;

 protected:
  std::string_view method_;
  std::string_view path_;
  std::string_view query_;
  std::string_view target_authority_;
  Headers headers_;
  std::optional<std::uint64_t> body_length_ = 0;
  int version_minor_ = 1;
  bool has_query_ = false;
};

// Answers one request: send() once, or begin(), write()..., finish(), or cut(). The wire adds Date,
// Connection, Content-Length and Transfer-Encoding; given fields of these names are dropped. A
// handler that answers nothing is answered for with refuse(gateway_internal), and so is a header
// field that holds a control byte. All functions may wait for the client, as long as it takes the
// reply at the least rate that ServerLimits names; false means that it will not get the reply
// whole.
class Responder {
 public:
  virtual ~Responder() = default;

  // Head and body in one send. Of a HEAD request, and of 204 and 304, the body is not sent.
  virtual bool send(int status, Headers headers, std::string_view body) noexcept = 0;

  // A reply in pieces: with `length`, exactly that many bytes must follow; without, it is chunked
  // (for an HTTP/1.0 client buffered up to `response_bytes_max`, so that its end can be told). The
  // head leaves with the first write(), which may be empty.
  virtual bool begin(int status, Headers headers, std::optional<std::uint64_t> length) noexcept = 0;
  virtual bool write(std::string_view bytes) noexcept = 0;
  virtual bool finish() noexcept = 0;

  // Breaks the connection off so that no truncated reply looks whole.
  virtual void cut() noexcept = 0;

  // A byte of the reply may have left: send() and begin() are no longer possible.
  [[nodiscard]] virtual bool begun() const noexcept = 0;
  // Body bytes that were handed to the kernel.
  [[nodiscard]] virtual std::uint64_t body_bytes_sent() const noexcept = 0;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // An exception that leaves it is answered with refuse(gateway_internal).
  virtual void handle(Request& request, Responder& responder) = 0;

  // The wire refused the request: the host renders its own error body. What could be read of the
  // request is there, the rest is empty. The connection closes after the reply. Codes:
  // request_malformed, request_target_too_long, request_query_too_long, request_headers_too_large,
  // request_timeout, request_length_required, request_coding_unsupported,
  // request_version_unsupported, gateway_overloaded (too many connections), gateway_internal (the
  // handler answered nothing or threw).
  virtual void refuse(const base::Error& error, Request& request, Responder& responder) = 0;
};

struct ServerLimits {
  std::uint32_t path_bytes_max = base::limits::request_path_bytes_max;
  std::uint32_t query_bytes_max = base::limits::request_query_bytes_max;
  std::uint32_t header_bytes_max = base::limits::request_header_bytes_max;
  std::uint32_t header_fields_max = base::limits::request_header_fields_max;
  std::uint32_t head_timeout_ms = base::limits::request_head_timeout_ms;
  std::uint32_t body_timeout_ms = base::limits::request_body_timeout_ms;
  std::uint32_t idle_timeout_ms = base::limits::idle_connection_timeout_ms;
  // How long a client that reads nothing may block a reply. Bytes that it reads give time back, at
  // this rate. Time between two writes does not count.
  std::uint32_t transfer_timeout_ms = base::limits::transfer_timeout_ms;
  std::uint32_t transfer_bytes_per_second_min = base::limits::transfer_bytes_per_second_min;
  std::uint32_t unread_body_drain_bytes_max = base::limits::unread_body_drain_bytes_max;
  std::uint32_t connections_max = base::limits::connections_max;
};

struct ListenerSettings {
  std::string name;     // "api", "mcp"
  std::string address;  // "127.0.0.1:8402", "[::1]:0"; port 0 takes a free one
  Handler* handler = nullptr;
};

struct ListenerAddress {
  std::string name;
  std::string address;  // with the port that was taken
};

class Server {
 public:
  virtual ~Server() = default;
  // Binds a listener before its handler exists, for those who must know the port that was taken.
  // Clients wait until start() is given a listener of this name.
  virtual Result<ListenerAddress, std::string> reserve(const std::string& name,
                                                       const std::string& address) = 0;
  // Binds every listener that was not reserved and begins to accept. The error names the address
  // that failed.
  virtual Result<std::vector<ListenerAddress>, std::string> start(
      std::vector<ListenerSettings> listeners) = 0;
  // Stops accepting, closes idle connections, lets the requests that run end with
  // `Connection: close`, for at most `drain_time`; then breaks off what is left. True: nothing was.
  // A loop that does not turn is waited for at least a second.
  virtual bool drain(std::chrono::milliseconds drain_time) = 0;
  // After drain(): waits for the ends of what was broken off, which come by themselves unless a
  // handler never returns. False at the deadline: then the process can only exit, since the
  // destructor waits for them without end.
  [[nodiscard]] virtual bool close(runtime::Deadline give_up) = 0;
  [[nodiscard]] virtual std::uint64_t connections_open() const noexcept = 0;
};

// `runtime` and `log` outlive the server; the server is destroyed before the runtime stops.
std::unique_ptr<Server> make_server(runtime::Runtime& runtime, const ServerLimits& limits,
                                    base::Log& log);

}  // namespace turnpike::wire

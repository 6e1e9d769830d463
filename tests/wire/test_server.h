// TestServer: a real runtime and a real server on a free port. Each path of its handler does one
// thing that a protocol host may do. Owned by a test and used by its Thread; the counters may be
// read on any Thread.
#pragma once

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/log.h"
#include "runtime/runtime.h"
#include "runtime/wait.h"
#include "wire/raw_socket.h"
#include "wire/server.h"

namespace turnpike::wire {

inline int status_of(base::ErrorCode code) {
  switch (code) {
    case base::ErrorCode::request_target_too_long:
      return 414;
    case base::ErrorCode::request_headers_too_large:
      return 431;
    case base::ErrorCode::request_timeout:
      return 408;
    case base::ErrorCode::request_length_required:
      return 411;
    case base::ErrorCode::request_coding_unsupported:
      return 501;
    case base::ErrorCode::request_version_unsupported:
      return 505;
    case base::ErrorCode::request_body_too_large:
      return 413;
    case base::ErrorCode::gateway_overloaded:
      return 503;
    case base::ErrorCode::gateway_internal:
      return 500;
    default:
      return 400;
  }
}

inline constexpr std::size_t large_bytes = 8 * 1024 * 1024;
inline constexpr std::size_t large_half_bytes = 300 * 1024;

class TestHandler final : public Handler {
 public:
  void handle(Request& request, Responder& responder) override {
    ++handled;
    const std::string_view path = request.path();
    if (path == "/echo") return echo(request, responder);
    if (path == "/metered") return metered(request, responder);
    if (path == "/ignore") {
      responder.send(401, {}, "no");
      return;
    }
    if (path == "/wait") return wait(request, responder);
    if (path == "/gate" || path == "/gate-large") {
      entered.release();
      gate.wait(runtime::Deadline::after_ms(patience_ms));
      responder.send(200, {}, path == "/gate" ? "late" : std::string(large_bytes, 'x'));
      return;
    }
    if (path == "/throw") throw std::runtime_error("on purpose");
    if (path == "/nothing") return;
    if (path == "/peer") {
      responder.send(200, {}, request.peer_address());
      return;
    }
    if (path == "/bad-field") {
      const HeaderField fields[] = {{"X-A", "b\r\nX-Injected: 1"}};
      responder.send(200, fields, "x");
      return;
    }
    if (path == "/own-fields") {
      const HeaderField fields[] = {{"Content-Length", "99"}, {"connection", "x"}, {"X-A", "b"}};
      responder.send(200, fields, "x");
      return;
    }
    stream(request, responder);
  }

  void refuse(const base::Error& error, Request&, Responder& responder) override {
    ++refused;
    const std::string_view name = base::info_of(error.code).name;
    responder.send(status_of(error.code), {}, std::string(name) + ": " + error.message);
  }

  std::atomic<int> handled{0};
  std::atomic<int> refused{0};
  std::atomic<int> cancelled{0};
  std::uint64_t body_bytes_max = 1024 * 1024;
  std::atomic<std::uint64_t> metered_bytes{0};  // of the last body at /metered
  std::uint64_t metered_bytes_max = 1024 * 1024;
  runtime::Semaphore entered{0};
  runtime::Semaphore left{0};
  runtime::Event gate;

 private:
  void echo(Request& request, Responder& responder) {
    const auto body = request.read_body(body_bytes_max);
    if (!body) return refuse(body.error(), request, responder);
    std::string text(request.method());
    text.append(" ").append(request.path());
    if (request.has_query()) text.append("?").append(request.query());
    text.append(" ").append(*body);
    responder.send(200, {}, text);
  }
  void metered(Request& request, Responder& responder) {
    struct Meter final : BodyMeter {
      explicit Meter(TestHandler& of) : handler(of) { handler.metered_bytes = 0; }
      bool admit(std::uint64_t bytes) noexcept override {
        return (handler.metered_bytes += bytes) <= handler.metered_bytes_max;
      }
      TestHandler& handler;
    } meter(*this);
    const auto body = request.read_body(body_bytes_max, &meter);
    if (!body) return refuse(body.error(), request, responder);
    responder.send(200, {}, std::to_string(body->size()));
  }
  void wait(Request& request, Responder& responder) {
    entered.release();
    if (runtime::sleep_until(runtime::Deadline::after_ms(patience_ms)) ==
        runtime::Wake::cancelled) {
      ++cancelled;
    }
    responder.send(200, {}, request.client_gone() ? "gone" : "there");
    left.release();
  }
  void stream(Request& request, Responder& responder) {
    const std::string_view path = request.path();
    const bool is_sized = request.query() == "sized";
    if (path == "/large") {
      const std::string body(large_bytes, 'x');
      responder.send(200, {}, body);
    } else if (path == "/pause") {  // pauses for the query's milliseconds between two writes
      const std::string half(large_half_bytes, 'x');
      responder.begin(200, {}, 2 * half.size());
      responder.write(half);
      runtime::sleep_until(runtime::Deadline::after_ms(std::stoi(std::string(request.query()))));
      responder.write(half);
      responder.finish();
    } else if (path == "/empty") {
      responder.send(204, {}, "dropped");
    } else if (path == "/stream" || path == "/cut" || path == "/short" || path == "/over") {
      responder.begin(200, {}, is_sized ? std::optional<std::uint64_t>(10) : std::nullopt);
      responder.write("01234");
      if (path == "/cut") return responder.cut();
      if (path == "/over") responder.write("0123456789");
      if (path == "/stream") responder.write("56789");
      responder.finish();
    } else if (path == "/unfinished") {
      responder.begin(200, {}, std::nullopt);
      responder.write("01234");
    } else {
      responder.send(404, {}, "none");
    }
  }
};

class TestServer {
 public:
  explicit TestServer(const ServerLimits& limits = {}, std::uint32_t loops = 2)
      : runtime_(options(loops)), log_(base::make_silent_log()) {
    server_ = make_server(runtime_, limits, *log_);
    auto addresses = server_->start({{"test", "127.0.0.1:0", &handler}});
    if (!addresses) throw std::runtime_error(addresses.error());
    address_ = addresses->front().address;
  }
  ~TestServer() {
    handler.gate.set();
    server_.reset();
  }

  [[nodiscard]] RawSocket connect(int receive_buffer_bytes = 0) const {
    return RawSocket::connect(address_, receive_buffer_bytes);
  }
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] Server& server() { return *server_; }
  [[nodiscard]] runtime::Runtime& runtime() { return runtime_; }

  TestHandler handler;

 private:
  static runtime::RuntimeOptions options(std::uint32_t loops) {
    runtime::RuntimeOptions options;
    options.loops = loops;
    return options;
  }
  runtime::Runtime runtime_;
  std::unique_ptr<base::Log> log_;
  std::unique_ptr<Server> server_;
  std::string address_;
};

inline std::string get(std::string_view target, std::string_view fields = {}) {
  std::string text = "GET ";
  text.append(target).append(" HTTP/1.1\r\nHost: h\r\n").append(fields).append("\r\n");
  return text;
}

}  // namespace turnpike::wire

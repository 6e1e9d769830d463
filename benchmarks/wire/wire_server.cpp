// The wire alone, for load tests: a fixed 1 kB JSON reply at /fixed; everything else is forwarded
// to an upstream on loopback, as the gateway does, but without any of its rules. Ends when its
// stdin does.
//   wire_server LOOPS [UPSTREAM_URL]     prints {"address": "..."}
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <turnpike/call.h>

#include "base/log.h"
#include "runtime/fiber.h"
#include "runtime/runtime.h"
#include "runtime/wait.h"
#include "wire/client.h"
#include "wire/server.h"

namespace turnpike::wire {
namespace {

class ForwardCall final : public Call {
 public:
  std::string_view request_id() const noexcept override { return "00000000"; }
  std::int64_t deadline_ns() const noexcept override { return deadline_.ns; }
  bool cancelled() const noexcept override { return runtime::cancelled(); }
  bool sleep_ms(std::uint32_t duration_ms) noexcept override {
    return runtime::sleep_until(runtime::Deadline::after_ms(duration_ms)) ==
           runtime::Wake::deadline;
  }

 private:
  const runtime::Deadline deadline_ = runtime::Deadline::after_ms(30'000);
};

// Buffers one piece, so that a short reply leaves in one send.
class ForwardSink final : public HttpSink {
 public:
  explicit ForwardSink(Responder& responder) : responder_(responder) {}
  bool head(int status, Headers headers, std::optional<std::uint64_t> length) override {
    for (const HeaderField& field : headers) {
      if (same_header_name(field.name, "content-type")) type_.assign(field.value);
    }
    status_ = status;
    length_ = length;
    return true;
  }
  bool body(std::string_view bytes) override {
    const HeaderField fields[] = {{"Content-Type", type_}};
    if (!responder_.begun()) {
      if (length_ == bytes.size()) return responder_.send(status_, fields, bytes);
      responder_.begin(status_, fields, length_);
    }
    return responder_.write(bytes);
  }

 private:
  Responder& responder_;
  std::string type_;
  int status_ = 0;
  std::optional<std::uint64_t> length_;
};

class BenchHandler final : public Handler {
 public:
  void handle(Request& request, Responder& responder) override {
    if (request.path() == "/fixed") {
      const HeaderField fields[] = {{"Content-Type", "application/json"}};
      responder.send(200, fields, body_);
      return;
    }
    const std::string url = upstream_ + std::string(request.path());
    ForwardCall call;
    ForwardSink sink(responder);
    HttpOptions options;
    options.allow_private_addresses = true;
    options.connections_max = 1024;
    if (!client_->call({Method::get, url, {}, {}}, options, sink, call).ok()) {
      responder.send(502, {}, "upstream failed");
    }
    responder.finish();
  }
  void refuse(const base::Error& error, Request&, Responder& responder) override {
    responder.send(400, {}, error.message);
  }

  Client* client_ = nullptr;
  std::string upstream_;

 private:
  const std::string body_ = "{\"data\":\"" + std::string(1010, 'x') + "\"}";
};

int serve(int argc, char** argv) {
  runtime::RuntimeOptions options;
  options.loops = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 2;
  runtime::Runtime runtime(options);
  const auto log = base::make_silent_log();
  const auto client = make_client(runtime, {});
  BenchHandler handler;
  handler.client_ = client.get();
  if (argc > 2) handler.upstream_ = argv[2];
  const auto server = make_server(runtime, {}, *log);
  const auto started = server->start({{"bench", "127.0.0.1:0", &handler}});
  if (!started) {
    std::fprintf(stderr, "%s\n", started.error().c_str());
    return 1;
  }
  std::printf("{\"address\": \"%s\"}\n", started->front().address.c_str());
  std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}

}  // namespace
}  // namespace turnpike::wire

int main(int argc, char** argv) { return turnpike::wire::serve(argc, argv); }

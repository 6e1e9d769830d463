// Host: everything that a plugin may ask of the gateway, in six members. The host owns it; it
// outlives every plugin object. Any thread or fiber that the host runs the plugin on may call its
// members; http(), store() and offload() suspend a cooperative plugin's fiber instead of blocking
// its thread. Nothing here throws.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <turnpike/message.h>
#include <turnpike/result.h>
#include <turnpike/store.h>

namespace turnpike {

class Call;

enum class Severity : std::uint8_t { debug, info, warning, error };

// Log lines, counters and gauges. Texts must not contain secrets or caller data.
class Report {
 public:
  virtual ~Report() = default;
  virtual void log(Severity severity, std::string_view text) noexcept = 0;
  // Adds to the counter `turnpike_plugin_<name>_total` of this plugin; `name` is snake_case.
  virtual void count(std::string_view name, std::uint64_t increment) noexcept = 0;
  // Sets the gauge `turnpike_plugin_<name>` of this plugin; `name` is snake_case.
  virtual void set(std::string_view name, double value) noexcept = 0;
};

class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since 1970-01-01 UTC.
  [[nodiscard]] virtual std::int64_t now_ms() const noexcept = 0;
  // Nanoseconds on a clock that never jumps and counts the time of suspends (CLOCK_BOOTTIME).
  [[nodiscard]] virtual std::int64_t monotonic_ns() const noexcept = 0;
};

class Random {
 public:
  virtual ~Random() = default;
  // Fills `out` with random bytes that are fit for keys and nonces.
  virtual void fill(std::span<std::uint8_t> out) noexcept = 0;
};

struct HttpRequest {
  Method method = Method::get;
  std::string_view url;  // absolute, http or https; the host checks the address it resolves to
  Headers headers;       // Host, Content-Length, Connection and Accept-Encoding are the host's
  std::string_view body;
};

struct HttpOptions {
  bool fresh_connection = false;            // never use a pooled connection
  bool allow_private_addresses = false;     // allow loopback, private and link-local targets
  std::uint32_t connect_timeout_ms = 3000;  // for name resolution, connect and TLS handshake
  std::uint64_t reply_bytes_max = 0;        // 0: the gateway's limit
  std::uint32_t connections_max = 0;        // per origin and loop; 0: the gateway's limit
};

// Receives the reply of Http::call. Returning false stops the transfer. Both functions may suspend.
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  virtual bool head(int status, Headers headers, std::optional<std::uint64_t> length) = 0;
  virtual bool body(std::string_view bytes) = 0;
};

// Outbound HTTP/1.1 on the host's pooled connections. Redirects are not followed; nothing is
// retried. The call's deadline and cancellation apply.
class Http {
 public:
  virtual ~Http() = default;
  virtual Done call(const HttpRequest& request, const HttpOptions& options, HttpSink& sink,
                    Call& call) noexcept = 0;
};

// Runs blocking or CPU-heavy work outside of the loop threads. run() returns when `work` is done.
class Offload {
 public:
  virtual ~Offload() = default;
  // `work` runs exactly once with `argument`, or not at all (`unavailable`: the pool is full).
  virtual Done run(void (*work)(void*) noexcept, void* argument) noexcept = 0;
};

class Host {
 public:
  virtual ~Host() = default;
  [[nodiscard]] virtual Report& report() noexcept = 0;
  [[nodiscard]] virtual Clock& clock() noexcept = 0;
  [[nodiscard]] virtual Random& random() noexcept = 0;
  [[nodiscard]] virtual Http& http() noexcept = 0;
  [[nodiscard]] virtual Offload& offload() noexcept = 0;
  [[nodiscard]] virtual Store& store() noexcept = 0;
};

}  // namespace turnpike

// Invocation: one call, independent of the protocol: the request, its credentials, and a body that
// is read only after all cheaper checks. Hosts make it from HTTP or MCP and pass it to serve().
//
// Owned by the host, on the fiber of the call; every view is valid until serve() returns. Only
// Caller::standing() may be called from another Thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include <turnpike/message.h>
#include <turnpike/result.h>

#include "base/error.h"
#include "identity/authenticator.h"
#include "registry/program.h"

namespace turnpike::exchange {

// The state of the caller: waiting for the reply, gone, or ended by the gateway's stop.
enum class Standing : std::uint8_t { waiting, gone, stopping };

class Caller {
 public:
  virtual ~Caller() = default;
  // `gone`: the connection broke; `stopping`: the gateway's drain time is over. Any Thread; must
  // not wait. Never returns to `waiting`.
  [[nodiscard]] virtual Standing standing() const noexcept = 0;
};

// The body of a call, not yet read.
class BodySource {
 public:
  virtual ~BodySource() = default;
  // The announced length; nullopt: unknown before reading. 0: no body.
  [[nodiscard]] virtual std::optional<std::uint64_t> declared_length() const noexcept = 0;
  // The whole body, valid as long as the source; called at most once; may suspend. Errors:
  // request.body_too_large when it is longer than `bytes_max`, request.timeout, request.malformed.
  [[nodiscard]] virtual Result<std::string_view, base::Error> read(std::uint64_t bytes_max) = 0;
};

// The call's operation, if the host has found it in a program already. Used while that program
// serves; otherwise path and method decide, as for every other call.
struct FoundOperation {
  const registry::Program* program;
  std::uint32_t operation;  // in Program::operations()
  registry::Match match;    // of the path, without `:free`
};

struct Invocation {
  std::string_view method;             // as sent: "GET", "POST", "HEAD", ...
  std::string_view path;               // raw, `:free` included, without '?'
  std::string_view query;              // raw, without '?'
  Headers headers;                     // all of the caller, also repeated ones, any case
  std::string_view content_type;       // empty: none
  std::string_view content_coding;     // of the body, such as "gzip"; empty: none
  std::string_view request_id;         // generated here, UUIDv7
  std::string_view client_request_id;  // the caller's, checked by the host; empty: none
  std::string_view idempotency_key;    // checked by the host; empty: none
  identity::Accepts accepts = identity::Accepts::api_keys;
  BodySource* body = nullptr;      // null: no body
  const Caller* caller = nullptr;  // null: waits forever (tests, benchmarks)
  const FoundOperation* found = nullptr;
  // The host's own limit on the body of a reply, including stored replies, besides those of route
  // and lane. With a limit up to base::limits::response_whole_bytes_max the reply is not streamed.
  std::uint64_t reply_bytes_max = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace turnpike::exchange

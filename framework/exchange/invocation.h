// Invocation: one call in, free of any protocol: what the caller asked for, with which credentials,
// and a body that is read only when everything cheaper has been checked. Hosts make it from HTTP or
// MCP and pass it to serve().
//
// Owned by the host, on the fiber of the call; every view is valid until serve() returns. Only
// Caller::standing() may be asked from another Thread.
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

// Whether somebody still waits for the reply.
enum class Standing : std::uint8_t { waiting, gone, stopping };

class Caller {
 public:
  virtual ~Caller() = default;
  // `gone` when the connection broke, `stopping` when the gateway's drain time is over. Any Thread;
  // must not wait. Never goes back to `waiting`.
  [[nodiscard]] virtual Standing standing() const noexcept = 0;
};

// The body of a call, not yet read.
class BodySource {
 public:
  virtual ~BodySource() = default;
  // The announced length; nothing when only reading will tell. 0: there is no body.
  [[nodiscard]] virtual std::optional<std::uint64_t> declared_length() const noexcept = 0;
  // The whole body, valid as long as the source; called at most once; may suspend. Errors:
  // request.body_too_large when it is longer than `bytes_max`, request.timeout, request.malformed.
  [[nodiscard]] virtual Result<std::string_view, base::Error> read(std::uint64_t bytes_max) = 0;
};

// The operation of a call, where the host has found it in a program already. It holds while that
// program serves; else path and method decide, as for every other call.
struct FoundOperation {
  const registry::Program* program;
  std::uint32_t operation;  // in Program::operations()
  registry::Match match;    // of the path, without `:free`
};

struct Invocation {
  std::string_view method;             // as sent: "GET", "POST", "HEAD", ...
  std::string_view path;               // raw, `:free` included, without '?'
  std::string_view query;              // raw, without '?'
  Headers headers;                     // all fields of the caller, repeated ones too, any case
  std::string_view content_type;       // empty: none
  std::string_view content_coding;     // of the body, such as "gzip"; empty: none
  std::string_view request_id;         // ours, UUIDv7
  std::string_view client_request_id;  // the caller's, checked by the host; empty: none
  std::string_view idempotency_key;    // checked by the host; empty: none
  identity::Accepts accepts = identity::Accepts::api_keys;
  BodySource* body = nullptr;      // null: no body
  const Caller* caller = nullptr;  // null: it waits for ever (tests, benchmarks)
  const FoundOperation* found = nullptr;
  // The host's own ceiling on the body of a reply, stored ones too, besides those of route and
  // lane. Up to base::limits::response_whole_bytes_max the reply is not streamed either.
  std::uint64_t reply_bytes_max = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace turnpike::exchange

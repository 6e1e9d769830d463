// One exchange of JSON with a remote service over the gateway's HTTP, bounded in time, size and
// nesting. Redirects are refused and nothing is retried. What the service wrote is untrusted and
// stays here: a failure has only a kind and says whether the request may have been seen.
//
// Plain functions on a Host that outlives them. Any Thread or fiber; exchange_json() waits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <turnpike/call.h>
#include <turnpike/host.h>
#include <turnpike/message.h>
#include <turnpike/result.h>

#include "x402/protocol/json.h"

namespace turnpike::x402 {

inline constexpr std::int64_t ns_per_ms = 1'000'000;

constexpr std::uint64_t json_reply_bytes_max = 64 * 1024;
constexpr std::uint32_t retry_after_seconds_max = 30;

struct JsonRequest {
  Method method = Method::post;
  std::string_view url;
  std::span<const OwnedHeader> headers;
  std::string_view body;
  std::uint32_t timeout_ms = 10'000;  // for all of it; the call's own deadline counts, too
  std::uint64_t reply_bytes_max = json_reply_bytes_max;
  bool allow_private_addresses = false;
  bool fresh_connection = false;
  bool is_cancellable = true;  // false: goes on even if the caller has left
};

struct JsonReply {
  int status = 0;                // never 3xx: that is a failure
  std::optional<JsonText> json;  // nullopt: not JSON, nested too deep, or a name is repeated
  std::optional<std::uint32_t> retry_after_seconds;  // at most retry_after_seconds_max

  // Absent if there is no JSON. Points into this reply.
  [[nodiscard]] JsonValue body() const noexcept { return json ? json->root() : JsonValue(); }
};

struct JsonFailure {
  FailureKind kind = FailureKind::unavailable;
  bool maybe_sent = false;   // false: certainly no byte of it was sent
  std::string message = {};  // for the log: why it could not be sent, or a redirect's status
};

Result<JsonReply, JsonFailure> exchange_json(Host& host, const JsonRequest& request,
                                             Call& call) noexcept;

// The class of a failure, for logs.
std::string_view name_of(FailureKind kind) noexcept;

}  // namespace turnpike::x402

// AccessLog: one record for each request that was answered or abandoned, and the implementation
// that writes a record as a log line and counts it. Records hold no queries, bodies or credentials.
//
// Owned by app/; called from all loop Threads after the reply was handed to the kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "base/metrics.h"
#include "hosts/client_address.h"
#include "hosts/endpoint.h"

namespace turnpike::hosts {

struct AccessRecord {
  std::string_view request_id;
  std::string_view client_request_id;  // empty: none
  std::string_view peer;
  std::string_view client;  // as trusted proxies tell it; empty: it is the peer
  std::string_view method;
  std::string_view path;               // raw, without query; cut to path_bytes_shown
  const Endpoint* endpoint = nullptr;  // null: no route has this path
  bool is_call = false;                // the request was for a gateway route
  std::string_view rpc;                // "tools/call service.route.execute"; empty: no JSON-RPC
  std::string_view account_id;         // this and the key are empty without a valid credential
  std::string_view key_id;
  std::string_view provider;   // key; this and the next two are empty when no route matched
  std::string_view operation;  // "GET /v1/gateway/acme/stations/{station_id}"
  std::string_view route;      // capability id
  std::string_view lane;       // empty when none was chosen
  int status = 0;              // 0: nothing was sent
  std::optional<base::ErrorCode> error;
  std::string_view reason;  // a plugin's reason for a failure, for the operator only
  std::uint64_t credits_charged = 0;
  std::uint64_t request_bytes = 0;  // of the body
  std::uint64_t reply_bytes = 0;    // of the body
  std::uint32_t total_us = 0;
  std::uint32_t upstream_us = 0;
  bool is_whole = true;  // false: the reply was cut short
};

inline constexpr std::size_t path_bytes_shown = 256;
inline constexpr std::size_t reason_bytes_shown = 512;

class AccessLog {
 public:
  virtual ~AccessLog() = default;
  // Returns the counters of this name, always the same object for a name. Takes a lock: hosts call
  // it when they are constructed.
  virtual const Endpoint& endpoint(std::string_view name) = 0;
  // The client's address, if the peer is a trusted proxy; else empty.
  [[nodiscard]] virtual std::string client_of(std::string_view /*peer*/, Headers) const {
    return {};
  }
  virtual void write(const AccessRecord& record) noexcept = 0;
};

// Writes `access` lines and the metrics turnpike_http_requests_total {endpoint, status class} and
// turnpike_errors_total {code}; for calls also durations, Credits and turnpike_lane_calls_total
// {lane, outcome}. `clients` says which proxies are trusted. Log and metrics outlive it.
std::unique_ptr<AccessLog> make_access_log(base::Log& log, base::Metrics& metrics,
                                           ClientAddress clients = ClientAddress({}));

}  // namespace turnpike::hosts

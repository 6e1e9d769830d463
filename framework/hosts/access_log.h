// AccessLog: one record for each request that was answered or given up, and the implementation that
// writes it as a log line and counts it. Queries, bodies and credentials are not part of a record.
//
// Owned by app/; called from all loop Threads after the reply was handed to the kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "base/metrics.h"
#include "hosts/endpoint.h"

namespace turnpike::hosts {

struct AccessRecord {
  std::string_view request_id;
  std::string_view client_request_id;  // empty: none
  std::string_view peer;
  std::string_view method;
  std::string_view path;               // raw, without query; cut to path_bytes_shown
  const Endpoint* endpoint = nullptr;  // null: no route has this path
  bool is_call = false;                // the request was for a gateway route
  std::string_view rpc;                // "tools/call service.route.execute"; empty: no JSON-RPC
  std::string_view account_id;         // empty when no credential named one, as is the key
  std::string_view key_id;
  std::string_view provider;   // key; empty when no route matched, as are the next two
  std::string_view operation;  // "GET /v1/gateway/acme/stations/{station_id}"
  std::string_view route;      // capability id
  std::string_view lane;       // empty when none was chosen
  int status = 0;              // 0: nothing was sent
  std::optional<base::ErrorCode> error;
  std::string_view reason;  // what a plugin said of a failure: for the operator alone
  std::uint64_t credits_charged = 0;
  std::uint64_t request_bytes = 0;  // body
  std::uint64_t reply_bytes = 0;    // body
  std::uint32_t total_us = 0;
  std::uint32_t upstream_us = 0;
  bool is_whole = true;  // false: the reply was cut short
};

inline constexpr std::size_t path_bytes_shown = 256;
inline constexpr std::size_t reason_bytes_shown = 512;

class AccessLog {
 public:
  virtual ~AccessLog() = default;
  // The counters of this name; the same name gives the same ones. It takes a lock: hosts call it
  // when they are made.
  virtual const Endpoint& endpoint(std::string_view name) = 0;
  virtual void write(const AccessRecord& record) noexcept = 0;
};

// Writes `access` lines and the metrics turnpike_http_requests_total {endpoint, status} by status
// class, turnpike_errors_total {code}, for calls their times and Credits, and for those that chose
// a lane turnpike_lane_calls_total {lane, outcome}. Log and metrics outlive it.
std::unique_ptr<AccessLog> make_access_log(base::Log& log, base::Metrics& metrics);

}  // namespace turnpike::hosts

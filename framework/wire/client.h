// The client side of the wire: outbound HTTP/1.1 behind the SDK's Http. Connections are pooled per
// loop and origin and reused only when the last reply was read to its end. Requests are not
// retried, and redirects are not followed. Failures report truthfully whether the upstream may have
// seen the request, and their texts contain neither credentials nor paths nor query strings.
//
// Owned by app/, which outlives every call. call() may be used from any Thread: on a fiber it
// suspends and uses its loop's connections without a lock; on a plain Thread it blocks and uses one
// pool that all plain Threads share.
//
// A reply that ends only by closing the connection cannot be proven complete, so it is a contract
// failure. The address policy is applied to the address that is connected to, after resolution, so
// DNS rebinding cannot bypass it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <turnpike/host.h>

#include "base/limits.h"

namespace turnpike::runtime {
class Runtime;
}  // namespace turnpike::runtime

namespace turnpike::wire {

struct ClientSettings {
  // PEM file or directory of the authorities that upstream certificates are verified against;
  // empty: the system's.
  std::string certificate_authorities;
  std::uint64_t reply_bytes_max = base::limits::response_bytes_max;
  std::uint32_t reply_header_bytes_max = base::limits::upstream_header_bytes_max;
  std::uint32_t connections_max = base::limits::upstream_connections_max;  // per origin and loop
  std::uint32_t origins_max = 256;            // per loop; the origin idle for longest is evicted
  std::uint32_t idle_connection_ms = 30'000;  // then an idle pooled connection is closed
  std::uint32_t resolution_cache_ms = 10'000;
  std::string user_agent = "turnpike";
};

class Client : public Http {
 public:
  // Closes pooled connections; running calls continue on connections that are not kept.
  virtual void stop() noexcept = 0;
};

// Throws std::runtime_error when the certificate authorities cannot be read.
std::unique_ptr<Client> make_client(runtime::Runtime& runtime, const ClientSettings& settings);

}  // namespace turnpike::wire

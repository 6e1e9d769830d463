// RedisQuota: the QuotaStore of several nodes, in one Redis. A decision is one Lua script, so it is
// one atomic step by the clock of the server. Chosen library: Poco::Redis; it blocks, so one Thread
// of our own talks to the server and sends all queued asks in one pipeline: a loop is never
// blocked, and a round trip is shared.
//
// Keys: turnpike:free:<account>:<bucket>:counts (a hash) and :permits (a sorted set by expiry),
// which expire when they are no longer needed; turnpike:free:clock, the latest time seen, which
// every node also advances while idle, so that a clock step back does not restart a window. One
// server, not a cluster: the script touches keys of several slots. The durability of counts depends
// on that server's configuration.
//
// Owned by app/. take() and read() from any fiber or plain Thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/log.h"
#include "quota/store.h"

namespace turnpike::storage {

struct RedisSettings {
  std::string url;                  // redis://[[user]:password@]host[:port][/database]
  std::uint32_t timeout_ms = 500;   // of a connect and of a round trip
  std::uint32_t retry_ms = 250;     // after a failure; until then all asks are refused
  std::uint32_t asks_max = 16'384;  // queued at most
};

// Describes a fault in the form of a URL, without the password; empty: none.
std::string redis_url_fault(const std::string& url);

class RedisQuota : public quota::QuotaStore {
 public:
  // The last known state, at most a second old when idle; does not wait.
  [[nodiscard]] virtual bool is_reachable() const noexcept = 0;
};

// The error is a sentence for the operator, without the password. An unreachable server is no
// error: it may come up later.
Result<std::unique_ptr<RedisQuota>, std::string> make_redis_quota(const RedisSettings& settings,
                                                                  Random& random, base::Log& log);

}  // namespace turnpike::storage

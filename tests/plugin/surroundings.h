// The surroundings of a catalog or a guard in tests: a real pool, real metrics, a log that keeps
// its lines, and a client that reaches nothing. Any Thread may log; the rest is used by the test's
// Thread.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/sources.h"
#include "plugin/host.h"
#include "runtime/pool.h"
#include "support/kept_log.h"
#include "support/memory_store.h"
#include "support/no_http.h"

namespace turnpike::plugin {

using support::KeptLog;

class Surroundings {
 public:
  explicit Surroundings(std::uint32_t pool_threads = 4) : pool(pool_threads, 64) {}
  [[nodiscard]] HostResources resources() {
    return {.log = log,
            .metrics = *metrics,
            .clock = clock,
            .random = random,
            .http = http,
            .pool = pool,
            .stores = stores};
  }

  KeptLog log;
  std::unique_ptr<base::Metrics> metrics = base::make_metrics();
  base::SystemClock clock;
  base::SystemRandom random;
  support::NoHttp http;
  runtime::BlockingPool pool;
  support::MemoryStores stores;
};

}  // namespace turnpike::plugin

// QuotaStore: the port through which the free lane counts: requests granted to an account in a
// bucket, and the permits of those in flight. A decision is one atomic step: all counts advance and
// a permit is returned, or nothing changes. Implementations: NodeStore (one node),
// storage/redis_quota (several nodes), and WithFallback over both.
//
// Owned by app/, outlives every permit. All members are safe on any fiber and plain Thread and may
// suspend, except the destructor of a permit, which never waits.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <turnpike/result.h>

#include "base/error.h"
#include "quota/limits.h"
#include "runtime/deadline.h"

namespace turnpike::quota {

// The right to be in flight. The destructor returns it; if the process is killed, it ends by its
// expiry.
class Permit {
 public:
  virtual ~Permit() = default;
  // Waits until the request stays counted even if this process dies. Call it before a reply is
  // shown to the caller. Error: gateway.free_unavailable.
  virtual Result<Unit, base::Error> confirm(runtime::Deadline deadline) = 0;
};

struct Decision {
  std::unique_ptr<Permit> permit;   // null: refused
  std::optional<Limit> refused_by;  // when refused
  Standing standing;                // includes this request, if granted
};

// Returned by bucket(), the same for the same key; valid as long as the store.
struct Bucket {
  std::string key;
};

// The buckets of one store. Their names come from the operator, so they are few and never removed.
class Buckets {
 public:
  const Bucket& find_or_add(std::string_view key) {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(key);
    if (found != all_.end()) return *found->second;
    auto bucket = std::make_unique<Bucket>(Bucket{std::string(key)});
    const std::string_view name = bucket->key;
    return *all_.emplace(name, std::move(bucket)).first->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string_view, std::unique_ptr<Bucket>> all_;
};

class QuotaStore {
 public:
  virtual ~QuotaStore() = default;
  virtual const Bucket& bucket(std::string_view key) = 0;
  // Error: gateway.free_unavailable, when no decision is possible.
  virtual Result<Decision, base::Error> take(std::string_view account_id, const Bucket& bucket,
                                             const Limits& limits, runtime::Deadline deadline) = 0;
  // Changes nothing. Error: gateway.free_unavailable.
  virtual Result<Standing, base::Error> read(std::string_view account_id, const Bucket& bucket,
                                             const Limits& limits, runtime::Deadline deadline) = 0;
};

}  // namespace turnpike::quota

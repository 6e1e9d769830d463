// Service: answers decoded calls from the embedded store. It keeps a few read connections and
// caches answers for a short time. It does not depend on the plugin interface, except for the
// clock, or on HTTP, except for statuses. Owned by the plugin's Upstream or a test. Any Thread may
// call any member concurrently.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <turnpike/host.h>

#include "govdata/serve/query.h"
#include "govdata/serve/read.h"

namespace turnpike::govdata {

struct RouteRequest;

enum class Operation : std::uint8_t {
  pricing,
  daos,
  freshness,
  lookup,
  item,
  brief,
  evidence,
  signals,
  activity,
  events
};
inline constexpr std::size_t operation_count = 10;

// The operation that the end of a route's pattern determines, such as ".../daos/{dao_id}/brief".
std::optional<Operation> operation_of_path(std::string_view pattern);
std::optional<Operation> operation_of_name(std::string_view name);

enum class ActivityAnchor : std::uint8_t { wall_clock, data_as_of };

// The registry's data about one of the provider's routes, for /meta/pricing.
struct PricedRoute {
  Operation operation = Operation::pricing;
  std::string route_id, path, method;
  std::uint32_t credit_cost = 0;   // 0: unpriced
  std::string x402_atomic_amount;  // empty: x402 is not enabled
};

struct ServiceOptions {
  std::string database;
  ActivityAnchor activity_anchor = ActivityAnchor::wall_clock;
  std::string pricing_network = "eip155:8453";
  std::vector<PricedRoute> routes;
  std::size_t readers_kept = 4;
};

struct ServiceCall {
  Operation operation = Operation::pricing;
  std::vector<std::string_view> path_values;  // decoded, in the pattern's order
  std::string_view query;                     // raw
  std::string_view request_id;
};

struct Answer {
  int status = 200;
  std::string body;
  std::string etag;  // empty on errors
  std::uint32_t max_age_s = 0;
};

enum class StoreHealth : std::uint8_t { ready, missing, unreadable, newer };

class Service {
 public:
  Service(ServiceOptions options, Clock& clock);
  ~Service();

  // Does not throw, except when memory is exhausted.
  Answer answer(const ServiceCall& call);

  // Opens the store once, checks it, and keeps the results for health(), fresh_until_ms() and
  // stale_reason().
  StoreHealth check();
  [[nodiscard]] StoreHealth health() const noexcept { return health_.load(); }
  // The time when the first source becomes stale; the far future without sources. 0 if a source was
  // never read completely.
  [[nodiscard]] std::int64_t fresh_until_ms() const noexcept { return fresh_until_ms_.load(); }
  // A sentence for callers that names that source. Valid as long as the Service.
  [[nodiscard]] std::string_view stale_reason() const noexcept { return *stale_reason_.load(); }

 private:
  struct CachedAnswer;
  class Reader;

  void note_freshness(Database& database);
  Answer answer_checked(const ServiceCall& call, std::int64_t now_ms);
  Answer answer_from(Database& database, RouteRequest& request, std::int64_t now_ms);
  std::unique_ptr<Database> acquire();
  void release(std::unique_ptr<Database> database);
  std::optional<Answer> cached(const std::string& key, const Json& freshness, std::int64_t now_ms);
  void remember(const std::string& key, CachedAnswer answer);

  const ServiceOptions options_;
  Clock& clock_;
  std::atomic<StoreHealth> health_{StoreHealth::missing};
  std::atomic<std::int64_t> fresh_until_ms_;
  std::mutex reasons_mutex_;
  std::set<std::string> reasons_;  // all reasons so far, which stale_reason() may still refer to
  std::atomic<const std::string*> stale_reason_;
  std::mutex readers_mutex_;
  std::vector<std::unique_ptr<Database>> readers_;
  std::mutex cache_mutex_;
  std::list<CachedAnswer> cache_;  // oldest first
  std::unordered_map<std::string, std::list<CachedAnswer>::iterator> cache_index_;
  std::size_t cache_bytes_ = 0;
};

}  // namespace turnpike::govdata

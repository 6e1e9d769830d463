#include "catalog/free_quotas.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "text/time_text.h"

namespace turnpike::catalog {
namespace {

using Json = nlohmann::ordered_json;

Json count_json(std::uint64_t limit, std::uint64_t used) {
  return {
      {"limit", limit}, {"used", std::min(limit, used)}, {"remaining", quota::left(limit, used)}};
}

Json window_json(const quota::Window& window, std::uint32_t used, std::int64_t start_s) {
  Json json = count_json(window.limit, used);
  json["windowSeconds"] = window.seconds;
  json["resetsAt"] = text::rfc3339(quota::end_ms(start_s, window));
  return json;
}

Json entry_json(const FreeQuotas::Left& seen) {
  const quota::Limits& limits = seen.limits;
  const quota::Counts& counts = seen.standing.counts;
  Json json = {{"providerKey", seen.provider_key},
               {"bucketScope", seen.scope},
               {"primaryQuota", window_json(limits.window, counts.window, counts.window_start_s)},
               {"quota", nullptr},
               {"concurrency",
                {{"limit", limits.concurrency},
                 {"inUse", std::min(limits.concurrency, seen.standing.in_use)}}},
               {"cumulative", nullptr}};
  if (limits.quota) json["quota"] = window_json(*limits.quota, counts.quota, counts.quota_start_s);
  if (limits.cumulative_limit) {
    json["cumulative"] = count_json(*limits.cumulative_limit, counts.cumulative);
  }
  return json;
}

std::uint64_t left_in_window(const FreeQuotas::Left& seen) {
  return quota::left(seen.limits.window.limit, seen.standing.counts.window);
}

}  // namespace

FreeQuotas::FreeQuotas(const registry::Program& program) {
  std::map<std::pair<std::string, std::string>, std::set<std::uint32_t>> found;
  for (const registry::Route& route : program.routes()) {
    if (!route.free_policy) continue;
    const registry::FreePolicy& policy = program.free_policies()[*route.free_policy];
    found[{program.providers()[route.provider].key, policy.bucket_scope}].insert(route.free_bucket);
  }
  for (const auto& [name, buckets] : found) {
    Entry entry{name.first, name.second, {}};
    for (const std::uint32_t at : buckets) {
      const registry::FreeBucket& bucket = program.free_buckets()[at];
      entry.buckets.push_back({bucket.key, program.free_policies()[bucket.policy]});
    }
    entries_.push_back(std::move(entry));
  }
}

Result<std::vector<FreeQuotas::Left>, base::Error> FreeQuotas::left(
    std::string_view account_id, quota::QuotaStore& store, runtime::Deadline deadline) const {
  std::vector<Left> all;
  for (const Entry& entry : entries_) {
    std::optional<Left> least;
    for (const Bucket& bucket : entry.buckets) {
      const auto standing =
          store.read(account_id, store.bucket(bucket.key), bucket.limits, deadline);
      if (!standing.ok()) return standing.error();
      Left seen{entry.provider_key, entry.scope, bucket.limits, *standing};
      if (!least || left_in_window(seen) < left_in_window(*least)) least = std::move(seen);
    }
    all.push_back(*std::move(least));
  }
  return all;
}

Result<std::string, base::Error> FreeQuotas::body(std::string_view account_id,
                                                  quota::QuotaStore& store, std::int64_t now_ms,
                                                  runtime::Deadline deadline) const {
  const auto entries = left(account_id, store, deadline);
  if (!entries.ok()) return entries.error();
  Json providers = Json::array();
  for (const Left& entry : *entries) providers.push_back(entry_json(entry));
  const Json body = {{"billingAccountId", account_id},
                     {"observedAt", text::rfc3339(now_ms)},
                     {"providers", std::move(providers)}};
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace turnpike::catalog

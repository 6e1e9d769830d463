#include "catalog/free_quotas.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "catalog/program_fixture.h"

namespace turnpike::catalog::tests {
namespace {

using nlohmann::json;

// Reports one use of everything in each bucket, and five in buckets whose key ends in "used".
class ScriptedStore final : public quota::QuotaStore {
 public:
  const quota::Bucket& bucket(std::string_view key) override { return buckets_.find_or_add(key); }
  Result<quota::Decision, base::Error> take(std::string_view, const quota::Bucket&,
                                            const quota::Limits&, runtime::Deadline) override {
    return base::Error{base::ErrorCode::gateway_free_unavailable, "down"};
  }
  Result<quota::Standing, base::Error> read(std::string_view account_id,
                                            const quota::Bucket& bucket,
                                            const quota::Limits& limits,
                                            runtime::Deadline) override {
    if (is_down) return base::Error{base::ErrorCode::gateway_free_unavailable, "down"};
    EXPECT_EQ(account_id, "acc_1");
    asked.push_back(bucket.key);
    quota::Standing standing;
    standing.counts.turn_to(limits, 1'800'000'030'000);
    standing.counts.window = static_cast<std::uint32_t>(asked.size());
    standing.counts.quota = 2'000;
    standing.counts.cumulative = 9'007'199'254'740'991;
    standing.in_use = 3;
    return standing;
  }

  bool is_down = false;
  std::vector<std::string> asked;

 private:
  quota::Buckets buckets_;
};

const std::string yaml = R"yaml(
provider: {key: alpha, id: alpha-data, name: Alpha data, base_path: /v1/gateway/alpha}
upstreams:
  alpha-main: {plugin: http}
free_policies:
  whole: {window: {limit: 60, seconds: 60}, concurrency: 4, quota: {limit: 1000, seconds: 86400},
          cumulative_limit: 9007199254740991}
  each: {window: {limit: 10, seconds: 60}, concurrency: 2, bucket_scope: route}
  pool: {window: {limit: 20, seconds: 60}, concurrency: 2, bucket_scope: {shared: pool}}
prices:
  standard: {version: 1, credit_cost: 1}
defaults: {price: standard, free: whole}
routes:
  - {path: /a}
  - {path: /b}
  - {path: /c, free: each}
  - {path: /d, free: each}
  - {path: /e, free: pool}
  - {path: /f, free: pool}
  - {path: /g, free: none}
)yaml";

TEST(FreeQuotas, OneEntryForEachProviderAndScope) {
  const auto program = compiled(yaml);
  const FreeQuotas quotas(*program);
  ScriptedStore store;
  const auto body = quotas.body("acc_1", store, 1'800'000'030'000, runtime::Deadline::never());
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(json::parse(*body), json::parse(R"({
    "billingAccountId": "acc_1", "observedAt": "2027-01-15T08:00:30.000Z", "providers": [
      {"providerKey": "alpha", "bucketScope": "pool",
       "primaryQuota": {"limit": 20, "used": 1, "remaining": 19, "windowSeconds": 60,
                        "resetsAt": "2027-01-15T08:01:00.000Z"},
       "quota": null, "concurrency": {"limit": 2, "inUse": 2}, "cumulative": null},
      {"providerKey": "alpha", "bucketScope": "provider",
       "primaryQuota": {"limit": 60, "used": 2, "remaining": 58, "windowSeconds": 60,
                        "resetsAt": "2027-01-15T08:01:00.000Z"},
       "quota": {"limit": 1000, "used": 1000, "remaining": 0, "windowSeconds": 86400,
                 "resetsAt": "2027-01-16T00:00:00.000Z"},
       "concurrency": {"limit": 4, "inUse": 3},
       "cumulative": {"limit": 9007199254740991, "used": 9007199254740991, "remaining": 0}},
      {"providerKey": "alpha", "bucketScope": "route",
       "primaryQuota": {"limit": 10, "used": 4, "remaining": 6, "windowSeconds": 60,
                        "resetsAt": "2027-01-15T08:01:00.000Z"},
       "quota": null, "concurrency": {"limit": 2, "inUse": 2}, "cumulative": null}]})"));
  EXPECT_EQ(store.asked.size(), 4u) << "the bucket of each of the two routes was looked at";
  EXPECT_EQ(body->find("shared:"), std::string::npos) << "no internal keys";
  EXPECT_EQ(body->find("route-"), std::string::npos);
}

TEST(FreeQuotas, AStoreThatCannotBeReadIsAnError) {
  const auto program = compiled(yaml);
  const FreeQuotas quotas(*program);
  ScriptedStore store;
  store.is_down = true;
  const auto body = quotas.body("acc_1", store, 0, runtime::Deadline::never());
  ASSERT_FALSE(body.ok());
  EXPECT_EQ(body.error().code, base::ErrorCode::gateway_free_unavailable);
}

}  // namespace
}  // namespace turnpike::catalog::tests

// WithFallback: lets a node grant requests while the store that all nodes share cannot be reached.
// Each node then enforces its share of every limit alone, in memory. Shares are rounded down, so
// the nodes together never grant more than a limit meanwhile; a limit that is too small to be
// shared is refused. A node does not know what the shared store granted before, and does not report
// its own grants to the store later. An operator for whom that is not acceptable configures the
// gateway to refuse instead.
//
// Owned by app/, over stores that outlive it; as safe as they are.
#pragma once

#include "quota/node_store.h"
#include "quota/store.h"

namespace turnpike::quota {

class WithFallback final : public QuotaStore {
 public:
  WithFallback(QuotaStore& shared, NodeStore& local, std::uint32_t nodes) noexcept
      : shared_(shared), local_(local), nodes_(nodes) {}

  const Bucket& bucket(std::string_view key) override { return shared_.bucket(key); }

  Result<Decision, base::Error> take(std::string_view account_id, const Bucket& bucket,
                                     const Limits& limits, runtime::Deadline deadline) override {
    auto decided = shared_.take(account_id, bucket, limits, deadline);
    if (decided.ok()) return decided;
    const auto share = share_of(limits, nodes_);
    if (!share) return decided;
    auto local = local_.take(account_id, local_.bucket(bucket.key), *share, deadline);
    if (local.ok()) count_other_shares(local->standing, limits, *share);
    return local;
  }

  // An unreadable quota is an error: a node's share is not the account's quota.
  Result<Standing, base::Error> read(std::string_view account_id, const Bucket& bucket,
                                     const Limits& limits, runtime::Deadline deadline) override {
    return shared_.read(account_id, bucket, limits, deadline);
  }

 private:
  // Counts the other nodes' shares as spent, so that the rest is what this node may still grant.
  static void count_other_shares(Standing& standing, const Limits& limits, const Limits& share) {
    standing.counts.window += limits.window.limit - share.window.limit;
    if (limits.quota) standing.counts.quota += limits.quota->limit - share.quota->limit;
    if (limits.cumulative_limit) {
      standing.counts.cumulative += *limits.cumulative_limit - *share.cumulative_limit;
    }
    standing.in_use += limits.concurrency - share.concurrency;
  }

  QuotaStore& shared_;
  NodeStore& local_;
  const std::uint32_t nodes_;
};

}  // namespace turnpike::quota

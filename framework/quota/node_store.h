// NodeStore: the QuotaStore of a single node. Decisions are made in memory, under the lock of one
// of many shards; one keeper Thread writes the counts to the node's database.
//
// Durability: a row holds, for an (account, bucket), at least the grants whose confirm() has
// returned, so neither a restart nor `kill -9` gives back requests that a caller has seen. The row
// of a caller with many requests is written ahead of them (by at most 1/16 of a limit), so that
// most requests need not wait for a write; with few requests the row is exact. A crash costs the
// caller those few grants ahead, and may forget requests in flight. An orderly stop writes exact
// counts. Another gateway that starts on the same database takes over the counting; this one then
// grants nothing more. Without a CounterStore everything is in memory only.
//
// Time is the wall clock, but never decreases: neither while the process runs, nor below the latest
// written time. Permits expire by the monotonic clock.
//
// Entries whose windows have ended are removed a few at a time; see reclaim().
//
// Owned by app/. take() and read() from any fiber or plain Thread; they suspend only at the first
// use of an (account, bucket), to read its row on the pool.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <turnpike/host.h>

#include "base/log.h"
#include "quota/counter_store.h"
#include "quota/store.h"
#include "runtime/pool.h"

namespace turnpike::quota {

class NodeStore final : public QuotaStore {
 public:
  struct Durable {
    CounterStore& counters;
    runtime::BlockingPool& pool;
    base::Log& log;
  };
  NodeStore(const Clock& clock, std::optional<Durable> durable);
  ~NodeStore() override;  // REQUIRES: no open permits. Writes exact counts.
  NodeStore(const NodeStore&) = delete;
  NodeStore& operator=(const NodeStore&) = delete;

  // Begins a term of counting, then writes rows and reclaims entries on a Thread of its own.
  Result<Unit, base::Error> start();

  const Bucket& bucket(std::string_view key) override;
  Result<Decision, base::Error> take(std::string_view account_id, const Bucket& bucket,
                                     const Limits& limits, runtime::Deadline deadline) override;
  Result<Standing, base::Error> read(std::string_view account_id, const Bucket& bucket,
                                     const Limits& limits, runtime::Deadline deadline) override;

  // Examines about `entries` entries, starting where the last call stopped, and removes obsolete
  // ones. Holds a lock for a few microseconds at a time. Called by the keeper and by tests.
  void reclaim(std::size_t entries);
  [[nodiscard]] std::size_t entries() const;

 private:
  struct Machine;
  const std::unique_ptr<Machine> machine_;
};

}  // namespace turnpike::quota

// NodeStore: the QuotaStore of a single node. Decisions are made in memory, under the lock of one
// of many shards; what was granted is written to the node's database by one keeper Thread.
//
// What is durable, and when: a row holds, for an (account, bucket), at least what was granted by
// the time a permit's confirm() returned, so neither a restart nor `kill -9` gives back what a
// caller has seen. A row of a caller with many requests is written ahead of them (never by more
// than 1/16 of a limit), so that most requests need not wait for a write; one with few requests is
// written exactly. What a crash costs is those few ahead, and what was in flight may be forgotten.
// An orderly stop writes exactly. Another gateway that starts on the same database takes the
// counting over; this one then grants nothing more. Without a CounterStore everything is in memory
// alone.
//
// Time is the wall clock, but never goes back: not while the process runs, nor behind the latest
// time that was written. Permits end by the clock that does not step.
//
// Entries whose windows have ended are forgotten a few at a time; see reclaim().
//
// Owned by app/. take() and read() from any fiber or plain Thread; they suspend only at the first
// sight of an (account, bucket), to read its row on the pool.
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
  ~NodeStore() override;  // REQUIRES: no permits are out. Writes exactly what was granted.
  NodeStore(const NodeStore&) = delete;
  NodeStore& operator=(const NodeStore&) = delete;

  // Begins a term of counting, then keeps rows written and entries reclaimed on a Thread of its
  // own.
  Result<Unit, base::Error> start();

  const Bucket& bucket(std::string_view key) override;
  Result<Decision, base::Error> take(std::string_view account_id, const Bucket& bucket,
                                     const Limits& limits, runtime::Deadline deadline) override;
  Result<Standing, base::Error> read(std::string_view account_id, const Bucket& bucket,
                                     const Limits& limits, runtime::Deadline deadline) override;

  // Looks at about `entries` entries, where the last call left off, and forgets those that say
  // nothing any more. Holds a lock for a few microseconds at a time. The keeper calls it; tests
  // may.
  void reclaim(std::size_t entries);
  [[nodiscard]] std::size_t entries() const;

 private:
  struct Machine;
  const std::unique_ptr<Machine> machine_;
};

}  // namespace turnpike::quota

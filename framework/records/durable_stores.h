// DurableStores: the Stores of a process on its database. One Thread writes the applies of all
// plugins in groups (runtime/group_commit.h); each group is one transaction. A group consists of
// the applies that arrived while the previous group was written, and of those that arrive during a
// short wait after it: a quarter of the time that the previous group took. During this wait the
// callers that were just answered come back. Without the wait, callers would split into two halves
// that alternate. An apply that names a key which the group writes already waits for the next
// group. An apply whose check fails does not affect the rest of its group.
//
// group_commit.h lists the failures and their consequences. In terms of the Store: `unavailable`
// means that nothing was written, and a caller that leaves before its apply has an outcome gets
// `unknown`. When the database is broken, the process is asked to end.
//
// Both the gateway and the command line make one:
//   DurableStores stores(node.records(), {clock, random, log, metrics, pool, on_fatal});
//   if (auto started = stores.start(); !started.ok()) ...
//   std::unique_ptr<Store> store = stores.store_of("x402");
//
// Owned by app/; outlives the Stores that it made. start() and stop() from a plain Thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <turnpike/host.h>

#include "base/log.h"
#include "base/metrics.h"
#include "records/stores.h"
#include "records/table.h"
#include "runtime/group_commit.h"
#include "runtime/pool.h"

namespace turnpike::records {

struct ApplyJob;
class NamedKeys;

class DurableStores final : public Stores, private runtime::GroupWriter<ApplyJob> {
 public:
  struct Sources {
    const Clock& clock;
    Random& random;
    base::Log& log;
    base::Metrics& metrics;
    runtime::BlockingPool& pool;  // for reads; outlives the stores
    // Called once, from the writing Thread, when the database can no longer be trusted: the process
    // must end, and the next start recovers.
    std::function<void(std::string_view reason)> fatal;
  };

  DurableStores(Table& table, Sources sources);
  ~DurableStores() override;  // without stop(): queued applies are not written
  DurableStores(const DurableStores&) = delete;
  DurableStores& operator=(const DurableStores&) = delete;

  // Blocks. Error: the database cannot be reached.
  [[nodiscard]] Stored<Unit> start();
  void stop() noexcept;  // writes queued applies, within the commit budget

  std::unique_ptr<Store> store_of(std::string_view plugin) override;

 private:
  class PluginStore;
  using Group = runtime::GroupCommit<ApplyJob, StoreApplied>;

  runtime::Patience patience(std::size_t waiting, const runtime::LastGroup& last) override;
  bool joins(const Jobs& group, const ApplyJob& job) override;
  runtime::Committed write(Jobs& group) override;
  runtime::Committed outcome(Jobs& group) override;
  void between_groups() override;

  StoreApplied apply(std::string_view plugin, std::span<const StoreCheck> checks,
                     std::span<const StoreWrite> writes, Call& call);
  void report_fault(std::string_view plugin, const std::string& fault) const;
  template <class T, class F>
  Result<T> read(Call& call, F work);
  [[nodiscard]] std::int64_t now_ms() const noexcept;

  void answer_all(const Jobs& group, const Conflicts& conflicts);
  void read_clock();
  std::uint64_t new_version();

  Table& table_;
  const Sources sources_;
  base::Counter& groups_;
  base::Counter& applied_;
  base::Counter& conflicts_;
  base::Counter& unknown_;
  const runtime::PoolUser readers_;
  std::unique_ptr<Writer> writer_;
  std::atomic<std::uint64_t> waiting_bytes_ = 0;  // of all applies without an answer
  // The database's clock when the steady clock was at zero; own_clock: the process's clock is used.
  static constexpr std::int64_t own_clock = INT64_MIN;
  std::atomic<std::int64_t> clock_zero_ms_ = own_clock;
  std::int64_t clock_read_ns_ = 0;
  // Used by the writing Thread only.
  std::vector<std::uint8_t> chance_;             // for versions
  const std::unique_ptr<NamedKeys> group_keys_;  // of the group being assembled
  bool is_failing_ = false;
  Group group_;  // destroyed first
};

}  // namespace turnpike::records

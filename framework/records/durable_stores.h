// DurableStores: the Stores of a process on its database. One Thread writes the applies of all
// plugins in groups; each group is one transaction. A group consists of the applies that arrived
// while the previous group was written, and of those that arrive during a short wait after it: a
// quarter of the time that the previous group took. During this wait the callers that were just
// answered come back. Without the wait, callers would split into two halves that alternate. An
// apply that names a key which the group writes already waits for the next group. An apply whose
// check fails does not affect the rest of its group.
//
// What may go wrong, and what then happens:
//   nothing was written     the group is tried again while its callers still wait
//   the commit is unknown   nothing else is written until the database has told what became of it;
//                           callers leave with `unknown` at their deadline
//   the database is broken  its callers are told `unknown`, the process is asked to end
// When a caller leaves while its apply is queued, the apply is dropped and certainly not written.
// When a commit with an unknown outcome turns out not written, the applies of callers that have
// left are dropped, too.
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
#include <thread>
#include <vector>

#include <turnpike/host.h>

#include "base/log.h"
#include "base/metrics.h"
#include "records/stores.h"
#include "records/table.h"
#include "runtime/pool.h"
#include "runtime/wait.h"

namespace turnpike::records {

class DurableStores final : public Stores {
 public:
  struct Sources {
    const Clock& clock;
    Random& random;
    base::Log& log;
    base::Metrics& metrics;
    runtime::BlockingPool& pool;  // for reads; must outlive them
    // Called once, from the writing Thread, when the database can no longer be trusted: the process
    // must end, and the next start recovers.
    std::function<void(std::string_view reason)> fatal;
  };

  DurableStores(Table& table, Sources sources);
  ~DurableStores() override;  // without stop(): what is queued is not written
  DurableStores(const DurableStores&) = delete;
  DurableStores& operator=(const DurableStores&) = delete;

  // Blocks. The error: the database cannot be reached.
  [[nodiscard]] Stored<Unit> start();
  void stop() noexcept;  // writes what is queued, within the commit budget

  std::unique_ptr<Store> store_of(std::string_view plugin) override;

 private:
  class PluginStore;
  struct Job;
  using Jobs = std::vector<std::shared_ptr<Job>>;
  enum class Next : std::uint8_t { done, again };

  StoreApplied apply(std::string_view plugin, std::span<const StoreCheck> checks,
                     std::span<const StoreWrite> writes, Call& call);
  void report_fault(std::string_view plugin, const std::string& fault) const;
  template <class T, class F>
  Result<T> read(Call& call, F work);
  [[nodiscard]] std::int64_t now_ms() const noexcept;

  void run();
  void take(Jobs& waiting);
  Jobs next_group(Jobs& waiting) const;
  Next attempt(Jobs& group);
  Next prove(Jobs& group);
  void answer_all(Jobs& group, const Conflicts& conflicts);
  void refuse_all(Jobs& group, StoreOutcome outcome);
  void put_back(Jobs& group);
  void read_clock();
  std::uint64_t new_version();
  static void pause();

  Table& table_;
  const Sources sources_;
  base::Counter& groups_;
  base::Counter& applied_;
  base::Counter& conflicts_;
  base::Counter& unknown_;
  const runtime::PoolUser readers_;
  std::unique_ptr<Writer> writer_;
  std::atomic<std::uint64_t> waiting_bytes_ = 0;  // of all applies that are not answered
  runtime::BatchQueue<std::shared_ptr<Job>> queue_;
  // The database's clock when the steady clock was at zero; own_clock: the process's clock counts.
  static constexpr std::int64_t own_clock = INT64_MIN;
  std::atomic<std::int64_t> clock_zero_ms_ = own_clock;
  std::int64_t clock_read_ns_ = 0;
  std::vector<std::uint8_t> chance_;  // the writing Thread's, for versions
  std::size_t expected_ = 0;          // callers that were there when the last group ended
  std::int64_t group_ns_ = 0;         // that it took
  bool is_failing_ = false;           // and its fate
  bool is_broken_ = false;
  std::atomic<bool> is_abandoned_ = false;  // the destructor ran without stop()
  std::atomic<bool> is_draining_ = false;
  std::atomic<std::int64_t> drain_until_ns_ = 0;
  std::thread thread_;
};

}  // namespace turnpike::records

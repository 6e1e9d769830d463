// Committer: one Thread that writes settlements in groups. Calls put their settlement into its
// queue and wait; it closes a batch at half of the calls in flight or after a fraction of a
// millisecond, writes it in one transaction, and only then answers every call in it.
//
// What may go wrong, and what then happens:
//   nothing was written     the batch is tried again while its calls still wait
//   the commit is unknown   nothing else is written until the store has proven what became of it;
//                           calls leave with SettlementUnknown when their budget is over
//   a message is known      it is answered with what it was charged then
//   a lease is lost         its calls are redone without it, drawing directly, or refused
//   a claim is lost         its call is refused: another one has its Idempotency-Key now
//   the store is broken     its calls are unknown, the process is asked to end
//
// A call that leaves while its settlement is only queued takes it along: certainly not charged. A
// refused settlement leaves an uncharged fact. A call that left as unknown ends uncharged, unless a
// repeat under its key gets the reply: its charge is given back by a correction, or its key freed,
// here, since nobody else is left to do it (if the process dies: by the next, unknown_calls.h).
// Uncharged facts ride along or, when there is nothing to ride on, go after 100 ms.
//
// Owned by EscrowLedger. settle() and record() from fibers and plain Threads, the rest from a plain
// Thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ledger/escrow.h"
#include "ledger/unknown_calls.h"

namespace turnpike::ledger {

class Committer {
 public:
  Committer(LedgerStore& store, Escrow& escrow, const LedgerSettings& settings,
            EscrowLedger::Sources sources);
  ~Committer();  // without stop(): what is queued is not written
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  [[nodiscard]] Stored<Unit> start();
  void stop() noexcept;  // writes what is queued, within the commit budget

  Settlement settle(Hold hold, OwnedFact fact, std::unique_ptr<const ReplyToKeep> reply);
  void record(OwnedFact fact) noexcept;
  // That settlement was told as unknown, and still is.
  [[nodiscard]] bool is_settling(std::string_view account_id, std::string_view message_id) const {
    return unknown_calls_.is_open(account_id, message_id);
  }
  // The last transaction came to a definite end.
  [[nodiscard]] bool available() const noexcept { return is_writing_.load(); }

 private:
  struct Job;
  struct Batch;
  using Jobs = std::vector<std::shared_ptr<Job>>;

  void run();
  void take(Jobs& jobs, runtime::Deadline until);
  void commit(Jobs& jobs);
  enum class Next : std::uint8_t { done, again, give_up };
  [[nodiscard]] Batch batch_of(const Jobs& jobs, const std::vector<OwnedFact>& facts) const;
  Next attempt(Jobs& jobs, std::vector<OwnedFact>& facts);
  Next prove(Jobs& jobs, std::vector<OwnedFact>& facts, std::int64_t number);
  void answer_all(Jobs& jobs);
  void revise(Jobs& jobs, std::vector<OwnedFact>& facts, const SettleAnswer& answer);
  void draw_directly(Jobs& jobs);
  void return_drawn(const Job& job);
  void give_up(Jobs& jobs, const StoreFailure& failure);
  void answer(const std::shared_ptr<Job>& job, Settlement settlement, runtime::WakeBatch& wakes);
  void refuse(const std::shared_ptr<Job>& job, const base::Error& error, runtime::WakeBatch& wakes);
  bool put_back(const std::shared_ptr<Job>& job);
  void finish_disowned();
  void restore_unheard();
  SettlementUnknown leave(const Job& job);
  void take_facts(std::vector<OwnedFact>& facts, std::size_t room);
  bool has_more();  // to write than settlements
  static void pause();

  LedgerStore& store_;
  Escrow& escrow_;
  const LedgerSettings settings_;
  const EscrowLedger::Sources sources_;
  base::Counter& batches_;
  base::Counter& settled_;
  base::Counter& unknown_;
  base::Counter& lost_;
  base::Counter& dropped_;
  std::unique_ptr<SettlementStream> stream_;
  std::unique_ptr<ReplayStore> replays_;
  runtime::BatchQueue<std::shared_ptr<Job>> queue_;
  std::mutex facts_mutex_;
  std::vector<OwnedFact> facts_;  // uncharged, waiting
  // The committer Thread's, of callers that left as unknown: not charged, and charged after all.
  Jobs disowned_;
  std::vector<UnknownCall> charged_unheard_;
  UnknownCalls unknown_calls_;
  std::atomic<bool> is_writing_ = false;
  std::atomic<bool> is_abandoned_ = false;  // the destructor ran without stop()
  bool is_broken_ = false;  // the committer Thread's: the store cannot be trusted any more
  std::atomic<bool> is_draining_ = false;
  std::atomic<std::int64_t> drain_until_ns_ = 0;
  std::int64_t number_ = 0;
  std::thread thread_;
};

}  // namespace turnpike::ledger

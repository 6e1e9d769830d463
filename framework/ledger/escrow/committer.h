// Committer: settlements, written in groups by a Thread of their own (runtime/group_commit.h). A
// batch is closed at half of the calls in flight or after a fraction of a millisecond and written
// in one transaction; only then are its calls answered.
//
// Besides the failures in group_commit.h, these may occur:
//   a message is known      the call is answered with its earlier charge
//   a lease is lost         its calls are redone without it, drawing directly, or refused
//   a claim is lost         its call is refused: another call has its Idempotency-Key now
//   the store is broken     its calls are unknown, and the process is asked to end
//
// A refused settlement leaves an uncharged fact. A call that was answered as unknown ends
// uncharged, unless a repeat under its key gets the reply: the committer gives its charge back by a
// correction, or frees its key, since the caller has left (if the process dies, the next process
// does so, unknown_calls.h). Uncharged facts are written with the next batch, or after 100 ms when
// there is none.
//
// Owned by EscrowLedger. settle(), record() and await_facts() from fibers and plain Threads, the
// rest from a plain Thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "ledger/escrow/escrow.h"
#include "ledger/escrow/unknown_calls.h"
#include "runtime/group_commit.h"

namespace turnpike::ledger {

struct SettlementJob;

class Committer final : private runtime::GroupWriter<SettlementJob> {
 public:
  Committer(LedgerStore& store, Escrow& escrow, const LedgerSettings& settings,
            EscrowLedger::Sources sources);
  ~Committer();  // without stop(): queued settlements are not written
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  [[nodiscard]] Stored<Unit> start();
  void stop() noexcept;  // writes queued settlements, within the commit budget

  Settlement settle(Hold hold, OwnedFact fact, std::unique_ptr<const ReplyToKeep> reply);
  void record(OwnedFact fact) noexcept;
  // Waits until the facts recorded so far are written or dropped. False: not by the deadline.
  [[nodiscard]] bool await_facts(runtime::Deadline deadline);
  // True if that settlement was answered as unknown and its outcome is still unknown.
  [[nodiscard]] bool is_settling(std::string_view account_id, std::string_view message_id) const {
    return unknown_calls_.is_open(account_id, message_id);
  }
  [[nodiscard]] std::vector<OpenCall> unknown_calls(std::size_t most) const {
    return unknown_calls_.list(most);
  }
  // True if the outcome of the last transaction is known.
  [[nodiscard]] bool available() const noexcept { return is_writing_.load(); }

 private:
  using Job = SettlementJob;
  using Group = runtime::GroupCommit<Job, Settlement>;
  struct Batch;

  runtime::Patience patience(std::size_t waiting, const runtime::LastGroup& last) override;
  runtime::Committed write(Jobs& jobs) override;
  runtime::Committed outcome(Jobs& jobs) override;
  bool has_more() override;
  void between_groups() override;
  void withdrawn(const Job& job) override;
  void left(const std::shared_ptr<Job>& job) override;
  void leaving(const Job& job) override;
  void stays(const Job& job) override;

  [[nodiscard]] Batch batch_of(const Jobs& jobs) const;
  void answer_all(Jobs& jobs);
  void revise(Jobs& jobs, const SettleAnswer& answer);
  void draw_directly(Jobs& jobs);
  void return_drawn(const Job& job);
  void answer(Job& job, const Settled& settled, runtime::WakeBatch& wakes);
  void refuse(const std::shared_ptr<Job>& job, const base::Error& error, runtime::WakeBatch& wakes);
  void finish_left_uncharged();
  SettlementUnknown leave(const Job& job);
  void take_facts(std::size_t room);
  void end_facts();

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
  std::mutex facts_mutex_;        // guards the next four
  std::vector<OwnedFact> facts_;  // uncharged, waiting
  std::uint64_t facts_recorded_ = 0;
  std::uint64_t facts_ended_ = 0;              // how many of the oldest are written or dropped
  std::shared_ptr<runtime::Event> facts_end_;  // set when facts have ended; null: nobody waits
  // Members of the writing Thread.
  std::int64_t number_ = 0;                // of the current group
  std::vector<OwnedFact> group_facts_;     // uncharged, of the current group
  Jobs left_uncharged_;                    // answered as unknown; not charged
  std::vector<UnknownCall> left_charged_;  // answered as unknown, but charged: to be given back
  UnknownCalls unknown_calls_;
  std::atomic<bool> is_writing_ = false;
  Group group_;  // destroyed first
};

}  // namespace turnpike::ledger

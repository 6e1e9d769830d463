// EscrowLedger: the Ledger, and its Replays. Holds come from leases in memory, settlements are
// written in groups. It runs two Threads of its own, since both block on the store: the committer
// (settlements) and the escrow (leases, heartbeat, recovery). See books.h for the life of a hold.
//
// Owned by app/. start() before the first call, stop() after the last: stop() settles the queue and
// returns the leases. Destroyed without stop() it behaves like a crashed process, which tests use:
// nothing more is written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/log.h"
#include "base/metrics.h"
#include "ledger/calls.h"
#include "ledger/escrow/unknown_calls.h"
#include "ledger/ledger.h"
#include "ledger/store.h"
#include "runtime/pool.h"

namespace turnpike::ledger {

// The longest time from a hold to its settlement, for routes without a deadline of their own, given
// the maximum time of a reply, plus the clock margin. Longer calls request more.
constexpr std::int64_t settle_ms_max(std::int64_t transfer_ms_max) noexcept {
  return std::int64_t{base::limits::upstream_deadline_ms} + transfer_ms_max +
         base::limits::commit_budget_ms + 5'000;
}

struct LedgerSettings {
  std::int64_t lease_hold_ms = 30'000;  // lifetime of a lease for new holds, then it is renewed
  std::int64_t settle_margin_ms =       // minimum further time in which calls settle
      ledger::settle_ms_max(base::limits::transfer_ms_max);
  std::int64_t idle_return_ms = 10'000;  // a lease without holds for this long is returned
  std::int64_t heartbeat_ms = 250;
  std::int64_t believed_ms = 2'500;    // a store silent for this long counts as cut off
  std::int64_t recall_wait_ms = 300;   // wait for units that others have reserved
  std::int64_t refusal_memo_ms = 100;  // a refusal is repeated without asking for this long
  std::int64_t commit_budget_ms = base::limits::commit_budget_ms;
  std::int64_t batch_wait_us = 700;  // a batch closes after this, or at half of the calls in flight
  std::uint32_t batch_max = 1'024;
  std::uint32_t released_facts_max = 65'536;  // waiting to be recorded; further ones are dropped
};

struct LedgerHealth {
  bool available = false;      // the database accepts writes
  bool expiry_paused = false;  // the wall clock jumped forward by more than five minutes
  bool is_alone = false;       // PostgreSQL without a synchronous standby
};

class EscrowLedger final : public Ledger, public Replays, public Unsettled {
 public:
  struct Sources {
    base::Log& log;
    base::Metrics& metrics;
    runtime::BlockingPool& pool;  // for balance() and Replays; must outlive the ledger
    // Called once, from a Thread of the ledger, when the store can no longer be trusted: the
    // process must end, and the next start recovers.
    std::function<void(std::string_view reason)> fatal;
  };

  EscrowLedger(LedgerStore& store, const LedgerSettings& settings, Sources sources);
  ~EscrowLedger() override;

  // Blocks; plain Thread. Error: the store cannot be reached or read.
  [[nodiscard]] Stored<Unit> start();
  // Blocks until the queue is settled and the leases are returned, or the commit budget has passed.
  void stop() noexcept;
  [[nodiscard]] LedgerHealth health() const noexcept;

  Result<Hold, base::Error> hold(const Payer& payer, Credits units,
                                 runtime::Deadline until) override;
  Settlement settle(Hold hold, OwnedFact fact,
                    std::unique_ptr<const ReplyToKeep> reply = nullptr) override;
  void release(Hold hold, OwnedFact fact) noexcept override;
  Result<Balance, base::Error> balance(std::string_view account_id,
                                       runtime::Deadline deadline) override;

  Result<ClaimAnswer, base::Error> claim(const Claim& claim) override;
  Result<Unit, base::Error> keep(const ReplyToKeep& reply) override;
  void free(const Claim& claim) noexcept override;

  bool is_settling(std::string_view account_id,
                   std::string_view message_id) const noexcept override;
  [[nodiscard]] bool await_facts(runtime::Deadline deadline) override;
  // This node's settlements that were answered as unknown and are still unknown, oldest first.
  [[nodiscard]] std::vector<OpenCall> unknown_calls(std::size_t most) const;

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace turnpike::ledger

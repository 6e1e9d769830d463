// The ports under the ledger (storage/ implements them, on SQLite and on PostgreSQL). Each has one
// kind of user: SettlementStream the committer Thread, LeaseStore the escrow Thread, ReplayStore
// and LedgerStore anybody. All block; none may be called from a loop Thread.
//
// A failure's kind is part of the contract: `unavailable` means that nothing was written and the
// same call may be repeated; `unknown` that the transaction may or may not have committed; `fatal`
// that the store can no longer be trusted and the process must end and recover.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "ledger/books.h"
#include "ledger/caps.h"
#include "ledger/ledger.h"
#include "ledger/replay.h"

namespace turnpike::ledger {

struct StoreFailure {
  enum class Kind : std::uint8_t { unavailable, unknown, fatal };
  Kind kind = Kind::unavailable;
  std::string text;  // for the operator's log, never for a caller
};
template <class T>
using Stored = Result<T, StoreFailure>;

// ---- leases -------------------------------------------------------------------------------------

struct LeaseReturn {
  std::int64_t lease_id = 0;
  std::int64_t epoch = 0;
};

// Units of one lease: to be charged, or given back.
struct LeaseShare {
  std::int64_t lease_id = 0;
  std::int64_t epoch = 0;
  Credits units = 0;
};

struct LeaseRequest {
  std::string account_id;
  std::string key_id = {};     // of a capped key; empty: the account's own leases
  std::vector<Credits> calls;  // that wait, in order: each is paid whole or not at all
  Credits free = 0;            // what the node has for them already
  Credits wanted = 0;          // what the rate suggests; given as far as the balance allows
  std::vector<LeaseReturn> renews = {};  // leases of this node that need time, whatever they get
  std::vector<std::int64_t> known = {};  // leases whose unsettled units the node knows better
  std::int64_t hold_ms = 0;              // new holds may be taken for so long
  std::int64_t settle_ms = 0;            // and settled for so long, before others may reclaim
};

// Units added to the node's lease on one allocation. Durations count from the database's now, so
// the node adds them to a moment before it asked.
struct LeaseGrant {
  std::int64_t lease_id = 0;
  std::int64_t epoch = 0;
  std::string allocation_id;
  std::int64_t created_at_ms = 0;  // of the allocation
  std::int64_t expires_at_ms = 0;
  Credits units = 0;
  Credits unsettled = 0;     // of the whole lease, these included; about, if the lease is known
  std::int64_t hold_ms = 0;  // less than asked for where the allocation or the window ends sooner
  std::int64_t settle_ms = 0;
};

struct LeaseRenewal {
  std::int64_t lease_id = 0;
  std::int64_t hold_ms = 0;
  std::int64_t settle_ms = 0;
};

// Why calls got nothing; read in one snapshot, so units that move meanwhile are never missed.
struct Shortage {
  Credits reach = 0;          // unspent units of the account, wherever they are held
  std::vector<CapRoom> caps;  // of the key
};

struct LeaseAnswer {
  std::vector<LeaseGrant> grants;     // in the order to be drawn
  std::vector<LeaseRenewal> renewed;  // those of `renews` that are still this node's
  std::optional<Shortage> shortage;   // not all calls are paid; other nodes were asked for units
  Credits elsewhere = 0;  // of the account, after this: what nobody has taken or other nodes lease
};

// Somebody cannot pay a call with what is not leased: nodes return what they do not hold.
struct Recall {
  std::string account_id;
  bool is_own = false;  // asked for by this node, for that key (empty: the account's leases)
  std::string key_id;
};

// A lease of this node on an allocation that is being voided: no new holds.
struct Withdrawal {
  std::string account_id;
  std::string key_id;
  LeaseReturn lease;
};

struct Tended {
  std::int64_t now_ms = 0;      // ledger time: the database's clock, never going back
  std::uint32_t reclaimed = 0;  // leases whose time was over
  std::uint32_t forgotten = 0;  // keys with their replies whose 24 hours were over
  std::uint32_t expired = 0;    // allocations whose remainder was posted to `expired`
  bool paused = false;          // the time was not believed: nothing was reclaimed or posted
  bool restored = false;        // another ledger epoch began: this incarnation must end
  bool is_alone = false;  // the server's commits wait for no other: its failover may lose some
  std::vector<Recall> recalls;
  std::vector<Withdrawal> withdrawals;
};

class LeaseStore {
 public:
  virtual ~LeaseStore() = default;
  // All requests in one transaction; one answer each, in order. One open lease per allocation,
  // purpose and, of a capped key, day: a second grant adds to it.
  [[nodiscard]] virtual Stored<std::vector<LeaseAnswer>> acquire(
      std::span<const LeaseRequest> requests) = 0;
  // Closes leases and gives what is unsettled back to their allocations (of a voided one: posts it
  // to `voided`). Leases that are no longer open under that epoch are skipped.
  [[nodiscard]] virtual Stored<Unit> close(std::span<const LeaseReturn> leases) = 0;
  // Gives units back that are not held, and leaves the leases open.
  [[nodiscard]] virtual Stored<Unit> give_back(std::span<const LeaseShare> shares) = 0;
  // One heartbeat. Moves ledger time on, reclaims leases whose time is over, posts expired
  // remainders; unless the time is later than `latest_ms`, since a clock that jumped must not
  // expire anything. Tells what other nodes and operators want of this one's leases.
  [[nodiscard]] virtual Stored<Tended> tend(std::int64_t latest_ms) = 0;
};

// ---- settlement ---------------------------------------------------------------------------------

struct SettleEntry {
  const UsageFact* fact = nullptr;
  std::span<const LeaseShare> shares;  // empty when uncharged; their sum is what is charged
  const ReplyToKeep* reply = nullptr;  // of a call that claimed an Idempotency-Key
};

struct RepeatedMessage {
  std::size_t entry = 0;
  Credits charged = 0;  // what the stored fact of this message was charged
};

// Empty lists: the batch is committed. Otherwise nothing of it is, and it must be redone, under the
// next number, without the repeated messages, the lost leases and the entries whose claim is lost.
struct SettleAnswer {
  std::vector<RepeatedMessage> repeated;
  std::vector<std::int64_t> lost_leases;
  std::vector<std::size_t> lost_claims;  // entries
  [[nodiscard]] bool committed() const noexcept {
    return repeated.empty() && lost_leases.empty() && lost_claims.empty();
  }
};

class SettlementStream {
 public:
  virtual ~SettlementStream() = default;
  // One transaction. Numbers grow by one for each call, whatever became of it.
  [[nodiscard]] virtual Stored<SettleAnswer> settle(std::int64_t number,
                                                    std::span<const SettleEntry> entries) = 0;
  // After `unknown`: waits for the transaction of that number to end and says whether it committed;
  // if it had not, it never will.
  [[nodiscard]] virtual Stored<bool> committed(std::int64_t number) = 0;
  // Leases for settlements whose own lease was lost, apart from the node's leases. Several may
  // share one, so what is not used goes back by its units.
  [[nodiscard]] virtual Stored<std::vector<LeaseAnswer>> acquire(
      std::span<const LeaseRequest> requests) = 0;
  [[nodiscard]] virtual Stored<Unit> give_back(std::span<const LeaseShare> shares) = 0;
};

// ---- Idempotency-Keys (replay.h) ----------------------------------------------------------------

class ReplayStore {
 public:
  virtual ~ReplayStore() = default;
  [[nodiscard]] virtual Stored<ClaimAnswer> claim(const Claim& claim) = 0;
  // Writes a large reply ahead of the settlement that makes it count. False: the claim is no longer
  // that call's.
  [[nodiscard]] virtual Stored<bool> keep(const ReplyToKeep& reply) = 0;
  // The call was not charged. No effect on a claim that is no longer its own.
  [[nodiscard]] virtual Stored<Unit> free(std::string_view key_digest,
                                          std::string_view request_id) = 0;
};

// ---- settlements that were told as unknown (unknown_calls.h) ------------------------------------

struct UnknownCall {
  std::string account_id;
  std::string message_id;
  Credits units = 0;
};

// On the node's own disk. Used by one Thread at a time.
class UnknownNotes {
 public:
  virtual ~UnknownNotes() = default;
  [[nodiscard]] virtual Stored<Unit> note(std::span<const UnknownCall> calls) = 0;  // durable
  [[nodiscard]] virtual Stored<std::vector<UnknownCall>> noted() = 0;
  virtual void drop() noexcept = 0;  // all of them
};

// ---- the rest -----------------------------------------------------------------------------------

struct GrantRequest {
  std::string account_id;
  Credits units = 0;
  Origin origin = Origin::operator_grant;
  std::int64_t expires_at_ms = 0;
  std::int64_t effective_at_ms = 0;  // 0: now
};

struct Restored {
  std::int64_t epoch = 0;
  std::uint32_t leases = 0;  // taken back
};

class LedgerStore {
 public:
  virtual ~LedgerStore() = default;
  // A new incarnation of this node: reclaims what its dead predecessors held, then opens.
  [[nodiscard]] virtual Stored<Unit> start() = 0;
  // REQUIRES: start() succeeded. The objects must not outlive the store.
  [[nodiscard]] virtual Stored<std::unique_ptr<SettlementStream>> open_stream() = 0;
  [[nodiscard]] virtual std::unique_ptr<LeaseStore> open_leases() = 0;
  [[nodiscard]] virtual std::unique_ptr<ReplayStore> open_replays() = 0;
  [[nodiscard]] virtual Stored<std::unique_ptr<UnknownNotes>> open_notes() = 0;

  // request.malformed, account.absent, account.closed, billing.ledger_unavailable.
  [[nodiscard]] virtual Result<Allocation, base::Error> grant(const GrantRequest& request) = 0;
  // Withdraws what is left of an allocation: free units now, leased ones as nodes return them;
  // calls that hold some already may still settle. Nothing: there is no such allocation.
  // Repeating it changes nothing. billing.ledger_unavailable.
  [[nodiscard]] virtual Result<std::optional<Allocation>, base::Error> void_allocation(
      std::string_view allocation_id) = 0;
  // The database is that of a backup: whatever nodes leased or streamed since it was made is fenced
  // by a new epoch, and open leases are taken back. REQUIRES: no gateway runs on it.
  [[nodiscard]] virtual Stored<Restored> restored() = 0;
  // Read now; nothing for an account without any allocation is 0. billing.ledger_unavailable.
  [[nodiscard]] virtual Result<Balance, base::Error> balance(std::string_view account_id) = 0;
  [[nodiscard]] virtual Result<std::vector<Allocation>, base::Error> allocations(
      std::string_view account_id) = 0;
  // Gives the whole charge of a call back, by a correction; once, however often it is asked.
  [[nodiscard]] virtual Stored<Unit> restore_credits(std::string_view account_id,
                                                     std::string_view message_id,
                                                     Credits units) = 0;
  // Reads everything, beside running gateways too, and says what is wrong. `earlier`: what the
  // books must still contain; null: nothing.
  [[nodiscard]] virtual Stored<Verification> verify(const Checkpoint* earlier) = 0;
  [[nodiscard]] Stored<Verification> verify() { return verify(nullptr); }
};

}  // namespace turnpike::ledger

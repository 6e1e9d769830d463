// The ports under the ledger (storage/ implements them, on SQLite and on PostgreSQL). The committer
// Thread uses SettlementStream, the escrow Thread LeaseStore, and any Thread that may block uses
// ReplayStore and LedgerStore. All functions block; none may be called from a loop Thread.
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

// Units of one lease, to be charged or returned.
struct LeaseShare {
  std::int64_t lease_id = 0;
  std::int64_t epoch = 0;
  Credits units = 0;
};

struct LeaseRequest {
  std::string account_id;
  std::string key_id = {};     // capped key; empty: the account's own leases
  std::vector<Credits> calls;  // waiting calls, in order: each is paid in full or not at all
  Credits free = 0;            // units that the node has for them already
  Credits wanted = 0;          // by the spending rate; granted as far as the balance allows
  std::vector<LeaseReturn> renews = {};  // leases of this node to renew in any case
  std::vector<std::int64_t> known = {};  // leases whose unsettled units the node knows better
  std::int64_t hold_ms = 0;              // new holds are allowed for this long
  std::int64_t settle_ms = 0;            // and may settle for this long, before others may reclaim
};

// Units added to the node's lease on one allocation. Durations count from the database's now, so
// the node adds them to a moment before its request.
struct LeaseGrant {
  std::int64_t lease_id = 0;
  std::int64_t epoch = 0;
  std::string allocation_id;
  std::int64_t created_at_ms = 0;  // of the allocation
  std::int64_t expires_at_ms = 0;
  Credits units = 0;
  Credits unsettled = 0;     // of the whole lease, including these; approximate for known leases
  std::int64_t hold_ms = 0;  // shorter than requested if the allocation or window ends sooner
  std::int64_t settle_ms = 0;
};

struct LeaseRenewal {
  std::int64_t lease_id = 0;
  std::int64_t hold_ms = 0;
  std::int64_t settle_ms = 0;
};

// Why calls got nothing; read in one snapshot, so that moving units are never missed.
struct Shortage {
  Credits reach = 0;          // unspent units of the account, leased or not
  std::vector<CapRoom> caps;  // of the key
};

struct LeaseAnswer {
  std::vector<LeaseGrant> grants;     // in draw order
  std::vector<LeaseRenewal> renewed;  // those of `renews` that this node still owns
  std::optional<Shortage> shortage;   // not all calls are paid; other nodes' units were recalled
  Credits elsewhere = 0;  // the account's units that this node does not lease, afterwards
};

// A call cannot be paid from unleased units: nodes return the units that they do not hold.
struct Recall {
  std::string account_id;
  bool is_own = false;  // requested by this node, for that key (empty: the account's leases)
  std::string key_id;
};

// A lease of this node on an allocation that is being voided: no new holds.
struct Withdrawal {
  std::string account_id;
  std::string key_id;
  LeaseReturn lease;
};

struct Tended {
  std::int64_t now_ms = 0;      // ledger time: the database's clock, never decreasing
  std::uint32_t reclaimed = 0;  // expired leases
  std::uint32_t forgotten = 0;  // idempotency keys removed after 24 hours, with their replies
  std::uint32_t expired = 0;    // allocations whose remainder was posted to `expired`
  bool paused = false;          // the time is implausible: nothing was reclaimed or posted
  bool restored = false;        // another ledger epoch began: this incarnation must end
  bool is_alone = false;  // commits wait for no standby: a failover may lose some
  std::vector<Recall> recalls;
  std::vector<Withdrawal> withdrawals;
};

class LeaseStore {
 public:
  virtual ~LeaseStore() = default;
  // All requests in one transaction; one answer each, in order. There is one open lease per
  // allocation, purpose and, for a capped key, day: a second grant adds to it.
  [[nodiscard]] virtual Stored<std::vector<LeaseAnswer>> acquire(
      std::span<const LeaseRequest> requests) = 0;
  // Closes leases and returns their unsettled units to the allocations (of a voided one: posts them
  // to `voided`). Leases that are no longer open under that epoch are skipped.
  [[nodiscard]] virtual Stored<Unit> close(std::span<const LeaseReturn> leases) = 0;
  // Returns unheld units and leaves the leases open.
  [[nodiscard]] virtual Stored<Unit> give_back(std::span<const LeaseShare> shares) = 0;
  // One heartbeat. Advances ledger time, reclaims expired leases, posts expired remainders; unless
  // the time is later than `latest_ms`, since a clock that jumped must not expire anything. Returns
  // the recalls and withdrawals that affect this node's leases.
  [[nodiscard]] virtual Stored<Tended> tend(std::int64_t latest_ms) = 0;
};

// ---- settlement ---------------------------------------------------------------------------------

struct SettleEntry {
  const UsageFact* fact = nullptr;
  std::span<const LeaseShare> shares;  // empty when uncharged; their sum is the charge
  const ReplyToKeep* reply = nullptr;  // of a call that claimed an Idempotency-Key
};

struct RepeatedMessage {
  std::size_t entry = 0;
  Credits charged = 0;  // charge of the stored fact of this message
};

// Empty lists: the batch is committed. Otherwise nothing of it is, and it must be redone, under the
// next number, without the repeated messages, the lost leases and the entries whose claim is lost.
struct SettleAnswer {
  std::vector<RepeatedMessage> repeated;
  std::vector<std::int64_t> lost_leases;
  std::vector<std::size_t> lost_claims;  // indexes of entries
  [[nodiscard]] bool committed() const noexcept {
    return repeated.empty() && lost_leases.empty() && lost_claims.empty();
  }
};

class SettlementStream {
 public:
  virtual ~SettlementStream() = default;
  // One transaction. The number increases by one with each call, whatever its outcome.
  [[nodiscard]] virtual Stored<SettleAnswer> settle(std::int64_t number,
                                                    std::span<const SettleEntry> entries) = 0;
  // After `unknown`: waits for the transaction of that number to end and returns whether it
  // committed; if not, it never will.
  [[nodiscard]] virtual Stored<bool> committed(std::int64_t number) = 0;
  // Acquires leases for settlements whose own lease was lost, separate from the node's leases.
  // Several may share one, so unused units are returned individually.
  [[nodiscard]] virtual Stored<std::vector<LeaseAnswer>> acquire(
      std::span<const LeaseRequest> requests) = 0;
  [[nodiscard]] virtual Stored<Unit> give_back(std::span<const LeaseShare> shares) = 0;
};

// ---- Idempotency-Keys (replay.h) ----------------------------------------------------------------

class ReplayStore {
 public:
  virtual ~ReplayStore() = default;
  [[nodiscard]] virtual Stored<ClaimAnswer> claim(const Claim& claim) = 0;
  // Writes a large reply before the settlement that activates it. False: the claim no longer
  // belongs to that call.
  [[nodiscard]] virtual Stored<bool> keep(const ReplyToKeep& reply) = 0;
  // Frees the key of an uncharged call. No effect if the call no longer owns the claim.
  [[nodiscard]] virtual Stored<Unit> free(std::string_view key_digest,
                                          std::string_view request_id) = 0;
};

// ---- settlements answered as unknown (unknown_calls.h) ------------------------------------------

struct UnknownCall {
  std::string account_id;
  std::string message_id;
  Credits units = 0;
};

// Notes on the node's own disk. Used by one Thread at a time.
class UnknownNotes {
 public:
  virtual ~UnknownNotes() = default;
  [[nodiscard]] virtual Stored<Unit> note(std::span<const UnknownCall> calls) = 0;  // durable
  [[nodiscard]] virtual Stored<std::vector<UnknownCall>> noted() = 0;
  virtual void drop() noexcept = 0;  // drops all notes
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
  std::uint32_t leases = 0;  // leases taken back
};

class LedgerStore {
 public:
  virtual ~LedgerStore() = default;
  // Starts a new incarnation of this node: reclaims the leases of its dead predecessors, then
  // opens.
  [[nodiscard]] virtual Stored<Unit> start() = 0;
  // REQUIRES: start() succeeded. The objects must not outlive the store.
  [[nodiscard]] virtual Stored<std::unique_ptr<SettlementStream>> open_stream() = 0;
  [[nodiscard]] virtual std::unique_ptr<LeaseStore> open_leases() = 0;
  [[nodiscard]] virtual std::unique_ptr<ReplayStore> open_replays() = 0;
  [[nodiscard]] virtual Stored<std::unique_ptr<UnknownNotes>> open_notes() = 0;

  // request.malformed, account.absent, account.closed, billing.ledger_unavailable.
  [[nodiscard]] virtual Result<Allocation, base::Error> grant(const GrantRequest& request) = 0;
  // Withdraws the remainder of an allocation: free units now, leased ones as nodes return them;
  // calls that hold units may still settle. nullopt: no such allocation. Repeating it changes
  // nothing. billing.ledger_unavailable.
  [[nodiscard]] virtual Result<std::optional<Allocation>, base::Error> void_allocation(
      std::string_view allocation_id) = 0;
  // Call after restoring a backup: leases and streams of nodes since the backup are fenced by a new
  // epoch, and open leases are taken back. REQUIRES: no gateway runs on the database.
  [[nodiscard]] virtual Stored<Restored> restored() = 0;
  // Read now; an account without any allocation has 0. billing.ledger_unavailable.
  [[nodiscard]] virtual Result<Balance, base::Error> balance(std::string_view account_id) = 0;
  [[nodiscard]] virtual Result<std::vector<Allocation>, base::Error> allocations(
      std::string_view account_id) = 0;
  // Returns the whole charge of a call, by a correction; once, even if repeated.
  [[nodiscard]] virtual Stored<Unit> restore_credits(std::string_view account_id,
                                                     std::string_view message_id,
                                                     Credits units) = 0;
  // Reads the whole books, also beside running gateways, and reports faults. `earlier`: a
  // checkpoint that the books must still contain; null: none.
  [[nodiscard]] virtual Stored<Verification> verify(const Checkpoint* earlier) = 0;
  [[nodiscard]] Stored<Verification> verify() { return verify(nullptr); }
};

}  // namespace turnpike::ledger

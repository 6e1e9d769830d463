// Escrow: the node's leases in memory, and the Thread that maintains them: it draws leases for
// accounts with waiting calls, renews used ones, returns idle ones, and beats every 250 ms. hold()
// takes units under one short lock and writes nothing; a call that finds too few waits for the
// escrow Thread, which draws for all waiting accounts in one transaction.
//
// Guarantees of a hold: its call ends before other nodes may reclaim the lease (on CLOCK_BOOTTIME,
// counted from before the lease was requested), and no new hold is taken once the allocation has
// expired, is being voided, or a capped key's day is over.
//
// A low balance: when the unleased units do not pay a call, the store recalls the units that other
// nodes do not hold, and the call waits a moment for them. Several nodes thus spend an account to
// exactly zero, and 402 means that it is spent.
//
// Owned by EscrowLedger. hold() may be called from fibers and plain Threads; start(), stop() and
// the destructor from a plain Thread. Holds may outlive it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/flat_map.h"
#include "base/log.h"
#include "ledger/escrow/escrow_ledger.h"
#include "ledger/store.h"
#include "runtime/wait.h"

namespace turnpike::ledger {

struct AccountEscrow;
struct Shard;

// The node's lease on one allocation. All members are guarded by the shard's mutex.
class Lease {
 public:
  Lease(std::shared_ptr<Shard> owner, AccountEscrow& payer_account, std::string key,
        const LeaseGrant& grant)
      : shard(std::move(owner)),
        account(&payer_account),
        id(grant.lease_id),
        epoch(grant.epoch),
        expires_at_ms(grant.expires_at_ms),
        created_at_ms(grant.created_at_ms),
        allocation_id(grant.allocation_id),
        key_id(std::move(key)) {}

  // Members that every call uses come first, adjacent in memory.
  Credits free = 0;                // may be held
  Credits held = 0;                // of calls in flight
  std::int64_t hold_until_ns = 0;  // on CLOCK_BOOTTIME, as is settle_until_ns
  std::int64_t settle_until_ns = 0;
  bool is_withdrawn = false;  // its allocation is being voided
  bool is_doubtful = false;   // the books may have more units: closed once none is held
  bool is_lost = false;       // no longer ours: returned units are not counted
  const std::shared_ptr<Shard> shard;  // keeps the mutex alive as long as a hold
  AccountEscrow* const account;        // valid while a unit is held
  const std::int64_t id;
  const std::int64_t epoch;
  const std::int64_t expires_at_ms;  // of the allocation; first key of the draw order
  const std::int64_t created_at_ms;
  const std::string allocation_id;
  const std::string key_id;      // capped key; empty: the account's own lease
  std::int64_t renew_at_ns = 0;  // time to request a renewal; max: never
};

// A call that waits for units.
struct HoldWaiter {
  Credits units = 0;
  std::int64_t settle_by_ns = 0;
  bool is_asked = false;           // part of the request in progress
  std::int64_t give_up_at_ns = 0;  // end of the wait for recalled units
  runtime::OneShot<Result<Hold, base::Error>> answer;
};

// The units that the node has for one payer: an account, or a capped key of it.
struct PayerEscrow {
  // Members that every call uses come first, adjacent in memory.
  std::vector<std::shared_ptr<Lease>> leases;  // in draw order
  std::vector<std::shared_ptr<HoldWaiter>> waiters;
  Credits call_units = 1;  // of the last hold
  Credits spent = 0;       // since the last lease
  std::int64_t last_hold_ns = 0;
  Credits low_water = 0;             // below this, units are requested before a call has to wait
  std::int64_t renew_at_ns = 0;      // or from this time on: the earliest of the leases' times
  bool is_asking = false;            // queued for the escrow Thread, which then does the next step
  bool is_early = false;             // queued early: no call waits
  AccountEscrow* account = nullptr;  // the account it belongs to
  std::string account_id;
  std::string key_id;
  std::int64_t spent_since_ns = 0;
  std::int64_t scarce_until_ns = 0;   // recalled: lease only what calls need
  std::int64_t refused_until_ns = 0;  // until then refusals are repeated without asking
  Credits refused_units = 0;
  Shortage shortage;  // at the refusal
};

struct AccountEscrow {
  // The account's remaining Credits when leases were last drawn for it, less charges on this node
  // since. Grants, and charges on other nodes, show at the next draw.
  Credits balance = 0;
  std::int64_t balance_until_ns = 0;  // outdated after this time
  PayerEscrow own;
  std::map<std::string, PayerEscrow, std::less<>> keys;  // of capped keys
};

struct Shard {
  struct Hash {
    using is_avalanching = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::mutex mutex;
  // Keyed by the account's own id string. By pointer, since asks refer to their payers.
  base::FlatMap<std::string_view, std::unique_ptr<AccountEscrow>, Hash> accounts;
  std::atomic<std::int64_t> holds = 0;  // in flight; written under the mutex
};

class Escrow {
 public:
  // `restored` is called when the books turn out to be from a restored backup.
  Escrow(LedgerStore& store, const LedgerSettings& settings, base::Log& log,
         std::function<void(std::string_view reason)> restored);
  ~Escrow();  // without stop(): writes nothing
  Escrow(const Escrow&) = delete;
  Escrow& operator=(const Escrow&) = delete;

  void start();          // REQUIRES: the store is started
  void stop() noexcept;  // returns the unheld leases

  Result<Hold, base::Error> hold(const Payer& payer, Credits units, runtime::Deadline until);
  // Charges the units of the hold, so that they do not return to the lease. Returns the account's
  // remaining balance; -1: the last known one is outdated.
  static Credits spend(Hold& hold, std::int64_t now_ns) noexcept;
  // The number of leases that pay, and their shares.
  static std::size_t share_count(const Hold& hold) noexcept;
  static void append_shares(const Hold& hold, std::vector<LeaseShare>& to);
  // The capped key that pays; empty: none.
  static std::string capped_key(const Hold& hold);
  // The store reported that the lease is no longer ours.
  static void lose(const Hold& hold, std::int64_t lease_id) noexcept;

  [[nodiscard]] std::int64_t holds_in_flight() const noexcept;
  // True if the store answered recently: a silent connection counts as lost.
  [[nodiscard]] bool available(std::int64_t now_ns = runtime::now_ns()) const noexcept {
    return is_reachable_.load() && now_ns < believed_until_ns_.load();
  }
  [[nodiscard]] bool expiry_paused() const noexcept { return is_paused_.load(); }
  [[nodiscard]] bool is_alone() const noexcept { return is_alone_.load(); }

 private:
  using Waiters = std::vector<std::shared_ptr<HoldWaiter>>;
  struct Ask {
    std::shared_ptr<Shard> shard;
    PayerEscrow* payer = nullptr;  // valid while is_asking
  };
  using Asks = std::vector<Ask>;
  struct Unheld {  // taken out of a lease in memory, to be returned
    std::shared_ptr<Lease> lease;
    Credits units = 0;
  };
  static constexpr std::size_t shard_count = 64;

  const std::shared_ptr<Shard>& shard_of(std::string_view account_id) const noexcept;
  static PayerEscrow& payer_in(Shard& shard, const Payer& payer, std::int64_t now_ns);
  static PayerEscrow* find_payer(Shard& shard, const Payer& payer);
  std::optional<Hold> take(PayerEscrow& payer, Credits units, std::int64_t settle_by_ns,
                           std::int64_t now_ns) const;
  bool ask(const std::shared_ptr<Shard>& shard, PayerEscrow& payer);
  void ask_early(const std::shared_ptr<Shard>& shard, PayerEscrow& payer);
  void take_early(Asks& asks);
  void run();
  void stop_asking();
  void answer(Asks& asks);
  void fail(const Asks& asks, const StoreFailure& failure);
  [[nodiscard]] LeaseRequest request_of(const Ask& ask, std::int64_t now_ns,
                                        std::vector<Unheld>& surplus) const;
  void add(const Ask& ask, const LeaseAnswer& answer, std::int64_t asked_ns) const;
  static void note_balance(const Ask& ask, const LeaseAnswer& answer,
                           std::span<const Unheld> surplus, std::int64_t asked_ns);
  void set_time(Lease& lease, std::int64_t asked_ns, std::int64_t hold_ms,
                std::int64_t settle_ms) const;
  void serve(const Ask& ask, const LeaseAnswer& answer, Waiters& served, runtime::WakeBatch& wakes);
  [[nodiscard]] bool refuse_or_wait(PayerEscrow& payer, HoldWaiter& waiter,
                                    const LeaseAnswer& answer, std::int64_t now_ns,
                                    runtime::WakeBatch& wakes) const;
  static void refuse(const Ask& ask, const base::Error& error);
  void beat();
  void heed(const Tended& tended, std::int64_t now_ns);
  void collect_idle(std::size_t shard, std::int64_t now_ns, std::vector<LeaseReturn>& idle);
  bool collect_idle(PayerEscrow& payer, std::int64_t now_ns, std::vector<LeaseReturn>& idle) const;
  void close(std::span<const LeaseReturn> leases);
  void give_back(std::span<const Unheld> unheld);
  void believe(std::int64_t asked_ns) noexcept;
  void report(std::string_view event, const StoreFailure& failure);

  LedgerStore& store_;
  const LedgerSettings settings_;
  base::Log& log_;
  const std::function<void(std::string_view)> restored_;
  std::unique_ptr<LeaseStore> leases_;
  std::array<std::shared_ptr<Shard>, shard_count> shards_;
  runtime::BatchQueue<Ask> asks_;  // an empty ask announces that a call waits for an early one
  std::mutex early_mutex_;
  Asks early_;  // processed with the next asks, or at the next heartbeat
  std::atomic<bool> is_reachable_ = false;
  std::atomic<std::int64_t> believed_until_ns_ = 0;
  std::atomic<bool> is_paused_ = false;
  std::atomic<bool> is_alone_ = false;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> returns_leases_ = false;
  Asks recalled_;  // of the escrow Thread: payers whose calls wait for recalled units
  std::int64_t next_poll_ns_ = 0;
  std::size_t next_shard_ = 0;
  std::optional<std::int64_t> wall_offset_ms_;  // ledger time minus CLOCK_BOOTTIME
  std::thread thread_;
};

}  // namespace turnpike::ledger

// Escrow: the node's leases in memory, and the Thread that keeps them: it draws leases for accounts
// whose calls wait, renews those in use, returns idle ones, and beats every 250 ms. hold() takes
// units under one short lock and writes nothing; a call that finds too few waits for the escrow
// Thread, which draws for all waiting accounts in one transaction.
//
// A hold may rely on this: its call ends before others may reclaim the lease (CLOCK_BOOTTIME, from
// before the lease was asked for), and no new hold is taken once the allocation has expired, is
// being voided, or a capped key's day is over.
//
// A low balance: when what is not leased does not pay a call, the store recalls what other nodes
// do not hold, and the call waits for it, for a moment. So several nodes spend an account to
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
#include "ledger/escrow_ledger.h"
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

  // First what every call touches, side by side.
  Credits free = 0;                // may be held
  Credits held = 0;                // of calls in flight
  std::int64_t hold_until_ns = 0;  // on CLOCK_BOOTTIME, as the next
  std::int64_t settle_until_ns = 0;
  bool is_withdrawn = false;  // its allocation is being voided
  bool is_doubtful = false;   // the books may know of more units: closed as soon as none is held
  bool is_lost = false;       // no longer ours: what comes back is not counted
  const std::shared_ptr<Shard> shard;  // keeps the mutex as long as a hold lives
  AccountEscrow* const account;        // stays as long as any of it is held
  const std::int64_t id;
  const std::int64_t epoch;
  const std::int64_t expires_at_ms;  // of the allocation; with the next two: the order of drawing
  const std::int64_t created_at_ms;
  const std::string allocation_id;
  const std::string key_id;      // of a capped key; empty: the account's
  std::int64_t renew_at_ns = 0;  // from then on more time is asked for; never, when there is none
};

// A call that waits for units.
struct HoldWaiter {
  Credits units = 0;
  std::int64_t settle_by_ns = 0;
  bool is_asked = false;           // its units are part of the request under way
  std::int64_t give_up_at_ns = 0;  // units that others have reserved are recalled until then
  runtime::OneShot<Result<Hold, base::Error>> answer;
};

// The units that the node has for one payer: an account, or a capped key of it.
struct PayerEscrow {
  // First what every call touches, side by side.
  std::vector<std::shared_ptr<Lease>> leases;  // in the order of drawing
  std::vector<std::shared_ptr<HoldWaiter>> waiters;
  Credits call_units = 1;  // of the last hold
  Credits spent = 0;       // since the last lease
  std::int64_t last_hold_ns = 0;
  Credits low_water = 0;             // below this a lease is asked for before a call has to wait
  std::int64_t renew_at_ns = 0;      // and from then on; the earliest of the leases
  bool is_asking = false;            // queued for the escrow Thread, which then owns the next step
  bool is_early = false;             // and nobody waits for it
  AccountEscrow* account = nullptr;  // of which it is a part
  std::string account_id;
  std::string key_id;
  std::int64_t spent_since_ns = 0;
  std::int64_t scarce_until_ns = 0;   // units were recalled: no more than calls need is leased
  std::int64_t refused_until_ns = 0;  // a refusal is not asked for again before
  Credits refused_units = 0;
  Shortage shortage;  // what there was then
};

struct AccountEscrow {
  // The Credits that the account had left when leases were last drawn for it, less those that were
  // charged here since. Grants and charges on other nodes show the next time.
  Credits balance = 0;
  std::int64_t balance_until_ns = 0;  // too old from then on
  PayerEscrow own;
  std::map<std::string, PayerEscrow, std::less<>> keys;  // capped ones
};

struct Shard {
  struct Hash {
    using is_avalanching = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::mutex mutex;
  // By the id in them. By pointer, since asks refer to their payers.
  base::FlatMap<std::string_view, std::unique_ptr<AccountEscrow>, Hash> accounts;
  std::atomic<std::int64_t> holds = 0;  // in flight; written under the mutex
};

class Escrow {
 public:
  // `restored` is called once the books turn out to be those of a backup.
  Escrow(LedgerStore& store, const LedgerSettings& settings, base::Log& log,
         std::function<void(std::string_view reason)> restored);
  ~Escrow();  // without stop(): writes nothing more
  Escrow(const Escrow&) = delete;
  Escrow& operator=(const Escrow&) = delete;

  void start();          // REQUIRES: the store is started
  void stop() noexcept;  // returns the leases that nobody holds

  Result<Hold, base::Error> hold(const Payer& payer, Credits units, runtime::Deadline until);
  // The units of the hold are charged: they do not return to the lease. What the account has left
  // then, -1 where that was read too long ago.
  static Credits spend(Hold& hold, std::int64_t now_ns) noexcept;
  // How many leases pay, and which.
  static std::size_t share_count(const Hold& hold) noexcept;
  static void append_shares(const Hold& hold, std::vector<LeaseShare>& to);
  // The capped key that pays; empty: none.
  static std::string capped_key(const Hold& hold);
  // The store says that the lease is no longer ours.
  static void lose(const Hold& hold, std::int64_t lease_id) noexcept;

  [[nodiscard]] std::int64_t holds_in_flight() const noexcept;
  // The store answered, and not too long ago: a link that is silent counts as cut.
  [[nodiscard]] bool available(std::int64_t now_ns = runtime::now_ns()) const noexcept {
    return is_reachable_.load() && now_ns < believed_until_ns_.load();
  }
  [[nodiscard]] bool expiry_paused() const noexcept { return is_paused_.load(); }
  [[nodiscard]] bool is_alone() const noexcept { return is_alone_.load(); }

 private:
  using Waiters = std::vector<std::shared_ptr<HoldWaiter>>;
  struct Ask {
    std::shared_ptr<Shard> shard;
    PayerEscrow* payer = nullptr;  // stays while is_asking
  };
  using Asks = std::vector<Ask>;
  struct Unheld {  // taken out of a lease in memory, to be given back
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
  runtime::BatchQueue<Ask> asks_;  // an empty one says that somebody waits for an early one
  std::mutex early_mutex_;
  Asks early_;  // taken along with the next of the others, or at the next heartbeat
  std::atomic<bool> is_reachable_ = false;
  std::atomic<std::int64_t> believed_until_ns_ = 0;
  std::atomic<bool> is_paused_ = false;
  std::atomic<bool> is_alone_ = false;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> returns_leases_ = false;
  Asks recalled_;  // the escrow Thread's: payers whose calls wait for others to give units back
  std::int64_t next_poll_ns_ = 0;
  std::size_t next_shard_ = 0;
  std::optional<std::int64_t> wall_offset_ms_;  // ledger time minus CLOCK_BOOTTIME
  std::thread thread_;
};

}  // namespace turnpike::ledger

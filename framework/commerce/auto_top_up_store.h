// AutoTopUpStore: the port under Auto Top-Up (storage/ implements it, on SQLite and on PostgreSQL).
// Blocks; for the blocking pool and plain Threads, concurrently. Errors are those listed per
// function and purchase.unavailable: the database was not reached, or did not confirm.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "commerce/auto_top_up.h"
#include "commerce/offer.h"
#include "identity/audit.h"

namespace turnpike::commerce {

struct NewSetup {
  std::string account_id;
  std::string processor;
  std::int64_t expires_at_ms = 0;
  std::string key_digest;      // of the Idempotency-Key
  std::string request_digest;  // of the request body
  std::int64_t lease_ms = 0;   // time for the opener to begin the setup
};

// A setup under its key. One caller at a time works on it: the holder of its lease.
struct OpenedSetup {
  MethodSetup setup;
  bool is_repeat = false;
  bool is_leased = false;
};

struct NewPolicy {
  Policy policy;  // without revision, author and time
  std::int64_t expected_revision = 0;
  std::string key_digest;
  std::string request_digest;
  std::optional<base::Error> problem = {};  // refused with this, unless it is a repeat
};

// An account's Auto Top-Up as shown.
struct AutoTopUp {
  Policy policy;
  TopUpStanding standing;
  Credits balance = 0;
  Credits pending = 0;           // paid or being charged, but not credited
  std::int64_t spent_minor = 0;  // by runs of this UTC month that did not end unpaid
  std::optional<MethodSetup> setup;  // the policy's setup
  std::optional<Purchase> last_run;
};

struct WrittenPolicy {
  Policy policy;
  bool is_repeat = false;
};

// The inputs of decide_run() that the store lacks.
struct RunRules {
  std::span<const Offer> offers;  // in force; the first one of a processor counts
  TopUpSettings settings;
};

struct AutoTopUpQuery {
  std::string after = {};  // cursor: last account id of the previous page
  std::uint32_t limit = 100;
  bool paused_only = false;
};

class AutoTopUpStore {
 public:
  template <class T>
  using Answer = Result<T, base::Error>;
  virtual ~AutoTopUpStore() = default;

  // ---- setups

  // Opens a setup, or returns the one under the key. auth.role_missing (an admin is needed),
  // account.absent, account.suspended, account.closed, purchase.account_locked,
  // purchase.too_many_open (unfinished setups), idempotency.conflict.
  [[nodiscard]] virtual Answer<OpenedSetup> open_setup(const NewSetup& wanted,
                                                       const identity::Actor& actor) = 0;
  [[nodiscard]] virtual Answer<std::optional<MethodSetup>> find_setup(std::string_view id) = 0;
  // Newest first, up to `limit`.
  [[nodiscard]] virtual Answer<std::vector<MethodSetup>> setups(std::string_view account_id,
                                                                std::uint32_t limit) = 0;
  // Writes the setup if the row still has its version, and ends the lease; the setup is due at
  // `due_ms`, or at once if a hint came meanwhile. A policy whose method is gone is paused in the
  // same transaction. nullopt: the row has changed since, and nothing was written.
  [[nodiscard]] virtual Answer<std::optional<MethodSetup>> advance_setup(const MethodSetup& next,
                                                                         std::int64_t due_ms) = 0;
  // Stores `reply` permanently as the body that answers the key, unless there is one; returns the
  // stored body.
  [[nodiscard]] virtual Answer<std::string> keep_setup_reply(std::string_view id,
                                                             std::string_view reply) = 0;
  // Removes a saved method: from this commit on no charge of it is begun, a policy that charges it
  // is paused, and the setup is due. A removed one is returned as it is. auth.role_missing (an
  // admin is needed), auto_reload.setup_not_found, auto_reload.payment_method_conflict (it saved no
  // method).
  [[nodiscard]] virtual Answer<MethodSetup> remove_method(std::string_view account_id,
                                                          std::string_view id,
                                                          const identity::Actor& actor) = 0;
  // Up to `limit` setups that are due, leased to the caller.
  [[nodiscard]] virtual Answer<std::vector<MethodSetup>> take_due_setups(std::int64_t lease_ms,
                                                                         std::uint32_t limit) = 0;

  // ---- policies

  // An account without a policy has revision 0, which is off.
  [[nodiscard]] virtual Answer<AutoTopUp> look(std::string_view account_id) = 0;
  // Newest first.
  [[nodiscard]] virtual Answer<std::vector<Policy>> revisions(std::string_view account_id,
                                                              std::uint32_t limit) = 0;
  // Writes a new revision, which is in force at once, or returns the one under the key. Errors:
  // auth.role_missing, account.absent, account.suspended, account.closed, idempotency.conflict,
  // auto_reload.revision_conflict (the newest is not the expected one), `problem`; if the policy is
  // on: purchase.account_locked, auto_reload.payment_method_conflict (its setup is not a chargeable
  // one of the account).
  [[nodiscard]] virtual Answer<WrittenPolicy> replace(const NewPolicy& wanted,
                                                      const identity::Actor& actor) = 0;

  // ---- runs

  // For the holder of the scan's lease: opens a run for each account with few Credits that may run,
  // as decide_run() says, and pauses accounts whose run has had no known outcome for
  // run_unknown_ms. Returns the number of runs; nullopt: another node scans, or did within
  // `each_ms`.
  [[nodiscard]] virtual Answer<std::optional<std::uint32_t>> open_runs(const RunRules& rules,
                                                                       std::int64_t each_ms) = 0;
  // Call before sending a charge of the run: leases the run for `lease_ms` and numbers the charge.
  // I6 is checked in the transaction. nullopt: it may not be charged any more, since its policy is
  // off or its method is gone. A run that changed since is purchase.not_found.
  [[nodiscard]] virtual Answer<std::optional<Purchase>> note_charge(const Purchase& run,
                                                                    std::int64_t lease_ms) = 0;

  // ---- operators

  [[nodiscard]] virtual Answer<std::vector<AutoTopUp>> list(const AutoTopUpQuery& query) = 0;
  // Resumes the policy with its failure count reset. nullopt: no policy that is on.
  [[nodiscard]] virtual Answer<std::optional<TopUpStanding>> resume(
      std::string_view account_id, const identity::Actor& actor) = 0;
  [[nodiscard]] virtual Answer<std::optional<TopUpStanding>> pause(
      std::string_view account_id, const identity::Actor& actor) = 0;
  // Policies by state, for metrics.
  struct Counts {
    std::int64_t active = 0;
    std::int64_t paused = 0;
  };
  [[nodiscard]] virtual Answer<Counts> counts() = 0;
};

}  // namespace turnpike::commerce

// AutoTopUpStore: the port under Auto Top-Up (storage/ implements it, on SQLite and on PostgreSQL).
// Blocks; for the blocking pool and plain Threads, several at once. Its errors are those of its
// functions and purchase.unavailable: the database was not reached, or did not confirm.
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
  std::string request_digest;  // of what was asked for under it
  std::int64_t lease_ms = 0;   // for the opener to begin it
};

// A setup under its key. Only one caller at a time works on it: whoever has its lease.
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
  std::optional<base::Error> problem = {};  // it cannot be had now, unless it is a repeat
};

// All that there is to see of an account's Auto Top-Up.
struct AutoTopUp {
  Policy policy;
  TopUpStanding standing;
  Credits balance = 0;
  Credits pending = 0;           // paid or being charged, and not credited
  std::int64_t spent_minor = 0;  // by runs of this UTC month that did not end unpaid
  std::optional<MethodSetup> setup;  // of the policy
  std::optional<Purchase> last_run;
};

struct WrittenPolicy {
  Policy policy;
  bool is_repeat = false;
};

// What runs are made by.
struct RunRules {
  std::span<const Offer> offers;  // in force; the first of a processor counts
  TopUpSettings settings;
};

struct AutoTopUpQuery {
  std::string after = {};  // account id of the page before
  std::uint32_t limit = 100;
  bool paused_only = false;
};

class AutoTopUpStore {
 public:
  template <class T>
  using Answer = Result<T, base::Error>;
  virtual ~AutoTopUpStore() = default;

  // ---- setups

  // A new setup, or the one under the key. auth.role_missing (an admin is needed), account.absent,
  // account.suspended, account.closed, purchase.account_locked, purchase.too_many_open (setups that
  // were begun and not finished), idempotency.conflict.
  [[nodiscard]] virtual Answer<OpenedSetup> open_setup(const NewSetup& wanted,
                                                       const identity::Actor& actor) = 0;
  [[nodiscard]] virtual Answer<std::optional<MethodSetup>> find_setup(std::string_view id) = 0;
  // Newest first, up to `limit`.
  [[nodiscard]] virtual Answer<std::vector<MethodSetup>> setups(std::string_view account_id,
                                                                std::uint32_t limit) = 0;
  // Writes it, if the row is still of its version; ends the lease; it is due then, or at once if a
  // hint came meanwhile. A policy whose method is gone is paused in the same transaction. Nothing:
  // the row has changed since, and nothing was done.
  [[nodiscard]] virtual Answer<std::optional<MethodSetup>> advance_setup(const MethodSetup& next,
                                                                         std::int64_t due_ms) = 0;
  // Keeps `reply` as the body that answers the key for ever, unless there is one; the one there is.
  [[nodiscard]] virtual Answer<std::string> keep_setup_reply(std::string_view id,
                                                             std::string_view reply) = 0;
  // Up to `limit` setups that are due, leased to the caller.
  [[nodiscard]] virtual Answer<std::vector<MethodSetup>> take_due_setups(std::int64_t lease_ms,
                                                                         std::uint32_t limit) = 0;

  // ---- policies

  // An account without any has revision 0, which is off.
  [[nodiscard]] virtual Answer<AutoTopUp> look(std::string_view account_id) = 0;
  // Newest first.
  [[nodiscard]] virtual Answer<std::vector<Policy>> revisions(std::string_view account_id,
                                                              std::uint32_t limit) = 0;
  // A new revision, which is in force at once, or the one that was written under the key. Errors:
  // auth.role_missing, account.absent, account.suspended, account.closed, idempotency.conflict,
  // auto_reload.revision_conflict (the newest is not the expected one), `problem`; where it is on:
  // purchase.account_locked, auto_reload.payment_method_conflict (its setup is not one of the
  // account that can be charged).
  [[nodiscard]] virtual Answer<WrittenPolicy> replace(const NewPolicy& wanted,
                                                      const identity::Actor& actor) = 0;

  // ---- runs

  // For the one caller that has the lease of the scan: opens a run of each account that has few
  // Credits and may run, as decide_run() says; pauses those whose run nobody has known the end of
  // for run_unknown_ms. How many runs; nothing: another node scans, or did within `each_ms`.
  [[nodiscard]] virtual Answer<std::optional<std::uint32_t>> open_runs(const RunRules& rules,
                                                                       std::int64_t each_ms) = 0;
  // A charge of the run is about to be sent: leases it for `lease_ms` and numbers the charge. I6:
  // judged in the transaction. Nothing: it may not be charged any more, since its policy is off.
  // A run that changed since is purchase.not_found.
  [[nodiscard]] virtual Answer<std::optional<Purchase>> note_charge(const Purchase& run,
                                                                    std::int64_t lease_ms) = 0;

  // ---- operators

  [[nodiscard]] virtual Answer<std::vector<AutoTopUp>> list(const AutoTopUpQuery& query) = 0;
  // Goes on, with no failures counted. Nothing: there is no policy that is on.
  [[nodiscard]] virtual Answer<std::optional<TopUpStanding>> resume(
      std::string_view account_id, const identity::Actor& actor) = 0;
  [[nodiscard]] virtual Answer<std::optional<TopUpStanding>> pause(
      std::string_view account_id, const identity::Actor& actor) = 0;
  // Paused policies, by state, for metrics.
  struct Counts {
    std::int64_t active = 0;
    std::int64_t paused = 0;
  };
  [[nodiscard]] virtual Answer<Counts> counts() = 0;
};

}  // namespace turnpike::commerce

// Auto Top-Up as rows, and how a run's step changes the account's standing. Private to storage/;
// free functions for the Thread that runs the transaction. They throw StoreError.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "commerce/auto_top_up.h"
#include "storage/stores.h"

namespace turnpike::storage {

#define SETUP_COLUMNS                                                                           \
  "id, account_id, processor, state, version, created_by, reference, url, customer, reply,"     \
  " begin_number, method, brand, last4, fingerprint, expires_month, expires_year, is_gone,"     \
  " failure_code, looks, hints, due_at, created_at, expires_at, removal"
inline constexpr char setup_kinds[] = "ttttitttttittttiiitiiiiit";

#define POLICY_COLUMNS                                                                        \
  "account_id, revision, is_enabled, threshold, currency, minor, credits, monthly_limit_minor," \
  " setup_id, created_by, created_at"
inline constexpr char policy_kinds[] = "tiiitiiitti";

commerce::MethodSetup setup_at(const Rows& rows, std::size_t row);
commerce::Policy policy_at(const Rows& rows, std::size_t row);

// The newest revision; nullopt: none.
std::optional<commerce::Policy> newest_policy(Transaction& transaction,
                                              std::string_view account_id);

// Reads state, reason, failures, next_attempt_at, changed_at, from `column` on.
commerce::TopUpStanding standing_at(const Rows& rows, std::size_t row, std::size_t column);

// Locks the row until the commit. nullopt: the account has no standing.
std::optional<commerce::TopUpStanding> take_standing(Transaction& transaction,
                                                     std::string_view account_id);
// Notifies subscribers if the policy is newly paused. `run_id`: the purchase that caused the
// change; empty: none.
void write_standing(const Context& context, Transaction& transaction, std::string_view account_id,
                    const commerce::TopUpStanding& before, const commerce::TopUpStanding& next,
                    std::string_view run_id = {});
// Notifies subscribers. REQUIRES: the policy is paused.
void tell_paused(const Context& context, Transaction& transaction, std::string_view account_id,
                 const commerce::TopUpStanding& standing, std::string_view run_id);

// A run before a step.
struct RunBefore {
  commerce::State state = commerce::State::created;
  std::int64_t refunded_minor = 0;
};
// Counts a failure, pauses or continues, according to the step. REQUIRES: the run's row is locked.
void follow_run(const Context& context, Transaction& transaction, const RunBefore& before,
                const commerce::Step& step, std::int64_t now_ms);

// Makes the setups that the hint names due now; returns their number.
std::uint32_t hint_setups(Transaction& transaction, std::string_view processor, const Hint& hint);

}  // namespace turnpike::storage

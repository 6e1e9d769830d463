// Auto Top-Up as rows, and what becomes of an account's when its run takes a step. Private to
// storage/; free functions for the Thread that has the transaction. They throw StoreError.
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
  " failure_code, looks, hints, due_at, created_at, expires_at"
inline constexpr char setup_kinds[] = "ttttitttttittttiiitiiiii";

#define POLICY_COLUMNS                                                                        \
  "account_id, revision, is_enabled, threshold, currency, minor, credits, monthly_limit_minor," \
  " setup_id, created_by, created_at"
inline constexpr char policy_kinds[] = "tiiitiiitti";

commerce::MethodSetup setup_at(const Rows& rows, std::size_t row);
commerce::Policy policy_at(const Rows& rows, std::size_t row);

// The newest revision; nothing: there is none.
std::optional<commerce::Policy> newest_policy(Transaction& transaction,
                                              std::string_view account_id);

// state, reason, failures, next_attempt_at, changed_at, from `column` on.
commerce::TopUpStanding standing_at(const Rows& rows, std::size_t row, std::size_t column);

// Takes the row until the transaction's end. Nothing: the account has none.
std::optional<commerce::TopUpStanding> take_standing(Transaction& transaction,
                                                     std::string_view account_id);
// Whoever is subscribed is told that it is paused, if it was not before. `run_id`: of the purchase
// after which it is what it is; empty: of none.
void write_standing(const Context& context, Transaction& transaction, std::string_view account_id,
                    const commerce::TopUpStanding& before, const commerce::TopUpStanding& next,
                    std::string_view run_id = {});
// Tells whoever is subscribed. REQUIRES: it is paused.
void tell_paused(const Context& context, Transaction& transaction, std::string_view account_id,
                 const commerce::TopUpStanding& standing, std::string_view run_id);

// What a run was before a step.
struct RunBefore {
  commerce::State state = commerce::State::created;
  std::int64_t refunded_minor = 0;
};
// Counts, pauses or goes on as the step of a run asks for. REQUIRES: the run's row is taken.
void follow_run(const Context& context, Transaction& transaction, const RunBefore& before,
                const commerce::Step& step, std::int64_t now_ms);

// Makes the setups that the hint names due now; how many there were.
std::uint32_t hint_setups(Transaction& transaction, std::string_view processor, const Hint& hint);

}  // namespace turnpike::storage

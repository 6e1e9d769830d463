// Purchases as rows, and the ledger changes of a step. Private to storage/; free functions for the
// Thread that runs the transaction. They throw StoreError.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "commerce/purchase.h"
#include "commerce/store.h"
#include "storage/stores.h"

namespace turnpike::storage {

#define PURCHASE_COLUMNS                                                                        \
  "id, account_id, sequence, origin, offer_id, currency, minor, credits, validity_days,"        \
  " processor, state, version, created_by, reply, reference, url, customer, payment,"           \
  " begin_number, tax_minor, refunded_minor, wanted, clawed, lost, is_claw_settled, dispute_id," \
  " locks_account, failure_code, conflict, looks, hints, due_at, created_at, expires_at,"       \
  " paid_at, credited_at, policy_revision, setup_id, saved_method, charge_number"
inline constexpr char purchase_kinds[] = "ttitttiiittittttttiiiiiiitittiiiiiiiitti";

inline constexpr Query count_purchase_locks{
    "SELECT COUNT(*) FROM purchase WHERE account_id = $1 AND locks_account <> 0", "i"};

// Throws StoreError for invalid values.
commerce::State purchase_state_at(const std::string& name);
commerce::Purchase purchase_at(const Rows& rows, std::size_t row);

// The reason why the account may not buy: it is suspended, or one of its payments is disputed.
// REQUIRES: its row exists.
std::optional<base::Error> why_not_buying(Transaction& transaction, std::string_view account_id);

// REQUIRES: the account's row is locked, and no reason against the purchase was found.
commerce::Purchase insert_purchase(const Context& context, Transaction& transaction,
                                   const commerce::NewPurchase& wanted,
                                   const identity::Actor& actor, std::int64_t now_ms);

// Books the allocation of a paid purchase, once. REQUIRES: the account may receive it.
void credit_purchase(Transaction& transaction, const commerce::Purchase& purchase,
                     std::int64_t now_ms);

// Voids units of the purchase's allocations until `wanted` are voided (`all`: all of them, leased
// units too), and records in `purchase` the clawed and lost units.
void claw_back(Transaction& transaction, commerce::Purchase& purchase, bool all,
               std::int64_t now_ms);

// Restores units as a separate allocation, once per cause; `wanted` already is the number of units
// that stay voided.
void give_back(Transaction& transaction, commerce::Purchase& purchase, std::string_view cause,
               ledger::Credits units, std::int64_t now_ms);
// As give_back(), for units that nodes still had leased when a dispute was won, and that were
// voided when they were returned; acts once all are returned.
void give_back_late(Transaction& transaction, commerce::Purchase& purchase, std::int64_t now_ms);

}  // namespace turnpike::storage

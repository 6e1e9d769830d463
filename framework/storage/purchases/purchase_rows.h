// Purchases as rows, and what a step of one moves in the ledger. Private to storage/; free
// functions for the Thread that has the transaction. They throw StoreError.
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

// Throws StoreError for what cannot be one.
commerce::State purchase_state_at(const std::string& name);
commerce::Purchase purchase_at(const Rows& rows, std::size_t row);

// Why the account may buy nothing: it is suspended, or a payment of it is disputed. REQUIRES: its
// row is there.
std::optional<base::Error> why_not_buying(Transaction& transaction, std::string_view account_id);

// REQUIRES: the account's row is taken, and nothing speaks against it.
commerce::Purchase insert_purchase(const Context& context, Transaction& transaction,
                                   const commerce::NewPurchase& wanted,
                                   const identity::Actor& actor, std::int64_t now_ms);

// Books the allocation of a purchase that is paid, once. REQUIRES: the account may be given it.
void credit_purchase(Transaction& transaction, const commerce::Purchase& purchase,
                     std::int64_t now_ms);

// Voids of the purchase's allocations until `wanted` are voided (`all`: all of them, leased units
// too), and says in `purchase` what was clawed and lost.
void claw_back(Transaction& transaction, commerce::Purchase& purchase, bool all,
               std::int64_t now_ms);

// Gives units back as an allocation of its own, once for a cause; `wanted` says already what is to
// stay taken.
void give_back(Transaction& transaction, commerce::Purchase& purchase, std::string_view cause,
               ledger::Credits units, std::int64_t now_ms);
// The same with what nodes still had leased when a dispute was won, and which was voided as they
// returned it; once they have returned it all.
void give_back_late(Transaction& transaction, commerce::Purchase& purchase, std::int64_t now_ms);

}  // namespace turnpike::storage

#include "storage/purchases/purchase_rows.h"

#include <algorithm>

#include "identity/account.h"
#include "ledger/corrections.h"
#include "storage/books/leases.h"
#include "storage/people/audit_rows.h"

namespace turnpike::storage {
namespace {

using commerce::Purchase;
using ledger::Credits;

// Allocations of the purchase and of its restorations, own allocation first; with the units that
// each restoration returned.
constexpr Query select_purchase_allocations{
    "SELECT a.id, a.voided, a.expires_at, COALESCE(r.units, 0) AS given_back,"
    " (SELECT COUNT(*) FROM lease l WHERE l.allocation_id = a.id AND l.state = 'open') AS leases,"
    " a.state"
    " FROM allocation a LEFT JOIN purchase_restoration r ON r.allocation_id = a.id"
    " WHERE a.id = $1 OR r.purchase_id = $2 ORDER BY given_back, a.id",
    "tiiiit"};
constexpr Query insert_restoration{
    "INSERT INTO purchase_restoration (allocation_id, purchase_id, cause, units)"
    " VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING allocation_id",
    "t"};

constexpr Query select_status{"SELECT status FROM account WHERE id = $1", "t"};
constexpr Query next_purchase{
    "UPDATE counter SET value = value + 1 WHERE name = 'purchase' RETURNING value", "i"};
constexpr Query insert_row{
    "INSERT INTO purchase (id, account_id, sequence, origin, offer_id, currency, minor, credits,"
    " validity_days, processor, state, created_by, key_digest, request_digest, due_at, lease_until,"
    " created_at, expires_at, customer, policy_revision, setup_id, saved_method)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'created', $11, $12, $13, $14, $15, $16,"
    " $17, $18, $19, $20, $21) RETURNING " PURCHASE_COLUMNS,
    purchase_kinds};

constexpr std::int64_t day_ms = 24 * 3'600'000ll;

ledger::Origin origin_at(const std::string& name) {
  if (const auto known = ledger::origin(name)) return *known;
  throw StoreError(StoreError::Kind::fatal, "a purchase of unknown origin");
}

struct Carried {
  Credits net_voided = 0;  // voided units less restored units
  bool has_leases = false;
  bool has_leases_of_voided = false;  // units that these leases return are voided too
};

Carried carried_by(const Rows& allocations) {
  Carried carried;
  for (std::size_t row = 0; row < allocations.size(); ++row) {
    carried.net_voided += allocations.number(row, 1) - allocations.number(row, 3);
    if (allocations.number(row, 4) == 0) continue;
    carried.has_leases = true;
    if (allocations.text(row, 5) != "open") carried.has_leases_of_voided = true;
  }
  return carried;
}

// The dispute was won: units that its void takes from now on must be restored too.
bool was_won(const Purchase& purchase) {
  return !purchase.dispute_id.empty() && purchase.state != commerce::State::disputed;
}

void settle_claw(Transaction& transaction, Purchase& purchase) {
  const Carried carried = carried_by(transaction.run(
      select_purchase_allocations, {commerce::allocation_of(purchase.id), purchase.id}));
  purchase.clawed = std::clamp<Credits>(carried.net_voided, 0, purchase.wanted);
  purchase.is_claw_settled = purchase.clawed == purchase.wanted || !carried.has_leases;
  if (was_won(purchase) &&
      (carried.has_leases_of_voided || carried.net_voided > purchase.wanted)) {
    purchase.is_claw_settled = false;
  }
  purchase.lost = purchase.is_claw_settled ? purchase.wanted - purchase.clawed : 0;
}

}  // namespace

commerce::State purchase_state_at(const std::string& name) {
  if (const auto known = commerce::state(name)) return *known;
  throw StoreError(StoreError::Kind::fatal, "a purchase of unknown state");
}

Purchase purchase_at(const Rows& rows, std::size_t row) {
  Purchase purchase;
  purchase.id = rows.text(row, 0);
  purchase.account_id = rows.text(row, 1);
  purchase.sequence = rows.number(row, 2);
  purchase.origin = origin_at(rows.text(row, 3));
  purchase.offer_id = rows.text(row, 4);
  purchase.currency = rows.text(row, 5);
  purchase.minor = rows.number(row, 6);
  purchase.credits = rows.number(row, 7);
  purchase.validity_days = rows.number(row, 8);
  purchase.processor = rows.text(row, 9);
  purchase.state = purchase_state_at(rows.text(row, 10));
  purchase.version = rows.number(row, 11);
  purchase.created_by = rows.text(row, 12);
  purchase.reply = rows.text(row, 13);
  purchase.reference = rows.text(row, 14);
  purchase.url = rows.text(row, 15);
  purchase.customer = rows.text(row, 16);
  purchase.payment = rows.text(row, 17);
  purchase.begin_number = rows.number(row, 18);
  purchase.tax_minor = rows.number(row, 19);
  purchase.refunded_minor = rows.number(row, 20);
  purchase.wanted = rows.number(row, 21);
  purchase.clawed = rows.number(row, 22);
  purchase.lost = rows.number(row, 23);
  purchase.is_claw_settled = rows.number(row, 24) != 0;
  purchase.dispute_id = rows.text(row, 25);
  purchase.locks_account = rows.number(row, 26) != 0;
  purchase.failure_code = rows.text(row, 27);
  purchase.conflict = rows.text(row, 28);
  purchase.looks = rows.number(row, 29);
  purchase.hints = rows.number(row, 30);
  purchase.due_ms = rows.number(row, 31);
  purchase.created_at_ms = rows.number(row, 32);
  purchase.expires_at_ms = rows.number(row, 33);
  purchase.paid_at_ms = rows.number(row, 34);
  purchase.credited_at_ms = rows.number(row, 35);
  purchase.policy_revision = rows.number(row, 36);
  purchase.setup_id = rows.text(row, 37);
  purchase.saved_method = rows.text(row, 38);
  purchase.charge_number = rows.number(row, 39);
  return purchase;
}

std::optional<base::Error> why_not_buying(Transaction& transaction, std::string_view account_id) {
  const Rows status = transaction.run(select_status, {account_id});
  if (status.text(0, 0) == name_of(identity::AccountStatus::suspended)) {
    return base::Error{base::ErrorCode::account_suspended, "The account is suspended."};
  }
  if (transaction.run(count_purchase_locks, {account_id}).number(0, 0) == 0) return std::nullopt;
  return base::Error{base::ErrorCode::purchase_account_locked,
                     "A payment of this account is disputed: it can buy again once that is "
                     "settled, or an operator unlocks it."};
}

Purchase insert_purchase(const Context& context, Transaction& transaction,
                         const commerce::NewPurchase& wanted, const identity::Actor& actor,
                         std::int64_t now_ms) {
  const std::string id = context.new_id("pur_");
  const std::int64_t sequence = transaction.run(next_purchase).number(0, 0);
  const std::int64_t lease_until = now_ms + wanted.lease_ms;
  const Rows made = transaction.run(
      insert_row,
      {id, wanted.account_id, sequence, ledger::name_of(wanted.origin), wanted.offer_id,
       wanted.currency, wanted.minor, wanted.credits, wanted.validity_days, wanted.processor,
       actor.principal, wanted.key_digest, wanted.request_digest, lease_until, lease_until, now_ms,
       wanted.expires_at_ms, wanted.customer, wanted.policy_revision, wanted.setup_id,
       wanted.saved_method});
  write_audit(context, transaction,
              {.actor = actor,
               .account_id = wanted.account_id,
               .action = "purchase.create",
               .target = id,
               .detail = wanted.currency + " " + commerce::amount_text(wanted.minor)});
  return purchase_at(made, 0);
}

void credit_purchase(Transaction& transaction, const Purchase& purchase, std::int64_t now_ms) {
  ledger::Allocation made;
  made.id = commerce::allocation_of(purchase.id);
  made.account_id = purchase.account_id;
  made.origin = purchase.origin;
  made.units = made.remaining = purchase.credits;
  made.created_at_ms = made.effective_at_ms = now_ms;
  made.expires_at_ms = now_ms + purchase.validity_days * day_ms;
  // The row's version was checked, so the allocation cannot exist yet, even after retries.
  if (!book_allocation(transaction, made, now_ms)) {
    throw StoreError(StoreError::Kind::fatal, "a purchase has its allocation already");
  }
}

void claw_back(Transaction& transaction, Purchase& purchase, bool all, std::int64_t now_ms) {
  const Rows allocations = transaction.run(
      select_purchase_allocations, {commerce::allocation_of(purchase.id), purchase.id});
  Credits left = purchase.wanted - carried_by(allocations).net_voided;
  for (std::size_t row = 0; row < allocations.size(); ++row) {
    if (all) {
      void_allocation(transaction, allocations.text(row, 0), now_ms);
    } else if (left > 0) {
      left -= withdraw_units(transaction, allocations.text(row, 0), left, now_ms);
    }
  }
  settle_claw(transaction, purchase);
}

void give_back_late(Transaction& transaction, Purchase& purchase, std::int64_t now_ms) {
  const Rows allocations = transaction.run(
      select_purchase_allocations, {commerce::allocation_of(purchase.id), purchase.id});
  const Carried carried = carried_by(allocations);
  const Credits late = carried.net_voided - purchase.wanted;
  if (!was_won(purchase) || carried.has_leases_of_voided || late <= 0) return;
  // Each restoration adds an allocation, so the count makes each cause unique.
  const std::string cause = purchase.dispute_id + "." + std::to_string(allocations.size());
  give_back(transaction, purchase, cause, late, now_ms);
}

void give_back(Transaction& transaction, Purchase& purchase, std::string_view cause, Credits units,
               std::int64_t now_ms) {
  ledger::Allocation made;
  made.id = commerce::restoring_allocation_of(purchase.id, cause);
  if (units > 0 &&
      !transaction.run(insert_restoration, {made.id, purchase.id, cause, units}).empty()) {
    const Rows own = transaction.run(select_purchase_allocations,
                                     {commerce::allocation_of(purchase.id), purchase.id});
    made.account_id = purchase.account_id;
    made.origin = purchase.origin;
    made.units = made.remaining = units;
    made.created_at_ms = made.effective_at_ms = now_ms;
    made.expires_at_ms =
        ledger::correction_expiry_ms(own.empty() ? now_ms : own.number(0, 2), now_ms);
    book_allocation(transaction, made, now_ms);
  }
  settle_claw(transaction, purchase);
}

}  // namespace turnpike::storage

#include "storage/purchases/purchase_store.h"

#include <limits>

#include "base/crash_points.h"
#include "storage/notifications/notice_rows.h"
#include "storage/people/audit_rows.h"
#include "storage/purchases/auto_top_up_rows.h"
#include "storage/purchases/purchase_rows.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using commerce::NewPurchase;
using commerce::Opened;
using commerce::Purchase;
using commerce::Step;

constexpr std::int64_t after_all_purchases = std::numeric_limits<std::int64_t>::max();

constexpr Query select_by_purchase_key{
    "SELECT id, request_digest, lease_until FROM purchase WHERE account_id = $1"
    " AND key_digest = $2",
    "tti"};
constexpr Query select_purchase{"SELECT " PURCHASE_COLUMNS " FROM purchase WHERE id = $1",
                                purchase_kinds};
constexpr Query lease_purchase{
    "UPDATE purchase SET lease_until = $1 WHERE id = $2 AND lease_until <= $3"
    " AND state = 'created' RETURNING id",
    "t"};
constexpr Query count_open{
    "SELECT COUNT(*) FROM purchase WHERE account_id = $1"
    " AND state IN ('created', 'awaiting_payment', 'paid')",
    "i"};
constexpr Query select_list{
    "SELECT " PURCHASE_COLUMNS " FROM purchase WHERE sequence < $1 AND ('' = $2 OR account_id = $2)"
    " AND ('' = $3 OR state = $3)"
    " AND (0 = $4 OR state IN ('created', 'awaiting_payment', 'paid'))"
    " AND (0 = $5 OR paid_at >= 0) ORDER BY sequence DESC LIMIT $6",
    purchase_kinds};
constexpr Query select_customer{
    "SELECT customer FROM processor_customer WHERE account_id = $1 AND processor = $2", "t"};
constexpr Query insert_customer{
    "INSERT INTO processor_customer (account_id, processor, customer) VALUES ($1, $2, $3)"
    " ON CONFLICT DO NOTHING"};
constexpr Query lock_version{
    "UPDATE purchase SET version = version + 1 WHERE id = $1 AND version = $2 RETURNING hints,"
    " state, refunded_minor",
    "iti"};
constexpr Query update_purchase{
    "UPDATE purchase SET state = $1, reference = $2, url = $3, customer = $4, payment = $5,"
    " begin_number = $6, tax_minor = $7, refunded_minor = $8, wanted = $9, clawed = $10,"
    " lost = $11, is_claw_settled = $12, dispute_id = $13, locks_account = $14,"
    " failure_code = $15, conflict = $16, looks = $17, due_at = $18, expires_at = $19,"
    " paid_at = $20, credited_at = $21, lease_until = 0 WHERE id = $22"};
constexpr Query update_reply{
    "UPDATE purchase SET reply = CASE WHEN reply = '' THEN $1 ELSE reply END WHERE id = $2"
    " RETURNING reply",
    "t"};
constexpr Query take_due_sqlite{
    "UPDATE purchase SET lease_until = $1 WHERE id IN (SELECT id FROM purchase WHERE due_at >= 0"
    " AND due_at <= $2 AND lease_until <= $2 ORDER BY due_at LIMIT $3)"
    " RETURNING " PURCHASE_COLUMNS,
    purchase_kinds};
constexpr Query take_due_postgres{
    "UPDATE purchase SET lease_until = $1 WHERE id IN (SELECT id FROM purchase WHERE due_at >= 0"
    " AND due_at <= $2 AND lease_until <= $2 ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)"
    " RETURNING " PURCHASE_COLUMNS,
    purchase_kinds};
constexpr Query hint_purchase{
    "UPDATE purchase SET due_at = 0, hints = hints + 1 WHERE processor = $1 AND id = $2"
    " RETURNING id",
    "t"};
constexpr Query hint_reference{
    "UPDATE purchase SET due_at = 0, hints = hints + 1 WHERE processor = $1 AND reference = $2"
    " AND reference <> '' RETURNING id",
    "t"};
constexpr Query hint_payment{
    "UPDATE purchase SET due_at = 0, hints = hints + 1 WHERE processor = $1 AND payment = $2"
    " AND payment <> '' RETURNING id",
    "t"};
constexpr Query hurry_purchase{
    "UPDATE purchase SET due_at = 0, hints = hints + 1 WHERE id = $1 RETURNING id", "t"};
constexpr Query insert_changes{
    "INSERT INTO processor_changes (processor, since_at, read_at, lease_until)"
    " VALUES ($1, $2, 0, 0) ON CONFLICT DO NOTHING"};
constexpr Query lease_changes{
    "UPDATE processor_changes SET lease_until = $1 WHERE processor = $2 AND read_at <= $3"
    " AND lease_until <= $4 RETURNING since_at",
    "i"};
constexpr Query update_changes{
    "UPDATE processor_changes SET since_at = $1, read_at = $2, lease_until = 0"
    " WHERE processor = $3"};

std::optional<base::Error> why_not_bought(Transaction& transaction, const NewPurchase& wanted) {
  if (!wanted.is_offered) {
    return base::Error{ErrorCode::purchase_offer_changed,
                       "This offer is not made any more: look at the offers anew."};
  }
  if (auto why = why_not_buying(transaction, wanted.account_id)) return why;
  if (transaction.run(count_open, {wanted.account_id}).number(0, 0) >= wanted.open_max) {
    return base::Error{ErrorCode::purchase_too_many_open,
                       "The account has " + std::to_string(wanted.open_max) +
                           " purchases that are not paid yet: pay one, or wait until one expires."};
  }
  return std::nullopt;
}

}  // namespace

// ---- opening ------------------------------------------------------------------------------------

SqlPurchaseStore::Answer<Opened> SqlPurchaseStore::open(const NewPurchase& wanted,
                                                        const identity::Actor& actor) {
  return change<Opened>("open purchase", [&](Transaction& transaction) -> Answer<Opened> {
    // Locks the account's row, so that its purchases are opened one after the other.
    if (auto why = why_not_given(transaction, wanted.account_id)) return *std::move(why);
    if (auto why = why_not_allowed(transaction, wanted.account_id, actor, identity::Role::admin)) {
      return *std::move(why);
    }
    const std::int64_t now_ms = context_.now_ms(transaction);
    const Rows earlier =
        transaction.run(select_by_purchase_key, {wanted.account_id, wanted.key_digest});
    if (!earlier.empty()) return opened_before(transaction, wanted, earlier, now_ms);
    if (auto why = why_not_bought(transaction, wanted)) return *std::move(why);
    return Opened{insert_purchase(context_, transaction, wanted, actor, now_ms), false, true};
  });
}

SqlPurchaseStore::Answer<Opened> SqlPurchaseStore::opened_before(Transaction& transaction,
                                                                 const NewPurchase& wanted,
                                                                 const Rows& rows,
                                                                 std::int64_t now_ms) const {
  if (rows.text(0, 1) != wanted.request_digest) {
    return base::Error{ErrorCode::idempotency_conflict,
                       "This Idempotency-Key was used for another purchase."};
  }
  const std::string& id = rows.text(0, 0);
  const bool is_leased =
      !transaction.run(lease_purchase, {now_ms + wanted.lease_ms, id, now_ms}).empty();
  return Opened{purchase_at(transaction.run(select_purchase, {id}), 0), true, is_leased};
}

// ---- reading ------------------------------------------------------------------------------------

SqlPurchaseStore::Answer<std::optional<Purchase>> SqlPurchaseStore::find(std::string_view id) {
  using Found = std::optional<Purchase>;
  return read<Found>("find purchase", [&](Connection& connection) -> Found {
    const Rows rows = connection.run(select_purchase, {id});
    if (rows.empty()) return std::nullopt;
    return purchase_at(rows, 0);
  });
}

SqlPurchaseStore::Answer<std::vector<Purchase>> SqlPurchaseStore::list(
    const commerce::PurchaseQuery& query) {
  using List = std::vector<Purchase>;
  return read<List>("list purchases", [&](Connection& connection) {
    const Rows rows = connection.run(
        select_list,
        {query.before == 0 ? after_all_purchases : query.before, query.account_id,
         query.state ? commerce::name_of(*query.state) : std::string_view(),
         std::int64_t{query.open_only}, std::int64_t{query.paid_only}, std::int64_t{query.limit}});
    List list;
    for (std::size_t row = 0; row < rows.size(); ++row) list.push_back(purchase_at(rows, row));
    return list;
  });
}

SqlPurchaseStore::Answer<bool> SqlPurchaseStore::is_locked(std::string_view account_id) {
  return read<bool>("read purchase lock", [&](Connection& connection) {
    return connection.run(count_purchase_locks, {account_id}).number(0, 0) > 0;
  });
}

SqlPurchaseStore::Answer<std::string> SqlPurchaseStore::customer(std::string_view account_id,
                                                                 std::string_view processor) {
  return read<std::string>("read customer", [&](Connection& connection) {
    const Rows rows = connection.run(select_customer, {account_id, processor});
    return rows.empty() ? std::string() : rows.text(0, 0);
  });
}

// ---- steps --------------------------------------------------------------------------------------

SqlPurchaseStore::Answer<std::optional<Purchase>> SqlPurchaseStore::advance(const Step& step,
                                                                            std::int64_t due_ms) {
  using Advanced = std::optional<Purchase>;
  base::pass(base::CrashPoint::purchase_before);
  auto advanced =
      change<Advanced>("advance purchase", [&](Transaction& transaction) -> Answer<Advanced> {
        return write_step(transaction, step, due_ms);
      });
  base::pass(base::CrashPoint::purchase_after);
  return advanced;
}

std::optional<Purchase> SqlPurchaseStore::write_step(Transaction& transaction, Step step,
                                                     std::int64_t due_ms) const {
  Purchase& next = step.next;
  bool is_given = true;
  if (step.credits) is_given = !why_not_given(transaction, next.account_id).has_value();
  const Rows locked = transaction.run(lock_version, {next.id, next.version});
  if (locked.empty()) return std::nullopt;
  const std::int64_t now_ms = ledger_now_ms(context_, transaction);
  if (step.credits && is_given) {
    credit_purchase(transaction, next, now_ms);
    write_audit(context_, transaction,
                {.actor = {.principal = "system:gateway"},
                 .account_id = next.account_id,
                 .action = "purchase.credit",
                 .target = next.id,
                 .detail = std::to_string(next.credits) + " Credits"});
    tell_credited(context_, transaction, next, now_ms);
  } else if (step.credits) {
    next.state = commerce::State::paid;
    next.credited_at_ms = -1;
    next.conflict = "the account is closed";
  }
  if (commerce::was_paid(next.state) && next.state != commerce::State::paid) {
    const bool claws = step.claws || step.voids || !next.is_claw_settled;
    if (claws) claw_back(transaction, next, step.voids, now_ms);
    if (step.restores > 0) {
      const std::string cause = next.dispute_id.empty() ? "dispute" : next.dispute_id;
      give_back(transaction, next, cause, step.restores, now_ms);
    } else if (claws) {
      give_back_late(transaction, next, now_ms);
    }
  }
  if (!next.customer.empty()) {
    transaction.run(insert_customer, {next.account_id, next.processor, next.customer});
  }
  if (commerce::is_run(next)) {
    const RunBefore before{purchase_state_at(locked.text(0, 1)), locked.number(0, 2)};
    follow_run(context_, transaction, before, step, now_ms);
  }
  const bool is_hinted = locked.number(0, 0) != next.hints;
  if (!next.is_claw_settled && due_ms < 0) due_ms = now_ms + 1'000;
  transaction.run(
      update_purchase,
      {commerce::name_of(next.state), next.reference, next.url, next.customer, next.payment,
       next.begin_number, next.tax_minor, next.refunded_minor, next.wanted, next.clawed, next.lost,
       std::int64_t{next.is_claw_settled}, next.dispute_id, std::int64_t{next.locks_account},
       next.failure_code, next.conflict, next.looks, is_hinted ? 0 : due_ms, next.expires_at_ms,
       next.paid_at_ms, next.credited_at_ms, next.id});
  return purchase_at(transaction.run(select_purchase, {next.id}), 0);
}

SqlPurchaseStore::Answer<std::string> SqlPurchaseStore::keep_reply(std::string_view id,
                                                                   std::string_view reply) {
  return change<std::string>("keep reply", [&](Transaction& transaction) -> Answer<std::string> {
    const Rows kept = transaction.run(update_reply, {reply, id});
    if (!kept.empty()) return kept.text(0, 0);
    return base::Error{ErrorCode::purchase_not_found, "There is no purchase with this id."};
  });
}

// ---- due work -----------------------------------------------------------------------------------

SqlPurchaseStore::Answer<std::vector<Purchase>> SqlPurchaseStore::take_due(std::int64_t lease_ms,
                                                                           std::uint32_t limit) {
  using List = std::vector<Purchase>;
  return change<List>("take due purchases", [&](Transaction& transaction) -> Answer<List> {
    const std::int64_t now_ms = context_.now_ms(transaction);
    const bool is_sqlite = context_.database.engine() == Engine::sqlite;
    const Rows rows = transaction.run(is_sqlite ? take_due_sqlite : take_due_postgres,
                                      {now_ms + lease_ms, now_ms, std::int64_t{limit}});
    List due;
    for (std::size_t row = 0; row < rows.size(); ++row) due.push_back(purchase_at(rows, row));
    return due;
  });
}

SqlPurchaseStore::Answer<std::uint32_t> SqlPurchaseStore::hint(std::string_view processor,
                                                               std::span<const Hint> hints) {
  return change<std::uint32_t>("hint", [&](Transaction& transaction) -> Answer<std::uint32_t> {
    std::uint32_t found = 0;
    for (const Hint& hint : hints) {
      switch (hint.of) {
        case Hint::Of::purchase:
          found += transaction.run(hint_purchase, {processor, hint.id}).size();
          break;
        case Hint::Of::reference:
          found += transaction.run(hint_reference, {processor, hint.id}).size();
          found += hint_setups(transaction, processor, hint);
          break;
        case Hint::Of::payment:
          found += transaction.run(hint_payment, {processor, hint.id}).size();
          break;
        case Hint::Of::setup:
        case Hint::Of::method:
          found += hint_setups(transaction, processor, hint);
          break;
      }
    }
    return found;
  });
}

SqlPurchaseStore::Answer<bool> SqlPurchaseStore::hurry(std::string_view id) {
  return change<bool>("hurry", [&](Transaction& transaction) -> Answer<bool> {
    return !transaction.run(hurry_purchase, {id}).empty();
  });
}

SqlPurchaseStore::Answer<std::optional<commerce::ChangesPlace>> SqlPurchaseStore::take_changes(
    std::string_view processor, std::int64_t not_since_ms, std::int64_t lease_ms) {
  using Place = std::optional<commerce::ChangesPlace>;
  return change<Place>("take changes", [&](Transaction& transaction) -> Answer<Place> {
    const std::int64_t now_ms = context_.now_ms(transaction);
    transaction.run(insert_changes, {processor, now_ms});
    const Rows rows =
        transaction.run(lease_changes, {now_ms + lease_ms, processor, not_since_ms, now_ms});
    if (rows.empty()) return Place{};
    return Place{commerce::ChangesPlace{rows.number(0, 0)}};
  });
}

SqlPurchaseStore::Answer<Unit> SqlPurchaseStore::keep_changes(
    std::string_view processor, const commerce::ChangesPlace& place) {
  return change<Unit>("keep changes", [&](Transaction& transaction) -> Answer<Unit> {
    transaction.run(update_changes, {place.since_ms, context_.now_ms(transaction), processor});
    return Unit{};
  });
}

std::unique_ptr<commerce::PurchaseStore> make_purchase_store(const Context& context) {
  return std::make_unique<SqlPurchaseStore>(context);
}

}  // namespace turnpike::storage

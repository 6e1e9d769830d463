#include "storage/people/audit_rows.h"
#include "storage/purchases/purchase_rows.h"
#include "storage/purchases/purchase_store.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using commerce::Purchase;
using commerce::Refund;
using commerce::RefundState;
using commerce::State;

constexpr Query lock_purchase{
    "UPDATE purchase SET version = version + 1 WHERE id = $1 RETURNING " PURCHASE_COLUMNS,
    purchase_kinds};
constexpr Query select_account_of{"SELECT account_id FROM purchase WHERE id = $1", "t"};
constexpr Query select_purchase_of{"SELECT purchase_id FROM purchase_refund WHERE id = $1", "t"};
constexpr Query update_claw{
    "UPDATE purchase SET wanted = $1, clawed = $2, lost = $3, is_claw_settled = $4, due_at = $5"
    " WHERE id = $6"};
#define REFUND_COLUMNS \
  "id, purchase_id, minor, wanted, state, reference, refusal, note, created_at"
constexpr char refund_kinds[] = "ttiitttti";
constexpr Query insert_refund{
    "INSERT INTO purchase_refund (id, purchase_id, minor, wanted, state, note, operator,"
    " created_at) VALUES ($1, $2, $3, $4, 'requested', $5, $6, $7)"};
constexpr Query select_refund{"SELECT " REFUND_COLUMNS " FROM purchase_refund WHERE id = $1",
                              refund_kinds};
constexpr Query select_refunds{"SELECT " REFUND_COLUMNS
                               " FROM purchase_refund WHERE purchase_id = $1"
                               " ORDER BY created_at, id",
                               refund_kinds};
// Refunds wait until the clawing back of Credits is settled.
constexpr Query select_requested{
    "SELECT r.id, r.purchase_id, r.minor, r.wanted, r.state, r.reference, r.refusal, r.note,"
    " r.created_at FROM purchase_refund r JOIN purchase p ON p.id = r.purchase_id"
    " WHERE r.state = 'requested' AND p.is_claw_settled <> 0 ORDER BY r.created_at LIMIT $1",
    refund_kinds};
#undef REFUND_COLUMNS
constexpr Query sum_requested{
    "SELECT CAST(COALESCE(SUM(minor), 0) AS BIGINT) FROM purchase_refund"
    " WHERE purchase_id = $1 AND state = 'requested'",
    "i"};
// Includes refunds that were sent but are not visible at the processor yet.
constexpr Query sum_not_refused{
    "SELECT CAST(COALESCE(SUM(minor), 0) AS BIGINT) FROM purchase_refund"
    " WHERE purchase_id = $1 AND state <> 'refused'",
    "i"};
constexpr Query update_refund_end{
    "UPDATE purchase_refund SET state = $1, reference = $2, refusal = $3 WHERE id = $4"
    " AND state = 'requested' RETURNING id",
    "t"};
constexpr Query unlock_purchases{
    "UPDATE purchase SET locks_account = 0, version = version + 1 WHERE account_id = $1"
    " AND locks_account <> 0 RETURNING id",
    "t"};
constexpr Query select_standing{
    "SELECT (SELECT COUNT(*) FROM purchase WHERE state IN"
    " ('created', 'awaiting_payment', 'paid')) AS open,"
    " (SELECT COALESCE(MIN(created_at), -1) FROM purchase WHERE state IN"
    " ('created', 'awaiting_payment', 'paid')) AS oldest,"
    " (SELECT COUNT(*) FROM purchase WHERE state = 'paid') AS paid,"
    " (SELECT COUNT(DISTINCT account_id) FROM purchase WHERE locks_account <> 0) AS locked,"
    " CAST((SELECT COALESCE(SUM(lost), 0) FROM purchase) AS BIGINT) AS lost",
    "iiiii"};

RefundState refund_state_at(const std::string& name) {
  for (const RefundState each : {RefundState::requested, RefundState::sent, RefundState::refused}) {
    if (commerce::name_of(each) == name) return each;
  }
  throw StoreError(StoreError::Kind::fatal, "a refund of unknown state");
}

Refund refund_at(const Rows& rows, std::size_t row) {
  return {rows.text(row, 0),
          rows.text(row, 1),
          rows.number(row, 2),
          rows.number(row, 3),
          refund_state_at(rows.text(row, 4)),
          rows.text(row, 5),
          rows.text(row, 6),
          rows.text(row, 7),
          rows.number(row, 8)};
}

std::vector<Refund> refunds_of(const Rows& rows) {
  std::vector<Refund> list;
  for (std::size_t row = 0; row < rows.size(); ++row) list.push_back(refund_at(rows, row));
  return list;
}

// Locks the account's row and then the purchase's. nullopt: no such purchase.
std::optional<Purchase> take_purchase(Transaction& transaction, std::string_view id) {
  const Rows account = transaction.run(select_account_of, {id});
  if (account.empty()) return std::nullopt;
  (void)why_not_given(transaction, account.text(0, 0));
  return purchase_at(transaction.run(lock_purchase, {id}), 0);
}

void write_claw(Transaction& transaction, const Purchase& purchase) {
  transaction.run(update_claw, {purchase.wanted, purchase.clawed, purchase.lost,
                                std::int64_t{purchase.is_claw_settled}, std::int64_t{0},
                                purchase.id});
}

base::Error no_purchase() {
  return {ErrorCode::purchase_not_found, "There is no purchase with this id."};
}

}  // namespace

SqlPurchaseStore::Answer<Refund> SqlPurchaseStore::request_refund(
    const commerce::RefundRequest& request, const identity::Actor& actor) {
  return change<Refund>("request refund", [&](Transaction& transaction) -> Answer<Refund> {
    auto purchase = take_purchase(transaction, request.purchase_id);
    if (!purchase) return no_purchase();
    if (purchase->state != State::credited) {
      return base::Error{ErrorCode::purchase_not_paid,
                         "Only a purchase that is credited can be refunded; this one is " +
                             std::string(commerce::name_of(purchase->state)) + "."};
    }
    const std::int64_t total = purchase->minor + purchase->tax_minor;
    const std::int64_t asked = transaction.run(sum_not_refused, {purchase->id}).number(0, 0);
    const std::int64_t gone = std::max(asked, purchase->refunded_minor);
    if (request.minor < 1 || request.minor > total - gone) {
      return base::Error{ErrorCode::purchase_amount_invalid,
                         "Of this purchase " + commerce::amount_text(total - gone) + " " +
                             purchase->currency + " are left to be refunded."};
    }
    const std::int64_t now_ms = ledger_now_ms(context_, transaction);
    const std::string id = context_.new_id("ref_");
    const ledger::Credits before = purchase->wanted;
    purchase->wanted = std::max(before, purchase->credits * (gone + request.minor) / total);
    claw_back(transaction, *purchase, gone + request.minor == total, now_ms);
    write_claw(transaction, *purchase);
    transaction.run(insert_refund, {id, purchase->id, request.minor, purchase->wanted - before,
                                    request.note, actor.principal, now_ms});
    write_audit(context_, transaction,
                {.actor = actor,
                 .account_id = purchase->account_id,
                 .action = "purchase.refund",
                 .target = purchase->id,
                 .detail = purchase->currency + " " + commerce::amount_text(request.minor)});
    return refund_at(transaction.run(select_refund, {id}), 0);
  });
}

SqlPurchaseStore::Answer<std::vector<Refund>> SqlPurchaseStore::refunds_to_send(
    std::uint32_t limit) {
  return read<std::vector<Refund>>("list refunds", [&](Connection& connection) {
    return refunds_of(connection.run(select_requested, {std::int64_t{limit}}));
  });
}

SqlPurchaseStore::Answer<std::vector<Refund>> SqlPurchaseStore::refunds(
    std::string_view purchase_id) {
  return read<std::vector<Refund>>("list refunds", [&](Connection& connection) {
    return refunds_of(connection.run(select_refunds, {purchase_id}));
  });
}

SqlPurchaseStore::Answer<Unit> SqlPurchaseStore::end_refund(std::string_view refund_id,
                                                            RefundState state,
                                                            std::string_view detail) {
  return change<Unit>("end refund", [&](Transaction& transaction) -> Answer<Unit> {
    const Rows of = transaction.run(select_purchase_of, {refund_id});
    if (of.empty()) return no_purchase();
    auto purchase = take_purchase(transaction, of.text(0, 0));
    const bool is_refused = state == RefundState::refused;
    const Rows ended = transaction.run(
        update_refund_end, {commerce::name_of(state), is_refused ? std::string_view() : detail,
                            is_refused ? detail : std::string_view(), refund_id});
    if (ended.empty()) return Unit{};  // ended already
    if (is_refused) {
      const std::int64_t now_ms = ledger_now_ms(context_, transaction);
      const std::int64_t total = purchase->minor + purchase->tax_minor;
      const std::int64_t left = purchase->refunded_minor +
                                transaction.run(sum_requested, {purchase->id}).number(0, 0);
      const ledger::Credits wanted = std::min(purchase->wanted, purchase->credits * left / total);
      const ledger::Credits back = std::max<ledger::Credits>(0, purchase->clawed - wanted);
      purchase->wanted = wanted;
      give_back(transaction, *purchase, refund_id, back, now_ms);
    }
    write_claw(transaction, *purchase);  // due at once, so that the outcome is looked up
    return Unit{};
  });
}

SqlPurchaseStore::Answer<std::uint32_t> SqlPurchaseStore::unlock(std::string_view account_id,
                                                                 const identity::Actor& actor) {
  using Unlocked = Answer<std::uint32_t>;
  return change<std::uint32_t>("unlock purchases", [&](Transaction& transaction) -> Unlocked {
    const auto unlocked =
        static_cast<std::uint32_t>(transaction.run(unlock_purchases, {account_id}).size());
    if (unlocked > 0) {
      write_audit(context_, transaction,
                  {.actor = actor,
                   .account_id = std::string(account_id),
                   .action = "purchase.unlock",
                   .target = std::string(account_id)});
    }
    return unlocked;
  });
}

SqlPurchaseStore::Answer<Purchase> SqlPurchaseStore::resolve(std::string_view id,
                                                             const identity::Actor& actor) {
  return change<Purchase>("resolve purchase", [&](Transaction& transaction) -> Answer<Purchase> {
    const Rows account = transaction.run(select_account_of, {id});
    if (account.empty()) return no_purchase();
    if (auto why = why_not_given(transaction, account.text(0, 0))) return *std::move(why);
    commerce::Step step{purchase_at(transaction.run(lock_purchase, {id}), 0)};
    if (step.next.state != State::paid) {
      return base::Error{ErrorCode::purchase_not_paid,
                         "There is nothing to resolve: the purchase is " +
                             std::string(commerce::name_of(step.next.state)) + "."};
    }
    write_audit(context_, transaction,
                {.actor = actor,
                 .account_id = step.next.account_id,
                 .action = "purchase.resolve",
                 .target = step.next.id,
                 .detail = step.next.conflict});
    step.credits = true;
    step.next.state = State::credited;
    step.next.conflict.clear();
    step.next.credited_at_ms = ledger_now_ms(context_, transaction);
    return *write_step(transaction, step, 0);
  });
}

SqlPurchaseStore::Answer<commerce::Standing> SqlPurchaseStore::standing() {
  return read<commerce::Standing>("sum purchases", [&](Connection& connection) {
    const Rows sums = connection.run(select_standing);
    return commerce::Standing{sums.number(0, 0), sums.number(0, 1), sums.number(0, 2),
                              sums.number(0, 3), sums.number(0, 4)};
  });
}

}  // namespace turnpike::storage

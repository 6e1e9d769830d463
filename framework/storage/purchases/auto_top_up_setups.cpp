#include "storage/people/audit_rows.h"
#include "storage/purchases/auto_top_up_rows.h"
#include "storage/purchases/auto_top_up_store.h"
#include "storage/purchases/purchase_rows.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using commerce::MethodSetup;
using commerce::NewSetup;
using commerce::OpenedSetup;
using commerce::TopUpState;

// Unfinished setups of one account.
constexpr std::int64_t open_setups_max = 10;

constexpr Query select_by_setup_key{
    "SELECT id, request_digest FROM payment_setup WHERE account_id = $1 AND key_digest = $2",
    "tt"};
constexpr Query select_setup{"SELECT " SETUP_COLUMNS " FROM payment_setup WHERE id = $1",
                             setup_kinds};
constexpr Query select_setups{"SELECT " SETUP_COLUMNS
                              " FROM payment_setup WHERE account_id = $1"
                              " ORDER BY created_at DESC, id DESC LIMIT $2",
                              setup_kinds};
constexpr Query count_open_setups{
    "SELECT COUNT(*) FROM payment_setup WHERE account_id = $1"
    " AND state IN ('needs_reconciliation', 'requires_action') AND expires_at > $2",
    "i"};
constexpr Query lease_setup{
    "UPDATE payment_setup SET lease_until = $1 WHERE id = $2 AND lease_until <= $3"
    " AND state = 'needs_reconciliation' RETURNING id",
    "t"};
constexpr Query insert_setup{
    "INSERT INTO payment_setup (id, account_id, processor, state, created_by, key_digest,"
    " request_digest, due_at, lease_until, created_at, expires_at)"
    " VALUES ($1, $2, $3, 'needs_reconciliation', $4, $5, $6, $7, $8, $9, $10)"
    " RETURNING " SETUP_COLUMNS,
    setup_kinds};
constexpr Query lock_setup{
    "UPDATE payment_setup SET version = version + 1 WHERE id = $1 AND version = $2"
    " RETURNING hints",
    "i"};
constexpr Query update_setup{
    "UPDATE payment_setup SET state = $1, reference = $2, url = $3, customer = $4,"
    " begin_number = $5, method = $6, brand = $7, last4 = $8, fingerprint = $9,"
    " expires_month = $10, expires_year = $11, is_gone = $12, failure_code = $13, looks = $14,"
    " due_at = $15, expires_at = $16, removal = $17, lease_until = 0 WHERE id = $18"
    " RETURNING " SETUP_COLUMNS,
    setup_kinds};
// Also takes it from whoever holds the lease, since the row's version changes.
constexpr Query remove_setup{
    "UPDATE payment_setup SET version = version + 1, is_gone = 1, removal = 'wanted', looks = 0,"
    " due_at = 0, lease_until = 0 WHERE id = $1 AND account_id = $2 AND state = 'succeeded'"
    " AND removal = '' RETURNING " SETUP_COLUMNS,
    setup_kinds};
constexpr Query update_setup_reply{
    "UPDATE payment_setup SET reply = CASE WHEN reply = '' THEN $1 ELSE reply END WHERE id = $2"
    " RETURNING reply",
    "t"};
constexpr Query insert_setup_customer{
    "INSERT INTO processor_customer (account_id, processor, customer) VALUES ($1, $2, $3)"
    " ON CONFLICT DO NOTHING"};
constexpr Query take_due_setups_sqlite{
    "UPDATE payment_setup SET lease_until = $1 WHERE id IN (SELECT id FROM payment_setup"
    " WHERE due_at >= 0 AND due_at <= $2 AND lease_until <= $2 ORDER BY due_at LIMIT $3)"
    " RETURNING " SETUP_COLUMNS,
    setup_kinds};
constexpr Query take_due_setups_postgres{
    "UPDATE payment_setup SET lease_until = $1 WHERE id IN (SELECT id FROM payment_setup"
    " WHERE due_at >= 0 AND due_at <= $2 AND lease_until <= $2 ORDER BY due_at LIMIT $3"
    " FOR UPDATE SKIP LOCKED) RETURNING " SETUP_COLUMNS,
    setup_kinds};

std::vector<MethodSetup> setups_of(const Rows& rows) {
  std::vector<MethodSetup> list;
  for (std::size_t row = 0; row < rows.size(); ++row) list.push_back(setup_at(rows, row));
  return list;
}

// Pauses the policy that charges this method.
void pause_without_method(const Context& context, Transaction& transaction,
                          const MethodSetup& setup, std::int64_t now_ms) {
  const auto standing = take_standing(transaction, setup.account_id);
  if (!standing || standing->state == TopUpState::off) return;
  const auto policy = newest_policy(transaction, setup.account_id);
  if (!policy || policy->setup_id != setup.id) return;
  commerce::TopUpStanding next = *standing;
  next.state = TopUpState::needs_payment_method;
  next.reason = commerce::setup_failure_code(setup);
  next.changed_at_ms = now_ms;
  if (next.state == standing->state) return;
  write_standing(context, transaction, setup.account_id, *standing, next);
}

}  // namespace

SqlAutoTopUpStore::Answer<OpenedSetup> SqlAutoTopUpStore::open_setup(
    const NewSetup& wanted, const identity::Actor& actor) {
  return change<OpenedSetup>("open setup", [&](Transaction& transaction) -> Answer<OpenedSetup> {
    // Locks the account's row, so that its setups are opened one after the other.
    if (auto why = why_not_given(transaction, wanted.account_id)) return *std::move(why);
    if (auto why = why_not_allowed(transaction, wanted.account_id, actor, identity::Role::admin)) {
      return *std::move(why);
    }
    const std::int64_t now_ms = context_.now_ms(transaction);
    const std::int64_t lease_until = now_ms + wanted.lease_ms;
    const Rows earlier =
        transaction.run(select_by_setup_key, {wanted.account_id, wanted.key_digest});
    if (!earlier.empty()) {
      if (earlier.text(0, 1) != wanted.request_digest) {
        return base::Error{ErrorCode::idempotency_conflict,
                           "This Idempotency-Key was used for another request."};
      }
      const std::string& id = earlier.text(0, 0);
      const bool is_leased = !transaction.run(lease_setup, {lease_until, id, now_ms}).empty();
      return OpenedSetup{setup_at(transaction.run(select_setup, {id}), 0), true, is_leased};
    }
    if (auto why = why_not_buying(transaction, wanted.account_id)) return *std::move(why);
    const Rows open = transaction.run(count_open_setups, {wanted.account_id, now_ms});
    if (open.number(0, 0) >= open_setups_max) {
      return base::Error{ErrorCode::purchase_too_many_open,
                         "The account has begun to save " + std::to_string(open_setups_max) +
                             " methods already: finish one, or wait until one expires."};
    }
    const std::string id = context_.new_id("pms_");
    const Rows made = transaction.run(
        insert_setup, {id, wanted.account_id, wanted.processor, actor.principal,
                       wanted.key_digest, wanted.request_digest, lease_until, lease_until, now_ms,
                       wanted.expires_at_ms});
    write_audit(context_, transaction,
                {.actor = actor,
                 .account_id = wanted.account_id,
                 .action = "payment_method.create",
                 .target = id,
                 .detail = wanted.processor});
    return OpenedSetup{setup_at(made, 0), false, true};
  });
}

SqlAutoTopUpStore::Answer<std::optional<MethodSetup>> SqlAutoTopUpStore::find_setup(
    std::string_view id) {
  using Found = std::optional<MethodSetup>;
  return read<Found>("find setup", [&](Connection& connection) -> Found {
    const Rows rows = connection.run(select_setup, {id});
    if (rows.empty()) return std::nullopt;
    return setup_at(rows, 0);
  });
}

SqlAutoTopUpStore::Answer<std::vector<MethodSetup>> SqlAutoTopUpStore::setups(
    std::string_view account_id, std::uint32_t limit) {
  return read<std::vector<MethodSetup>>("list setups", [&](Connection& connection) {
    return setups_of(connection.run(select_setups, {account_id, std::int64_t{limit}}));
  });
}

SqlAutoTopUpStore::Answer<std::optional<MethodSetup>> SqlAutoTopUpStore::advance_setup(
    const MethodSetup& next, std::int64_t due_ms) {
  using Advanced = std::optional<MethodSetup>;
  return change<Advanced>("advance setup", [&](Transaction& transaction) -> Answer<Advanced> {
    const Rows locked = transaction.run(lock_setup, {next.id, next.version});
    if (locked.empty()) return Advanced{};
    const std::int64_t now_ms = context_.now_ms(transaction);
    if (!next.customer.empty()) {
      transaction.run(insert_setup_customer, {next.account_id, next.processor, next.customer});
    }
    const bool is_hinted = locked.number(0, 0) != next.hints;
    const SavedMethod& method = next.method;
    const Rows written = transaction.run(
        update_setup,
        {commerce::name_of(next.standing), next.reference, next.url, next.customer,
         next.begin_number, method.reference, method.brand, method.last4, method.fingerprint,
         std::int64_t{method.expires_month}, std::int64_t{method.expires_year},
         std::int64_t{next.is_gone}, next.failure_code, next.looks, is_hinted ? 0 : due_ms,
         next.expires_at_ms, commerce::name_of(next.removal), next.id});
    if (next.is_gone) pause_without_method(context_, transaction, next, now_ms);
    return Advanced{setup_at(written, 0)};
  });
}

SqlAutoTopUpStore::Answer<std::string> SqlAutoTopUpStore::keep_setup_reply(
    std::string_view id, std::string_view reply) {
  return change<std::string>("keep reply of setup",
                             [&](Transaction& transaction) -> Answer<std::string> {
    const Rows kept = transaction.run(update_setup_reply, {reply, id});
    if (!kept.empty()) return kept.text(0, 0);
    return base::Error{ErrorCode::auto_reload_setup_not_found, "There is no such setup."};
  });
}

SqlAutoTopUpStore::Answer<MethodSetup> SqlAutoTopUpStore::remove_method(
    std::string_view account_id, std::string_view id, const identity::Actor& actor) {
  return change<MethodSetup>("remove method", [&](Transaction& transaction) -> Answer<MethodSetup> {
    // Locks the account's row. A method may be removed whatever the account's status is.
    (void)why_not_given(transaction, account_id);
    if (auto why = why_not_allowed(transaction, account_id, actor, identity::Role::admin)) {
      return *std::move(why);
    }
    const Rows removed = transaction.run(remove_setup, {id, account_id});
    if (removed.empty()) {
      const Rows found = transaction.run(select_setup, {id});
      if (found.empty() || setup_at(found, 0).account_id != account_id) {
        return base::Error{ErrorCode::auto_reload_setup_not_found,
                           "The billing account has no payment-method setup with this id."};
      }
      MethodSetup setup = setup_at(found, 0);
      if (setup.removal != commerce::Removal::none) return setup;
      return base::Error{ErrorCode::auto_reload_method_conflict,
                         "This setup has saved no method of payment that could be removed."};
    }
    MethodSetup setup = setup_at(removed, 0);
    pause_without_method(context_, transaction, setup, context_.now_ms(transaction));
    write_audit(context_, transaction,
                {.actor = actor,
                 .account_id = std::string(account_id),
                 .action = "payment_method.remove",
                 .target = setup.id,
                 .detail = setup.processor});
    return setup;
  });
}

SqlAutoTopUpStore::Answer<std::vector<MethodSetup>> SqlAutoTopUpStore::take_due_setups(
    std::int64_t lease_ms, std::uint32_t limit) {
  using List = std::vector<MethodSetup>;
  return change<List>("take due setups", [&](Transaction& transaction) -> Answer<List> {
    const std::int64_t now_ms = context_.now_ms(transaction);
    const bool is_sqlite = context_.database.engine() == Engine::sqlite;
    return setups_of(transaction.run(is_sqlite ? take_due_setups_sqlite : take_due_setups_postgres,
                                     {now_ms + lease_ms, now_ms, std::int64_t{limit}}));
  });
}

}  // namespace turnpike::storage

#include "storage/purchases/auto_top_up_store.h"

#include "storage/books/allocation_rows.h"
#include "storage/people/audit_rows.h"
#include "storage/purchases/auto_top_up_rows.h"
#include "storage/purchases/purchase_rows.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using commerce::AutoTopUp;
using commerce::NewPolicy;
using commerce::Policy;
using commerce::TopUpStanding;
using commerce::TopUpState;
using commerce::WrittenPolicy;

constexpr Query select_policies{"SELECT " POLICY_COLUMNS
                                " FROM top_up_policy WHERE account_id = $1"
                                " ORDER BY revision DESC LIMIT $2",
                                policy_kinds};
constexpr Query select_policy_by_key{
    "SELECT " POLICY_COLUMNS ", request_digest FROM top_up_policy WHERE account_id = $1"
    " AND key_digest = $2",
    "tiiitiiittit"};
constexpr std::size_t digest_column = 11;
constexpr Query insert_policy{
    "INSERT INTO top_up_policy (account_id, revision, is_enabled, threshold, currency, minor,"
    " credits, monthly_limit_minor, setup_id, created_by, created_at, key_digest, request_digest)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"};
constexpr Query set_top_up{
    "INSERT INTO top_up (account_id, revision, state, reason, failures, next_attempt_at,"
    " changed_at) VALUES ($1, $2, $3, '', 0, 0, $4) ON CONFLICT (account_id) DO UPDATE SET"
    " revision = $2, state = $3, reason = '', failures = 0, next_attempt_at = 0, changed_at = $4"};
constexpr Query select_top_up_standing{
    "SELECT state, reason, failures, next_attempt_at, changed_at FROM top_up"
    " WHERE account_id = $1",
    "ttiii"};
constexpr Query select_method{"SELECT " SETUP_COLUMNS " FROM payment_setup WHERE id = $1",
                              setup_kinds};
constexpr Query select_sums{
    "SELECT " BALANCE_OF("$1") " AS balance,"
    " CAST((SELECT COALESCE(SUM(credits), 0) FROM purchase WHERE account_id = $1"
    " AND (state = 'paid' OR (origin = 'auto_top_up' AND state IN ('created',"
    " 'awaiting_payment')))) AS BIGINT) AS pending,"
    " CAST((SELECT COALESCE(SUM(minor), 0) FROM purchase WHERE account_id = $1"
    " AND origin = 'auto_top_up' AND created_at >= $2"
    " AND state NOT IN ('failed', 'expired', 'cancelled')) AS BIGINT) AS spent",
    "iii"};
constexpr Query select_last_run{"SELECT " PURCHASE_COLUMNS
                                " FROM purchase WHERE account_id = $1 AND origin = 'auto_top_up'"
                                " ORDER BY created_at DESC, sequence DESC LIMIT 1",
                                purchase_kinds};
constexpr Query select_top_up_accounts{
    "SELECT account_id FROM top_up WHERE account_id > $1 AND (0 = $2 OR state IN"
    " ('paused_limit', 'paused_failure', 'needs_payment_method')) ORDER BY account_id LIMIT $3",
    "t"};
constexpr Query count_top_ups{
    "SELECT COALESCE(SUM(CASE WHEN state = 'active' THEN 1 ELSE 0 END), 0) AS active,"
    " COALESCE(SUM(CASE WHEN state IN ('paused_limit', 'paused_failure',"
    " 'needs_payment_method') THEN 1 ELSE 0 END), 0) AS paused FROM top_up",
    "ii"};

std::string summary_of(const Policy& policy) {
  if (!policy.is_enabled) return "off";
  return policy.currency + " " + commerce::amount_text(policy.minor) + " below " +
         std::to_string(policy.threshold) + " Credits, at most " +
         commerce::amount_text(policy.monthly_limit_minor) + " a month, by " + policy.setup_id;
}

// The reason why the policy cannot be turned on.
std::optional<base::Error> why_not_on(Transaction& transaction, const Policy& policy) {
  if (auto why = why_not_buying(transaction, policy.account_id)) return why;
  const Rows rows = transaction.run(select_method, {policy.setup_id});
  const bool is_there = !rows.empty() && setup_at(rows, 0).account_id == policy.account_id &&
                        setup_at(rows, 0).is_usable();
  if (is_there) return std::nullopt;
  return base::Error{ErrorCode::auto_reload_method_conflict,
                     "The account has no saved method of payment with this id that can be "
                     "charged: save one, and name it.",
                     0,
                     {{"/paymentMethodId", "it names no method that can be charged",
                       "Send the id of a payment-method setup whose state is succeeded."}}};
}

}  // namespace

AutoTopUp SqlAutoTopUpStore::look_in(Connection& connection, std::string_view account_id) const {
  AutoTopUp seen;
  seen.policy.account_id = account_id;
  const Rows policies = connection.run(select_policies, {account_id, std::int64_t{1}});
  if (!policies.empty()) seen.policy = policy_at(policies, 0);
  const Rows standing = connection.run(select_top_up_standing, {account_id});
  if (!standing.empty()) seen.standing = standing_at(standing, 0, 0);
  const std::int64_t month_ms = commerce::month_start_ms(context_.now_ms(connection));
  const Rows sums = connection.run(select_sums, {account_id, month_ms});
  seen.balance = sums.number(0, 0);
  seen.pending = sums.number(0, 1);
  seen.spent_minor = sums.number(0, 2);
  if (!seen.policy.setup_id.empty()) {
    const Rows method = connection.run(select_method, {seen.policy.setup_id});
    if (!method.empty()) seen.setup = setup_at(method, 0);
  }
  const Rows last = connection.run(select_last_run, {account_id});
  if (!last.empty()) seen.last_run = purchase_at(last, 0);
  return seen;
}

SqlAutoTopUpStore::Answer<AutoTopUp> SqlAutoTopUpStore::look(std::string_view account_id) {
  return read<AutoTopUp>("look at Auto Top-Up", [&](Connection& connection) {
    return look_in(connection, account_id);
  });
}

SqlAutoTopUpStore::Answer<std::vector<Policy>> SqlAutoTopUpStore::revisions(
    std::string_view account_id, std::uint32_t limit) {
  return read<std::vector<Policy>>("list policies", [&](Connection& connection) {
    const Rows rows = connection.run(select_policies, {account_id, std::int64_t{limit}});
    std::vector<Policy> list;
    for (std::size_t row = 0; row < rows.size(); ++row) list.push_back(policy_at(rows, row));
    return list;
  });
}

SqlAutoTopUpStore::Answer<WrittenPolicy> SqlAutoTopUpStore::replace(const NewPolicy& wanted,
                                                                    const identity::Actor& actor) {
  const std::string& account_id = wanted.policy.account_id;
  return change<WrittenPolicy>(
      "replace policy", [&](Transaction& transaction) -> Answer<WrittenPolicy> {
        // Locks the account's row: charges after this transaction see the new revision.
        if (auto why = why_not_given(transaction, account_id)) return *std::move(why);
        if (auto why = why_not_allowed(transaction, account_id, actor, identity::Role::admin)) {
          return *std::move(why);
        }
        const Rows earlier = transaction.run(select_policy_by_key, {account_id, wanted.key_digest});
        if (!earlier.empty()) {
          if (earlier.text(0, digest_column) == wanted.request_digest) {
            return WrittenPolicy{policy_at(earlier, 0), true};
          }
          return base::Error{ErrorCode::idempotency_conflict,
                             "This Idempotency-Key was used for another policy."};
        }
        const auto newest = newest_policy(transaction, account_id);
        const std::int64_t revision = newest ? newest->revision : 0;
        if (revision != wanted.expected_revision) {
          return base::Error{ErrorCode::auto_reload_revision_conflict,
                             "The newest revision is " + std::to_string(revision) +
                                 ", not the expected one: look at it, and decide again."};
        }
        if (wanted.problem) return *wanted.problem;
        if (wanted.policy.is_enabled) {
          if (auto why = why_not_on(transaction, wanted.policy)) return *std::move(why);
        }
        return WrittenPolicy{write_policy(transaction, wanted, revision + 1, actor), false};
      });
}

Policy SqlAutoTopUpStore::write_policy(Transaction& transaction, const NewPolicy& wanted,
                                       std::int64_t revision,
                                       const identity::Actor& actor) const {
  Policy policy = wanted.policy;
  policy.revision = revision;
  policy.created_by = actor.principal;
  policy.created_at_ms = context_.now_ms(transaction);
  transaction.run(insert_policy,
                  {policy.account_id, revision, std::int64_t{policy.is_enabled}, policy.threshold,
                   policy.currency, policy.minor, policy.credits, policy.monthly_limit_minor,
                   policy.setup_id, policy.created_by, policy.created_at_ms, wanted.key_digest,
                   wanted.request_digest});
  const TopUpState state = policy.is_enabled ? TopUpState::active : TopUpState::off;
  transaction.run(set_top_up, {policy.account_id, revision, commerce::name_of(state),
                               policy.created_at_ms});
  write_audit(context_, transaction,
              {.actor = actor,
               .account_id = policy.account_id,
               .action = "auto_top_up.replace",
               .target = std::to_string(revision),
               .detail = summary_of(policy)});
  return policy;
}

// ---- operators ----------------------------------------------------------------------------------

SqlAutoTopUpStore::Answer<std::vector<AutoTopUp>> SqlAutoTopUpStore::list(
    const commerce::AutoTopUpQuery& query) {
  using List = std::vector<AutoTopUp>;
  return read<List>("list Auto Top-Up", [&](Connection& connection) {
    const Rows accounts =
        connection.run(select_top_up_accounts, {query.after, std::int64_t{query.paused_only},
                                         std::int64_t{query.limit}});
    List list;
    for (std::size_t row = 0; row < accounts.size(); ++row) {
      list.push_back(look_in(connection, accounts.text(row, 0)));
    }
    return list;
  });
}

SqlAutoTopUpStore::Answer<std::optional<TopUpStanding>> SqlAutoTopUpStore::set_standing(
    std::string_view account_id, const identity::Actor& actor, const TopUpStanding& standing,
    std::string_view action) const {
  using Set = std::optional<TopUpStanding>;
  return change<Set>("set Auto Top-Up", [&](Transaction& transaction) -> Answer<Set> {
    if (why_not_given(transaction, account_id)) return Set{};
    const auto before = take_standing(transaction, account_id);
    if (!before || before->state == TopUpState::off) return Set{};
    TopUpStanding next = standing;
    next.changed_at_ms = context_.now_ms(transaction);
    write_standing(context_, transaction, account_id, *before, next);
    write_audit(context_, transaction,
                {.actor = actor,
                 .account_id = std::string(account_id),
                 .action = std::string(action),
                 .target = std::string(account_id),
                 .detail = "was " + std::string(commerce::name_of(before->state))});
    return Set{next};
  });
}

SqlAutoTopUpStore::Answer<std::optional<TopUpStanding>> SqlAutoTopUpStore::resume(
    std::string_view account_id, const identity::Actor& actor) {
  return set_standing(account_id, actor, {.state = TopUpState::active}, "auto_top_up.resume");
}

SqlAutoTopUpStore::Answer<std::optional<TopUpStanding>> SqlAutoTopUpStore::pause(
    std::string_view account_id, const identity::Actor& actor) {
  return set_standing(account_id, actor,
                      {.state = TopUpState::paused_failure, .reason = "operator"},
                      "auto_top_up.pause");
}

SqlAutoTopUpStore::Answer<commerce::AutoTopUpStore::Counts> SqlAutoTopUpStore::counts() {
  return read<Counts>("count Auto Top-Up", [&](Connection& connection) {
    const Rows rows = connection.run(count_top_ups);
    return Counts{rows.number(0, 0), rows.number(0, 1)};
  });
}

std::unique_ptr<commerce::AutoTopUpStore> make_auto_top_up_store(const Context& context) {
  return std::make_unique<SqlAutoTopUpStore>(context);
}

}  // namespace turnpike::storage

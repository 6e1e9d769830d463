#include "storage/books/allocation_rows.h"
#include "storage/purchases/auto_top_up_rows.h"
#include "storage/purchases/auto_top_up_store.h"
#include "storage/purchases/purchase_rows.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using commerce::MethodSetup;
using commerce::Offer;
using commerce::Policy;
using commerce::Purchase;
using commerce::RunFacts;
using commerce::RunRules;

constexpr std::int64_t runs_a_scan_max = 50;
constexpr std::int64_t day_of_runs_ms = 24 * 3'600'000ll;
constexpr std::int64_t look_again_ms = 60'000;

constexpr Query lease_scan{
    "UPDATE top_up_scan SET lease_until = $1 WHERE id = 1 AND lease_until <= $2 RETURNING id",
    "i"};
constexpr Query pause_unknown{
    "UPDATE top_up SET state = 'paused_failure', reason = 'charge_unknown', changed_at = $1"
    " WHERE state = 'active' AND EXISTS (SELECT 1 FROM purchase p"
    " WHERE p.account_id = top_up.account_id AND p.origin = 'auto_top_up'"
    " AND p.state = 'awaiting_payment' AND p.created_at < $2)"
    " RETURNING account_id, state, reason, failures, next_attempt_at, changed_at",
    "tttiii"};
// An account with an open run cannot start another.
constexpr Query select_low_accounts{
    "SELECT t.account_id FROM top_up t JOIN top_up_policy p ON p.account_id = t.account_id"
    " AND p.revision = t.revision WHERE t.state IN ('active', 'paused_limit')"
    " AND t.next_attempt_at <= $1 AND NOT EXISTS (SELECT 1 FROM purchase o"
    " WHERE o.account_id = t.account_id AND o.origin = 'auto_top_up'"
    " AND o.state IN ('created', 'awaiting_payment', 'paid'))"
    " AND " BALANCE_OF("t.account_id") " < p.threshold ORDER BY t.next_attempt_at LIMIT $2",
    "t"};
constexpr Query count_open_runs{
    "SELECT COUNT(*) FROM purchase WHERE account_id = $1 AND origin = 'auto_top_up'"
    " AND state IN ('created', 'awaiting_payment', 'paid')",
    "i"};
constexpr Query select_facts{
    "SELECT " BALANCE_OF("$1") " AS balance,"
    " CAST((SELECT COALESCE(SUM(credits), 0) FROM purchase WHERE account_id = $1"
    " AND state = 'paid') AS BIGINT) AS pending,"
    " CAST((SELECT COALESCE(SUM(minor), 0) FROM purchase WHERE account_id = $1"
    " AND origin = 'auto_top_up' AND created_at >= $2"
    " AND state NOT IN ('failed', 'expired', 'cancelled')) AS BIGINT) AS spent,"
    " (SELECT COUNT(*) FROM purchase WHERE account_id = $1 AND origin = 'auto_top_up'"
    " AND created_at > $3) AS runs_today,"
    " (SELECT COALESCE(MIN(created_at), 0) FROM purchase WHERE account_id = $1"
    " AND origin = 'auto_top_up' AND created_at > $3) AS oldest_today",
    "iiiii"};
// Counts declines of the card, whichever setup saved it.
constexpr Query count_card_declines{
    "SELECT COUNT(*) FROM purchase p JOIN payment_setup s ON s.id = p.setup_id"
    " WHERE p.account_id = $1 AND p.origin = 'auto_top_up' AND p.is_declined <> 0"
    " AND p.created_at > $2 AND (s.id = $3 OR ('' <> $4 AND s.fingerprint = $4))",
    "i"};
constexpr Query select_saved_method{"SELECT " SETUP_COLUMNS " FROM payment_setup WHERE id = $1",
                                    setup_kinds};
constexpr Query next_run{
    "UPDATE top_up SET runs = runs + 1 WHERE account_id = $1 RETURNING runs", "i"};
// Locks the row, as SELECT FOR UPDATE would, which SQLite lacks.
constexpr Query take_run{
    "UPDATE purchase SET version = version WHERE id = $1 AND version = $2"
    " AND state = 'awaiting_payment' RETURNING id",
    "t"};
constexpr Query number_charge{
    "UPDATE purchase SET charge_number = charge_number + 1, version = version + 1,"
    " lease_until = $1 WHERE id = $2"
    " RETURNING " PURCHASE_COLUMNS,
    purchase_kinds};

const Offer* offer_of(const RunRules& rules, std::string_view processor) {
  for (const Offer& offer : rules.offers) {
    if (offer.processor == processor) return &offer;
  }
  return nullptr;
}

RunFacts facts_of(Transaction& transaction, const Policy& policy,
                  const std::optional<MethodSetup>& setup, std::int64_t now_ms) {
  const Rows rows =
      transaction.run(select_facts, {policy.account_id, commerce::month_start_ms(now_ms),
                                     now_ms - day_of_runs_ms});
  RunFacts facts;
  facts.balance = rows.number(0, 0);
  facts.pending = rows.number(0, 1);
  facts.spent_minor = rows.number(0, 2);
  facts.runs_today = rows.number(0, 3);
  facts.oldest_today_ms = rows.number(0, 4);
  facts.may_buy = !why_not_buying(transaction, policy.account_id).has_value();
  facts.has_method = setup && setup->is_usable();
  if (facts.has_method) {
    facts.card_declines =
        transaction
            .run(count_card_declines, {policy.account_id, now_ms - commerce::card_window_ms,
                                       setup->id, setup->method.fingerprint})
            .number(0, 0);
  }
  return facts;
}

}  // namespace

SqlAutoTopUpStore::Answer<std::optional<std::vector<std::string>>> SqlAutoTopUpStore::take_scan(
    std::int64_t each_ms) const {
  using Low = std::optional<std::vector<std::string>>;
  return change<Low>("scan for few Credits", [&](Transaction& transaction) -> Answer<Low> {
    const std::int64_t now_ms = context_.now_ms(transaction);
    if (transaction.run(lease_scan, {now_ms + each_ms, now_ms}).empty()) return Low{};
    const Rows unknown =
        transaction.run(pause_unknown, {now_ms, now_ms - commerce::run_unknown_ms});
    for (std::size_t row = 0; row < unknown.size(); ++row) {
      tell_paused(context_, transaction, unknown.text(row, 0), standing_at(unknown, row, 1), {});
    }
    const Rows rows = transaction.run(select_low_accounts, {now_ms, runs_a_scan_max});
    std::vector<std::string> accounts;
    for (std::size_t row = 0; row < rows.size(); ++row) accounts.push_back(rows.text(row, 0));
    return Low{std::move(accounts)};
  });
}

SqlAutoTopUpStore::Answer<std::optional<std::uint32_t>> SqlAutoTopUpStore::open_runs(
    const RunRules& rules, std::int64_t each_ms) {
  using Opened = std::optional<std::uint32_t>;
  const auto low = take_scan(each_ms);
  if (!low.ok()) return low.error();
  if (!*low) return Opened{};
  std::uint32_t opened = 0;
  for (const std::string& account_id : **low) {
    const auto run = change<bool>("open a run", [&](Transaction& transaction) -> Answer<bool> {
      return open_run(transaction, account_id, rules);
    });
    if (!run.ok()) return run.error();
    if (*run) ++opened;
  }
  return Opened{opened};
}

bool SqlAutoTopUpStore::open_run(Transaction& transaction, std::string_view account_id,
                                 const RunRules& rules) const {
  // Locks the account: until the commit no other transaction opens or credits a run or changes the
  // policy.
  const bool is_closed = why_not_given(transaction, account_id).has_value();
  const auto policy = newest_policy(transaction, account_id);
  const auto standing = take_standing(transaction, account_id);
  if (!policy || !standing) return false;
  if (is_closed) {
    write_standing(context_, transaction, account_id, *standing, {.reason = "account_closed"});
    return false;
  }
  if (transaction.run(count_open_runs, {account_id}).number(0, 0) > 0) return false;
  const std::int64_t now_ms = context_.now_ms(transaction);
  std::optional<MethodSetup> setup;
  const Rows rows = transaction.run(select_saved_method, {policy->setup_id});
  if (!rows.empty()) setup = setup_at(rows, 0);
  const Offer* const offer = setup ? offer_of(rules, setup->processor) : nullptr;
  const RunFacts facts = facts_of(transaction, *policy, setup, now_ms);
  const auto decided =
      commerce::decide_run(*policy, *standing, facts, offer == nullptr ? nullptr : &offer->terms,
                           rules.settings, now_ms);
  commerce::TopUpStanding next = decided.standing;
  // Accounts that may not or need not run are postponed, so that they do not hide others from the
  // scan.
  if (!decided.credits && next == *standing) next.next_attempt_ms = now_ms + look_again_ms;
  if (next != *standing) write_standing(context_, transaction, account_id, *standing, next);
  if (!decided.credits) return false;
  const std::int64_t number = transaction.run(next_run, {account_id}).number(0, 0);
  commerce::NewPurchase run;
  run.account_id = account_id;
  run.origin = ledger::Origin::auto_top_up;
  run.offer_id = offer->id;
  run.currency = policy->currency;
  run.minor = policy->minor;
  run.credits = *decided.credits;
  run.validity_days = offer->terms.validity_days;
  run.processor = setup->processor;
  run.expires_at_ms = now_ms + commerce::run_unknown_ms;
  // Digests of callers' keys contain no space, so there is no collision.
  run.key_digest = "run " + std::to_string(policy->revision) + "." + std::to_string(number);
  run.policy_revision = policy->revision;
  run.setup_id = setup->id;
  run.saved_method = setup->method.reference;
  run.customer = setup->customer;
  insert_purchase(context_, transaction, run, {.principal = "system:auto-top-up"}, now_ms);
  return true;
}

SqlAutoTopUpStore::Answer<std::optional<Purchase>> SqlAutoTopUpStore::note_charge(
    const Purchase& run, std::int64_t lease_ms) {
  using Noted = std::optional<Purchase>;
  return change<Noted>("note charge", [&](Transaction& transaction) -> Answer<Noted> {
    (void)why_not_given(transaction, run.account_id);
    if (transaction.run(take_run, {run.id, run.version}).empty()) {
      return base::Error{ErrorCode::purchase_not_found, "The run has changed meanwhile."};
    }
    const auto policy = newest_policy(transaction, run.account_id);
    const Rows method = transaction.run(select_saved_method, {run.setup_id});
    const bool may_charge = policy && policy->is_enabled && !method.empty() &&
                            setup_at(method, 0).is_usable() &&
                            !why_not_buying(transaction, run.account_id).has_value();
    if (!may_charge) return Noted{};
    const std::int64_t now_ms = context_.now_ms(transaction);
    return Noted{purchase_at(transaction.run(number_charge, {now_ms + lease_ms, run.id}), 0)};
  });
}

}  // namespace turnpike::storage

#include "storage/purchases/auto_top_up_rows.h"

#include "storage/notifications/notice_rows.h"

namespace turnpike::storage {
namespace {

using commerce::MethodSetup;
using commerce::Policy;
using commerce::Purchase;
using commerce::RunEnd;
using commerce::State;
using commerce::TopUpStanding;

constexpr Query select_newest_policy{"SELECT " POLICY_COLUMNS
                                     " FROM top_up_policy WHERE account_id = $1"
                                     " ORDER BY revision DESC LIMIT 1",
                                     policy_kinds};
// Locks the row, as SELECT FOR UPDATE would, which SQLite lacks.
constexpr Query touch_top_up{
    "UPDATE top_up SET changed_at = changed_at WHERE account_id = $1"
    " RETURNING state, reason, failures, next_attempt_at, changed_at",
    "ttiii"};
constexpr Query update_top_up{
    "UPDATE top_up SET state = $1, reason = $2, failures = $3, next_attempt_at = $4,"
    " changed_at = $5 WHERE account_id = $6"};
constexpr Query mark_declined{"UPDATE purchase SET is_declined = 1 WHERE id = $1"};
constexpr Query hint_setup{
    "UPDATE payment_setup SET due_at = 0, hints = hints + 1 WHERE processor = $1 AND id = $2"
    " RETURNING id",
    "t"};
constexpr Query hint_setup_reference{
    "UPDATE payment_setup SET due_at = 0, hints = hints + 1 WHERE processor = $1"
    " AND reference = $2 AND reference <> '' RETURNING id",
    "t"};
constexpr Query hint_setup_method{
    "UPDATE payment_setup SET due_at = 0, hints = hints + 1 WHERE processor = $1 AND method = $2"
    " AND method <> '' RETURNING id",
    "t"};

// nullopt: the step does not affect the policy.
struct Ended {
  RunEnd end = RunEnd::credited;
  std::string_view code;
};
std::optional<Ended> end_of(const RunBefore& before, const Purchase& next) {
  const bool was_open = commerce::is_open(before.state);
  if (before.state != next.state) {
    if (next.state == State::credited && !commerce::was_paid(before.state)) {
      return Ended{RunEnd::credited, {}};
    }
    if (next.state == State::disputed) return Ended{RunEnd::money_back, "disputed"};
    if (next.state == State::failed && was_open) {
      const bool is_unanswered = next.failure_code == "processor_unanswered";
      return Ended{is_unanswered ? RunEnd::unanswered : RunEnd::declined, next.failure_code};
    }
    // Expired and cancelled runs do not lead to another attempt, whatever is written here.
    if (next.state == State::expired || next.state == State::cancelled) {
      return Ended{RunEnd::unanswered, next.failure_code};
    }
  }
  if (next.refunded_minor > before.refunded_minor) return Ended{RunEnd::money_back, "refunded"};
  return std::nullopt;
}

}  // namespace

MethodSetup setup_at(const Rows& rows, std::size_t row) {
  MethodSetup setup;
  setup.id = rows.text(row, 0);
  setup.account_id = rows.text(row, 1);
  setup.processor = rows.text(row, 2);
  const auto standing = commerce::setup_standing(rows.text(row, 3));
  if (!standing) throw StoreError(StoreError::Kind::fatal, "a setup of unknown state");
  setup.standing = *standing;
  setup.version = rows.number(row, 4);
  setup.created_by = rows.text(row, 5);
  setup.reference = rows.text(row, 6);
  setup.url = rows.text(row, 7);
  setup.customer = rows.text(row, 8);
  setup.reply = rows.text(row, 9);
  setup.begin_number = rows.number(row, 10);
  setup.method.reference = rows.text(row, 11);
  setup.method.brand = rows.text(row, 12);
  setup.method.last4 = rows.text(row, 13);
  setup.method.fingerprint = rows.text(row, 14);
  setup.method.expires_month = static_cast<int>(rows.number(row, 15));
  setup.method.expires_year = static_cast<int>(rows.number(row, 16));
  setup.is_gone = rows.number(row, 17) != 0;
  setup.failure_code = rows.text(row, 18);
  setup.looks = rows.number(row, 19);
  setup.hints = rows.number(row, 20);
  setup.due_ms = rows.number(row, 21);
  setup.created_at_ms = rows.number(row, 22);
  setup.expires_at_ms = rows.number(row, 23);
  const auto removal = commerce::removal(rows.text(row, 24));
  if (!removal) throw StoreError(StoreError::Kind::fatal, "a setup of unknown removal");
  setup.removal = *removal;
  return setup;
}

Policy policy_at(const Rows& rows, std::size_t row) {
  Policy policy;
  policy.account_id = rows.text(row, 0);
  policy.revision = rows.number(row, 1);
  policy.is_enabled = rows.number(row, 2) != 0;
  policy.threshold = rows.number(row, 3);
  policy.currency = rows.text(row, 4);
  policy.minor = rows.number(row, 5);
  policy.credits = rows.number(row, 6);
  policy.monthly_limit_minor = rows.number(row, 7);
  policy.setup_id = rows.text(row, 8);
  policy.created_by = rows.text(row, 9);
  policy.created_at_ms = rows.number(row, 10);
  return policy;
}

std::optional<Policy> newest_policy(Transaction& transaction, std::string_view account_id) {
  const Rows rows = transaction.run(select_newest_policy, {account_id});
  if (rows.empty()) return std::nullopt;
  return policy_at(rows, 0);
}

TopUpStanding standing_at(const Rows& rows, std::size_t row, std::size_t column) {
  const auto state = commerce::top_up_state(rows.text(row, column));
  if (!state) throw StoreError(StoreError::Kind::fatal, "an Auto Top-Up of unknown state");
  return {*state, rows.text(row, column + 1), rows.number(row, column + 2),
          rows.number(row, column + 3), rows.number(row, column + 4)};
}

std::optional<TopUpStanding> take_standing(Transaction& transaction, std::string_view account_id) {
  const Rows rows = transaction.run(touch_top_up, {account_id});
  if (rows.empty()) return std::nullopt;
  return standing_at(rows, 0, 0);
}

void write_standing(const Context& context, Transaction& transaction, std::string_view account_id,
                    const TopUpStanding& before, const TopUpStanding& next,
                    std::string_view run_id) {
  transaction.run(update_top_up, {commerce::name_of(next.state), next.reason, next.failures,
                                  next.next_attempt_ms, next.changed_at_ms, account_id});
  const bool becomes_paused = commerce::is_paused(next.state) && before.state != next.state;
  if (becomes_paused) tell_paused(context, transaction, account_id, next, run_id);
}

void tell_paused(const Context& context, Transaction& transaction, std::string_view account_id,
                 const TopUpStanding& standing, std::string_view run_id) {
  notices::AutoTopUpPaused event;
  event.account_id = account_id;
  event.state = commerce::name_of(standing.state);
  event.reason = standing.reason;
  event.purchase_id = run_id;
  event.paused_at_ms = standing.changed_at_ms;
  const std::string data = notices::data_of(event);
  const std::string key = "auto_top_up " + event.state + " " +
                          std::to_string(standing.changed_at_ms);
  write_notice(context, transaction,
               {.account_id = account_id,
                .type = notices::EventType::auto_top_up_paused,
                .data = data,
                .dedupe_key = key,
                .happened_at_ms = standing.changed_at_ms});
}

void follow_run(const Context& context, Transaction& transaction, const RunBefore& before,
                const commerce::Step& step, std::int64_t now_ms) {
  const Purchase& run = step.next;
  const auto ended = end_of(before, run);
  if (!ended) return;
  if (ended->end == RunEnd::declined) transaction.run(mark_declined, {run.id});
  const auto standing = take_standing(transaction, run.account_id);
  if (!standing) return;
  const auto policy = newest_policy(transaction, run.account_id);
  // A failure of a former method does not affect the current one; and a policy that was turned off
  // and on again does not wait for unanswered runs of the earlier revision.
  const bool is_of_method = policy && policy->setup_id == run.setup_id;
  const bool is_of_policy = policy && policy->revision == run.policy_revision;
  if (ended->end == RunEnd::unanswered && !is_of_policy) return;
  if (ended->end != RunEnd::money_back && !is_of_method) return;
  write_standing(context, transaction, run.account_id, *standing,
                 commerce::after_run(*standing, ended->end, step.decline, ended->code,
                                     step.failures_max, now_ms),
                 run.id);
}

std::uint32_t hint_setups(Transaction& transaction, std::string_view processor, const Hint& hint) {
  const auto count = [&](const Query& query) {
    return static_cast<std::uint32_t>(transaction.run(query, {processor, hint.id}).size());
  };
  switch (hint.of) {
    case Hint::Of::setup: return count(hint_setup);
    case Hint::Of::reference: return count(hint_setup_reference);
    case Hint::Of::method: return count(hint_setup_method);
    case Hint::Of::purchase:
    case Hint::Of::payment: break;
  }
  return 0;
}

}  // namespace turnpike::storage

#include "storage/leases.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ledger/draw.h"

namespace turnpike::storage {
namespace {

using ledger::Credits;
using ledger::Drawable;
using ledger::LeaseAnswer;
using ledger::LeaseGrant;
using ledger::LeaseRequest;

#define DRAWABLE                                                                     \
  " AND remaining > 0 AND state = 'open' AND effective_at <= $2 AND expires_at > $2" \
  " ORDER BY id"
constexpr Query select_drawable_sqlite{
    "SELECT id, account_id, remaining, created_at, expires_at FROM allocation"
    " WHERE account_id IN (SELECT value FROM json_each($1))" DRAWABLE,
    "ttiii"};
constexpr Query select_drawable_postgres{
    "SELECT id, account_id, remaining, created_at, expires_at FROM allocation"
    " WHERE account_id IN (SELECT json_array_elements_text($1::json))" DRAWABLE " FOR UPDATE",
    "ttiii"};
#undef DRAWABLE
constexpr Query select_epoch{"SELECT value FROM counter WHERE name = 'ledger_epoch'", "i"};
constexpr Query take_units{
    "UPDATE allocation SET remaining = remaining - $1 WHERE id = $2 AND remaining >= $1"
    " RETURNING id",
    "t"};
constexpr Query grant_lease{
    "INSERT INTO lease (allocation_id, account_id, incarnation, purpose, epoch, granted,"
    " hold_until, settle_until) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
    " ON CONFLICT (allocation_id, incarnation, purpose) WHERE state = 'open' DO UPDATE SET"
    " granted = lease.granted + excluded.granted, hold_until = excluded.hold_until,"
    " settle_until = CASE WHEN lease.settle_until > excluded.settle_until"
    " THEN lease.settle_until ELSE excluded.settle_until END"
    " RETURNING id, epoch",
    "ii"};
constexpr Query insert_posting{
    "INSERT INTO posting (at, account_id, allocation_id, lease_id, from_book, to_book, units)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)"};
constexpr Query select_leased{
    "SELECT CAST(COALESCE(SUM(l.granted - l.settled), 0) AS BIGINT) AS leased FROM lease l"
    " JOIN allocation a ON a.id = l.allocation_id"
    " WHERE l.account_id = $1 AND l.state = 'open' AND a.expires_at > $2",
    "i"};
constexpr Query lock_allocation_of{
    "UPDATE allocation SET remaining = remaining"
    " WHERE id = (SELECT allocation_id FROM lease WHERE id = $1) RETURNING id",
    "t"};
constexpr Query select_allocation_of{
    "SELECT allocation_id FROM lease WHERE id = $1 AND epoch = $2 AND state = 'open'", "t"};
constexpr Query close_lease{
    "UPDATE lease SET state = 'closed' WHERE id = $1 AND epoch = $2 AND state = 'open'"
    " RETURNING account_id, allocation_id, granted - settled AS unsettled",
    "tti"};
constexpr Query give_back{"UPDATE allocation SET remaining = remaining + $1 WHERE id = $2"};
constexpr Query select_expired{
    "SELECT id, account_id, remaining FROM allocation"
    " WHERE expires_at <= $1 AND remaining > 0 ORDER BY id LIMIT 1000",
    "tti"};
constexpr Query post_expired{
    "UPDATE allocation SET remaining = 0, expired = expired + $1 WHERE id = $2 AND remaining = $1"
    " RETURNING id",
    "t"};

std::vector<Drawable> drawables(Transaction& transaction, Engine engine,
                                std::span<const LeaseRequest> requests, std::int64_t now_ms) {
  nlohmann::json accounts = nlohmann::json::array();
  for (const LeaseRequest& request : requests) accounts.push_back(request.account_id);
  const Rows rows =
      transaction.run(engine == Engine::sqlite ? select_drawable_sqlite : select_drawable_postgres,
                      {accounts.dump(), now_ms});
  std::vector<Drawable> all;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    all.push_back({rows.text(row, 0), rows.text(row, 1), rows.number(row, 2), rows.number(row, 3),
                   rows.number(row, 4)});
  }
  std::sort(all.begin(), all.end(), [](const Drawable& left, const Drawable& right) {
    if (left.account_id != right.account_id) return left.account_id < right.account_id;
    return ledger::drawn_before(left, right);
  });
  return all;
}

std::span<Drawable> of_account(std::vector<Drawable>& all, const std::string& account_id) {
  const auto first =
      std::lower_bound(all.begin(), all.end(), account_id,
                       [](const Drawable& each, const auto& id) { return each.account_id < id; });
  auto last = first;
  while (last != all.end() && last->account_id == account_id) ++last;
  return {first, last};
}

LeaseGrant grant(Transaction& transaction, const LeaseOwner& owner, const LeaseRequest& request,
                 const Drawable& from, Credits units, std::int64_t epoch, std::int64_t now_ms) {
  if (transaction.run(take_units, {units, from.allocation_id}).empty()) {
    throw StoreError(StoreError::Kind::unavailable, "an allocation changed while it was locked");
  }
  const std::int64_t hold_until = std::min(now_ms + request.hold_ms, from.expires_at_ms);
  // Expiry ends new holds alone: what was admitted before it may settle after it.
  const std::int64_t settle_until = now_ms + request.settle_ms;
  const Rows lease =
      transaction.run(grant_lease, {from.allocation_id, from.account_id, owner.incarnation,
                                    owner.purpose, epoch, units, hold_until, settle_until});
  const std::int64_t lease_id = lease.number(0, 0);
  transaction.run(insert_posting, {now_ms, from.account_id, from.allocation_id, lease_id,
                                   "available", "escrow", units});
  return {
      lease_id, lease.number(0, 1),  from.allocation_id,   from.created_at_ms, from.expires_at_ms,
      units,    hold_until - now_ms, settle_until - now_ms};
}

LeaseAnswer answer(Transaction& transaction, const LeaseOwner& owner, const LeaseRequest& request,
                   std::span<Drawable> from, std::int64_t epoch, std::int64_t now_ms) {
  LeaseAnswer answer;
  for (const Drawable& each : from) answer.spendable += each.remaining;
  const Credits units = ledger::lease_units(request.needed, request.wanted, answer.spendable);
  for (const ledger::Draw& draw : ledger::plan_draws(from, units)) {
    answer.grants.push_back(
        grant(transaction, owner, request, from[draw.index], draw.units, epoch, now_ms));
    from[draw.index].remaining -= draw.units;  // for a second request of the same account
  }
  answer.spendable -= units;
  if (units < request.needed) {  // only then the refusal depends on it
    answer.leased = transaction.run(select_leased, {request.account_id, now_ms}).number(0, 0);
  }
  return answer;
}

}  // namespace

std::vector<LeaseAnswer> acquire_leases(const Context& context, Transaction& transaction,
                                        const LeaseOwner& owner,
                                        std::span<const LeaseRequest> requests) {
  const std::int64_t now_ms = ledger_now_ms(context, transaction);
  const std::int64_t epoch = transaction.run(select_epoch).number(0, 0);
  std::vector<Drawable> all = drawables(transaction, context.database.engine(), requests, now_ms);
  std::vector<LeaseAnswer> answers;
  answers.reserve(requests.size());
  for (const LeaseRequest& request : requests) {
    answers.push_back(
        answer(transaction, owner, request, of_account(all, request.account_id), epoch, now_ms));
  }
  return answers;
}

std::uint32_t close_leases(Transaction& transaction, std::span<const ledger::LeaseReturn> leases,
                           std::int64_t now_ms) {
  struct Closing {
    std::string allocation_id;
    ledger::LeaseReturn lease;
  };
  std::vector<Closing> closing;
  for (const ledger::LeaseReturn& lease : leases) {
    const Rows rows = transaction.run(select_allocation_of, {lease.lease_id, lease.epoch});
    if (!rows.empty()) closing.push_back({rows.text(0, 0), lease});
  }
  std::sort(closing.begin(), closing.end(), [](const Closing& left, const Closing& right) {
    return left.allocation_id < right.allocation_id;
  });
  for (const Closing& each : closing) transaction.run(lock_allocation_of, {each.lease.lease_id});
  std::uint32_t closed = 0;
  for (const Closing& each : closing) {
    const Rows row = transaction.run(close_lease, {each.lease.lease_id, each.lease.epoch});
    if (row.empty()) continue;
    ++closed;
    const Credits unsettled = row.number(0, 2);
    if (unsettled == 0) continue;
    transaction.run(give_back, {unsettled, row.text(0, 1)});
    transaction.run(insert_posting, {now_ms, row.text(0, 0), row.text(0, 1), each.lease.lease_id,
                                     "escrow", "available", unsettled});
  }
  return closed;
}

std::uint32_t expire_allocations(Transaction& transaction, std::int64_t now_ms) {
  const Rows rows = transaction.run(select_expired, {now_ms});
  std::uint32_t expired = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Credits remaining = rows.number(row, 2);
    if (transaction.run(post_expired, {remaining, rows.text(row, 0)}).empty()) continue;
    ++expired;
    transaction.run(insert_posting, {now_ms, rows.text(row, 1), rows.text(row, 0), std::int64_t{0},
                                     "available", "expired", remaining});
  }
  return expired;
}

}  // namespace turnpike::storage

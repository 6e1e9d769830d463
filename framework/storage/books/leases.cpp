#include "storage/books/leases.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "ledger/escrow/draw.h"
#include "storage/books/charges.h"
#include "storage/books/key_windows.h"
#include "storage/engine/row_text.h"

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
    " WHERE account_id = ANY (ARRAY(SELECT json_array_elements_text($1::json)))" DRAWABLE
    " FOR UPDATE",
    "ttiii"};
#undef DRAWABLE
#define LEASED                                                                            \
  "SELECT n.account_id, CAST(SUM(n.granted - n.settled) AS BIGINT) AS units FROM lease l" \
  " JOIN lease_now n ON n.id = l.id WHERE l.account_id "
#define BY_OTHERS " AND l.incarnation <> $2 AND l.state = 'open' GROUP BY n.account_id"
constexpr Query select_others_sqlite{LEASED "IN (SELECT value FROM json_each($1))" BY_OTHERS, "ti"};
constexpr Query select_others_postgres{
    LEASED "= ANY (ARRAY(SELECT json_array_elements_text($1::json)))" BY_OTHERS, "ti"};
#undef LEASED
#undef BY_OTHERS
constexpr Query take_units{
    "UPDATE allocation SET remaining = remaining - $1 WHERE id = $2 AND remaining >= $1"
    " RETURNING id",
    "t"};
constexpr Query grant_lease{
    "INSERT INTO lease (allocation_id, account_id, incarnation, purpose, key_id, day, epoch,"
    " granted, hold_until, settle_until) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
    " ON CONFLICT (allocation_id, incarnation, purpose, key_id, day) WHERE state = 'open'"
    " DO UPDATE SET"
    " granted = lease.granted + excluded.granted, hold_until = excluded.hold_until,"
    " settle_until = CASE WHEN lease.settle_until > excluded.settle_until"
    " THEN lease.settle_until ELSE excluded.settle_until END"
    " RETURNING id, epoch, granted - settled AS unsettled",
    "iii"};
// All steps of every draw in one round trip.
constexpr Query call_grant_leases{
    "SELECT lease_id, lease_epoch, unsettled FROM grant_leases_v1($1, $2, $3, $4, $5::json)",
    "iii"};
constexpr Query select_unsettled{
    "SELECT granted - settled AS unsettled FROM lease_now WHERE id = $1", "i"};
constexpr Query select_renewable{
    "SELECT a.expires_at, l.day FROM lease l JOIN allocation a ON a.id = l.allocation_id"
    " WHERE l.id = $1 AND l.epoch = $2 AND l.state = 'open' AND a.state = 'open'",
    "ii"};
constexpr Query renew_lease{
    "UPDATE lease SET hold_until = $1,"
    " settle_until = CASE WHEN settle_until > $2 THEN settle_until ELSE $2 END"
    " WHERE id = $3 AND epoch = $4 AND state = 'open' RETURNING id",
    "i"};
constexpr Query insert_posting{
    "INSERT INTO posting (at, account_id, allocation_id, lease_id, from_book, to_book, units)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7)"};
// One statement, so one snapshot: units that move between the two sums are counted once.
constexpr Query select_reach{
    "SELECT CAST((SELECT COALESCE(SUM(remaining), 0) FROM allocation WHERE account_id = $1"
    " AND state = 'open' AND effective_at <= $2 AND expires_at > $2)"
    " + (SELECT COALESCE(SUM(l.granted - l.settled), 0) FROM lease_now l"
    " JOIN allocation a ON a.id = l.allocation_id WHERE l.account_id = $1 AND l.state = 'open'"
    " AND a.state = 'open' AND a.expires_at > $2) AS BIGINT) AS reach",
    "i"};
constexpr Query upsert_recall{
    "INSERT INTO recall (account_id, incarnation, key_id, until_ms) VALUES ($1, $2, $3, $4)"
    " ON CONFLICT (account_id, incarnation, key_id) DO UPDATE SET until_ms = excluded.until_ms"};
constexpr Query select_place{
    "SELECT allocation_id, incarnation FROM lease WHERE id = $1 AND epoch = $2 AND state = 'open'",
    "ti"};
constexpr Query lock_allocation{
    "UPDATE allocation SET remaining = remaining WHERE id = $1 RETURNING account_id, remaining,"
    " state",
    "tit"};
constexpr Query close_lease{
    "UPDATE lease SET state = 'closed' WHERE id = $1 AND epoch = $2 AND state = 'open'"
    " RETURNING account_id, allocation_id, key_id, day, granted - settled AS unsettled",
    "tttii"};
constexpr Query shrink_closed{"UPDATE lease SET granted = granted - $1 WHERE id = $2"};
constexpr Query shrink_lease{
    "UPDATE lease SET granted = granted - $1 WHERE id = $2 AND epoch = $3 AND state = 'open'"
    " AND settled + $1 <= granted RETURNING account_id, allocation_id, key_id, day",
    "ttti"};
constexpr Query return_units{
    "UPDATE allocation SET"
    " remaining = remaining + CASE WHEN state = 'open' THEN CAST($1 AS BIGINT) ELSE 0 END,"
    " voided = voided + CASE WHEN state = 'open' THEN 0 ELSE CAST($1 AS BIGINT) END"
    " WHERE id = $2 RETURNING state",
    "t"};
constexpr Query begin_void{
    "UPDATE allocation SET state = 'voiding', voided = voided + remaining, remaining = 0"
    " WHERE id = $1"};
constexpr Query void_units{
    "UPDATE allocation SET voided = voided + $1, remaining = remaining - $1 WHERE id = $2"};
// Only after the last lease is closed: until then calls that hold units of the allocation may
// settle.
constexpr Query end_void{
    "UPDATE allocation SET state = 'voided' WHERE id = $1 AND state = 'voiding' AND NOT EXISTS"
    " (SELECT 1 FROM lease WHERE allocation_id = $1 AND state = 'open')"};
constexpr Query select_expired{
    "SELECT id, account_id, remaining FROM allocation"
    " WHERE expires_at <= $1 AND remaining > 0 ORDER BY id LIMIT 1000",
    "tti"};
constexpr Query post_expired{
    "UPDATE allocation SET remaining = 0, expired = expired + $1 WHERE id = $2 AND remaining = $1"
    " RETURNING id",
    "t"};

// Long enough for the next heartbeat of every node, even a late one.
constexpr std::int64_t recall_ms = 750;

std::string accounts_json(std::span<const LeaseRequest> requests) {
  nlohmann::json accounts = nlohmann::json::array();
  for (const LeaseRequest& request : requests) accounts.push_back(request.account_id);
  return accounts.dump();
}

std::vector<Drawable> drawables(Transaction& transaction, Engine engine,
                                const std::string& accounts, std::int64_t now_ms) {
  const Rows rows =
      transaction.run(engine == Engine::sqlite ? select_drawable_sqlite : select_drawable_postgres,
                      {accounts, now_ms});
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

// The time until which new holds may be taken: at most the allocation's expiry, and at most the end
// of the day in which a capped key's units count. Only new holds end: admitted calls may settle
// later.
std::int64_t hold_until(const LeaseRequest& request, std::int64_t expires_at_ms, std::int64_t day,
                        std::int64_t now_ms) {
  const std::int64_t until = std::min(now_ms + request.hold_ms, expires_at_ms);
  return day == 0 ? until : std::min(until, ledger::utc_day(day).ends_at_ms);
}

// The requests of one transaction.
class Acquisition {
 public:
  Acquisition(const Context& context, Transaction& transaction, const LeaseOwner& owner,
              std::span<const LeaseRequest> requests)
      : transaction_(transaction),
        engine_(context.database.engine()),
        owner_(owner),
        now_ms_(ledger_now_ms(context, transaction)),
        epoch_(transaction.run(select_ledger_epoch).number(0, 0)),
        accounts_(accounts_json(requests)),
        drawables_(drawables(transaction, engine_, accounts_, now_ms_)),
        windows_(transaction, requests, now_ms_) {}

  std::vector<LeaseAnswer> answer(std::span<const LeaseRequest> requests) {
    std::vector<bool> is_short;
    for (const LeaseRequest& request : requests) is_short.push_back(!plan(request));
    std::vector<LeaseAnswer> answers(requests.size());
    const std::vector<Booked> booked = engine_ == Engine::sqlite ? book_each() : book_all();
    for (std::size_t at = 0; at < draws_.size(); ++at) {
      const std::size_t request = static_cast<std::size_t>(draws_[at].request - requests.data());
      answers[request].grants.push_back(grant(draws_[at], booked[at]));
    }
    for (std::size_t at = 0; at < requests.size(); ++at) {
      for (const ledger::LeaseReturn& lease : requests[at].renews) {
        renew(requests[at], lease, answers[at]);
      }
      if (is_short[at]) answers[at].shortage = shortage(requests[at]);
    }
    tell_the_rest(requests, answers);
    return answers;
  }

 private:
  // Units drawn from an allocation for a lease, or for a part of one.
  struct LeaseDraw {
    const LeaseRequest* request = nullptr;
    const Drawable* from = nullptr;
    Credits units = 0;
    std::int64_t day = 0;
    std::int64_t hold_until_ms = 0;
    std::int64_t settle_until_ms = 0;
  };
  struct Booked {
    std::int64_t lease_id = 0;
    std::int64_t epoch = 0;
    Credits unsettled = 0;
  };

  // False: not all calls of the request are paid.
  bool plan(const LeaseRequest& request) {
    const std::span<Drawable> from = of_account(drawables_, request.account_id);
    Credits untaken = 0;
    for (const Drawable& each : from) untaken += each.remaining;
    untaken = std::min(untaken, windows_.room(request.key_id));
    const Credits asked = std::accumulate(request.calls.begin(), request.calls.end(), Credits{0});
    const Credits paid = ledger::whole_calls(request.calls, request.free + untaken);
    // If some calls are unpaid and wait for other nodes' units, take no more than the paid calls
    // need.
    const Credits units = ledger::lease_units(std::max<Credits>(0, paid - request.free),
                                              paid < asked ? 0 : request.wanted, untaken);
    const std::int64_t day = windows_.day(request.key_id);
    for (const ledger::Draw& draw : ledger::plan_draws(from, units)) {
      Drawable& allocation = from[draw.index];
      allocation.remaining -= draw.units;  // a second request may be of the same account
      draws_.push_back({&request, &allocation, draw.units, day,
                        hold_until(request, allocation.expires_at_ms, day, now_ms_),
                        now_ms_ + request.settle_ms});
    }
    windows_.take(request.key_id, units);
    return paid == asked;
  }

  std::vector<Booked> book_each() {
    std::vector<Booked> booked;
    for (const LeaseDraw& draw : draws_) {
      const Drawable& from = *draw.from;
      if (transaction_.run(take_units, {draw.units, from.allocation_id}).empty()) {
        throw StoreError(StoreError::Kind::unavailable,
                         "an allocation changed while it was locked");
      }
      const Rows lease =
          transaction_.run(grant_lease, {from.allocation_id, from.account_id, owner_.incarnation,
                                         owner_.purpose, draw.request->key_id, draw.day, epoch_,
                                         draw.units, draw.hold_until_ms, draw.settle_until_ms});
      transaction_.run(insert_posting, {now_ms_, from.account_id, from.allocation_id,
                                        lease.number(0, 0), "available", "escrow", draw.units});
      booked.push_back({lease.number(0, 0), lease.number(0, 1), lease.number(0, 2)});
    }
    return booked;
  }

  std::vector<Booked> book_all() {
    if (draws_.empty()) return {};
    std::string text = "[";
    for (const LeaseDraw& draw : draws_) {
      RowText row(text);
      row.add('a', draw.from->allocation_id);
      row.add('c', draw.from->account_id);
      row.add('k', draw.request->key_id);
      row.add('d', draw.day);
      row.add('u', draw.units);
      row.add('h', draw.hold_until_ms);
      row.add('s', draw.settle_until_ms);
    }
    close_array(text);
    const Rows leases = transaction_.run(
        call_grant_leases, {now_ms_, owner_.incarnation, owner_.purpose, epoch_, text});
    std::vector<Booked> booked;
    for (std::size_t row = 0; row < leases.size(); ++row) {
      booked.push_back({leases.number(row, 0), leases.number(row, 1), leases.number(row, 2)});
    }
    return booked;
  }

  LeaseGrant grant(const LeaseDraw& draw, Booked booked) {
    const std::vector<std::int64_t>& known = draw.request->known;
    if (booked.unsettled != draw.units &&
        std::find(known.begin(), known.end(), booked.lease_id) == known.end()) {
      booked.unsettled = transaction_.run(select_unsettled, {booked.lease_id}).number(0, 0);
    }
    return {booked.lease_id,
            booked.epoch,
            draw.from->allocation_id,
            draw.from->created_at_ms,
            draw.from->expires_at_ms,
            draw.units,
            booked.unsettled,
            draw.hold_until_ms - now_ms_,
            draw.settle_until_ms - now_ms_};
  }

  void renew(const LeaseRequest& request, const ledger::LeaseReturn& lease, LeaseAnswer& answer) {
    const Rows rows = transaction_.run(select_renewable, {lease.lease_id, lease.epoch});
    if (rows.empty()) return;
    const std::int64_t holds = hold_until(request, rows.number(0, 0), rows.number(0, 1), now_ms_);
    const std::int64_t settles = now_ms_ + request.settle_ms;
    if (transaction_.run(renew_lease, {holds, settles, lease.lease_id, lease.epoch}).empty())
      return;
    answer.renewed.push_back({lease.lease_id, holds - now_ms_, settles - now_ms_});
  }

  // Reports the units of each account that this node does not lease.
  void tell_the_rest(std::span<const LeaseRequest> requests, std::vector<LeaseAnswer>& answers) {
    const Rows rows =
        transaction_.run(engine_ == Engine::sqlite ? select_others_sqlite : select_others_postgres,
                         {accounts_, owner_.incarnation});
    for (std::size_t at = 0; at < requests.size(); ++at) {
      const std::string& account_id = requests[at].account_id;
      for (const Drawable& each : of_account(drawables_, account_id)) {
        answers[at].elsewhere += each.remaining;
      }
      for (std::size_t row = 0; row < rows.size(); ++row) {
        if (rows.text(row, 0) == account_id) answers[at].elsewhere += rows.number(row, 1);
      }
    }
  }

  ledger::Shortage shortage(const LeaseRequest& request) {
    ledger::Shortage shortage;
    shortage.reach = transaction_.run(select_reach, {request.account_id, now_ms_}).number(0, 0);
    shortage.caps = windows_.caps(request.key_id);
    if (owner_.purpose == 0 && shortage.reach > 0) {
      recall_leases(transaction_, request.account_id, owner_.incarnation, request.key_id, now_ms_);
    }
    return shortage;
  }

  Transaction& transaction_;
  const Engine engine_;
  const LeaseOwner& owner_;
  const std::int64_t now_ms_;
  const std::int64_t epoch_;
  const std::string accounts_;  // JSON array of the requests' accounts
  std::vector<Drawable> drawables_;
  KeyWindows windows_;
  std::vector<LeaseDraw> draws_;
};

// Returns units from leases: to their allocation, or to `voided` if the allocation is withdrawn.
class Returning {
 public:
  Returning(Transaction& transaction, std::int64_t now_ms)
      : transaction_(transaction), now_ms_(now_ms) {}

  // Returns the leases that are open under their epoch, by id, with their allocations locked. Until
  // the commit no batch charges these leases, and all charges are posted.
  template <class Lease>
  std::vector<Lease> open(std::span<const Lease> leases) {
    std::vector<Lease> open;
    std::set<std::string> allocations;
    std::set<std::int64_t> incarnations;
    for (const Lease& lease : leases) {
      const Rows rows = transaction_.run(select_place, {lease.lease_id, lease.epoch});
      if (rows.empty()) continue;
      open.push_back(lease);
      allocations.insert(rows.text(0, 0));
      incarnations.insert(rows.number(0, 1));
    }
    for (const std::int64_t id : incarnations) move_fence(transaction_, id);
    for (const std::string& id : allocations) transaction_.run(lock_allocation, {id});
    for (const std::int64_t id : incarnations) post_charges(transaction_, id);
    std::sort(open.begin(), open.end(),
              [](const Lease& left, const Lease& right) { return left.lease_id < right.lease_id; });
    return open;
  }

  // `lease`: a row of account_id, allocation_id, key_id, day.
  void give(std::int64_t lease_id, const Rows& lease, Credits units) {
    const std::string& allocation_id = lease.text(0, 1);
    const bool is_open =
        transaction_.run(return_units, {units, allocation_id}).text(0, 0) == "open";
    if (!is_open) transaction_.run(end_void, {allocation_id});
    if (units == 0) return;
    transaction_.run(insert_posting, {now_ms_, lease.text(0, 0), allocation_id, lease_id, "escrow",
                                      is_open ? "available" : "voided", units});
    if (!lease.text(0, 2).empty()) windows_[{lease.text(0, 2), lease.number(0, 3)}] += units;
  }

  void finish() { KeyWindows::give_back(transaction_, windows_); }

 private:
  Transaction& transaction_;
  const std::int64_t now_ms_;
  KeyWindows::Returned windows_;
};

}  // namespace

std::vector<LeaseAnswer> acquire_leases(const Context& context, Transaction& transaction,
                                        const LeaseOwner& owner,
                                        std::span<const LeaseRequest> requests) {
  return Acquisition(context, transaction, owner, requests).answer(requests);
}

std::uint32_t close_leases(Transaction& transaction, std::span<const ledger::LeaseReturn> leases,
                           std::int64_t now_ms) {
  Returning returning(transaction, now_ms);
  std::uint32_t closed = 0;
  for (const ledger::LeaseReturn& lease : returning.open(leases)) {
    const Rows row = transaction.run(close_lease, {lease.lease_id, lease.epoch});
    if (row.empty()) continue;
    ++closed;
    const Credits unsettled = row.number(0, 4);
    if (unsettled > 0) transaction.run(shrink_closed, {unsettled, lease.lease_id});
    returning.give(lease.lease_id, row, unsettled);
  }
  returning.finish();
  return closed;
}

void give_back_units(Transaction& transaction, std::span<const ledger::LeaseShare> shares,
                     std::int64_t now_ms) {
  Returning returning(transaction, now_ms);
  for (const ledger::LeaseShare& share : returning.open(shares)) {
    const Rows row = transaction.run(shrink_lease, {share.units, share.lease_id, share.epoch});
    if (!row.empty()) returning.give(share.lease_id, row, share.units);
  }
  returning.finish();
}

bool void_allocation(Transaction& transaction, std::string_view allocation_id,
                     std::int64_t now_ms) {
  const Rows allocation = transaction.run(lock_allocation, {allocation_id});
  if (allocation.empty()) return false;
  if (allocation.text(0, 2) != "open") return true;
  transaction.run(begin_void, {allocation_id});
  if (const Credits remaining = allocation.number(0, 1); remaining > 0) {
    transaction.run(insert_posting, {now_ms, allocation.text(0, 0), allocation_id, std::int64_t{0},
                                     "available", "voided", remaining});
  }
  transaction.run(end_void, {allocation_id});
  return true;
}

Credits withdraw_units(Transaction& transaction, std::string_view allocation_id, Credits units,
                       std::int64_t now_ms) {
  const Rows allocation = transaction.run(lock_allocation, {allocation_id});
  if (allocation.empty() || allocation.text(0, 2) != "open") return 0;
  const Credits taken = std::min(units, allocation.number(0, 1));
  if (taken > 0) {
    transaction.run(void_units, {taken, allocation_id});
    transaction.run(insert_posting, {now_ms, allocation.text(0, 0), allocation_id, std::int64_t{0},
                                     "available", "voided", taken});
  }
  if (taken < units) recall_leases(transaction, allocation.text(0, 0), 0, "", now_ms);
  return taken;
}

void recall_leases(Transaction& transaction, std::string_view account_id, std::int64_t incarnation,
                   std::string_view key_id, std::int64_t now_ms) {
  transaction.run(upsert_recall, {account_id, incarnation, key_id, now_ms + recall_ms});
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

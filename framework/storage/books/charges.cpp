#include "storage/books/charges.h"

#include <algorithm>

namespace turnpike::storage {
namespace {

constexpr Query insert_settle_stream{"INSERT INTO settle_stream (stream, fence) VALUES ($1, 0)"};
constexpr Query delete_streams{
    "DELETE FROM settle_stream WHERE stream < $1 * 64 AND EXISTS (SELECT 1 FROM incarnation i"
    " WHERE i.node = $2 AND i.id = settle_stream.stream / 64)"};
constexpr Query delete_all_streams{"DELETE FROM settle_stream"};
#define STREAMS_OF_NODE " stream >= $1 AND stream < $2"
constexpr Query count_pending_batches{
    "SELECT COUNT(*) AS n FROM settle_stream s WHERE" STREAMS_OF_NODE
    " AND EXISTS"
    " (SELECT 1 FROM settle_batch b WHERE b.stream = s.stream AND b.no > s.posted_no)",
    "i"};
constexpr Query advance_fence{"UPDATE settle_stream SET fence = fence + 1 WHERE" STREAMS_OF_NODE};
constexpr Query lock_mark{"UPDATE settle_stream SET next_no = next_no WHERE" STREAMS_OF_NODE};
// Sets the mark before posting: its row lock serializes postings, and it bounds the batches
// covered.
constexpr Query plan_posting{
    "UPDATE settle_stream SET next_no = (SELECT COALESCE(MAX(b.no), 0) FROM settle_batch b"
    " WHERE b.stream = settle_stream.stream) WHERE" STREAMS_OF_NODE};
constexpr Query post_due{
    "UPDATE lease SET settled = settled + due.units FROM (SELECT p.lease_id,"
    " CAST(SUM(p.units) AS BIGINT) AS units FROM pending_charge p WHERE" STREAMS_OF_NODE
    " AND p.is_due GROUP BY p.lease_id) AS due WHERE lease.id = due.lease_id"};
constexpr Query move_posted{"UPDATE settle_stream SET posted_no = next_no WHERE" STREAMS_OF_NODE
                            " AND next_no > posted_no"};
#undef STREAMS_OF_NODE
#define PAYABLE "SELECT id, epoch, granted, settled FROM lease WHERE state = 'open' AND id IN "
constexpr Query select_payable_sqlite{PAYABLE "(SELECT value FROM json_each($1))", "iiii"};
constexpr Query select_payable_postgres{
    PAYABLE "(SELECT json_array_elements_text($1::json)::bigint)", "iiii"};
#undef PAYABLE

constexpr std::int64_t no_fence = -1;

}  // namespace

std::vector<LeaseTotal> lease_totals(std::span<const ledger::SettleEntry> entries) {
  std::vector<LeaseTotal> totals;
  totals.reserve(entries.size());
  for (const ledger::SettleEntry& entry : entries) {
    for (const ledger::LeaseShare& share : entry.shares) {
      totals.push_back({share.lease_id, share.epoch, share.units});
    }
  }
  std::sort(totals.begin(), totals.end(), [](const LeaseTotal& left, const LeaseTotal& right) {
    return left.lease_id < right.lease_id;
  });
  std::size_t kept = 0;
  for (const LeaseTotal& total : totals) {
    if (kept > 0 && totals[kept - 1].lease_id == total.lease_id) {
      totals[kept - 1].units += total.units;
    } else {
      totals[kept++] = total;
    }
  }
  totals.resize(kept);
  return totals;
}

std::string charges_text(std::span<const LeaseTotal> totals) {
  std::string text = "{";
  for (const LeaseTotal& total : totals) {
    if (text.size() > 1) text += ',';
    text += '"' + std::to_string(total.lease_id) + "\":" + std::to_string(total.units);
  }
  return text += '}';
}

void open_settle_stream(Transaction& transaction, std::int64_t stream) {
  transaction.run(insert_settle_stream, {stream});
}

void end_settle_streams(Transaction& transaction, std::string_view node, std::int64_t incarnation) {
  transaction.run(delete_streams, {incarnation, node});
}

void end_all_settle_streams(Transaction& transaction) { transaction.run(delete_all_streams); }

bool has_pending_charges(Connection& connection, std::int64_t incarnation) {
  return connection
             .run(count_pending_batches, {incarnation * streams_per_incarnation,
                                          (incarnation + 1) * streams_per_incarnation})
             .number(0, 0) > 0;
}

void move_fence(Transaction& transaction, std::int64_t incarnation) {
  transaction.run(advance_fence, {incarnation * streams_per_incarnation,
                                  (incarnation + 1) * streams_per_incarnation});
}

void post_charges(Transaction& transaction, std::int64_t incarnation) {
  for (const Query* step : {&plan_posting, &post_due, &move_posted}) {
    transaction.run(*step, {incarnation * streams_per_incarnation,
                            (incarnation + 1) * streams_per_incarnation});
  }
}

void hold_postings(Transaction& transaction, std::int64_t incarnation) {
  transaction.run(lock_mark, {incarnation * streams_per_incarnation,
                              (incarnation + 1) * streams_per_incarnation});
}

bool Payable::can_pay(const LeaseTotal& total) const {
  const auto found = known_.find(total.lease_id);
  return found != known_.end() && found->second.epoch == total.epoch &&
         found->second.settled + total.units <= found->second.granted;
}

std::vector<std::int64_t> Payable::lost(Connection& connection,
                                        std::span<const LeaseTotal> totals) {
  std::vector<LeaseTotal> doubtful;
  const auto doubt = [&] {
    doubtful.clear();
    std::copy_if(totals.begin(), totals.end(), std::back_inserter(doubtful),
                 [this](const LeaseTotal& total) { return !can_pay(total); });
  };
  doubt();
  if (!doubtful.empty()) {
    read(connection, doubtful);
    doubt();
  }
  std::vector<std::int64_t> lost;
  for (const LeaseTotal& total : doubtful) lost.push_back(total.lease_id);
  return lost;
}

void Payable::read(Connection& connection, std::span<const LeaseTotal> totals) {
  if (known_.empty()) {  // before the leases, so that a fence move in between is detected
    const Rows fence = connection.run(select_fence, {stream_});
    fence_ = fence.empty() ? no_fence : fence.number(0, 0);
  }
  std::string ids = "[";
  for (const LeaseTotal& total : totals) ids += std::to_string(total.lease_id) + ',';
  ids.back() = ']';
  const bool is_sqlite = connection.engine() == Engine::sqlite;
  const Rows rows =
      connection.run(is_sqlite ? select_payable_sqlite : select_payable_postgres, {ids});
  for (std::size_t row = 0; row < rows.size() && fence_ != no_fence; ++row) {
    // Once units were charged, the memory knows the settled units better: the row has only posted
    // charges.
    const Lease lease{rows.number(row, 1), rows.number(row, 2), rows.number(row, 3)};
    const auto [known, is_new] = known_.try_emplace(rows.number(row, 0), lease);
    known->second.granted = lease.granted;
  }
}

void Payable::charge(std::span<const LeaseTotal> totals) {
  for (const LeaseTotal& total : totals) known_.at(total.lease_id).settled += total.units;
}

}  // namespace turnpike::storage

#include <optional>

#include "base/crash_points.h"
#include "storage/replay_store.h"
#include "storage/settlement.h"

namespace turnpike::storage {
namespace {

using base::CrashPoint;
using ledger::SettleAnswer;
using ledger::SettleEntry;

constexpr Query insert_batch{
    "INSERT INTO settle_batch (stream, no, first_seq, facts, head) VALUES ($1, $2, $3, $4, $5)"};
constexpr Query insert_facts{
    "INSERT INTO fact (stream, seq, message_id, request_id, client_request_id, account_id,"
    " api_key_id, occurred_at, route_id, route_revision, method, lane, credit_cost,"
    " credits_charged, price_version, generation, outcome_reason, upstream_status, upstream_ms,"
    " lease_id, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (message_id) DO NOTHING"};
constexpr char fact_kinds[] =
    "iittttt"
    "iti"
    "tt"
    "iii"
    "tt"
    "iiit";
constexpr Query settle_leases{
    "UPDATE lease SET settled = settled + ? WHERE id = ? AND epoch = ? AND state = 'open'"
    " AND settled + ? <= granted"};
constexpr Query insert_shares{
    "INSERT INTO fact_share (stream, seq, lease_id, units) VALUES (?, ?, ?, ?)"};
constexpr Query select_message{"SELECT credits_charged FROM fact WHERE message_id = $1", "i"};
constexpr Query select_payable{
    "SELECT id FROM lease WHERE id = $1 AND epoch = $2 AND state = 'open'"
    " AND settled + $3 <= granted",
    "i"};
constexpr Query select_batch{"SELECT facts FROM settle_batch WHERE stream = $1 AND no = $2", "i"};

class SqliteStream final : public ledger::SettlementStream {
 public:
  SqliteStream(const Context& context, std::int64_t incarnation, std::int64_t stream)
      : context_(context),
        owner_{incarnation, 1},
        chain_{.stream = stream},
        connection_(context.database.connect()) {}

  ledger::Stored<SettleAnswer> settle(std::int64_t number,
                                      std::span<const SettleEntry> entries) override {
    return stored<SettleAnswer>([&] {
      const std::vector<LeaseTotal> totals = lease_totals(entries);
      pass(totals.empty() ? CrashPoint::fact_before : CrashPoint::settle_before);
      if (!write(number, entries, totals)) return diagnose(entries, totals);
      pass(totals.empty() ? CrashPoint::fact_after : CrashPoint::settle_after);
      return SettleAnswer{};
    });
  }

  ledger::Stored<bool> committed(std::int64_t number) override {
    return stored<bool>([&] {
      return !connection_->run(select_batch, {chain_.stream, number}).empty();
    });
  }

  ledger::Stored<std::vector<ledger::LeaseAnswer>> acquire(
      std::span<const ledger::LeaseRequest> requests) override {
    return stored<std::vector<ledger::LeaseAnswer>>([&] {
      Transaction transaction(*connection_, Transaction::Kind::write, context_.database.writer());
      auto answers = acquire_leases(context_, transaction, owner_, requests);
      transaction.commit();
      return answers;
    });
  }

  ledger::Stored<Unit> give_back(std::span<const ledger::LeaseShare> shares) override {
    return stored<Unit>([&] {
      Transaction transaction(*connection_, Transaction::Kind::write, context_.database.writer());
      give_back_units(transaction, shares, ledger_now_ms(context_, transaction));
      transaction.commit();
      return Unit{};
    });
  }

 private:
  // False: rolled back, since a message was known, a lease could not pay or a claim was lost.
  bool write(std::int64_t number, std::span<const SettleEntry> entries,
             const std::vector<LeaseTotal>& totals) {
    leases_.clear();
    for (const LeaseTotal& total : totals) {
      leases_.add(0, total.units);
      leases_.add(1, total.lease_id);
      leases_.add(2, total.epoch);
      leases_.add(3, total.units);
    }
    BatchRows rows(chain_, entries);
    fill(rows);
    Transaction transaction(*connection_, Transaction::Kind::write, context_.database.writer());
    transaction.run(insert_batch, {chain_.stream, number, chain_.next_seq,
                                   static_cast<std::int64_t>(entries.size()), rows.hash()});
    if (transaction.run_bulk(insert_facts, facts_) != entries.size()) return false;
    if (transaction.run_bulk(settle_leases, leases_) != totals.size()) return false;
    transaction.run_bulk(insert_shares, shares_);
    for (const SettleEntry& entry : entries) {
      if (entry.reply != nullptr && !keep_charged_reply(transaction, *entry.reply)) return false;
    }
    transaction.commit();
    chain_ = rows.chain();
    return true;
  }

  void fill(BatchRows& rows) {
    facts_.clear();
    shares_.clear();
    while (rows.next()) {
      std::size_t at = 0;
      ledger::each_column(rows.fact(), [&](auto value) { facts_.add(at++, value); });
      facts_.add(at, rows.hash());
      for (const ledger::FactShare& share : rows.shares()) {
        shares_.add(0, rows.fact().stream);
        shares_.add(1, rows.fact().seq);
        shares_.add(2, share.lease_id);
        shares_.add(3, share.units);
      }
    }
  }

  SettleAnswer diagnose(std::span<const SettleEntry> entries,
                        const std::vector<LeaseTotal>& totals) {
    SettleAnswer answer;
    answer.repeated = repeated_within(entries);
    for (std::size_t at = 0; at < entries.size(); ++at) {
      const Rows known = connection_->run(select_message, {entries[at].fact->message_id});
      if (!known.empty()) answer.repeated.push_back({at, known.number(0, 0)});
      const ledger::ReplyToKeep* const reply = entries[at].reply;
      if (reply != nullptr && !owns_claim(*connection_, *reply)) answer.lost_claims.push_back(at);
    }
    for (const LeaseTotal& total : totals) {
      const Rows payable =
          connection_->run(select_payable, {total.lease_id, total.epoch, total.units});
      if (payable.empty()) answer.lost_leases.push_back(total.lease_id);
    }
    if (answer.committed()) {
      throw StoreError(StoreError::Kind::unavailable, "a batch was refused for a reason now gone");
    }
    return answer;
  }

  const Context& context_;
  const LeaseOwner owner_;
  ledger::FactChain chain_;
  // Bound by the kept statements of the connection, which therefore ends first.
  Bulk facts_{fact_kinds};
  Bulk leases_{"iiii"};
  Bulk shares_{"iiii"};
  const std::unique_ptr<Connection> connection_;
};

}  // namespace

std::unique_ptr<ledger::SettlementStream> make_sqlite_stream(const Context& context,
                                                             std::int64_t incarnation,
                                                             std::int64_t stream) {
  return std::make_unique<SqliteStream>(context, incarnation, stream);
}

}  // namespace turnpike::storage

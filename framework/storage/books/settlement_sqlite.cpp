#include "storage/books/fact_columns.h"
#include "storage/books/replay_store.h"
#include "storage/books/settlement.h"

namespace turnpike::storage {
namespace {

constexpr Query insert_batch{
    "INSERT INTO settle_batch (stream, no, first_seq, facts, head, charges)"
    " VALUES ($1, $2, $3, $4, $5, $6)"};
constexpr Query insert_facts{
    "INSERT INTO fact (" FACT_COLUMNS
    ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (message_id) DO NOTHING"};
constexpr char fact_kinds[] =
    "iittttt"
    "iti"
    "tt"
    "iii"
    "tt"
    "iiit";
constexpr Query insert_shares{"INSERT INTO fact_share (" SHARE_COLUMNS ") VALUES (?, ?, ?, ?)"};
constexpr Query select_batch{"SELECT facts FROM settle_batch WHERE stream = $1 AND no = $2", "i"};

class SqliteStream final : public BatchStream {
 public:
  using BatchStream::BatchStream;
  ~SqliteStream() override { connection_.reset(); }

 private:
  Written write(Connection& connection, const Batch& batch, BatchRows& rows) override {
    const ledger::FactChain before = rows.chain();
    fill(rows);
    Transaction transaction(connection, Transaction::Kind::write, writer());
    if (batch.charges != "{}") {
      const Rows fence = transaction.run(select_fence, {before.stream});
      if (fence.empty() || fence.number(0, 0) != batch.fence) return Written::fenced;
    }
    const auto facts = static_cast<std::int64_t>(batch.entries.size());
    transaction.run(insert_batch, {before.stream, batch.number, before.next_seq, facts, rows.hash(),
                                   batch.charges});
    if (transaction.run_bulk(insert_facts, facts_) != batch.entries.size()) return Written::refused;
    transaction.run_bulk(insert_shares, shares_);
    for (const ledger::SettleEntry& entry : batch.entries) {
      if (entry.reply != nullptr && !keep_charged_reply(transaction, *entry.reply)) {
        return Written::refused;
      }
    }
    transaction.commit();
    return Written::committed;
  }

  bool find(Connection& connection, std::int64_t stream, std::int64_t number) override {
    return !connection.run(select_batch, {stream, number}).empty();
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

  Bulk facts_{fact_kinds};
  Bulk shares_{"iiii"};
};

}  // namespace

std::unique_ptr<ledger::SettlementStream> make_sqlite_stream(const Context& context,
                                                             std::int64_t incarnation,
                                                             std::int64_t stream) {
  return std::make_unique<SqliteStream>(context, incarnation, stream);
}

}  // namespace turnpike::storage

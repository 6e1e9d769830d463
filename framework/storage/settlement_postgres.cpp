#include "storage/replay_store.h"
#include "storage/row_text.h"
#include "storage/settlement.h"

namespace turnpike::storage {
namespace {

constexpr Query call_settle{
    "SELECT settle_v5($1, $2, $3, $4, $5, $6, $7, $8::json, NULLIF($9::text, '')::json,"
    " NULLIF($10::text, '')::json) AS answer",
    "t"};
constexpr Query insert_tombstone{
    "INSERT INTO settle_batch (stream, no, first_seq, facts, head)"
    " VALUES ($1, $2, 0, 0, 'tombstone') ON CONFLICT DO NOTHING RETURNING no",
    "i"};
constexpr Query select_facts{"SELECT facts FROM settle_batch WHERE stream = $1 AND no = $2", "i"};

// The keys of a fact's columns, in the order of the table; the stream is a parameter of its own.
constexpr std::string_view fact_keys = ".qmrcaktovdnxupgwsfl";

void append_fact(std::string& out, const ledger::FactRow& fact, const std::string& hash) {
  RowText row(out);
  std::size_t at = 0;
  ledger::each_column(fact, [&](auto value) {
    if (at > 0) row.add(fact_keys[at], value);
    ++at;
  });
  row.add('h', hash);
}

class PostgresStream final : public BatchStream {
 public:
  using BatchStream::BatchStream;
  ~PostgresStream() override { connection_.reset(); }

 private:
  Written write(Connection& connection, const Batch& batch, BatchRows& rows) override {
    const ledger::FactChain before = rows.chain();
    fill(rows);
    fill_replies(batch.entries);
    const auto facts = static_cast<std::int64_t>(batch.entries.size());
    try {
      const Rows rows_of_answer = connection.run(
          call_settle, {before.stream, batch.number, before.next_seq, facts, rows.hash(),
                        batch.fence, batch.charges, facts_, shares_, replies_});
      const std::string& answer = rows_of_answer.text(0, 0);
      return answer.empty()       ? Written::committed
             : answer == "fenced" ? Written::fenced
                                  : Written::refused;
    } catch (const StoreError& error) {
      // The statement is the transaction: without an answer it may have committed.
      if (connection.broken()) throw StoreError(StoreError::Kind::unknown, error.what());
      throw;
    }
  }

  bool find(Connection& connection, std::int64_t stream, std::int64_t number) override {
    if (!connection.run(insert_tombstone, {stream, number}).empty()) return false;
    // A row without facts is a tombstone: perhaps our own, of a probe whose answer was lost.
    return connection.run(select_facts, {stream, number}).number(0, 0) > 0;
  }

  void fill(BatchRows& rows) {
    facts_ = "[";
    shares_ = "[";
    while (rows.next()) {
      append_fact(facts_, rows.fact(), rows.hash());
      for (const ledger::FactShare& share : rows.shares()) {
        RowText row(shares_);
        row.add('q', rows.fact().seq);
        row.add('l', share.lease_id);
        row.add('u', share.units);
      }
    }
    close_array(facts_);
    if (shares_.size() == 1) {
      shares_.clear();
    } else {
      close_array(shares_);
    }
  }

  // Empty in the common case, that no call of the batch came with a key.
  void fill_replies(std::span<const ledger::SettleEntry> entries) {
    replies_.clear();
    for (std::size_t at = 0; at < entries.size(); ++at) {
      const ledger::ReplyToKeep* const reply = entries[at].reply;
      if (reply == nullptr) continue;
      if (replies_.empty()) replies_ = "[";
      const ReplyColumns columns = columns_of(*reply);
      const bool is_kept = reply->how == ledger::ReplyToKeep::How::kept_before;
      RowText row(replies_);
      row.add('n', static_cast<std::int64_t>(at));
      row.add('k', reply->key_digest);
      row.add('r', reply->request_id);
      row.add('s', columns.state);
      row.add('w', std::string_view(is_kept ? "true" : "false"));
      row.add('c', columns.status);
      row.add('h', columns.headers);
      row.add('b', columns.body);
    }
    if (!replies_.empty()) close_array(replies_);
  }

  std::string facts_;
  std::string shares_;
  std::string replies_;
};

}  // namespace

std::unique_ptr<ledger::SettlementStream> make_postgres_stream(const Context& context,
                                                               std::int64_t incarnation,
                                                               std::int64_t stream) {
  return std::make_unique<PostgresStream>(context, incarnation, stream);
}

}  // namespace turnpike::storage

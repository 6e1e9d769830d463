#include "storage/books/fact_columns.h"
#include "storage/books/replay_store.h"
#include "storage/books/settlement.h"
#include "storage/engine/copy_rows.h"
#include "storage/engine/row_text.h"

namespace turnpike::storage {
namespace {

constexpr Query insert_tombstone{
    "INSERT INTO settle_batch (stream, no, first_seq, facts, head)"
    " VALUES ($1, $2, 0, 0, 'tombstone') ON CONFLICT DO NOTHING RETURNING no",
    "i"};
constexpr Query select_batch_facts{"SELECT facts FROM settle_batch WHERE stream = $1 AND no = $2",
                                   "i"};

constexpr std::uint16_t fact_columns = 21;
constexpr std::uint16_t share_columns = 4;
constexpr std::string_view copy_facts = "COPY fact (" FACT_COLUMNS ") FROM STDIN (FORMAT binary);";
constexpr std::string_view copy_shares =
    "COPY fact_share (" SHARE_COLUMNS ") FROM STDIN (FORMAT binary);";

// SQLSTATEs raised by settle_open_v1 and settle_replies_v1.
constexpr std::string_view lost_claim = "TP001";
constexpr std::string_view moved_fence = "TP002";
constexpr std::string_view unique_violation = "23505";

class PostgresStream final : public BatchStream {
 public:
  using BatchStream::BatchStream;
  ~PostgresStream() override { connection_.reset(); }

 private:
  Written write(Connection& connection, const Batch& batch, BatchRows& rows) override {
    const ledger::FactChain before = rows.chain();
    fill(rows);
    // A message of several statements cannot have parameters; the inserted values are numbers and
    // digits only.
    script_ = "SELECT settle_open_v1(" + std::to_string(before.stream) + "," +
              std::to_string(batch.number) + "," + std::to_string(before.next_seq) + "," +
              std::to_string(batch.entries.size()) + ",'" + rows.hash() + "'," +
              std::to_string(batch.fence) + ",'" + batch.charges + "');";
    script_ += copy_facts;
    if (!shares_.empty()) script_ += copy_shares;
    add_replies(connection, batch.entries);
    try {
      connection.run_script(script_, {facts_.bytes(), shares_.bytes()});
      return Written::committed;
    } catch (const ScriptRefused& refused) {
      if (refused.sqlstate() == moved_fence) return Written::fenced;
      if (refused.sqlstate() == lost_claim || (refused.sqlstate() == unique_violation &&
                                               refused.constraint() == "fact_message_id_key")) {
        return Written::refused;
      }
      throw unanswered(connection, refused);
    } catch (const StoreError& error) {
      throw unanswered(connection, error);
    }
  }

  // The script is the whole transaction: without an answer it may have committed.
  static StoreError unanswered(const Connection& connection, const StoreError& error) {
    return connection.broken() ? StoreError(StoreError::Kind::unknown, error.what()) : error;
  }

  bool find(Connection& connection, std::int64_t stream, std::int64_t number) override {
    if (!connection.run(insert_tombstone, {stream, number}).empty()) return false;
    // A row without facts is a tombstone, possibly written by an earlier probe of ours whose answer
    // was lost.
    return connection.run(select_batch_facts, {stream, number}).number(0, 0) > 0;
  }

  void fill(BatchRows& rows) {
    facts_.clear();
    shares_.clear();
    while (rows.next()) {
      facts_.begin_row();
      ledger::each_column(rows.fact(), [&](auto value) { facts_.add(value); });
      facts_.add(rows.hash());
      for (const ledger::FactShare& share : rows.shares()) {
        shares_.begin_row();
        shares_.add(rows.fact().stream);
        shares_.add(rows.fact().seq);
        shares_.add(share.lease_id);
        shares_.add(share.units);
      }
    }
    facts_.end();
    shares_.end();
  }

  // Adds nothing in the common case that no call of the batch has an idempotency key.
  void add_replies(Connection& connection, std::span<const ledger::SettleEntry> entries) {
    std::string replies = "[";
    for (const ledger::SettleEntry& entry : entries) {
      if (entry.reply == nullptr) continue;
      const ReplyColumns columns = reply_columns_of(*entry.reply);
      const bool is_kept = entry.reply->how == ledger::ReplyToKeep::How::kept_before;
      RowText row(replies);
      row.add('k', entry.reply->key_digest);
      row.add('r', entry.reply->request_id);
      row.add('s', columns.state);
      row.add('w', std::string_view(is_kept ? "true" : "false"));
      row.add('c', columns.status);
      row.add('h', columns.headers);
      row.add('b', columns.body);
    }
    if (replies.size() == 1) return;
    close_array(replies);
    script_ += "SELECT settle_replies_v1(" + connection.literal(replies) + ");";
  }

  CopyRows facts_{fact_columns};
  CopyRows shares_{share_columns};
  std::string script_;
};

}  // namespace

std::unique_ptr<ledger::SettlementStream> make_postgres_stream(const Context& context,
                                                               std::int64_t incarnation,
                                                               std::int64_t stream) {
  return std::make_unique<PostgresStream>(context, incarnation, stream);
}

}  // namespace turnpike::storage

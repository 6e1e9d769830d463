#include <nlohmann/json.hpp>

#include "base/crash_points.h"
#include "storage/replay_store.h"
#include "storage/row_text.h"
#include "storage/settlement.h"

namespace turnpike::storage {
namespace {

using base::CrashPoint;
using ledger::SettleAnswer;
using ledger::SettleEntry;

constexpr Query call_settle{
    "SELECT COALESCE(settle_v3($1, $2, $3, $4, $5, $6, $7::json, $8::json,"
    " NULLIF($9::text, '')::json), '') AS answer",
    "t"};
constexpr Query call_settle_keyed{
    "SELECT COALESCE(settle_keyed_v2($1, $2, $3, $4, $5, $6, $7::json, $8::json,"
    " NULLIF($9::text, '')::json, $10::json), '') AS answer",
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

class PostgresStream final : public ledger::SettlementStream {
 public:
  PostgresStream(const Context& context, std::int64_t incarnation, std::int64_t stream)
      : context_(context),
        owner_{incarnation, 1},
        chain_{.stream = stream},
        connection_(context.database.connect()) {}

  ledger::Stored<SettleAnswer> settle(std::int64_t number,
                                      std::span<const SettleEntry> entries) override {
    return stored<SettleAnswer>([&] {
      reconnect_if_broken();
      const std::vector<LeaseTotal> totals = lease_totals(entries);
      BatchRows rows(chain_, entries);
      fill(rows, totals);
      fill_replies(entries);
      unproven_ = rows.chain();
      std::string text;
      pass(totals.empty() ? CrashPoint::fact_before : CrashPoint::settle_before);
      try {
        const auto facts = static_cast<std::int64_t>(entries.size());
        const auto leases = static_cast<std::int64_t>(totals.size());
        if (replies_.empty()) {
          text = connection_
                     ->run(call_settle, {chain_.stream, number, chain_.next_seq, facts, leases,
                                         rows.hash(), facts_, leases_, shares_})
                     .text(0, 0);
        } else {
          text =
              connection_
                  ->run(call_settle_keyed, {chain_.stream, number, chain_.next_seq, facts, leases,
                                            rows.hash(), facts_, leases_, shares_, replies_})
                  .text(0, 0);
        }
      } catch (const StoreError& error) {
        // The statement is the transaction: without an answer it may have committed.
        if (connection_->broken()) throw StoreError(StoreError::Kind::unknown, error.what());
        throw;
      }
      if (text.empty()) {
        pass(totals.empty() ? CrashPoint::fact_after : CrashPoint::settle_after);
        chain_ = unproven_;
        return SettleAnswer{};
      }
      return read(text, entries);
    });
  }

  ledger::Stored<bool> committed(std::int64_t number) override {
    return stored<bool>([&] {
      connection_ = context_.database.connect();
      if (!connection_->run(insert_tombstone, {chain_.stream, number}).empty()) return false;
      // A row without facts is a batch that was refused, or a tombstone: perhaps our own, of a
      // probe whose answer was lost.
      if (connection_->run(select_facts, {chain_.stream, number}).number(0, 0) == 0) return false;
      chain_ = unproven_;
      return true;
    });
  }

  ledger::Stored<std::vector<ledger::LeaseAnswer>> acquire(
      std::span<const ledger::LeaseRequest> requests) override {
    return stored<std::vector<ledger::LeaseAnswer>>([&] {
      reconnect_if_broken();
      Transaction transaction(*connection_, Transaction::Kind::write, context_.database.writer());
      auto answers = acquire_leases(context_, transaction, owner_, requests);
      transaction.commit();
      return answers;
    });
  }

  ledger::Stored<Unit> give_back(std::span<const ledger::LeaseShare> shares) override {
    return stored<Unit>([&] {
      reconnect_if_broken();
      Transaction transaction(*connection_, Transaction::Kind::write, context_.database.writer());
      give_back_units(transaction, shares, ledger_now_ms(context_, transaction));
      transaction.commit();
      return Unit{};
    });
  }

 private:
  void reconnect_if_broken() {
    if (connection_->broken()) connection_ = context_.database.connect();
  }

  void fill(BatchRows& rows, const std::vector<LeaseTotal>& totals) {
    facts_ = "[";
    leases_ = "[";
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
    for (const LeaseTotal& total : totals) {
      RowText row(leases_);
      row.add('l', total.lease_id);
      row.add('e', total.epoch);
      row.add('u', total.units);
    }
    close_array(facts_);
    close_array(leases_);
    if (shares_.size() == 1) {
      shares_.clear();
    } else {
      close_array(shares_);
    }
  }

  // Empty in the common case, that no call of the batch came with a key.
  void fill_replies(std::span<const SettleEntry> entries) {
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

  SettleAnswer read(const std::string& text, std::span<const SettleEntry> entries) const {
    SettleAnswer answer;
    const nlohmann::json reply = nlohmann::json::parse(text);
    answer.repeated = repeated_within(entries);
    for (const auto& pair : reply.at("repeated")) {
      const auto at = static_cast<std::size_t>(pair.at(0).get<std::int64_t>() - chain_.next_seq);
      answer.repeated.push_back({at, pair.at(1).get<std::int64_t>()});
    }
    for (const auto& lease : reply.at("lost")) {
      answer.lost_leases.push_back(lease.get<std::int64_t>());
    }
    for (const auto& entry : reply.value("claims", nlohmann::json::array())) {
      answer.lost_claims.push_back(entry.get<std::size_t>());
    }
    if (answer.committed()) {
      throw StoreError(StoreError::Kind::unavailable, "a batch was refused for a reason now gone");
    }
    return answer;
  }

  const Context& context_;
  const LeaseOwner owner_;
  ledger::FactChain chain_;
  ledger::FactChain unproven_;  // after the last batch, whose commit may be unknown
  std::string facts_;
  std::string leases_;
  std::string shares_;
  std::string replies_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace

std::unique_ptr<ledger::SettlementStream> make_postgres_stream(const Context& context,
                                                               std::int64_t incarnation,
                                                               std::int64_t stream) {
  return std::make_unique<PostgresStream>(context, incarnation, stream);
}

}  // namespace turnpike::storage

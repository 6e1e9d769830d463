#include <charconv>
#include <nlohmann/json.hpp>

#include "storage/settlement.h"

namespace turnpike::storage {
namespace {

using ledger::SettleAnswer;
using ledger::SettleEntry;

constexpr Query call_settle{
    "SELECT COALESCE(settle_v1($1, $2, $3, $4, $5, $6::json, $7::json,"
    " NULLIF($8::text, '')::json), '') AS answer",
    "t"};
constexpr Query insert_tombstone{
    "INSERT INTO settle_batch (stream, no, first_seq, facts, head)"
    " VALUES ($1, $2, 0, 0, 'tombstone') ON CONFLICT DO NOTHING RETURNING no",
    "i"};
constexpr Query select_facts{"SELECT facts FROM settle_batch WHERE stream = $1 AND no = $2", "i"};

// Appends `,"key":value` with the key's one letter; the row's caller replaces the first comma.
class RowText {
 public:
  explicit RowText(std::string& out) : out_(out), start_(out.size()) {}
  void add(char key, std::int64_t value) {
    begin(key);
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out_.append(digits, end);
  }
  void add(char key, std::string_view text) {
    begin(key);
    out_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        out_ += '\\';
        out_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        constexpr char digits[] = "0123456789abcdef";
        out_ += "\\u00";
        out_ += digits[c >> 4];
        out_ += digits[c & 15];
      } else {
        out_ += c;
      }
    }
    out_ += '"';
  }
  ~RowText() {
    out_[start_] = '{';
    out_ += "},";
  }

 private:
  void begin(char key) {
    out_ += ",\"";
    out_ += key;
    out_ += "\":";
  }
  std::string& out_;
  const std::size_t start_;
};

void close_array(std::string& out) {
  if (out.size() > 1) out.pop_back();  // the last comma
  out += ']';
}

void append_fact(std::string& out, const SettleEntry& entry, std::int64_t seq) {
  const ledger::UsageFact& fact = *entry.fact;
  RowText row(out);
  row.add('q', seq);
  row.add('m', fact.message_id);
  row.add('r', fact.request_id);
  row.add('c', fact.client_request_id);
  row.add('a', fact.account_id);
  row.add('k', fact.api_key_id);
  row.add('t', fact.occurred_at_ms);
  row.add('o', fact.route_id);
  row.add('v', fact.route_revision);
  row.add('d', fact.method);
  row.add('n', fact.lane);
  row.add('x', fact.credit_cost);
  row.add('u', charged_units(entry));
  row.add('p', fact.price_version);
  row.add('g', fact.generation);
  row.add('w', fact.outcome_reason);
  row.add('s', fact.upstream_status);
  row.add('f', fact.upstream_ms);
  row.add('l', lease_of(entry));
}

class PostgresStream final : public ledger::SettlementStream {
 public:
  PostgresStream(const Context& context, std::int64_t incarnation, std::int64_t stream)
      : context_(context),
        owner_{incarnation, 1},
        stream_(stream),
        connection_(context.database.connect()) {}

  ledger::Stored<SettleAnswer> settle(std::int64_t number,
                                      std::span<const SettleEntry> entries) override {
    return stored<SettleAnswer>([&] {
      reconnect_if_broken();
      const std::vector<LeaseTotal> totals = lease_totals(entries);
      fill(entries, totals);
      const auto count = static_cast<std::int64_t>(entries.size());
      unproven_ = count;
      std::string text;
      try {
        text = connection_
                   ->run(call_settle,
                         {stream_, number, next_seq_, count,
                          static_cast<std::int64_t>(totals.size()), facts_, leases_, shares_})
                   .text(0, 0);
      } catch (const StoreError& error) {
        // The statement is the transaction: without an answer it may have committed.
        if (connection_->broken()) throw StoreError(StoreError::Kind::unknown, error.what());
        throw;
      }
      if (text.empty()) {
        next_seq_ += count;
        return SettleAnswer{};
      }
      return read(text, entries);
    });
  }

  ledger::Stored<bool> committed(std::int64_t number) override {
    return stored<bool>([&] {
      connection_ = context_.database.connect();
      if (!connection_->run(insert_tombstone, {stream_, number}).empty()) return false;
      // A row without facts is a batch that was refused, or a tombstone: perhaps our own, of a
      // probe whose answer was lost.
      if (connection_->run(select_facts, {stream_, number}).number(0, 0) == 0) return false;
      next_seq_ += std::exchange(unproven_, 0);
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

  ledger::Stored<Unit> close(std::span<const ledger::LeaseReturn> leases) override {
    return stored<Unit>([&] {
      reconnect_if_broken();
      Transaction transaction(*connection_, Transaction::Kind::write, context_.database.writer());
      close_leases(transaction, leases, ledger_now_ms(context_, transaction));
      transaction.commit();
      return Unit{};
    });
  }

 private:
  void reconnect_if_broken() {
    if (connection_->broken()) connection_ = context_.database.connect();
  }

  void fill(std::span<const SettleEntry> entries, const std::vector<LeaseTotal>& totals) {
    facts_ = "[";
    leases_ = "[";
    shares_ = "[";
    std::int64_t seq = next_seq_;
    for (const SettleEntry& entry : entries) {
      append_fact(facts_, entry, seq);
      for (const ledger::LeaseShare& share : entry.shares) {
        if (entry.shares.size() < 2) break;
        RowText row(shares_);
        row.add('q', seq);
        row.add('l', share.lease_id);
        row.add('u', share.units);
      }
      ++seq;
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

  SettleAnswer read(const std::string& text, std::span<const SettleEntry> entries) const {
    SettleAnswer answer;
    const nlohmann::json reply = nlohmann::json::parse(text);
    answer.repeated = repeated_within(entries);
    for (const auto& pair : reply.at("repeated")) {
      const auto at = static_cast<std::size_t>(pair.at(0).get<std::int64_t>() - next_seq_);
      answer.repeated.push_back({at, pair.at(1).get<std::int64_t>()});
    }
    for (const auto& lease : reply.at("lost")) {
      answer.lost_leases.push_back(lease.get<std::int64_t>());
    }
    if (answer.committed()) {
      throw StoreError(StoreError::Kind::unavailable, "a batch was refused for a reason now gone");
    }
    return answer;
  }

  const Context& context_;
  const LeaseOwner owner_;
  const std::int64_t stream_;
  std::int64_t next_seq_ = 1;
  std::int64_t unproven_ = 0;  // facts of the last batch, whose commit may be unknown
  std::string facts_;
  std::string leases_;
  std::string shares_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace

std::unique_ptr<ledger::SettlementStream> make_postgres_stream(const Context& context,
                                                               std::int64_t incarnation,
                                                               std::int64_t stream) {
  return std::make_unique<PostgresStream>(context, incarnation, stream);
}

}  // namespace turnpike::storage

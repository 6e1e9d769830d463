#include "storage/books/verify.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>

#include "ledger/audit/audit.h"
#include "storage/books/fact_columns.h"

namespace turnpike::storage {
namespace {

using ledger::Audit;

// Postings are numbered before they commit, so a smaller number may become visible after a larger
// one, but at most as far behind as other transactions advance within a transaction's maximum time.
// The newest postings are therefore read in the snapshot.
constexpr std::int64_t postings_late_max = 65'536;
constexpr std::size_t rows_max = 5'000;   // LIMIT of each statement
constexpr std::size_t again_max = 1'000;  // rows that one statement reads again
constexpr int catch_up_rounds = 8;
constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();

// Lists streams by a walk along the primary key: few streams among very many rows.
#define STREAMS_OF(table)                                           \
  "WITH RECURSIVE walk (stream) AS (SELECT MIN(stream) FROM " table \
  " UNION ALL SELECT (SELECT MIN(t.stream) FROM " table             \
  " t WHERE t.stream > walk.stream) FROM walk WHERE walk.stream IS NOT NULL) SELECT stream"
constexpr Query select_streams[] = {
    {STREAMS_OF("settle_batch") " FROM walk WHERE stream IS NOT NULL", "i"},
    {STREAMS_OF("fact") " FROM walk WHERE stream IS NOT NULL", "i"},
    {STREAMS_OF("fact_share") " FROM walk WHERE stream IS NOT NULL", "i"}};
constexpr Query select_last_batches{
    STREAMS_OF("settle_batch") ", (SELECT MAX(no) FROM settle_batch b WHERE b.stream = walk.stream)"
                               " AS last FROM walk WHERE stream IS NOT NULL",
    "ii"};
#undef STREAMS_OF
constexpr Query select_batches{
    "SELECT no, first_seq, facts, head FROM settle_batch WHERE stream = $1 AND no > $2"
    " ORDER BY no LIMIT 5000",
    "iiit"};
constexpr Query select_facts_of_stream{
    "SELECT " FACT_COLUMNS
    " FROM fact WHERE stream = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT 5000",
    "iitttttititt"
    "iiittiiit"};
constexpr Query select_last_fact{
    "SELECT COALESCE(MAX(seq), 0) AS last FROM (SELECT MAX(seq) AS seq FROM fact WHERE stream = $1"
    " UNION ALL SELECT MAX(seq) FROM fact_share WHERE stream = $1) AS lasts",
    "i"};
constexpr Query select_shares{
    "SELECT seq, lease_id, units FROM fact_share WHERE stream = $1 AND seq > $2 AND seq <= $3"
    " ORDER BY seq, lease_id",
    "iii"};
constexpr Query select_last_posting{"SELECT COALESCE(MAX(id), 0) AS last FROM posting", "i"};
constexpr Query select_postings{
    "SELECT id, account_id, allocation_id, lease_id, from_book, to_book, units FROM posting"
    " WHERE id > $1 AND id <= $2 ORDER BY id LIMIT 5000",
    "ittitti"};
#define ALLOCATION_SUMS \
  "SELECT id, account_id, units, remaining, expired, voided, state FROM allocation"
constexpr Query select_allocation_sums{ALLOCATION_SUMS " WHERE id > $1 ORDER BY id LIMIT 5000",
                                       "ttiiiit"};
constexpr Query select_allocation_sums_again[] = {
    {ALLOCATION_SUMS " WHERE id IN (SELECT value FROM json_each($1))", "ttiiiit"},
    {ALLOCATION_SUMS " WHERE id IN (SELECT json_array_elements_text($1::json))", "ttiiiit"}};
#undef ALLOCATION_SUMS
#define LEASE_COLUMNS \
  "SELECT id, allocation_id, account_id, key_id, day, state, granted, settled FROM lease"
constexpr Query select_leases{LEASE_COLUMNS " WHERE id > $1 ORDER BY id LIMIT 5000", "itttitii"};
constexpr Query select_leases_again[] = {
    {LEASE_COLUMNS " WHERE id IN (SELECT value FROM json_each($1))", "itttitii"},
    {LEASE_COLUMNS " WHERE id IN (SELECT json_array_elements_text($1::json)::bigint)", "itttitii"}};
#undef LEASE_COLUMNS
constexpr Query select_pending_charges{
    "SELECT lease_id, CAST(SUM(units) AS BIGINT) AS units FROM pending_charge GROUP BY lease_id",
    "ii"};
constexpr Query select_windows{
    "SELECT key_id, span, starts_at, taken FROM key_window"
    " WHERE (key_id, span, starts_at) > ($1, $2, $3) ORDER BY key_id, span, starts_at LIMIT 5000",
    "ttii"};

class Reader {
 public:
  Reader(const Context& context, Audit& audit)
      : context_(context), audit_(audit), run_([this](const Query& query, Values values) {
          return context_.database.with(
              [&](Connection& connection) { return connection.run(query, values); });
        }) {}

  // Returns the ledger time of the snapshot.
  std::int64_t read_everything() {
    for (const std::int64_t stream : streams()) read_stream(stream);
    read_postings(run_(select_last_posting, {}).number(0, 0) - postings_late_max);
    for (int round = 0; round < catch_up_rounds && read_new_facts() > rows_max; ++round) {
    }
    read_allocations();
    for (const auto& [lease_id, units] : pending_charges()) moved_leases_.insert(lease_id);
    read_leases();
    return context_.database.with([&](Connection& connection) {
      Transaction snapshot(connection, Transaction::Kind::snapshot, context_.database.writer());
      run_ = [&](const Query& query, Values values) { return snapshot.run(query, values); };
      is_last_ = true;
      pending_ = pending_charges();
      read_new_facts();
      read_postings(no_end);
      read_moved_allocations();
      read_moved_leases();
      read_windows();
      return ledger_now_ms(context_, snapshot);
    });
  }

 private:
  using Values = std::initializer_list<Value>;
  struct Mark {
    std::int64_t no = std::numeric_limits<std::int64_t>::min();  // of the last batch read
    std::int64_t seq = std::numeric_limits<std::int64_t>::min();
  };

  std::set<std::int64_t> streams() {
    std::set<std::int64_t> all;
    for (const Query& query : select_streams) {
      const Rows rows = run_(query, {});
      for (std::size_t row = 0; row < rows.size(); ++row) all.insert(rows.number(row, 0));
    }
    return all;
  }

  // Reads streams that have new batches; returns the number of facts.
  std::size_t read_new_facts() {
    const Rows rows = run_(select_last_batches, {});
    std::size_t facts = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::int64_t stream = rows.number(row, 0);
      if (rows.number(row, 1) > marks_[stream].no) facts += read_stream(stream);
    }
    return facts;
  }

  // Reads the rows added since the stream was last read; returns the number of facts. A fact seen
  // before the batches are read must have its batch among them; else it has none.
  std::size_t read_stream(std::int64_t stream) {
    Mark& mark = marks_[stream];
    const std::int64_t seen = run_(select_last_fact, {stream}).number(0, 0);
    std::size_t facts = 0;
    while (read_batches(stream, mark) == rows_max) {
      facts += read_facts(stream, mark, audit_.written(stream));
    }
    return facts + read_facts(stream, mark, std::max(seen, audit_.written(stream)));
  }

  std::size_t read_batches(std::int64_t stream, Mark& mark) {
    const Rows rows = run_(select_batches, {stream, mark.no});
    for (std::size_t row = 0; row < rows.size(); ++row) {
      mark.no = rows.number(row, 0);
      audit_.batch({stream, mark.no, rows.number(row, 1), rows.number(row, 2), rows.text(row, 3)});
    }
    return rows.size();
  }

  std::size_t read_facts(std::int64_t stream, Mark& mark, std::int64_t last) {
    std::size_t facts = 0;
    while (mark.seq < last) {
      const Rows rows = run_(select_facts_of_stream, {stream, mark.seq, last});
      const bool is_full = rows.size() == rows_max;
      const std::int64_t upto = is_full ? rows.number(rows.size() - 1, 1) : last;
      const Rows shares = run_(select_shares, {stream, mark.seq, upto});
      take_facts(stream, rows, shares);
      facts += rows.size();
      mark.seq = upto;
    }
    return facts;
  }

  void take_facts(std::int64_t stream, const Rows& rows, const Rows& shares) {
    std::size_t share = 0;
    std::vector<ledger::FactShare> paid;
    const auto take_shares = [&](std::int64_t seq_max) {
      paid.clear();
      for (; share < shares.size() && shares.number(share, 0) <= seq_max; ++share) {
        const ledger::FactShare each{shares.number(share, 1), shares.number(share, 2)};
        if (is_last_) moved_leases_.insert(each.lease_id);
        if (shares.number(share, 0) == seq_max) {
          paid.push_back(each);
        } else {
          audit_.stray_share(stream, shares.number(share, 0), each);
        }
      }
    };
    for (std::size_t row = 0; row < rows.size(); ++row) {
      ledger::FactRow fact;
      std::size_t at = 0;
      ledger::each_column(fact, [&](auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::int64_t>) {
          value = rows.number(row, at++);
        } else {
          value = rows.text(row, at++);
        }
      });
      take_shares(fact.seq);
      if (is_last_) moved_leases_.insert(fact.lease_id);
      audit_.fact(fact, paid, rows.text(row, at));
    }
    take_shares(no_end);
  }

  void read_postings(std::int64_t last) {
    for (bool is_full = true; is_full;) {
      const Rows rows = run_(select_postings, {posting_, last});
      for (std::size_t row = 0; row < rows.size(); ++row) {
        posting_ = rows.number(row, 0);
        audit_.posting({posting_, rows.text(row, 1), rows.text(row, 2), rows.number(row, 3),
                        rows.text(row, 4), rows.text(row, 5), rows.number(row, 6)});
        if (!is_last_) continue;
        moved_allocations_.insert(rows.text(row, 2));
        moved_leases_.insert(rows.number(row, 3));
      }
      is_full = rows.size() == rows_max;
    }
  }

  // Charges that are not posted to a lease yet, by lease.
  std::map<std::int64_t, ledger::Credits> pending_charges() {
    const Rows rows = run_(select_pending_charges, {});
    std::map<std::int64_t, ledger::Credits> pending;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      pending[rows.number(row, 0)] = rows.number(row, 1);
    }
    return pending;
  }

  // Two changes happen without a posting, so these rows are read again: an allocation whose voiding
  // ends, and a lease without units left.
  void take_allocations(const Rows& rows) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      audit_.allocation({rows.text(row, 0), rows.text(row, 1), rows.number(row, 2),
                         rows.number(row, 3), rows.number(row, 4), rows.number(row, 5),
                         rows.text(row, 6)});
      if (!is_last_ && rows.text(row, 6) == "voiding") moved_allocations_.insert(rows.text(row, 0));
    }
  }
  void take_leases(const Rows& rows) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto pending = pending_.find(rows.number(row, 0));
      const ledger::Credits unposted = pending == pending_.end() ? 0 : pending->second;
      const ledger::LeaseRow lease{rows.number(row, 0), rows.text(row, 1),
                                   rows.text(row, 2),   rows.text(row, 3),
                                   rows.number(row, 4), rows.text(row, 5) == "open",
                                   rows.number(row, 6), rows.number(row, 7) + unposted};
      audit_.lease(lease);
      if (!is_last_ && lease.is_open && lease.granted == lease.settled) {
        moved_leases_.insert(lease.id);
      }
    }
  }

  void read_allocations() {
    std::string last;
    for (bool is_full = true; is_full;) {
      const Rows rows = run_(select_allocation_sums, {last});
      take_allocations(rows);
      is_full = rows.size() == rows_max;
      if (is_full) last = rows.text(rows.size() - 1, 0);
    }
  }
  void read_leases() {
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (bool is_full = true; is_full;) {
      const Rows rows = run_(select_leases, {last});
      take_leases(rows);
      is_full = rows.size() == rows_max;
      if (is_full) last = rows.number(rows.size() - 1, 0);
    }
  }

  template <class Ids, class Take>
  void read_again(const Query (&queries)[2], const Ids& ids, Take&& take) {
    const Query& query = queries[context_.database.engine() == Engine::sqlite ? 0 : 1];
    nlohmann::json some = nlohmann::json::array();
    const auto read = [&] {
      if (!some.empty()) take(run_(query, {some.dump()}));
      some = nlohmann::json::array();
    };
    for (const auto& id : ids) {
      some.push_back(id);
      if (some.size() == again_max) read();
    }
    read();
  }
  void read_moved_allocations() {
    read_again(select_allocation_sums_again, moved_allocations_,
               [this](const Rows& rows) { take_allocations(rows); });
  }
  void read_moved_leases() {
    read_again(select_leases_again, moved_leases_, [this](const Rows& rows) { take_leases(rows); });
  }

  void read_windows() {
    std::string key_id;
    std::string span;
    std::int64_t starts_at_ms = 0;
    for (bool is_full = true; is_full;) {
      const Rows rows = run_(select_windows, {key_id, span, starts_at_ms});
      for (std::size_t row = 0; row < rows.size(); ++row) {
        key_id = rows.text(row, 0);
        span = rows.text(row, 1);
        starts_at_ms = rows.number(row, 2);
        audit_.window({key_id, span, starts_at_ms, rows.number(row, 3)});
      }
      is_full = rows.size() == rows_max;
    }
  }

  const Context& context_;
  Audit& audit_;
  std::function<Rows(const Query&, Values)> run_;  // on any session, or in the snapshot
  bool is_last_ = false;                           // reads run in the snapshot
  std::map<std::int64_t, Mark> marks_;             // by stream
  std::int64_t posting_ = std::numeric_limits<std::int64_t>::min();
  std::set<std::string> moved_allocations_;  // to be read again in the snapshot
  std::set<std::int64_t> moved_leases_;
  std::map<std::int64_t, ledger::Credits> pending_;  // in the snapshot
};

}  // namespace

ledger::Verification verify_books(const Context& context, const ledger::Checkpoint* earlier) {
  Audit audit(earlier);
  Reader reader(context, audit);
  ledger::Verification verification = audit.finish(reader.read_everything());
  return context.database.with([&](Connection& connection) {
    Transaction snapshot(connection, Transaction::Kind::snapshot, context.database.writer());
    add_correction_faults(snapshot, verification);
    add_purchase_faults(snapshot, verification);
    return verification;
  });
}

}  // namespace turnpike::storage

#include <atomic>
#include <nlohmann/json.hpp>

#include "storage/stores.h"

namespace turnpike::storage {
namespace {

using base::ErrorCode;
using quota::CounterRow;
using quota::Counts;

// All rows in one parameter, as an array of arrays.
constexpr Query upsert_sqlite{
    "INSERT INTO free_count (account_id, bucket, window_start, window_used, quota_start,"
    " quota_used, cumulative, ends_at)"
    " SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5,"
    " value ->> 6, value ->> 7 FROM json_each($1) WHERE true"
    " ON CONFLICT (account_id, bucket) DO UPDATE SET window_start = excluded.window_start,"
    " window_used = excluded.window_used, quota_start = excluded.quota_start,"
    " quota_used = excluded.quota_used, cumulative = excluded.cumulative,"
    " ends_at = excluded.ends_at"};
constexpr Query upsert_postgres{
    "INSERT INTO free_count (account_id, bucket, window_start, window_used, quota_start,"
    " quota_used, cumulative, ends_at)"
    " SELECT value ->> 0, value ->> 1, (value ->> 2)::bigint, (value ->> 3)::bigint,"
    " (value ->> 4)::bigint, (value ->> 5)::bigint, (value ->> 6)::bigint, (value ->> 7)::bigint"
    " FROM json_array_elements($1::json)"
    " ON CONFLICT (account_id, bucket) DO UPDATE SET window_start = excluded.window_start,"
    " window_used = excluded.window_used, quota_start = excluded.quota_start,"
    " quota_used = excluded.quota_used, cumulative = excluded.cumulative,"
    " ends_at = excluded.ends_at"};
constexpr Query begin_term_of{
    "UPDATE counter SET value = value + 1 WHERE name = 'free_term' RETURNING value", "i"};
// Locks the row until the commit, so that a new term waits for this transaction or is visible to
// it.
constexpr Query hold_term{
    "UPDATE counter SET value = value WHERE name = 'free_term' AND value = $1 RETURNING value",
    "i"};
constexpr Query raise_time{"UPDATE counter SET value = $1 WHERE name = 'free_time' AND value < $1"};
constexpr Query select_time{"SELECT value FROM counter WHERE name = 'free_time'", "i"};
constexpr Query select_counts{
    "SELECT window_start, window_used, quota_start, quota_used, cumulative FROM free_count"
    " WHERE account_id = $1 AND bucket = $2",
    "iiiii"};
constexpr Query delete_ended{
    "DELETE FROM free_count WHERE (account_id, bucket) IN (SELECT account_id, bucket"
    " FROM free_count WHERE ends_at <= $1 ORDER BY ends_at LIMIT $2) RETURNING 1 AS one",
    "i"};

class SqlFreeCounts final : public quota::CounterStore {
 public:
  explicit SqlFreeCounts(const Context& context)
      : context_(context), keepers_session_(context.database.own_session()) {}

  Result<std::int64_t, base::Error> begin_term() override {
    return answered<std::int64_t>("begin to count", [&] {
      return context_.database.write([&](Transaction& transaction) {
        term_.store(transaction.run(begin_term_of).number(0, 0));
        return transaction.run(select_time).number(0, 0);
      });
    });
  }

  Result<Unit, base::Error> write(std::span<const CounterRow> rows, std::int64_t now_ms) override {
    nlohmann::json values = nlohmann::json::array();
    for (const CounterRow& row : rows) {
      values.push_back({row.account_id, row.bucket, row.counts.window_start_s, row.counts.window,
                        row.counts.quota_start_s, row.counts.quota, row.counts.cumulative,
                        row.ends_at_ms});
    }
    const std::string text = values.dump();
    using Answer = Result<Unit, base::Error>;
    return answered<Unit>("write free counts", [&] {
      return keepers_session_->write([&](Transaction& transaction) -> Answer {
        if (transaction.run(hold_term, {term_.load()}).empty()) {
          return base::Error{ErrorCode::gateway_free_unavailable,
                             "Another gateway counts in this database now."};
        }
        const bool is_sqlite = context_.database.engine() == Engine::sqlite;
        transaction.run(is_sqlite ? upsert_sqlite : upsert_postgres, {text});
        transaction.run(raise_time, {now_ms});
        return Unit{};
      });
    });
  }

  Result<std::optional<Counts>, base::Error> find(std::string_view account_id,
                                                  std::string_view bucket) override {
    using Answer = std::optional<Counts>;
    return answered<Answer>("read free counts", [&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        const Rows rows = connection.run(select_counts, {account_id, bucket});
        if (rows.empty()) return std::nullopt;
        Counts counts;
        counts.window_start_s = rows.number(0, 0);
        counts.window = static_cast<std::uint32_t>(rows.number(0, 1));
        counts.quota_start_s = rows.number(0, 2);
        counts.quota = static_cast<std::uint32_t>(rows.number(0, 3));
        counts.cumulative = static_cast<std::uint64_t>(rows.number(0, 4));
        return counts;
      });
    });
  }

  Result<std::uint64_t, base::Error> drop_ended(std::int64_t now_ms,
                                                std::uint32_t rows_max) override {
    return answered<std::uint64_t>("drop free counts", [&] {
      return keepers_session_->write([&](Transaction& transaction) -> std::uint64_t {
        if (transaction.run(hold_term, {term_.load()}).empty()) return 0;
        const std::size_t dropped =
            transaction.run(delete_ended, {now_ms, std::int64_t{rows_max}}).size();
        // With the row gone, only the stored time shows that its windows are over.
        if (dropped > 0) transaction.run(raise_time, {now_ms});
        return dropped;
      });
    });
  }

 private:
  // `work` returns a T or a Result<T>.
  template <class T, class F>
  Result<T, base::Error> answered(std::string_view what, F&& work) const {
    try {
      return work();
    } catch (const StoreError& error) {
      context_.report(what, error);
      return base::Error{ErrorCode::gateway_free_unavailable,
                         "The counts of free variants cannot be reached.", 1};
    }
  }

  const Context& context_;
  const std::unique_ptr<SessionPool> keepers_session_;  // free calls wait for its writes
  std::atomic<std::int64_t> term_{0};
};

}  // namespace

std::unique_ptr<quota::CounterStore> make_free_counts(const Context& context) {
  return std::make_unique<SqlFreeCounts>(context);
}

}  // namespace turnpike::storage

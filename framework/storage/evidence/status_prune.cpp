#include "storage/evidence/status_store.h"

namespace turnpike::storage {
namespace {

// One transaction per thousand rows, since other writers wait for it on SQLite.
constexpr Query prune_books{
    "DELETE FROM status_book WHERE (stream, round) IN (SELECT stream, round FROM status_book"
    " WHERE ended_at < $1 ORDER BY ended_at LIMIT 1000) RETURNING round",
    "i"};
constexpr Query prune_lines{
    "DELETE FROM status_lines WHERE (stream, round) IN (SELECT stream, round FROM status_lines"
    " WHERE ended_at < $1 ORDER BY ended_at LIMIT 1000) RETURNING round",
    "i"};
constexpr Query prune_reports{
    "DELETE FROM status_traffic WHERE (node, started_at) IN (SELECT node, started_at"
    " FROM status_traffic WHERE started_at < $1 ORDER BY started_at LIMIT 1000)"
    " RETURNING started_at",
    "i"};
constexpr Query prune_segments{
    "DELETE FROM status_segment WHERE (scope, length_ms, started_at) IN"
    " (SELECT scope, length_ms, started_at FROM status_segment"
    " WHERE length_ms = $1 AND started_at < $2 ORDER BY started_at LIMIT 1000)"
    " RETURNING started_at",
    "i"};

constexpr std::int64_t five_minutes_ms = status::Segment::lengths_ms[0];
constexpr std::int64_t segment_hour_ms = status::Segment::lengths_ms[1];

}  // namespace

SqlStatusStore::Answer<std::uint64_t> SqlStatusStore::prune(const status::Retention& retention) {
  using Number = std::uint64_t;
  return answered<Number>(
      context_, base::ErrorCode::status_unavailable, "prune status", [&]() -> Number {
        Number pruned = 0;
        const auto each_thousand = [&](auto&& remove) {
          std::size_t step = 0;
          do {
            step = context_.database.write([&](Transaction& transaction) {
              return remove(transaction, context_.now_ms(transaction)).size();
            });
            pruned += step;
          } while (step == 1'000);
        };
        // Books before lines: a reader that starts after a book then finds all lines from there on.
        each_thousand([&](Transaction& transaction, std::int64_t now_ms) {
          return transaction.run(prune_books, {now_ms - retention.lines_ms});
        });
        each_thousand([&](Transaction& transaction, std::int64_t now_ms) {
          return transaction.run(prune_lines, {now_ms - retention.lines_ms});
        });
        each_thousand([&](Transaction& transaction, std::int64_t now_ms) {
          return transaction.run(prune_reports, {now_ms - retention.reports_ms});
        });
        each_thousand([&](Transaction& transaction, std::int64_t now_ms) {
          return transaction.run(prune_segments,
                                 {five_minutes_ms, now_ms - retention.segments_5min_ms});
        });
        each_thousand([&](Transaction& transaction, std::int64_t now_ms) {
          return transaction.run(prune_segments,
                                 {segment_hour_ms, now_ms - retention.segments_hour_ms});
        });
        return pruned;
      });
}

}  // namespace turnpike::storage

#include <algorithm>
#include <limits>
#include <span>

#include "ledger/corrections.h"
#include "storage/allocation_rows.h"
#include "storage/stores.h"
#include "storage/usage_index.h"

namespace turnpike::storage {
namespace {

using ledger::Allocation;
using ledger::CallRecord;
using ledger::HourSums;
using ledger::Page;
using ledger::PageQuery;
using ledger::PartOfHour;
using ledger::UsageFilter;
using ledger::UsageRow;

#define CHUNK "8192"  // facts that one transaction indexes
constexpr std::int64_t chunk = 8'192;
constexpr std::int64_t part_rows = 16'384;  // facts that one statement sums
constexpr std::int64_t hour_ms = 3'600'000;

// ---- the index ----------------------------------------------------------------------------------

// Every stream, found by one step into the primary key each, with how far it is indexed and how
// many facts wait. A stream's facts commit in the order of their seq, so what is there is a prefix.
// Both ends of what is read are given: PostgreSQL would rather sort all that waits than believe the
// LIMIT. Where the books have a gap it goes on from what is behind it.
#define FIRST_WAITING(stream_is, seq_from) \
  "(SELECT MIN(w.seq) FROM fact w WHERE w.stream = " stream_is " AND w.seq > " seq_from ")"
constexpr Query select_news{
    "WITH RECURSIVE each(stream) AS (SELECT MIN(stream) FROM fact UNION ALL"
    " SELECT (SELECT MIN(f.stream) FROM fact f WHERE f.stream > each.stream) FROM each"
    " WHERE each.stream IS NOT NULL)"
    " SELECT e.stream, COALESCE(m.seq, 0) AS seq, (SELECT COUNT(*) FROM (SELECT 1 FROM fact f"
    " WHERE f.stream = e.stream AND f.seq > COALESCE(m.seq, 0) AND f.seq < " CHUNK
    " + " FIRST_WAITING("e.stream",
                        "COALESCE(m.seq, 0)") " LIMIT " CHUNK
                                              ") AS waiting) AS news"
                                              " FROM each e LEFT JOIN usage_mark m ON m.stream = "
                                              "e.stream WHERE e.stream IS NOT NULL"
                                              " ORDER BY e.stream",
    "iii"};
// Taken first: whoever holds this row gives positions.
constexpr Query lock_head{"UPDATE usage_head SET position = position RETURNING position", "i"};
constexpr Query insert_mark{
    "INSERT INTO usage_mark (stream, seq, next_seq, message_id) VALUES ($1, 0, 0, '')"
    " ON CONFLICT DO NOTHING"};
constexpr Query plan_mark{
    "UPDATE usage_mark SET next_seq = (SELECT MAX(n.seq) FROM (SELECT seq FROM fact"
    " WHERE fact.stream = $1 AND fact.seq > $2 AND fact.seq < " CHUNK
    " + " FIRST_WAITING("$1", "$2") " ORDER BY seq LIMIT $3) AS n) WHERE stream = $1"};
#undef FIRST_WAITING
// Both engines would rather read every fact there is and look for its mark: CROSS keeps SQLite from
// it, and ORDER BY with LIMIT leaves PostgreSQL, which has no statistics yet, but the primary key.
#define FACTS_IN_SQLITE                                                                   \
  " FROM usage_mark m CROSS JOIN fact f WHERE m.next_seq > m.seq AND f.stream = m.stream" \
  " AND f.seq > m.seq AND f.seq <= m.next_seq"
#define FACTS_IN_POSTGRES                                                                  \
  " FROM usage_mark m CROSS JOIN LATERAL (SELECT * FROM fact WHERE fact.stream = m.stream" \
  " AND fact.seq > m.seq AND fact.seq <= m.next_seq ORDER BY fact.seq LIMIT " CHUNK        \
  ") AS f WHERE m.next_seq > m.seq"
#define INSERT_ROWS(planned_facts)                                                     \
  "INSERT INTO usage_row (account_id, position, stream, seq) SELECT f.account_id,"     \
  " CAST($1 AS BIGINT) + ROW_NUMBER() OVER (ORDER BY f.occurred_at, f.stream, f.seq)," \
  " f.stream, f.seq" planned_facts
#define INSERT_HOURS(planned_facts)                                                            \
  "INSERT INTO usage_hour (account_id, hour, route_id, method, api_key_id, requests, charged," \
  " released, credits, first_position, last_position) SELECT f.account_id,"                    \
  " f.occurred_at / 3600000, f.route_id, f.method, f.api_key_id, COUNT(*),"                    \
  " SUM(CASE WHEN f.outcome_reason = 'success' THEN 1 ELSE 0 END),"                            \
  " SUM(CASE WHEN f.outcome_reason IN ('success', 'replayed') THEN 0 ELSE 1 END),"             \
  " SUM(f.credits_charged), CAST($1 AS BIGINT) + 1, CAST($2 AS BIGINT)" planned_facts          \
  " GROUP BY f.account_id, f.occurred_at / 3600000, f.route_id, f.method, f.api_key_id"        \
  " ON CONFLICT (account_id, hour, route_id, method, api_key_id) DO UPDATE SET"                \
  " requests = usage_hour.requests + excluded.requests,"                                       \
  " charged = usage_hour.charged + excluded.charged,"                                          \
  " released = usage_hour.released + excluded.released,"                                       \
  " credits = usage_hour.credits + excluded.credits, last_position = excluded.last_position"

// What differs between the engines.
struct IndexPlan {
  Query insert_rows;
  Query insert_hours;
};
constexpr IndexPlan sqlite_plan{{INSERT_ROWS(FACTS_IN_SQLITE)}, {INSERT_HOURS(FACTS_IN_SQLITE)}};
constexpr IndexPlan postgres_plan{{INSERT_ROWS(FACTS_IN_POSTGRES)},
                                  {INSERT_HOURS(FACTS_IN_POSTGRES)}};
#undef INSERT_HOURS
#undef INSERT_ROWS
#undef FACTS_IN_POSTGRES
#undef FACTS_IN_SQLITE
#undef CHUNK
constexpr Query move_marks{
    "UPDATE usage_mark SET seq = next_seq, message_id = (SELECT f.message_id FROM fact f"
    " WHERE f.stream = usage_mark.stream AND f.seq = usage_mark.next_seq) WHERE next_seq > seq"};
constexpr Query move_head{"UPDATE usage_head SET position = $1"};

// ---- reading ------------------------------------------------------------------------------------

#define USAGE_COLUMNS                                                                            \
  " f.message_id, f.request_id, f.client_request_id, f.account_id, f.api_key_id, f.occurred_at," \
  " f.route_id, f.route_revision, f.method, f.lane, f.credit_cost, f.credits_charged,"           \
  " f.price_version, f.generation, f.outcome_reason, f.upstream_status, f.upstream_ms"
#define USAGE_KINDS \
  "tttttititti"     \
  "iittii"
constexpr Query select_usage{
    "SELECT r.position," USAGE_COLUMNS
    " FROM (SELECT position, stream, seq FROM usage_row WHERE account_id = $1"
    " AND position <= $2 ORDER BY position DESC LIMIT $3) AS r"
    " JOIN fact f ON f.stream = r.stream AND f.seq = r.seq ORDER BY r.position DESC",
    "i" USAGE_KINDS};
// One call is one message under the call's own id, so no index on request_id is needed.
constexpr Query select_call{"SELECT f.stream, f.seq," USAGE_COLUMNS
                            " FROM fact f WHERE f.message_id = $1 AND f.account_id = $2",
                            "ii" USAGE_KINDS};
#undef USAGE_COLUMNS
#undef USAGE_KINDS
constexpr Query select_call_corrections{
    "SELECT message_id, id, kind, units, recorded_at FROM correction WHERE message_id = $1"
    " ORDER BY recorded_at, id",
    "tttii"};
constexpr Query count_usage{
    "SELECT COUNT(*) AS n FROM (SELECT 1 FROM usage_row WHERE account_id = $1 AND position <= $2"
    " ORDER BY position DESC LIMIT $3) AS r",
    "i"};
constexpr Query select_corrections{
    "SELECT c.message_id, c.id, c.kind, c.units, c.recorded_at FROM usage_row r"
    " JOIN fact f ON f.stream = r.stream AND f.seq = r.seq"
    " JOIN correction c ON c.message_id = f.message_id"
    " WHERE r.account_id = $1 AND r.position <= $2 AND r.position >= $3"
    " ORDER BY c.recorded_at, c.id",
    "tttii"};
constexpr Query select_issued{
    "SELECT p.id AS number, " ALLOCATION_COLUMNS
    " FROM (SELECT id, allocation_id FROM posting WHERE account_id = $1 AND from_book = 'issued'"
    " AND id <= $2 ORDER BY id DESC LIMIT $3) AS p JOIN allocation a ON a.id = p.allocation_id"
    " ORDER BY p.id DESC",
    "itttiiiiiti"};

#define SUM_FILTER " AND ($4 = '' OR route_id = $4) AND ($5 = '' OR api_key_id = $5)"
#define SUM_COLUMNS " hour, route_id, method, api_key_id, requests, charged, released, credits"
constexpr char sum_kinds[] = "itttiiii";
constexpr Query select_first_hours{"SELECT" SUM_COLUMNS
                                   " FROM usage_hour WHERE account_id = $1 AND hour >= $2"
                                   " AND hour < $3" SUM_FILTER
                                   " ORDER BY hour, route_id, method, api_key_id LIMIT 4096",
                                   sum_kinds};
constexpr Query select_next_hours{
    "SELECT" SUM_COLUMNS
    " FROM usage_hour WHERE account_id = $1 AND hour >= $2 AND hour < $3" SUM_FILTER
    " AND (hour, route_id, method, api_key_id) > ($2, $6, $7, $8)"
    " ORDER BY hour, route_id, method, api_key_id LIMIT 4096",
    sum_kinds};
#undef SUM_COLUMNS
#undef SUM_FILTER

// Where the account's facts of an hour are.
constexpr Query select_span{
    "SELECT COALESCE(MIN(first_position), 0) AS a, COALESCE(MAX(last_position), -1) AS b"
    " FROM usage_hour WHERE account_id = $1 AND hour = $2",
    "ii"};
constexpr Query select_part_end{
    "SELECT COALESCE(MAX(r.position), 0) AS a, COUNT(*) AS n FROM (SELECT position FROM usage_row"
    " WHERE account_id = $1 AND position > $2 AND position <= $3 ORDER BY position LIMIT $4) AS r",
    "ii"};
constexpr Query sum_part{
    "SELECT f.route_id, f.method, f.api_key_id, COUNT(*) AS a,"
    " CAST(SUM(CASE WHEN f.outcome_reason = 'success' THEN 1 ELSE 0 END) AS BIGINT) AS b,"
    " CAST(SUM(CASE WHEN f.outcome_reason IN ('success', 'replayed') THEN 0 ELSE 1 END) AS BIGINT)"
    " AS c, CAST(SUM(f.credits_charged) AS BIGINT) AS d FROM usage_row r"
    " JOIN fact f ON f.stream = r.stream AND f.seq = r.seq WHERE r.account_id = $1"
    " AND r.position > $2 AND r.position <= $3 AND f.occurred_at >= $4 AND f.occurred_at < $5"
    " AND ($6 = '' OR f.route_id = $6) AND ($7 = '' OR f.api_key_id = $7)"
    " GROUP BY f.route_id, f.method, f.api_key_id",
    "tttiiii"};

// The row whose columns begin at `at`.
UsageRow usage_at(const Rows& rows, std::size_t row, std::size_t at) {
  const auto text = [&]() -> const std::string& { return rows.text(row, at++); };
  const auto number = [&] { return rows.number(row, at++); };
  UsageRow usage;
  usage.message_id = text();
  usage.request_id = text();
  usage.client_request_id = text();
  usage.account_id = text();
  usage.api_key_id = text();
  usage.occurred_at_ms = number();
  usage.route_id = text();
  usage.route_revision = number();
  usage.method = text();
  usage.lane = text();
  usage.credit_cost = number();
  usage.credits_charged = number();
  usage.price_version = number();
  usage.generation = text();
  usage.outcome_reason = text();
  usage.upstream_status = number();
  usage.upstream_ms = number();
  return usage;
}

// Adds what was given back for these calls.
void add_corrections(const Rows& rows, std::span<UsageRow> calls) {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto kind = ledger::correction_kind(rows.text(row, 2));
    if (!kind) throw StoreError(StoreError::Kind::fatal, "a correction of unknown kind");
    for (UsageRow& usage : calls) {
      if (usage.message_id != rows.text(row, 0)) continue;
      const ledger::Credits before = usage.restored ? usage.restored->units : 0;
      usage.restored = {rows.text(row, 1), *kind, before + rows.number(row, 3),
                        rows.number(row, 4)};
    }
  }
}

const std::string& id_of(const UsageRow& usage) { return usage.message_id; }
const std::string& id_of(const Allocation& allocation) { return allocation.id; }

HourSums sums_at(const Rows& rows, std::size_t row) {
  return {rows.number(row, 0),
          rows.text(row, 1),
          rows.text(row, 2),
          rows.text(row, 3),
          {rows.number(row, 4), rows.number(row, 5), rows.number(row, 6), rows.number(row, 7)}};
}

// A page of rows whose first column is their number: the place's own row, where there is one, then
// the items, then one that tells whether there are more.
template <class Item, class F>
std::optional<Page<Item>> page_of(const PageQuery& query, const Rows& rows, std::int64_t now_ms,
                                  F&& item_at) {
  Page<Item> page;
  page.generated_at_ms = now_ms;
  std::size_t row = 0;
  if (query.after) {
    if (rows.empty() || rows.number(0, 0) != query.after->number) return std::nullopt;
    if (id_of(item_at(row++)) != query.after->id) return std::nullopt;
  }
  for (; row < rows.size() && page.items.size() < query.limit; ++row) {
    page.items.push_back(item_at(row));
  }
  if (row < rows.size()) page.next = {rows.number(row - 1, 0), id_of(page.items.back())};
  return page;
}

std::int64_t first_number(const PageQuery& query) {
  return query.after ? query.after->number : std::numeric_limits<std::int64_t>::max();
}

std::int64_t rows_wanted(const PageQuery& query) {
  return std::int64_t{query.limit} + (query.after ? 2 : 1);
}

class SqlUsageStore final : public ledger::UsageStore {
 public:
  explicit SqlUsageStore(const Context& context) : context_(context), index_(context) {}

  Result<bool, base::Error> catch_up() override {
    return read_answered<bool>(context_, "index usage", [&] {
      Database& database = index_.open();
      const bool has_news = database.with([](Connection& connection) {
        const Rows rows = connection.run(select_news);
        for (std::size_t row = 0; row < rows.size(); ++row) {
          if (rows.number(row, 2) > 0) return true;
        }
        return false;
      });
      return has_news && database.write([&](Transaction& transaction) {
        return take(transaction, database.engine() == Engine::sqlite ? sqlite_plan : postgres_plan);
      });
    });
  }

  Result<Unit, base::Error> forget_index() override {
    return read_answered<Unit>(context_, "forget the index of usage", [&] {
      index_.forget();
      return Unit{};
    });
  }

  Result<std::optional<Page<UsageRow>>, base::Error> usage(const PageQuery& query) override {
    using Answer = std::optional<Page<UsageRow>>;
    return read_answered<Answer>(context_, "read usage", [&] {
      return index_.open().with([&](Connection& connection) {
        const std::int64_t first = first_number(query);
        const std::int64_t wanted = rows_wanted(query);
        const Rows rows = connection.run(select_usage, {query.account_id, first, wanted});
        if (static_cast<std::int64_t>(rows.size()) < wanted) {
          const Rows known = connection.run(count_usage, {query.account_id, first, wanted});
          if (known.number(0, 0) > static_cast<std::int64_t>(rows.size())) {
            throw StoreError(StoreError::Kind::fatal, "a fact that was indexed is gone");
          }
        }
        Answer page = page_of<UsageRow>(query, rows, context_.clock.now_ms(),
                                        [&](std::size_t row) { return usage_at(rows, row, 1); });
        if (page && !page->items.empty()) {
          add_corrections(connection.run(select_corrections, {query.account_id, rows.number(0, 0),
                                                              rows.number(rows.size() - 1, 0)}),
                          page->items);
        }
        return page;
      });
    });
  }

  Result<std::optional<CallRecord>, base::Error> call(std::string_view account_id,
                                                      std::string_view message_id) override {
    return read_answered<std::optional<CallRecord>>(context_, "read a call", [&] {
      return context_.database.with([&](Connection& connection) -> std::optional<CallRecord> {
        const Rows rows = connection.run(select_call, {message_id, account_id});
        if (rows.empty()) return std::nullopt;
        CallRecord call{rows.number(0, 0), rows.number(0, 1), usage_at(rows, 0, 2)};
        add_corrections(connection.run(select_call_corrections, {message_id}), {&call.usage, 1});
        return call;
      });
    });
  }

  Result<std::optional<Page<Allocation>>, base::Error> allocations(
      const PageQuery& query) override {
    using Answer = std::optional<Page<Allocation>>;
    return read_answered<Answer>(context_, "read allocations", [&] {
      return context_.database.with([&](Connection& connection) {
        const Rows rows = connection.run(
            select_issued, {query.account_id, first_number(query), rows_wanted(query)});
        const std::int64_t now_ms = context_.clock.now_ms();
        return page_of<Allocation>(query, rows, now_ms, [&](std::size_t row) {
          return allocation_at(rows, row, 1, now_ms);
        });
      });
    });
  }

  Result<std::vector<HourSums>, base::Error> hours(const UsageFilter& filter, std::int64_t first,
                                                   std::int64_t end,
                                                   const std::optional<HourSums>& after) override {
    using Answer = std::vector<HourSums>;
    return read_answered<Answer>(context_, "sum usage", [&] {
      return index_.open().with([&](Connection& connection) {
        const Rows rows =
            after ? connection.run(
                        select_next_hours,
                        {filter.account_id, after->hour, end, filter.route_id, filter.api_key_id,
                         after->route_id, after->method, after->api_key_id})
                  : connection.run(select_first_hours, {filter.account_id, first, end,
                                                        filter.route_id, filter.api_key_id});
        Answer sums;
        for (std::size_t row = 0; row < rows.size(); ++row) sums.push_back(sums_at(rows, row));
        return sums;
      });
    });
  }

  Result<PartOfHour, base::Error> part_of_hour(const UsageFilter& filter, std::int64_t from_ms,
                                               std::int64_t to_ms, std::int64_t after) override {
    return read_answered<PartOfHour>(context_, "sum usage", [&] {
      return index_.open().with([&](Connection& connection) {
        PartOfHour part;
        const std::int64_t hour = from_ms / hour_ms;
        const Rows span = connection.run(select_span, {filter.account_id, hour});
        const std::int64_t from = std::max(after, span.number(0, 0) - 1);
        const std::int64_t last = span.number(0, 1);
        const Rows end =
            connection.run(select_part_end, {filter.account_id, from, last, part_rows});
        if (end.number(0, 1) == 0) return part;
        const std::int64_t to = end.number(0, 0);
        const Rows rows = connection.run(sum_part, {filter.account_id, from, to, from_ms, to_ms,
                                                    filter.route_id, filter.api_key_id});
        for (std::size_t row = 0; row < rows.size(); ++row) {
          part.sums.push_back({hour,
                               rows.text(row, 0),
                               rows.text(row, 1),
                               rows.text(row, 2),
                               {rows.number(row, 3), rows.number(row, 4), rows.number(row, 5),
                                rows.number(row, 6)}});
        }
        if (end.number(0, 1) == part_rows) part.next = to;
        return part;
      });
    });
  }

 private:
  // Indexes up to a chunk, in equal parts from the streams that have news: none waits for another.
  // True: there are more.
  static bool take(Transaction& transaction, const IndexPlan& plan) {
    const std::int64_t position = transaction.run(lock_head).number(0, 0);
    const Rows news = transaction.run(select_news);
    std::int64_t streams = 0;
    for (std::size_t row = 0; row < news.size(); ++row) streams += news.number(row, 2) > 0 ? 1 : 0;
    if (streams == 0) return false;
    const std::int64_t share = std::max<std::int64_t>(1, chunk / streams);
    std::int64_t end = position;
    bool has_more = false;
    for (std::size_t row = 0; row < news.size(); ++row) {
      const std::int64_t waiting = news.number(row, 2);
      if (waiting == 0) continue;
      const std::int64_t taken = std::min(waiting, share);
      transaction.run(insert_mark, {news.number(row, 0)});
      transaction.run(plan_mark, {news.number(row, 0), news.number(row, 1), taken});
      end += taken;
      // A full share: what waits behind it was not counted.
      has_more = has_more || taken < waiting || waiting == chunk;
    }
    transaction.run(plan.insert_rows, {position});
    transaction.run(plan.insert_hours, {position, end});
    transaction.run(move_marks);
    transaction.run(move_head, {end});
    return has_more;
  }

  const Context& context_;
  UsageIndex index_;
};

}  // namespace

std::unique_ptr<ledger::UsageStore> make_usage_store(const Context& context) {
  return std::make_unique<SqlUsageStore>(context);
}

}  // namespace turnpike::storage

#include <algorithm>
#include <charconv>
#include <limits>
#include <span>

#include "ledger/corrections.h"
#include "storage/books/allocation_rows.h"
#include "storage/books/key_windows.h"
#include "storage/books/usage_index.h"
#include "storage/books/usage_sums.h"
#include "storage/engine/row_text.h"
#include "storage/stores.h"

namespace turnpike::storage {
namespace {

using ledger::Allocation;
using ledger::CallRecord;
using ledger::DaysInHours;
using ledger::DaySums;
using ledger::Page;
using ledger::PageQuery;
using ledger::PartOfHour;
using ledger::RouteCallers;
using ledger::Slot;
using ledger::SlotSums;
using ledger::UsageFilter;
using ledger::UsageRow;

constexpr std::int64_t chunk = 32'768;  // facts that one transaction indexes
constexpr std::int64_t part_runs = 64;  // that one statement sums
constexpr std::int64_t hour_ms = 3'600'000;
constexpr std::int64_t looked_at_first = 256;   // facts that a search's first statement filters
constexpr std::int64_t looked_at_once = 1'024;  // that one statement does at most
constexpr std::size_t looked_at_max = 2'048;    // that one search does
constexpr std::size_t rare = 100;               // rarer is what the sums of hours find sooner
constexpr std::int64_t stretches_at_once = 64;
constexpr std::int64_t movements_max = 1'000;

// ---- the index ----------------------------------------------------------------------------------
// The sums of days, and of an account's hours, follow those of hours by triggers
// (migrations/postgres: 0014_usage_days.sql, 0015_usage_account_hours.sql).

// The streams that have news, with the first and the last seq of what waits there, each found by
// one step into the primary key: nothing is counted, for a stream has no gaps, and where the books
// were harmed a position too many is given to nobody. A stream's facts commit in the order of their
// seq, so what is there is a prefix.
constexpr Query select_news{
    "WITH RECURSIVE each(stream) AS (SELECT MIN(stream) FROM fact UNION ALL"
    " SELECT (SELECT MIN(f.stream) FROM fact f WHERE f.stream > each.stream) FROM each"
    " WHERE each.stream IS NOT NULL)"
    " SELECT n.stream, n.first_seq, n.last_seq FROM (SELECT e.stream,"
    " (SELECT MIN(f.seq) FROM fact f WHERE f.stream = e.stream AND f.seq > COALESCE(m.seq, 0))"
    " AS first_seq, (SELECT MAX(f.seq) FROM fact f WHERE f.stream = e.stream) AS last_seq"
    " FROM each e LEFT JOIN usage_mark m ON m.stream = e.stream WHERE e.stream IS NOT NULL) AS n"
    " WHERE n.first_seq IS NOT NULL",
    "iii"};
// Locked first: the transaction that holds this row assigns positions.
constexpr Query plan_mark{
    "INSERT INTO usage_mark (stream, seq, next_seq, message_id) VALUES ($1, 0,"
    " (SELECT MAX(f.seq) FROM fact f WHERE f.stream = $1 AND f.seq <= $2), '')"
    " ON CONFLICT (stream) DO UPDATE SET next_seq = excluded.next_seq"};
constexpr Query move_marks{
    "UPDATE usage_mark SET seq = next_seq, message_id = (SELECT f.message_id FROM fact f"
    " WHERE f.stream = usage_mark.stream AND f.seq = usage_mark.next_seq) WHERE next_seq > seq"};
constexpr Query move_head{"UPDATE usage_head SET position = $1"};

// The planned facts. Both engines would rather read every fact there is and look for its mark:
// CROSS keeps SQLite from it, and ORDER BY with LIMIT leaves PostgreSQL, which has no statistics
// yet, but the primary key.
#define FACTS_IN_SQLITE(columns)                                  \
  "(SELECT " columns                                              \
  " FROM usage_mark m CROSS JOIN fact f WHERE m.next_seq > m.seq" \
  " AND f.stream = m.stream AND f.seq > m.seq AND f.seq <= m.next_seq"
#define FACTS_IN_POSTGRES(columns)                                       \
  "(SELECT f.* FROM usage_mark m CROSS JOIN LATERAL (SELECT " columns    \
  " FROM fact f"                                                         \
  " WHERE f.stream = m.stream AND f.seq > m.seq AND f.seq <= m.next_seq" \
  " ORDER BY f.seq LIMIT 32768) AS f WHERE m.next_seq > m.seq"
#define PLACE_COLUMNS "f.account_id, f.occurred_at, f.stream, f.seq"
#define C_PLACE_COLUMNS "f.account_id COLLATE \"C\" AS account_id, f.occurred_at, f.stream, f.seq"
#define HOUR_COLUMNS                                                     \
  "f.account_id, f.occurred_at / 3600000 AS hour, f.route_id, f.method," \
  " f.api_key_id, f.outcome_reason, f.credits_charged"

// An account's facts of one chunk, oldest first, in runs of bounded length: their places, packed to
// the same number of bytes each, so that a run is a piece of that text.
#define INSERT_RUNS(places, run_places, run_bytes, facts)                            \
  "WITH RECURSIVE taken AS (SELECT f.account_id, COUNT(*) AS facts, " places         \
  " AS places FROM " facts                                                           \
  " GROUP BY f.account_id), piece(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM piece" \
  " WHERE (k + 1) * " run_places                                                     \
  " < (SELECT MAX(facts) FROM taken))"                                               \
  " INSERT INTO usage_run (account_id, first_position, last_position, places)"       \
  " SELECT t.account_id, CAST($1 AS BIGINT) + p.k * " run_places                     \
  " + 1, CAST($1 AS BIGINT)"                                                         \
  " + CASE WHEN (p.k + 1) * " run_places " < t.facts THEN (p.k + 1) * " run_places   \
  " ELSE t.facts END, SUBSTR(t.places, p.k * " run_bytes " + 1, " run_bytes          \
  ") FROM taken t JOIN piece p ON p.k * " run_places " < t.facts"
// The runs are in the order of time, so the counts of an account's hours tell where each hour's
// facts stand.
#define INSERT_HOURS(facts)                                                                     \
  "WITH summed AS MATERIALIZED (SELECT f.account_id, f.hour, f.route_id, f.method,"             \
  " f.api_key_id, COUNT(*) AS requests,"                                                        \
  " COUNT(*) FILTER (WHERE f.outcome_reason = 'success') AS charged,"                           \
  " COUNT(*) FILTER (WHERE f.outcome_reason NOT IN ('success', 'replayed')) AS released,"       \
  " SUM(f.credits_charged) AS credits FROM " facts                                              \
  " GROUP BY f.account_id, f.hour, f.route_id, f.method, f.api_key_id),"                        \
  " placed AS MATERIALIZED (SELECT account_id, hour, SUM(requests) AS facts,"                   \
  " SUM(SUM(requests)) OVER (PARTITION BY account_id ORDER BY hour) AS last FROM summed"        \
  " GROUP BY account_id, hour)"                                                                 \
  " INSERT INTO usage_hour (account_id, hour, route_id, method, api_key_id, requests, charged," \
  " released, credits, first_position, last_position) SELECT s.account_id, s.hour,"             \
  " s.route_id, s.method, s.api_key_id, s.requests, s.charged, s.released, s.credits,"          \
  " CAST($1 AS BIGINT) + p.last - p.facts + 1, CAST($1 AS BIGINT) + p.last"                     \
  " FROM summed s JOIN placed p ON p.account_id = s.account_id AND p.hour = s.hour WHERE TRUE"  \
  " ON CONFLICT (account_id, hour, route_id, method, api_key_id) DO UPDATE SET"                 \
  " requests = usage_hour.requests + excluded.requests,"                                        \
  " charged = usage_hour.charged + excluded.charged,"                                           \
  " released = usage_hour.released + excluded.released,"                                        \
  " credits = usage_hour.credits + excluded.credits, last_position = excluded.last_position"

#define INSERT_CLIENTS(facts)                                              \
  "INSERT INTO usage_client (account_id, client_request_id, stream, seq)"  \
  " SELECT f.account_id, f.client_request_id, f.stream, f.seq FROM " facts \
  " WHERE f.client_request_id <> ''"
#define CLIENT_COLUMNS "f.account_id, f.client_request_id, f.stream, f.seq"

// ---- reading ------------------------------------------------------------------------------------

// The newest $3 runs that begin at or below position $2.
#define NEWEST_RUNS(places)                                                        \
  "SELECT r.first_position, r.last_position, " places                              \
  " AS places FROM usage_run r WHERE r.account_id = $1 AND r.first_position <= $2" \
  " ORDER BY r.first_position DESC LIMIT $3"
// The runs that hold a position above $2 and begin at or below $3. The subquery finds the first of
// them by the primary key, since no index has last_position.
#define RUNS_OF_PART(places)                                                               \
  "SELECT r.first_position, r.last_position, " places                                      \
  " AS places FROM usage_run r WHERE r.account_id = $1"                                    \
  " AND r.last_position > $2 AND r.first_position <= $3 AND r.first_position >= COALESCE(" \
  "(SELECT MAX(b.first_position) FROM usage_run b WHERE b.account_id = $1"                 \
  " AND b.first_position <= $2 + 1), 0) ORDER BY r.first_position LIMIT 64"
// Facts j at the places that a JSON text gives.
#define GIVEN_IN_SQLITE                                                      \
  " FROM json_each($1) AS j CROSS JOIN fact f ON f.stream = j.value ->> 's'" \
  " AND f.seq = j.value ->> 'q'"
#define GIVEN_IN_POSTGRES                                                        \
  " FROM json_to_recordset(CAST($1 AS JSON)) AS j(p BIGINT, s BIGINT, q BIGINT)" \
  " JOIN fact f ON f.stream = j.s AND f.seq = j.q"

#define USAGE_COLUMNS                                                                            \
  " f.message_id, f.request_id, f.client_request_id, f.account_id, f.api_key_id, f.occurred_at," \
  " f.route_id, f.route_revision, f.method, f.lane, f.credit_cost, f.credits_charged,"           \
  " f.price_version, f.generation, f.outcome_reason, f.upstream_status, f.upstream_ms"
#define USAGE_KINDS \
  "tttttititti"     \
  "iittii"
#define CORRECTION_COLUMNS " c.message_id, c.id, c.kind, c.units, c.recorded_at"
#define SUM_PART(given)                                                                \
  "SELECT f.route_id, f.method, f.api_key_id, COUNT(*) AS a,"                          \
  " COUNT(*) FILTER (WHERE f.outcome_reason = 'success') AS b,"                        \
  " COUNT(*) FILTER (WHERE f.outcome_reason NOT IN ('success', 'replayed')) AS c,"     \
  " CAST(SUM(f.credits_charged) AS BIGINT) AS d" given                                 \
  " WHERE f.occurred_at >= $2 AND f.occurred_at < $3 AND ($4 = '' OR f.route_id = $4)" \
  " AND ($5 = '' OR f.api_key_id = $5) GROUP BY f.route_id, f.method, f.api_key_id"

// The given facts that a filter wants.
#define WANTED(columns, given)                                                         \
  "SELECT " columns given                                                              \
  " WHERE f.occurred_at >= $2 AND f.occurred_at < $3 AND ($4 = '' OR f.route_id = $4)" \
  " AND ($5 = '' OR f.api_key_id = $5) AND ($6 = '' OR $6 = CASE f.outcome_reason"     \
  " WHEN 'success' THEN 'charged' WHEN 'replayed' THEN 'replayed' ELSE 'released' END)"

// What differs between the engines: how facts are found by a list of places, and how a run
// packs its own. PostgreSQL: 16 bytes each, as many as stay inside a row. SQLite: 32
// hexadecimal digits, and longer runs, since it copies all that an account has in the chunk for
// every piece of it.
struct Dialect {
  std::int64_t run_places;  // of a full run, as in insert_runs
  Query insert_runs;
  Query insert_hours;
  Query insert_clients;
  Query newest_runs;
  Query runs_of_part;
  Query select_facts;
  Query select_corrections;
  Query sum_part;
  Query select_wanted;
};
constexpr Dialect in_sqlite{
    512,
    {INSERT_RUNS("CAST(GROUP_CONCAT(PRINTF('%016x%016x', f.stream, f.seq), '') AS BLOB)", "512",
                 "16384",
                 FACTS_IN_SQLITE(PLACE_COLUMNS) " ORDER BY f.occurred_at, f.stream, f.seq) AS f")},
    {INSERT_HOURS(FACTS_IN_SQLITE(HOUR_COLUMNS) ") AS f")},
    {INSERT_CLIENTS(FACTS_IN_SQLITE(CLIENT_COLUMNS) ") AS f")},
    {NEWEST_RUNS("CAST(r.places AS TEXT)"), "iit"},
    {RUNS_OF_PART("CAST(r.places AS TEXT)"), "iit"},
    {"SELECT j.value ->> 'p'," USAGE_COLUMNS GIVEN_IN_SQLITE " ORDER BY j.value ->> 'p' DESC",
     "i" USAGE_KINDS},
    {"SELECT" CORRECTION_COLUMNS GIVEN_IN_SQLITE
     " JOIN correction c ON c.message_id = f.message_id ORDER BY c.recorded_at, c.id",
     "tttii"},
    {SUM_PART(GIVEN_IN_SQLITE), "tttiiii"},
    {WANTED("j.value ->> 'p'," USAGE_COLUMNS,
            GIVEN_IN_SQLITE) " ORDER BY j.value ->> 'p' DESC LIMIT $7",
     "i" USAGE_KINDS}};
constexpr Dialect in_postgres{
    100,
    {INSERT_RUNS("STRING_AGG(INT8SEND(f.stream) || INT8SEND(f.seq), ''"
                 " ORDER BY f.occurred_at, f.stream, f.seq)",
                 "100", "1600", FACTS_IN_POSTGRES(C_PLACE_COLUMNS) ") AS f")},
    {INSERT_HOURS(FACTS_IN_POSTGRES(HOUR_COLUMNS) ") AS f")},
    {INSERT_CLIENTS(FACTS_IN_POSTGRES(CLIENT_COLUMNS) ") AS f")},
    {NEWEST_RUNS("ENCODE(r.places, 'hex')"), "iit"},
    {RUNS_OF_PART("ENCODE(r.places, 'hex')"), "iit"},
    {"SELECT j.p," USAGE_COLUMNS GIVEN_IN_POSTGRES " ORDER BY j.p DESC", "i" USAGE_KINDS},
    {"SELECT" CORRECTION_COLUMNS GIVEN_IN_POSTGRES
     " JOIN correction c ON c.message_id = f.message_id ORDER BY c.recorded_at, c.id",
     "tttii"},
    {SUM_PART(GIVEN_IN_POSTGRES), "tttiiii"},
    {WANTED("j.p," USAGE_COLUMNS, GIVEN_IN_POSTGRES) " ORDER BY j.p DESC LIMIT $7",
     "i" USAGE_KINDS}};

// One call is one message under the call's own id, so no index on request_id is needed.
constexpr Query select_call{"SELECT f.stream, f.seq, f.hash," USAGE_COLUMNS
                            " FROM fact f WHERE f.message_id = $1 AND f.account_id = $2",
                            "iit" USAGE_KINDS};
constexpr Query select_call_corrections{
    "SELECT" CORRECTION_COLUMNS
    " FROM correction c WHERE c.message_id = $1 ORDER BY c.recorded_at, c.id",
    "tttii"};
#undef WANTED
#undef SUM_PART
#undef CORRECTION_COLUMNS
#undef USAGE_COLUMNS
#undef USAGE_KINDS
#undef GIVEN_IN_POSTGRES
#undef GIVEN_IN_SQLITE
#undef RUNS_OF_PART
#undef NEWEST_RUNS
#undef CLIENT_COLUMNS
#undef INSERT_CLIENTS
#undef INSERT_HOURS
#undef INSERT_RUNS
#undef HOUR_COLUMNS
#undef C_PLACE_COLUMNS
#undef PLACE_COLUMNS
#undef FACTS_IN_POSTGRES
#undef FACTS_IN_SQLITE

constexpr Query select_issued{
    "SELECT p.id AS number, " ALLOCATION_COLUMNS
    " FROM (SELECT id, allocation_id FROM posting WHERE account_id = $1 AND from_book = 'issued'"
    " AND id <= $2 ORDER BY id DESC LIMIT $3) AS p JOIN allocation a ON a.id = p.allocation_id"
    " ORDER BY p.id DESC",
    "itttiiiiiti"};

#define WITH_OUTCOME                                                                        \
  " AND ($6 = '' OR ($6 = 'charged' AND charged > 0) OR ($6 = 'released' AND released > 0)" \
  " OR ($6 = 'replayed' AND requests > charged + released))"
// The first and the last day with something that a filter wants.
constexpr Query select_days{
    "SELECT COALESCE(MIN(day), 0) AS a, COALESCE(MAX(day), -1) AS b FROM usage_day"
    " WHERE account_id = $1 AND day >= CAST($2 AS BIGINT) / 24 AND day <= CAST($3 AS BIGINT) / 24"
    " AND ($4 = '' OR route_id = $4) AND ($5 = '' OR api_key_id = $5)" WITH_OUTCOME,
    "ii"};
// Where what a filter wants may stand below position $7, newest first: the sums of the hours tell.
// By which of operation and key it is narrowed is part of the text: PostgreSQL keeps one plan for
// all values, and then reads of the table what the index says.
#define STRETCHES(of_route, of_key)                                            \
  "SELECT first_position, last_position FROM usage_hour WHERE account_id = $1" \
  " AND hour >= $2 AND hour < $3 AND " of_route " AND " of_key WITH_OUTCOME    \
  " AND first_position < $7 ORDER BY last_position DESC LIMIT $8"
constexpr Query select_stretches[] = {
    {STRETCHES("$4 = ''", "$5 = ''"), "ii"},
    {STRETCHES("route_id = $4", "$5 = ''"), "ii"},
    {STRETCHES("$4 = ''", "api_key_id = $5"), "ii"},
    {STRETCHES("route_id = $4", "api_key_id = $5"), "ii"},
};
#undef STRETCHES
#undef WITH_OUTCOME

constexpr Query select_named{
    "SELECT stream, seq FROM usage_client WHERE account_id = $1 AND client_request_id = $2"
    " ORDER BY stream DESC, seq DESC LIMIT $3",
    "ii"};

// Units that came to an account and that it lost, but for charges. Each half has an index of its
// own.
constexpr Query sum_before{
    "SELECT CAST(COALESCE((SELECT SUM(units) FROM posting WHERE account_id = $1"
    " AND from_book = 'issued' AND at < $2), 0) AS BIGINT)"
    " - CAST(COALESCE((SELECT SUM(units) FROM posting WHERE account_id = $1"
    " AND to_book IN ('expired', 'voided') AND at < $2), 0) AS BIGINT) AS n",
    "i"};
#define MOVED(which)                                                                  \
  "SELECT p.at AS at, p.id AS id, p.from_book, p.to_book, p.allocation_id, a.origin," \
  " p.units FROM posting p JOIN allocation a ON a.id = p.allocation_id"               \
  " WHERE p.account_id = $1 AND " which " AND p.at >= $2 AND p.at < $3"
constexpr Query select_moved{MOVED("p.from_book = 'issued'") " UNION ALL " MOVED(
                                 "p.to_book IN ('expired', 'voided')") " ORDER BY 1, 2 LIMIT $4",
                             "iitttti"};
#undef MOVED

// Soonest expiry first, without those that have nothing left.
constexpr Query select_expiring{
    "SELECT " ALLOCATION_COLUMNS
    " FROM allocation a WHERE a.account_id = $1 AND a.expires_at > $2 AND a.state = 'open'"
    " AND (a.remaining > 0 OR EXISTS (SELECT 1 FROM lease l WHERE l.allocation_id = a.id"
    " AND l.state = 'open')) ORDER BY a.expires_at LIMIT 8",
    allocation_kinds};

// Where the account's facts of an hour are.
constexpr Query select_span{
    "SELECT COALESCE(MIN(first_position), 0) AS a, COALESCE(MAX(last_position), -1) AS b"
    " FROM usage_hour WHERE account_id = $1 AND hour = $2",
    "ii"};

// A fact in the order of its account, and in the books.
struct Spot {
  std::int64_t position = 0;
  std::int64_t stream = 0;
  std::int64_t seq = 0;
};

// The spots of a run, oldest first.
std::vector<Spot> spots_of(const Rows& runs, std::size_t row) {
  constexpr std::size_t digits = 16;  // of one number in hexadecimal
  const std::string& places = runs.text(row, 2);
  const std::int64_t first = runs.number(row, 0);
  const std::int64_t end = runs.number(row, 1) + 1;
  if (places.size() != 2 * digits * static_cast<std::size_t>(end - first)) {
    throw StoreError(StoreError::Kind::fatal, "a run of usage has lost places");
  }
  std::vector<Spot> spots;
  const char* at = places.data();
  const auto number = [&] {
    std::int64_t value = 0;
    std::from_chars(at, at + digits, value, 16);
    at += digits;
    return value;
  };
  for (std::int64_t position = first; position < end; ++position) {
    const std::int64_t stream = number();
    spots.push_back({position, stream, number()});
  }
  return spots;
}

std::string text_of(const std::vector<Spot>& spots) {
  std::string text = "[";
  for (const Spot& spot : spots) {
    RowText row(text);
    row.add('p', spot.position);
    row.add('s', spot.stream);
    row.add('q', spot.seq);
  }
  close_array(text);
  return text;
}

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

// Where in an account's order of facts the ones that a filter wants may stand, read some at a time.
class Stretches {
 public:
  Stretches(Connection& connection, std::string_view account_id, const ledger::CallFilter& filter)
      : connection_(connection), account_id_(account_id), filter_(filter) {}

  // The highest position below `below` at which there may be one; 0: there is none.
  std::int64_t highest_below(std::int64_t below) {
    for (;;) {
      for (const Stretch& each : read_) {
        if (each.first < below) return std::min(each.last, below - 1);
      }
      if (are_all_) return 0;
      read(below);
    }
  }
  // Below it there is none, as far as is known.
  [[nodiscard]] std::int64_t lowest() const {
    if (!are_all_ || read_.empty()) return 1;
    return std::min_element(read_.begin(), read_.end(),
                            [](const Stretch& a, const Stretch& b) { return a.first < b.first; })
        ->first;
  }

 private:
  struct Stretch {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };

  void read(std::int64_t below) {
    if (!hours_) hours_ = hours_wanted();
    const std::size_t narrowed =
        (filter_.route_id.empty() ? 0 : 1) + (filter_.api_key_id.empty() ? 0 : 2);
    const Rows rows =
        connection_.run(select_stretches[narrowed],
                        {account_id_, hours_->first, hours_->last + 1, filter_.route_id,
                         filter_.api_key_id, filter_.outcome, below, stretches_at_once});
    are_all_ = rows.size() < static_cast<std::size_t>(stretches_at_once);
    read_.clear();
    for (std::size_t row = 0; row < rows.size(); ++row) {
      read_.push_back({rows.number(row, 0), rows.number(row, 1)});
    }
  }

  // The filter's hours without the days at both ends that have nothing.
  [[nodiscard]] Stretch hours_wanted() const {
    const Stretch hours{filter_.from_ms / hour_ms, filter_.to_ms / hour_ms};
    const Rows days =
        connection_.run(select_days, {account_id_, hours.first, hours.last, filter_.route_id,
                                      filter_.api_key_id, filter_.outcome});
    return {std::max(hours.first, days.number(0, 0) * 24),
            std::min(hours.last, days.number(0, 1) * 24 + 23)};
  }

  Connection& connection_;
  const std::string_view account_id_;
  const ledger::CallFilter& filter_;
  std::optional<Stretch> hours_;
  std::vector<Stretch> read_;  // highest end first
  bool are_all_ = false;       // there are no further ones below these
};

class SqlUsageStore final : public ledger::UsageStore {
 public:
  explicit SqlUsageStore(const Context& context) : context_(context), index_(context) {}

  Result<bool, base::Error> catch_up(ledger::Step step) override {
    return read_answered<bool>(context_, "index usage", [&] {
      Database& database = index_.open();
      const std::int64_t waiting =
          database.with([](Connection& connection) { return count_of(news_in(connection)); });
      if (waiting < (step == ledger::Step::full ? chunk : 1)) return false;
      const std::int64_t left = database.write(
          [&](Transaction& transaction) { return take(transaction, dialect_of(database)); });
      return left >= (step == ledger::Step::full ? chunk : 1);
    });
  }

  Result<Unit, base::Error> forget_index() override {
    return read_answered<Unit>(context_, "forget the index of usage", [&] {
      index_.forget();
      return Unit{};
    });
  }

  Result<std::vector<DaySums>, base::Error> days(std::int64_t first_day) override {
    return read_answered<std::vector<DaySums>>(context_, "sum days", [&] {
      return index_.open().with(
          [&](Connection& connection) { return sum_days(connection, first_day); });
    });
  }

  Result<std::vector<RouteCallers>, base::Error> callers(std::int64_t first_day) override {
    return read_answered<std::vector<RouteCallers>>(context_, "count callers", [&] {
      return index_.open().with(
          [&](Connection& connection) { return count_callers(connection, first_day); });
    });
  }

  Result<std::optional<Page<UsageRow>>, base::Error> usage(const PageQuery& query) override {
    using Answer = std::optional<Page<UsageRow>>;
    return read_answered<Answer>(context_, "read usage", [&] {
      Database& database = index_.open();
      return database.with([&](Connection& connection) {
        const Dialect& dialect = dialect_of(database);
        const std::vector<Spot> spots = newest_spots(connection, dialect, query.account_id,
                                                     first_number(query), rows_wanted(query));
        const std::string places = text_of(spots);
        const Rows rows = facts_at(connection, dialect, spots, places);
        Answer page = page_of<UsageRow>(query, rows, context_.clock.now_ms(),
                                        [&](std::size_t row) { return usage_at(rows, row, 1); });
        if (page && !page->items.empty()) {
          add_corrections(connection.run(dialect.select_corrections, {places}), page->items);
        }
        return page;
      });
    });
  }

  Result<std::vector<ledger::CapsOfKey>, base::Error> key_caps(
      std::string_view account_id) override {
    return read_answered<std::vector<ledger::CapsOfKey>>(context_, "read caps of keys", [&] {
      return context_.database.with([&](Connection& connection) {
        return KeyWindows::of_account(connection, account_id, ledger_now_ms(context_, connection));
      });
    });
  }

  Result<std::optional<CallRecord>, base::Error> call(std::string_view account_id,
                                                      std::string_view message_id) override {
    return read_answered<std::optional<CallRecord>>(context_, "read a call", [&] {
      return context_.database.with([&](Connection& connection) -> std::optional<CallRecord> {
        const Rows rows = connection.run(select_call, {message_id, account_id});
        if (rows.empty()) return std::nullopt;
        CallRecord call{rows.number(0, 0), rows.number(0, 1), usage_at(rows, 0, 3),
                        rows.text(0, 2)};
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

  Result<std::optional<Page<UsageRow>>, base::Error> search(
      const PageQuery& query, const ledger::CallFilter& filter) override {
    using Answer = std::optional<Page<UsageRow>>;
    return read_answered<Answer>(context_, "search usage", [&] {
      Database& database = index_.open();
      return database.with([&](Connection& connection) -> Answer {
        const Dialect& dialect = dialect_of(database);
        if (query.after && !is_there(connection, dialect, query)) return std::nullopt;
        Page<UsageRow> page = search_in(connection, dialect, query, filter);
        page.generated_at_ms = context_.clock.now_ms();
        return page;
      });
    });
  }

  Result<std::vector<UsageRow>, base::Error> calls_named(std::string_view account_id,
                                                         std::string_view client_request_id,
                                                         std::uint32_t limit) override {
    return read_answered<std::vector<UsageRow>>(context_, "read calls by name", [&] {
      Database& database = index_.open();
      return database.with([&](Connection& connection) {
        const Rows named =
            connection.run(select_named, {account_id, client_request_id, std::int64_t{limit}});
        std::vector<Spot> spots;
        for (std::size_t row = 0; row < named.size(); ++row) {
          spots.push_back({static_cast<std::int64_t>(named.size() - row), named.number(row, 0),
                           named.number(row, 1)});
        }
        std::vector<UsageRow> calls;
        if (spots.empty()) return calls;
        const Dialect& dialect = dialect_of(database);
        const std::string places = text_of(spots);
        const Rows rows = facts_at(connection, dialect, spots, places);
        for (std::size_t row = 0; row < rows.size(); ++row) {
          calls.push_back(usage_at(rows, row, 1));
        }
        add_corrections(connection.run(dialect.select_corrections, {places}), calls);
        return calls;
      });
    });
  }

  Result<ledger::AccountStatement, base::Error> statement(std::string_view account_id,
                                                          std::int64_t from_ms,
                                                          std::int64_t to_ms) override {
    using ledger::Movement;
    return read_answered<ledger::AccountStatement>(context_, "read a statement", [&] {
      return index_.open().with([&](Connection& connection) {
        ledger::AccountStatement statement;
        statement.opening = connection.run(sum_before, {account_id, from_ms}).number(0, 0) -
                            sum_charged(connection, account_id, from_ms / hour_ms);
        const Rows rows =
            connection.run(select_moved, {account_id, from_ms, to_ms, movements_max + 1});
        for (std::size_t row = 0; row < rows.size(); ++row) {
          if (row == movements_max) {
            statement.is_whole = false;
            break;
          }
          const auto origin = ledger::origin(rows.text(row, 5));
          if (!origin) throw StoreError(StoreError::Kind::fatal, "an allocation of unknown origin");
          Movement movement{rows.number(row, 0), Movement::Kind::granted, rows.text(row, 4),
                            *origin, rows.number(row, 6)};
          if (rows.text(row, 2) != "issued") {
            movement.kind =
                rows.text(row, 3) == "expired" ? Movement::Kind::expired : Movement::Kind::voided;
          }
          statement.movements.push_back(std::move(movement));
        }
        return statement;
      });
    });
  }

  Result<std::optional<Allocation>, base::Error> expiring_next(
      std::string_view account_id) override {
    using Answer = std::optional<Allocation>;
    return read_answered<Answer>(context_, "read allocations", [&] {
      return context_.database.with([&](Connection& connection) -> Answer {
        const std::int64_t now_ms = context_.clock.now_ms();
        const Rows rows = connection.run(select_expiring, {account_id, now_ms});
        for (std::size_t row = 0; row < rows.size(); ++row) {
          Allocation allocation = allocation_at(rows, row, 0, now_ms);
          if (allocation.status == ledger::AllocationStatus::active) return allocation;
        }
        return std::nullopt;
      });
    });
  }

  Result<std::vector<SlotSums>, base::Error> slots(const UsageFilter& filter, Slot slot,
                                                   std::int64_t first, std::int64_t end,
                                                   const std::optional<SlotSums>& after) override {
    return read_answered<std::vector<SlotSums>>(context_, "sum usage", [&] {
      return index_.open().with([&](Connection& connection) {
        return sum_slots(connection, filter, slot, first, end, after);
      });
    });
  }

  Result<DaysInHours, base::Error> days_in_hours(const UsageFilter& filter, std::int64_t first,
                                                 std::int64_t end) override {
    return read_answered<DaysInHours>(context_, "sum usage", [&] {
      return index_.open().with([&](Connection& connection) {
        return sum_days_in_hours(connection, filter, first, end);
      });
    });
  }

  Result<PartOfHour, base::Error> part_of_hour(const UsageFilter& filter, std::int64_t from_ms,
                                               std::int64_t to_ms, std::int64_t after) override {
    return read_answered<PartOfHour>(context_, "sum usage", [&] {
      Database& database = index_.open();
      return database.with([&](Connection& connection) {
        PartOfHour part;
        const std::int64_t hour = from_ms / hour_ms;
        const Rows span = connection.run(select_span, {filter.account_id, hour});
        const std::int64_t from = std::max(after, span.number(0, 0) - 1);
        const std::int64_t last = span.number(0, 1);
        const Dialect& dialect = dialect_of(database);
        const Rows runs = connection.run(dialect.runs_of_part, {filter.account_id, from, last});
        if (runs.empty()) return part;
        std::vector<Spot> spots;
        for (std::size_t row = 0; row < runs.size(); ++row) {
          const std::vector<Spot> more = spots_of(runs, row);
          spots.insert(spots.end(), more.begin(), more.end());
        }
        const std::string places = text_of(spots);
        const Rows rows = connection.run(
            dialect.sum_part, {places, from_ms, to_ms, filter.route_id, filter.api_key_id});
        for (std::size_t row = 0; row < rows.size(); ++row) {
          part.sums.push_back({hour,
                               rows.text(row, 0),
                               rows.text(row, 1),
                               rows.text(row, 2),
                               {rows.number(row, 3), rows.number(row, 4), rows.number(row, 5),
                                rows.number(row, 6)}});
        }
        if (runs.size() == part_runs) part.next = spots.back().position;
        return part;
      });
    });
  }

 private:
  // What waits in one stream.
  struct News {
    std::int64_t stream = 0;
    std::int64_t first_seq = 0;
    std::int64_t facts = 0;
  };
  template <class Session>
  static std::vector<News> news_in(Session& session) {
    const Rows rows = session.run(select_news);
    std::vector<News> all;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::int64_t first = rows.number(row, 1);
      all.push_back({rows.number(row, 0), first, rows.number(row, 2) - first + 1});
    }
    return all;
  }
  static std::int64_t count_of(const std::vector<News>& all) {
    std::int64_t facts = 0;
    for (const News& news : all) facts += news.facts;
    return facts;
  }

  // Indexes up to a chunk, in equal parts from the streams that have as much: none waits for
  // another. How many are left.
  static std::int64_t take(Transaction& transaction, const Dialect& dialect) {
    const std::int64_t position = transaction.run(lock_head).number(0, 0);
    std::vector<News> all = news_in(transaction);
    if (all.empty()) return 0;
    std::sort(all.begin(), all.end(),
              [](const News& a, const News& b) { return a.facts < b.facts; });
    std::int64_t room = chunk;
    auto streams = static_cast<std::int64_t>(all.size());
    std::int64_t end = position;
    for (const News& news : all) {
      const std::int64_t share = std::max<std::int64_t>(1, room / streams--);
      const std::int64_t taken = std::min(news.facts, share);
      transaction.run(plan_mark, {news.stream, news.first_seq + taken - 1});
      room -= taken;
      end += taken;
    }
    transaction.run(dialect.insert_runs, {position});
    transaction.run(dialect.insert_hours, {position});
    transaction.run(dialect.insert_clients);
    transaction.run(move_marks);
    transaction.run(move_head, {end});
    return position + count_of(all) - end;
  }

  // The newest spots of an account from position `top` down, newest first.
  static std::vector<Spot> newest_spots(Connection& connection, const Dialect& dialect,
                                        std::string_view account_id, std::int64_t top,
                                        std::int64_t wanted) {
    std::vector<Spot> newest;
    // Enough of them where runs are full; twice as many where those were not.
    std::int64_t count = wanted / dialect.run_places + 2;
    for (std::int64_t from = top;; count *= 2) {
      const Rows runs = connection.run(dialect.newest_runs, {account_id, from, count});
      for (std::size_t row = 0; row < runs.size(); ++row) {
        const std::vector<Spot> spots = spots_of(runs, row);
        for (auto spot = spots.rbegin(); spot != spots.rend(); ++spot) {
          if (newest.size() == static_cast<std::size_t>(wanted)) return newest;
          if (spot->position <= top) newest.push_back(*spot);
        }
      }
      if (static_cast<std::int64_t>(runs.size()) < count) return newest;
      from = runs.number(runs.size() - 1, 0) - 1;
    }
  }

  // `places` is text_of(spots).
  static Rows facts_at(Connection& connection, const Dialect& dialect,
                       const std::vector<Spot>& spots, const std::string& places) {
    Rows rows = connection.run(dialect.select_facts, {places});
    if (rows.size() < spots.size()) {
      throw StoreError(StoreError::Kind::fatal, "a fact that was indexed is gone");
    }
    return rows;
  }

  // The place of what stands at a spot.
  static ledger::Place place_of(Connection& connection, const Dialect& dialect, const Spot& spot) {
    const Rows rows = facts_at(connection, dialect, {spot}, text_of({spot}));
    return {spot.position, rows.text(0, 1)};
  }

  // Whether the item that a page ended with is still there.
  static bool is_there(Connection& connection, const Dialect& dialect, const PageQuery& query) {
    const std::int64_t number = query.after->number;
    const auto spots = newest_spots(connection, dialect, query.account_id, number, 1);
    if (spots.empty() || spots.front().position != number) return false;
    return place_of(connection, dialect, spots.front()).id == query.after->id;
  }

  // Of spots newest first.
  static Spot spot_at(const std::vector<Spot>& spots, std::int64_t position) {
    return *std::find_if(spots.begin(), spots.end(),
                         [&](const Spot& spot) { return spot.position == position; });
  }

  static Page<UsageRow> with_corrections(Connection& connection, const Dialect& dialect,
                                         Page<UsageRow> page, const std::vector<Spot>& found) {
    if (!found.empty()) {
      add_corrections(connection.run(dialect.select_corrections, {text_of(found)}), page.items);
    }
    return page;
  }

  // Goes down from the newest. Where what is wanted is rare, or of a time, it leaves out what the
  // sums of the hours say is not wanted.
  static Page<UsageRow> search_in(Connection& connection, const Dialect& dialect,
                                  const PageQuery& query, const ledger::CallFilter& filter) {
    constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
    Page<UsageRow> page;
    std::int64_t below = query.after ? query.after->number : highest;
    std::vector<Spot> found;  // the page's items, as they stand there
    Stretches stretches(connection, query.account_id, filter);
    const bool is_of_time = filter.from_ms > 0 || filter.to_ms < highest;
    bool leaps = is_of_time;
    for (std::size_t looked = 0; looked < looked_at_max;) {
      const std::int64_t top = leaps ? stretches.highest_below(below) : below - 1;
      if (top == 0) break;
      const std::int64_t room =
          std::int64_t{query.limit} + 1 - static_cast<std::int64_t>(page.items.size());
      // As many as should hold the rest, by what the calls looked at so far held.
      const std::int64_t expected =
          room * static_cast<std::int64_t>(looked / std::max<std::size_t>(1, found.size()) + 1);
      const std::int64_t wanted =
          looked == 0 ? looked_at_first : std::clamp(expected, looked_at_first, looked_at_once);
      const auto spots =
          newest_spots(connection, dialect, query.account_id, top,
                       std::min({wanted, static_cast<std::int64_t>(looked_at_max - looked),
                                 leaps ? top - stretches.lowest() + 1 : top}));
      if (spots.empty()) break;  // nothing is older, or the index was made anew
      const Rows rows = connection.run(
          dialect.select_wanted, {text_of(spots), filter.from_ms, filter.to_ms, filter.route_id,
                                  filter.api_key_id, filter.outcome, room});
      for (std::size_t row = 0; row < rows.size(); ++row) {
        if (page.items.size() == query.limit) {
          page.next = {found.back().position, page.items.back().message_id};
          return with_corrections(connection, dialect, std::move(page), found);
        }
        page.items.push_back(usage_at(rows, row, 1));
        found.push_back(spot_at(spots, rows.number(row, 0)));
      }
      leaps = is_of_time || rows.size() * rare < spots.size();
      looked += spots.size();
      below = spots.back().position;
      if (looked >= looked_at_max) page.next = place_of(connection, dialect, spots.back());
    }
    return with_corrections(connection, dialect, std::move(page), found);
  }

  static const Dialect& dialect_of(const Database& database) {
    return database.engine() == Engine::sqlite ? in_sqlite : in_postgres;
  }

  const Context& context_;
  UsageIndex index_;
};

}  // namespace

std::unique_ptr<ledger::UsageStore> make_usage_store(const Context& context) {
  return std::make_unique<SqlUsageStore>(context);
}

}  // namespace turnpike::storage

#include "base/crash_points.h"
#include "storage/evidence/status_rows.h"
#include "storage/evidence/status_store.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

using base::CrashPoint;
using status::Closing;
using status::ClosedRound;
using status::NewestRound;
using status::RoundHead;
using status::SignedRound;
using status::StoredRound;

// ---- closing ------------------------------------------------------------------------------------

// Locks the lease until the round is written, so that no other node takes it meanwhile.
constexpr Query lock_lease_of{
    "UPDATE status_lease SET name = name WHERE name = 'leader' AND holder = $1 AND epoch = $2"
    " RETURNING epoch",
    "i"};
constexpr Query select_newest_head{
    "SELECT round, head, targets_hash FROM status_newest WHERE stream = $1", "itt"};
constexpr Query insert_round{
    "INSERT INTO status_round (stream, round, prev, head, records, generation, targets_hash,"
    " rules_hash, state_hash, started_at, ended_at, epoch, node, nodes, kid, signature)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"};
constexpr Query insert_target_set{
    "INSERT INTO status_target_set (hash, targets) VALUES ($1, $2) ON CONFLICT DO NOTHING"};
constexpr Query insert_signing_key{
    "INSERT INTO status_key (kid, public_key, first_round) VALUES ($1, $2, $3)"
    " ON CONFLICT DO NOTHING"};

// The queries that differ between the engines, by how bytes are bound.
struct BytesQueries {
  Query insert_lines;
  Query keep_newest;
  Query keep_book;
};
#define BYTES_QUERIES(bytes4, bytes5)                                                     \
  {"INSERT INTO status_lines (stream, round, ended_at, body) VALUES ($1, $2, $3, " bytes4 \
   ")"},                                                                                  \
      {"INSERT INTO status_newest (stream, round, head, targets_hash, book)"              \
       " VALUES ($1, $2, $3, $4, " bytes5 ") ON CONFLICT (stream) DO UPDATE SET"          \
       " round = excluded.round, head = excluded.head,"                                   \
       " targets_hash = excluded.targets_hash, book = excluded.book"},                    \
  {                                                                                       \
    "INSERT INTO status_book (stream, round, ended_at, book) VALUES ($1, $2, $3, " bytes4 \
    ")"                                                                                   \
  }
constexpr BytesQueries bytes_on_sqlite{BYTES_QUERIES("CAST($4 AS BLOB)", "CAST($5 AS BLOB)")};
constexpr BytesQueries bytes_on_postgres{
    BYTES_QUERIES("decode($4, 'hex')", "decode($5, 'hex')")};
#undef BYTES_QUERIES

#define SEGMENT_COLUMNS                                                                   \
  "scope, length_ms, started_at, expected, passed, failed, unknown, traffic_rounds, good," \
  " provider_fault, gateway_fault, latencies, status, first_round, last_round"
#define SEGMENT_CONFLICT                                                                \
  " ON CONFLICT (scope, length_ms, started_at) DO UPDATE SET expected = excluded.expected," \
  " passed = excluded.passed, failed = excluded.failed, unknown = excluded.unknown,"    \
  " traffic_rounds = excluded.traffic_rounds, good = excluded.good,"                    \
  " provider_fault = excluded.provider_fault, gateway_fault = excluded.gateway_fault,"  \
  " latencies = excluded.latencies, status = excluded.status,"                          \
  " first_round = excluded.first_round, last_round = excluded.last_round"
constexpr char segment_kinds[] = "tiiiiiiiiiittii";
constexpr Query put_segments_sqlite{"INSERT INTO status_segment (" SEGMENT_COLUMNS
                                    ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                                    SEGMENT_CONFLICT};
constexpr Query put_segments_postgres{
    "INSERT INTO status_segment (" SEGMENT_COLUMNS
    ") SELECT a, b, c, d, e, f, g, h, i, j, k, l, m, n, o FROM json_to_recordset($1::json)"
    " AS s(a TEXT, b BIGINT, c BIGINT, d BIGINT, e BIGINT, f BIGINT, g BIGINT, h BIGINT, i BIGINT,"
    " j BIGINT, k BIGINT, l TEXT, m TEXT, n BIGINT, o BIGINT)" SEGMENT_CONFLICT};
#undef SEGMENT_COLUMNS
#undef SEGMENT_CONFLICT

#define INCIDENT_COLUMNS                                                               \
  "id, scope, source, state, severity, resolution, is_stale, signals, affected, difference," \
  " started_at, opened_at, recovering_at, resolved_at, first_round, last_round"
#define INCIDENT_CONFLICT                                                                    \
  " ON CONFLICT (id) DO UPDATE SET state = excluded.state, severity = excluded.severity,"    \
  " resolution = excluded.resolution, is_stale = excluded.is_stale,"                         \
  " signals = excluded.signals, affected = excluded.affected,"                               \
  " difference = excluded.difference, started_at = excluded.started_at,"                     \
  " opened_at = excluded.opened_at, recovering_at = excluded.recovering_at,"                 \
  " resolved_at = excluded.resolved_at, first_round = excluded.first_round,"                 \
  " last_round = excluded.last_round"
constexpr char incident_row_kinds[] = "tttttitttiiiiii";
constexpr Query put_incidents_sqlite{
    "INSERT INTO status_incident (" INCIDENT_COLUMNS
    ") VALUES (?, ?, 'automatic', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)" INCIDENT_CONFLICT};
constexpr Query put_incidents_postgres{
    "INSERT INTO status_incident (" INCIDENT_COLUMNS
    ") SELECT a, b, 'automatic', c, d, e, f, g, h, i, j, k, l, m, n, o"
    " FROM json_to_recordset($1::json) AS s(a TEXT, b TEXT, c TEXT, d TEXT, e TEXT, f BIGINT,"
    " g TEXT, h TEXT, i TEXT, j BIGINT, k BIGINT, l BIGINT, m BIGINT, n BIGINT, o BIGINT)"
    INCIDENT_CONFLICT};
#undef INCIDENT_COLUMNS
#undef INCIDENT_CONFLICT

#define EVENT_ROW "(incident_id, round, no, at, from_state, to_state, note)"
constexpr char event_row_kinds[] = "tiiittt";
constexpr Query add_events_sqlite{"INSERT INTO status_incident_event " EVENT_ROW
                                  " VALUES (?, ?, ?, ?, ?, ?, ?)"};
constexpr Query add_events_postgres{
    "INSERT INTO status_incident_event " EVENT_ROW
    " SELECT a, b, c, d, e, f, g FROM json_to_recordset($1::json) AS s(a TEXT, b BIGINT, c BIGINT,"
    " d BIGINT, e TEXT, f TEXT, g TEXT)"};
#undef EVENT_ROW

constexpr Query add_impacts_sqlite{
    "UPDATE status_incident SET calls_refused = calls_refused + ?2,"
    " credits_charged = credits_charged + ?3 WHERE id = ?1"};
constexpr Query add_impacts_postgres{
    "UPDATE status_incident AS n SET calls_refused = n.calls_refused + s.b,"
    " credits_charged = n.credits_charged + s.c FROM (SELECT a, SUM(b)::BIGINT AS b,"
    " SUM(c)::BIGINT AS c FROM json_to_recordset($1::json) AS j(a TEXT, b BIGINT, c BIGINT)"
    " GROUP BY a) AS s WHERE n.id = s.a"};

std::int64_t whole(std::uint64_t number) noexcept { return static_cast<std::int64_t>(number); }

// The rows of a round's changes. Built before the transaction, which holds locks.
class ChangeRows {
 public:
  ChangeRows(Engine engine, const ClosedRound& closed)
      : segments_(engine, segment_kinds),
        incidents_(engine, incident_row_kinds),
        events_(engine, event_row_kinds),
        impacts_(engine, "tii") {
    for (const status::Segment& each : closed.changes.segments) add(each);
    for (const status::Incident& each : closed.changes.incidents) add(each);
    std::int64_t number = 0;
    for (const status::IncidentEvent& each : closed.changes.events) {
      const std::string_view from = each.is_first ? std::string_view() : name_of(each.from);
      events_.add(each.incident_id, whole(closed.round.head.round), number++, each.at_ms, from,
                  name_of(each.to), each.note);
    }
    for (const status::Impact& each : closed.impacts) {
      impacts_.add(each.incident_id, whole(each.calls_refused),
                   whole(each.credits_charged_for_failures));
    }
  }

  void write(Transaction& transaction) {
    segments_.write(transaction, put_segments_sqlite, put_segments_postgres);
    incidents_.write(transaction, put_incidents_sqlite, put_incidents_postgres);
    events_.write(transaction, add_events_sqlite, add_events_postgres);
    impacts_.write(transaction, add_impacts_sqlite, add_impacts_postgres);
  }

 private:
  void add(const status::Segment& each) {
    segments_.add(each.scope, each.length_ms, each.started_at_ms, whole(each.expected),
                  whole(each.passed), whole(each.failed), whole(each.unknown),
                  whole(each.traffic_rounds), whole(each.good), whole(each.provider_fault),
                  whole(each.gateway_fault), list_text(each.latencies), name_of(each.status),
                  whole(each.first_round), whole(each.last_round));
  }

  void add(const status::Incident& each) {
    incidents_.add(each.id, each.scope, name_of(each.state), name_of(each.severity),
                   name_of(each.resolution), std::int64_t{each.is_stale}, list_text(each.signals),
                   list_text(each.affected), each.difference, each.started_at_ms,
                   each.opened_at_ms, each.recovering_at_ms, each.resolved_at_ms,
                   whole(each.first_round), whole(each.last_round));
  }

  RowBatch segments_;
  RowBatch incidents_;
  RowBatch events_;
  RowBatch impacts_;
};

// Prepares a round and writes it into the tables.
class RoundWrite {
 public:
  RoundWrite(Engine engine, const ClosedRound& closed)
      : closed_(closed),
        head_(closed.round.head),
        queries_(engine == Engine::sqlite ? bytes_on_sqlite : bytes_on_postgres),
        lines_(packed(engine, closed.lines)),
        book_(packed(engine, closed.book)),
        changes_(engine, closed) {}

  Closing write(Transaction& transaction) {
    pass(CrashPoint::round_before);
    if (transaction.run(lock_lease_of, {head_.node, whole(head_.epoch)}).empty()) {
      return Closing::lease_lost;
    }
    const Rows newest = transaction.run(select_newest_head, {head_.stream});
    if (!follows(newest)) return Closing::not_next;
    write_round(transaction);
    pass(CrashPoint::round_row);
    const bool has_new_targets =
        newest.empty() || newest.text(0, 2) != head_.expected_targets_hash;
    write_state(transaction, has_new_targets);
    pass(CrashPoint::round_book);
    changes_.write(transaction);
    pass(CrashPoint::round_changes);
    return Closing::written;
  }

 private:
  [[nodiscard]] bool follows(const Rows& newest) const {
    const std::int64_t before = newest.empty() ? 0 : newest.number(0, 0);
    const std::string_view prev = newest.empty() ? status::first_prev : newest.text(0, 1);
    return whole(head_.round) == before + 1 && head_.prev == prev;
  }

  void write_round(Transaction& transaction) {
    transaction.run(insert_round,
                    {head_.stream, whole(head_.round), head_.prev, head_.head, whole(head_.count),
                     head_.generation, head_.expected_targets_hash, head_.rules_hash,
                     head_.state_hash, head_.started_at_ms, head_.ended_at_ms, whole(head_.epoch),
                     head_.node, list_text(head_.nodes), head_.kid, closed_.round.signature});
    transaction.run(queries_.insert_lines,
                    {head_.stream, whole(head_.round), head_.ended_at_ms, lines_});
  }

  void write_state(Transaction& transaction, bool has_new_targets) {
    if (has_new_targets) {
      transaction.run(insert_target_set, {head_.expected_targets_hash, closed_.targets});
    }
    transaction.run(queries_.keep_newest, {head_.stream, whole(head_.round), head_.head,
                                           head_.expected_targets_hash, book_});
    if (closed_.keeps_book) {
      transaction.run(queries_.keep_book,
                      {head_.stream, whole(head_.round), head_.ended_at_ms, book_});
    }
    const std::string_view key(reinterpret_cast<const char*>(closed_.key.data()),
                               closed_.key.size());
    transaction.run(insert_signing_key, {head_.kid, text::base64url(key), whole(head_.round)});
  }

  const ClosedRound& closed_;
  const RoundHead& head_;
  const BytesQueries& queries_;
  const std::string lines_;
  const std::string book_;
  ChangeRows changes_;
};

// ---- reading ------------------------------------------------------------------------------------

#define ROUND_COLUMNS                                                                        \
  "r.stream, r.round, r.prev, r.head, r.records, r.generation, r.targets_hash, r.rules_hash," \
  " r.state_hash, r.started_at, r.ended_at, r.epoch, r.node, r.nodes, r.kid, r.signature"
#define ROUND_KINDS "tittittttiiitttt"

struct ReadQueries {
  Query newest;
  Query rounds;
  Query book;
};
#define READ_QUERIES(hex)                                                                     \
  {"SELECT " ROUND_COLUMNS ", t.targets, " hex("n.book") " AS book FROM status_newest n"      \
   " JOIN status_round r ON r.stream = n.stream AND r.round = n.round"                        \
   " JOIN status_target_set t ON t.hash = n.targets_hash WHERE n.stream = $1",                \
   ROUND_KINDS "tt"},                                                                         \
      {"SELECT " ROUND_COLUMNS ", COALESCE(" hex("l.body") ", '') AS lines FROM status_round r" \
       " LEFT JOIN status_lines l ON l.stream = r.stream AND l.round = r.round"               \
       " WHERE r.stream = $1 AND r.round >= $2 ORDER BY r.round LIMIT $3",                    \
       ROUND_KINDS "t"},                                                                      \
  {                                                                                           \
    "SELECT " hex("b.book") " AS book FROM status_book b WHERE b.stream = $1 AND b.round = $2" \
    " UNION ALL SELECT " hex("n.book") " FROM status_newest n"                                \
    " WHERE n.stream = $1 AND n.round = $2",                                                  \
        "t"                                                                                   \
  }
#define HEX_SQLITE(column) "hex(" column ")"
#define HEX_POSTGRES(column) "encode(" column ", 'hex')"
constexpr ReadQueries read_on_sqlite{READ_QUERIES(HEX_SQLITE)};
constexpr ReadQueries read_on_postgres{READ_QUERIES(HEX_POSTGRES)};
#undef HEX_SQLITE
#undef HEX_POSTGRES
#undef READ_QUERIES
#undef ROUND_COLUMNS
#undef ROUND_KINDS
constexpr std::size_t round_columns = 16;

constexpr Query select_newest_round{"SELECT round FROM status_newest WHERE stream = $1", "i"};
constexpr Query select_target_set{"SELECT targets FROM status_target_set WHERE hash = $1", "t"};
constexpr Query select_oldest_lines{
    "SELECT COALESCE(MIN(round), 0) AS round FROM status_lines WHERE stream = $1", "i"};
constexpr Query select_oldest_book{
    "SELECT COALESCE(MIN(round), 0) AS round FROM status_book WHERE stream = $1 AND round >= $2",
    "i"};
constexpr Query select_keys{
    "SELECT kid, public_key, first_round FROM status_key ORDER BY first_round, kid", "tti"};

SignedRound round_at(const Rows& rows, std::size_t row) {
  const auto count = [&](std::size_t column) {
    return static_cast<std::uint64_t>(rows.number(row, column));
  };
  SignedRound round;
  RoundHead& head = round.head;
  head.stream = rows.text(row, 0);
  head.round = count(1);
  head.prev = rows.text(row, 2);
  head.head = rows.text(row, 3);
  head.count = count(4);
  head.generation = rows.text(row, 5);
  head.expected_targets_hash = rows.text(row, 6);
  head.rules_hash = rows.text(row, 7);
  head.state_hash = rows.text(row, 8);
  head.started_at_ms = rows.number(row, 9);
  head.ended_at_ms = rows.number(row, 10);
  head.epoch = count(11);
  head.node = rows.text(row, 12);
  head.nodes = stored_texts(rows.text(row, 13));
  head.kid = rows.text(row, 14);
  round.signature = rows.text(row, 15);
  return round;
}

const ReadQueries& read_queries(Engine engine) noexcept {
  return engine == Engine::sqlite ? read_on_sqlite : read_on_postgres;
}

}  // namespace

SqlStatusStore::Answer<Closing> SqlStatusStore::close_round(const ClosedRound& round) {
  return answered<Closing>(
      context_, base::ErrorCode::status_unavailable, "close round", [&]() -> Closing {
        // Deflating and building rows takes longer than writing them, and needs no lock.
        RoundWrite write(engine_, round);
        const Closing closing = context_.database.write(
            [&](Transaction& transaction) { return write.write(transaction); });
        pass(CrashPoint::round_after);
        return closing;
      });
}

SqlStatusStore::Answer<std::uint64_t> SqlStatusStore::newest_round(std::string_view stream) {
  return read<std::uint64_t>("read newest round", [&](Connection& connection) -> std::uint64_t {
    const Rows rows = connection.run(select_newest_round, {stream});
    return rows.empty() ? 0 : static_cast<std::uint64_t>(rows.number(0, 0));
  });
}

SqlStatusStore::Answer<std::optional<NewestRound>> SqlStatusStore::newest(
    std::string_view stream) {
  using Newest = std::optional<NewestRound>;
  return read<Newest>("read newest round", [&](Connection& connection) -> Newest {
    const Rows rows = connection.run(read_queries(engine_).newest, {stream});
    if (rows.empty()) return std::nullopt;
    return NewestRound{round_at(rows, 0), rows.text(0, round_columns),
                       unpacked(rows.text(0, round_columns + 1))};
  });
}

SqlStatusStore::Answer<std::vector<StoredRound>> SqlStatusStore::rounds(std::string_view stream,
                                                                       std::uint64_t from_round,
                                                                       std::uint32_t limit) {
  using Found = std::vector<StoredRound>;
  return read<Found>("read rounds", [&](Connection& connection) {
    const Rows rows = connection.run(read_queries(engine_).rounds,
                                     {stream, whole(from_round), std::int64_t{limit}});
    Found found;
    found.reserve(rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      StoredRound& round = found.emplace_back();
      round.round = round_at(rows, row);
      const std::string& lines = rows.text(row, round_columns);
      if (!lines.empty()) round.lines = unpacked(lines);  // an empty text deflates to bytes too
    }
    return found;
  });
}

SqlStatusStore::Answer<std::string> SqlStatusStore::target_set(std::string_view hash) {
  return read<std::string>("read target set", [&](Connection& connection) -> std::string {
    const Rows rows = connection.run(select_target_set, {hash});
    return rows.empty() ? "" : rows.text(0, 0);
  });
}

SqlStatusStore::Answer<std::string> SqlStatusStore::book_after(std::string_view stream,
                                                               std::uint64_t round) {
  return read<std::string>("read status book", [&](Connection& connection) -> std::string {
    const Rows rows = connection.run(read_queries(engine_).book, {stream, whole(round)});
    return rows.empty() ? "" : unpacked(rows.text(0, 0));
  });
}

SqlStatusStore::Answer<std::uint64_t> SqlStatusStore::first_verifiable(std::string_view stream) {
  return read_at_once<std::uint64_t>(
      "read first verifiable round", [&](Transaction& snapshot) -> std::uint64_t {
        const Rows newest = snapshot.run(select_newest_round, {stream});
        const std::int64_t oldest = snapshot.run(select_oldest_lines, {stream}).number(0, 0);
        if (newest.empty() || oldest == 1) return 1;
        const std::int64_t book =
            oldest == 0 ? 0 : snapshot.run(select_oldest_book, {stream, oldest - 1}).number(0, 0);
        // Without an older book, the evidence begins after the newest round.
        return static_cast<std::uint64_t>(book == 0 ? newest.number(0, 0) : book) + 1;
      });
}

SqlStatusStore::Answer<std::vector<status::SigningKey>> SqlStatusStore::keys() {
  using Keys = std::vector<status::SigningKey>;
  return read<Keys>("read status keys", [&](Connection& connection) {
    const Rows rows = connection.run(select_keys);
    Keys keys;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      keys.push_back({rows.text(row, 0), rows.text(row, 1),
                      static_cast<std::uint64_t>(rows.number(row, 2))});
    }
    return keys;
  });
}

}  // namespace turnpike::storage

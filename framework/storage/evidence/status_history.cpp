#include "storage/evidence/status_rows.h"
#include "storage/evidence/status_store.h"

namespace turnpike::storage {
namespace {

using status::NodeReport;
using status::Segment;

#define SEGMENT_COLUMNS                                                                   \
  "scope, length_ms, started_at, expected, passed, failed, unknown, traffic_rounds, good," \
  " provider_fault, gateway_fault, latencies, status, first_round, last_round"
constexpr char segment_read_kinds[] = "tiiiiiiiiiittii";
constexpr Query select_segments{
    "SELECT " SEGMENT_COLUMNS
    " FROM status_segment WHERE scope = $1 AND length_ms = $2 AND started_at >= $3"
    " ORDER BY started_at",
    segment_read_kinds};
constexpr Query select_all_segments{
    "SELECT " SEGMENT_COLUMNS
    " FROM status_segment WHERE length_ms = $1 AND started_at >= $2 ORDER BY started_at, scope",
    segment_read_kinds};
#undef SEGMENT_COLUMNS

constexpr Query put_report{
    "INSERT INTO status_traffic (node, started_at, generation, body) VALUES ($1, $2, $3, $4)"
    " ON CONFLICT (node, started_at) DO UPDATE SET generation = excluded.generation,"
    " body = excluded.body"};
constexpr Query select_reports{
    "SELECT node, started_at, generation, body FROM status_traffic WHERE started_at >= $1"
    " ORDER BY started_at, node",
    "titt"};

constexpr Query put_shape{
    "INSERT INTO status_shape (operation, shape, learned_at) VALUES ($1, $2, $3)"
    " ON CONFLICT (operation) DO UPDATE SET shape = excluded.shape,"
    " learned_at = excluded.learned_at"};
constexpr Query select_shapes{"SELECT operation, shape FROM status_shape ORDER BY operation", "tt"};

std::vector<Segment> segments_of(const Rows& rows) {
  std::vector<Segment> segments(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto count = [&](std::size_t column) {
      return static_cast<std::uint64_t>(rows.number(row, column));
    };
    Segment& segment = segments[row];
    segment.scope = rows.text(row, 0);
    segment.length_ms = rows.number(row, 1);
    segment.started_at_ms = rows.number(row, 2);
    segment.expected = count(3);
    segment.passed = count(4);
    segment.failed = count(5);
    segment.unknown = count(6);
    segment.traffic_rounds = count(7);
    segment.good = count(8);
    segment.provider_fault = count(9);
    segment.gateway_fault = count(10);
    segment.latencies = stored_numbers(rows.text(row, 11));
    segment.status = stored_enum(rows.text(row, 12), status::Level::major_outage);
    segment.first_round = count(13);
    segment.last_round = count(14);
  }
  return segments;
}

}  // namespace

SqlStatusStore::Answer<std::vector<Segment>> SqlStatusStore::segments(std::string_view scope,
                                                                     std::int64_t length_ms,
                                                                     std::int64_t from_ms) {
  return read<std::vector<Segment>>("read segments", [&](Connection& connection) {
    return segments_of(connection.run(select_segments, {scope, length_ms, from_ms}));
  });
}

SqlStatusStore::Answer<std::vector<Segment>> SqlStatusStore::all_segments(std::int64_t length_ms,
                                                                         std::int64_t from_ms) {
  return read<std::vector<Segment>>("read segments", [&](Connection& connection) {
    return segments_of(connection.run(select_all_segments, {length_ms, from_ms}));
  });
}

SqlStatusStore::Answer<Unit> SqlStatusStore::write_report(const NodeReport& report) {
  return write<Unit>("write status report", [&](Transaction& transaction) {
    transaction.run(put_report,
                    {report.node, report.started_at_ms, report.generation, report.body});
    return Unit{};
  });
}

SqlStatusStore::Answer<std::vector<NodeReport>> SqlStatusStore::reports(std::int64_t from_ms) {
  using Reports = std::vector<NodeReport>;
  return read<Reports>("read status reports", [&](Connection& connection) {
    const Rows rows = connection.run(select_reports, {from_ms});
    Reports reports;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      reports.push_back(
          {rows.text(row, 0), rows.number(row, 1), rows.text(row, 2), rows.text(row, 3)});
    }
    return reports;
  });
}

SqlStatusStore::Answer<Unit> SqlStatusStore::keep_shape(std::string_view operation,
                                                        std::string_view shape) {
  return write<Unit>("keep shape", [&](Transaction& transaction) {
    transaction.run(put_shape, {operation, shape, context_.now_ms(transaction)});
    return Unit{};
  });
}

SqlStatusStore::Answer<std::vector<std::pair<std::string, std::string>>> SqlStatusStore::shapes() {
  using Shapes = std::vector<std::pair<std::string, std::string>>;
  return read<Shapes>("read shapes", [&](Connection& connection) {
    const Rows rows = connection.run(select_shapes);
    Shapes shapes;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      shapes.emplace_back(rows.text(row, 0), rows.text(row, 1));
    }
    return shapes;
  });
}

std::unique_ptr<status::StatusStore> make_status_store(const Context& context) {
  return std::make_unique<SqlStatusStore>(context);
}

}  // namespace turnpike::storage

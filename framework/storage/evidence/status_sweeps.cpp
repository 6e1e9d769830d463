#include "registry/monitoring_names.h"
#include "storage/evidence/status_rows.h"
#include "storage/evidence/status_store.h"

namespace turnpike::storage {
namespace {

using status::Sweep;
using status::SweepState;
using status::SweepTarget;

// The row lock serializes the beginning of sweeps, so that the second one sees the first.
constexpr Query lock_sweeps{
    "UPDATE counter SET value = value + 1 WHERE name = 'status_sweep' RETURNING value", "i"};

#define SWEEP                                                                              \
  "SELECT id, release, generation_id, payload_hash, principal, state, reason, started_at," \
  " completed_at, expires_at FROM status_sweep WHERE "
constexpr char sweep_kinds[] = "tttttttiii";
constexpr Query select_sweep_of{SWEEP "release = $1 AND generation_id = $2", sweep_kinds};
constexpr Query select_sweep{SWEEP "id = $1", sweep_kinds};
constexpr Query select_running_sweep{SWEEP "state = 'running'", sweep_kinds};
constexpr Query select_sweeps{SWEEP "id <> '' ORDER BY started_at DESC, id DESC LIMIT $1",
                              sweep_kinds};
#undef SWEEP
constexpr Query supersede_sweeps{
    "UPDATE status_sweep SET state = 'failed', reason = 'superseded', completed_at = $1"
    " WHERE state = 'running'"};
constexpr Query insert_sweep{
    "INSERT INTO status_sweep (id, release, generation_id, payload_hash, principal, state,"
    " started_at, expires_at) VALUES ($1, $2, $3, $4, $5, 'running', $6, $7)"};
// Locks a running sweep until the commit.
constexpr Query lock_running_sweep{
    "UPDATE status_sweep SET state = state WHERE id = $1 AND state = 'running' RETURNING id", "t"};
constexpr Query end_running_sweep{
    "UPDATE status_sweep SET state = $1, reason = $2, completed_at = $3"
    " WHERE id = $4 AND state = 'running'"};

constexpr Query select_sweep_targets{
    "SELECT target, monitoring, result, reason, observed_at, round FROM status_sweep_target"
    " WHERE sweep_id = $1 ORDER BY no",
    "ttttii"};
#define TARGET_ROW "INSERT INTO status_sweep_target (sweep_id, no, target, monitoring, result," \
  " reason, observed_at, round) "
constexpr char target_row_kinds[] = "tittttii";
constexpr Query add_targets_sqlite{TARGET_ROW "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"};
constexpr Query add_targets_postgres{
    TARGET_ROW "SELECT a, b, c, d, e, f, g, h FROM json_to_recordset($1::json)"
    " AS s(a TEXT, b BIGINT, c TEXT, d TEXT, e TEXT, f TEXT, g BIGINT, h BIGINT)"};
#undef TARGET_ROW
constexpr char answer_row_kinds[] = "ttttii";
constexpr Query answer_targets_sqlite{
    "UPDATE status_sweep_target SET result = ?3, reason = ?4, observed_at = ?5, round = ?6"
    " WHERE sweep_id = ?1 AND target = ?2 AND result = ''"};
constexpr Query answer_targets_postgres{
    "UPDATE status_sweep_target AS t SET result = s.c, reason = s.d, observed_at = s.e,"
    " round = s.f FROM json_to_recordset($1::json) AS s(a TEXT, b TEXT, c TEXT, d TEXT, e BIGINT,"
    " f BIGINT) WHERE t.sweep_id = s.a AND t.target = s.b AND t.result = ''"};

std::string_view result_text(const std::optional<status::LookResult>& result) noexcept {
  return result ? name_of(*result) : std::string_view();
}

SweepTarget target_at(const Rows& rows, std::size_t row) {
  SweepTarget target;
  target.target = rows.text(row, 0);
  target.monitoring = stored_enum(rows.text(row, 1), status::MonitoringClass::not_applicable);
  if (!rows.text(row, 2).empty()) {
    target.result = stored_enum(rows.text(row, 2), status::LookResult::skipped);
  }
  target.reason = stored_enum(rows.text(row, 3), status::Reason::budget);
  target.observed_at_ms = rows.number(row, 4);
  target.round = static_cast<std::uint64_t>(rows.number(row, 5));
  return target;
}

RowBatch target_rows(Engine engine, std::string_view sweep_id,
                     std::span<const SweepTarget> targets) {
  RowBatch rows(engine, target_row_kinds);
  std::int64_t number = 0;
  for (const SweepTarget& each : targets) {
    rows.add(sweep_id, number++, each.target, name_of(each.monitoring), result_text(each.result),
             name_of(each.reason), each.observed_at_ms, static_cast<std::int64_t>(each.round));
  }
  return rows;
}

}  // namespace

std::optional<Sweep> SqlStatusStore::sweep_in(Transaction& transaction, const Rows& rows) {
  if (rows.empty()) return std::nullopt;
  return sweep_at(transaction, rows, 0);
}

Sweep SqlStatusStore::sweep_at(Transaction& transaction, const Rows& rows, std::size_t at) {
  const SweepState state = stored_enum(rows.text(at, 5), SweepState::failed);
  Sweep sweep{rows.text(at, 0),   rows.text(at, 1),   rows.text(at, 2),   rows.text(at, 3),
              rows.text(at, 4),   state,              rows.text(at, 6),   rows.number(at, 7),
              rows.number(at, 8), rows.number(at, 9), {}};
  const Rows targets = transaction.run(select_sweep_targets, {sweep.id});
  for (std::size_t row = 0; row < targets.size(); ++row) {
    sweep.targets.push_back(target_at(targets, row));
  }
  return sweep;
}

SqlStatusStore::Answer<Sweep> SqlStatusStore::begin_sweep(const Sweep& sweep) {
  return write<Sweep>("begin sweep", [&](Transaction& transaction) -> Sweep {
    transaction.run(lock_sweeps);
    if (auto same = sweep_in(transaction, transaction.run(select_sweep_of,
                                                          {sweep.release, sweep.generation_id}))) {
      return *std::move(same);
    }
    transaction.run(supersede_sweeps, {context_.now_ms(transaction)});
    transaction.run(insert_sweep, {sweep.id, sweep.release, sweep.generation_id,
                                   sweep.payload_hash, sweep.principal, sweep.started_at_ms,
                                   sweep.expires_at_ms});
    target_rows(engine_, sweep.id, sweep.targets)
        .write(transaction, add_targets_sqlite, add_targets_postgres);
    Sweep begun = sweep;
    begun.state = SweepState::running;
    begun.reason.clear();
    begun.completed_at_ms = 0;
    return begun;
  });
}

SqlStatusStore::Answer<std::optional<Sweep>> SqlStatusStore::sweep(std::string_view id) {
  return read_at_once<std::optional<Sweep>>("read sweep", [&](Transaction& snapshot) {
    return sweep_in(snapshot, snapshot.run(select_sweep, {id}));
  });
}

SqlStatusStore::Answer<std::optional<Sweep>> SqlStatusStore::running_sweep() {
  return read_at_once<std::optional<Sweep>>("read running sweep", [&](Transaction& snapshot) {
    return sweep_in(snapshot, snapshot.run(select_running_sweep));
  });
}

SqlStatusStore::Answer<std::vector<Sweep>> SqlStatusStore::sweeps(std::uint32_t limit) {
  return read_at_once<std::vector<Sweep>>("read sweeps", [&](Transaction& snapshot) {
    const Rows rows = snapshot.run(select_sweeps, {std::int64_t{limit}});
    std::vector<Sweep> sweeps;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      sweeps.push_back(sweep_at(snapshot, rows, row));
    }
    return sweeps;
  });
}

SqlStatusStore::Answer<Unit> SqlStatusStore::answer_sweep(std::string_view id,
                                                          std::span<const SweepTarget> answers) {
  RowBatch rows(engine_, answer_row_kinds);
  for (const SweepTarget& each : answers) {
    if (!each.result) continue;
    rows.add(id, each.target, name_of(*each.result), name_of(each.reason), each.observed_at_ms,
             static_cast<std::int64_t>(each.round));
  }
  return write<Unit>("answer sweep", [&](Transaction& transaction) {
    if (!transaction.run(lock_running_sweep, {id}).empty()) {
      rows.write(transaction, answer_targets_sqlite, answer_targets_postgres);
    }
    return Unit{};
  });
}

SqlStatusStore::Answer<std::optional<Sweep>> SqlStatusStore::end_sweep(std::string_view id,
                                                                      SweepState state,
                                                                      std::string_view reason) {
  using Ended = std::optional<Sweep>;
  return write<Ended>("end sweep", [&](Transaction& transaction) {
    transaction.run(end_running_sweep,
                    {name_of(state), reason, context_.now_ms(transaction), id});
    return sweep_in(transaction, transaction.run(select_sweep, {id}));
  });
}

}  // namespace turnpike::storage

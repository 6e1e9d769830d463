#include "storage/evidence/status_rows.h"
#include "storage/evidence/status_store.h"
#include "storage/people/audit_rows.h"

namespace turnpike::storage {
namespace {

using identity::Actor;
using status::Maintenance;

// Locks the incident until the commit, so that its notes are numbered consecutively.
constexpr Query lock_incident{
    "UPDATE status_incident SET scope = scope WHERE id = $1 RETURNING id", "t"};
constexpr Query lock_open_of_operators{
    "UPDATE status_incident SET scope = scope WHERE id = $1 AND source = 'operators'"
    " AND state <> 'resolved' RETURNING id",
    "t"};
constexpr Query add_incident_note{
    "INSERT INTO status_incident_note (incident_id, no, at, operator_id, note)"
    " SELECT $1, COALESCE(MAX(no), 0) + 1, CAST($2 AS BIGINT), $3, $4 FROM status_incident_note"
    " WHERE incident_id = $1"};
constexpr Query insert_incident{
    "INSERT INTO status_incident (id, scope, source, state, severity, resolution, is_stale,"
    " signals, affected, difference, started_at, opened_at, recovering_at, resolved_at,"
    " first_round, last_round)"
    " VALUES ($1, $2, 'operators', 'open', $3, 'none', 0, '[]', '[]', '', $4, $4, 0, 0, 0, 0)"};
constexpr Query resolve_of_operators{
    "UPDATE status_incident SET state = 'resolved', resolved_at = $1 WHERE id = $2"};
constexpr Query add_operators_event{
    "INSERT INTO status_incident_event (incident_id, round, no, at, from_state, to_state, note)"
    " VALUES ($1, 0, $2, $3, $4, $5, $6)"};

#define MAINTENANCE_COLUMNS "id, scope, note, starts_at, ends_at, operator_id, cancelled_at"
constexpr Query insert_maintenance{
    "INSERT INTO status_maintenance (id, scope, note, starts_at, ends_at, operator_id,"
    " announced_at) VALUES ($1, $2, $3, $4, $5, $6, $7)"};
constexpr Query cancel_announced{
    "UPDATE status_maintenance SET cancelled_at = $1 WHERE id = $2 AND cancelled_at = 0"
    " AND ends_at > $1 RETURNING id",
    "t"};
constexpr Query select_maintenance{
    "SELECT " MAINTENANCE_COLUMNS
    " FROM status_maintenance WHERE cancelled_at = 0 AND ends_at > $1 ORDER BY starts_at, id",
    "tttiiti"};
#undef MAINTENANCE_COLUMNS

// Numbers of the events of operators' incidents, which are no edges of the rules.
constexpr std::int64_t opening_no = 0;
constexpr std::int64_t resolving_no = 1;

void write_word(const Context& context, Transaction& transaction, const Actor& actor,
                std::string action, std::string_view target, std::string_view detail) {
  write_audit(context, transaction,
              {.actor = actor,
               .action = std::move(action),
               .target = std::string(target),
               .detail = std::string(detail)});
}

}  // namespace

SqlStatusStore::Answer<bool> SqlStatusStore::add_note(std::string_view incident_id,
                                                      std::string_view text, const Actor& actor) {
  return write<bool>("add note", [&](Transaction& transaction) {
    if (transaction.run(lock_incident, {incident_id}).empty()) return false;
    const std::int64_t now_ms = context_.now_ms(transaction);
    transaction.run(add_incident_note, {incident_id, now_ms, actor.principal, text});
    write_word(context_, transaction, actor, "incident.note", incident_id, "");
    return true;
  });
}

SqlStatusStore::Answer<std::string> SqlStatusStore::open_incident(std::string_view scope,
                                                                  status::Level severity,
                                                                  std::string_view text,
                                                                  const Actor& actor) {
  return write<std::string>("open incident", [&](Transaction& transaction) {
    const std::int64_t now_ms = context_.now_ms(transaction);
    std::string id = context_.new_id("inc_");
    const std::string_view open = name_of(status::IncidentState::open);
    transaction.run(insert_incident, {id, scope, name_of(severity), now_ms});
    transaction.run(add_operators_event, {id, opening_no, now_ms, "", open, "opened_by_operator"});
    transaction.run(add_incident_note, {id, now_ms, actor.principal, text});
    write_word(context_, transaction, actor, "incident.open", id,
               std::string(scope) + " " + std::string(name_of(severity)));
    return id;
  });
}

SqlStatusStore::Answer<bool> SqlStatusStore::resolve_incident(std::string_view incident_id,
                                                              std::string_view text,
                                                              const Actor& actor) {
  return write<bool>("resolve incident", [&](Transaction& transaction) {
    if (transaction.run(lock_open_of_operators, {incident_id}).empty()) return false;
    const std::int64_t now_ms = context_.now_ms(transaction);
    transaction.run(resolve_of_operators, {now_ms, incident_id});
    transaction.run(add_operators_event, {incident_id, resolving_no, now_ms,
                                          name_of(status::IncidentState::open),
                                          name_of(status::IncidentState::resolved),
                                          "resolved_by_operator"});
    transaction.run(add_incident_note, {incident_id, now_ms, actor.principal, text});
    write_word(context_, transaction, actor, "incident.resolve", incident_id, "");
    return true;
  });
}

SqlStatusStore::Answer<std::string> SqlStatusStore::announce(const Maintenance& maintenance,
                                                             const Actor& actor) {
  return write<std::string>("announce maintenance", [&](Transaction& transaction) {
    std::string id = context_.new_id("mnt_");
    transaction.run(insert_maintenance,
                    {id, maintenance.scope, maintenance.text, maintenance.starts_at_ms,
                     maintenance.ends_at_ms, actor.principal, context_.now_ms(transaction)});
    write_word(context_, transaction, actor, "maintenance.announce", id, maintenance.scope);
    return id;
  });
}

SqlStatusStore::Answer<bool> SqlStatusStore::cancel_maintenance(std::string_view id,
                                                                const Actor& actor) {
  return write<bool>("cancel maintenance", [&](Transaction& transaction) {
    const std::int64_t now_ms = context_.now_ms(transaction);
    if (transaction.run(cancel_announced, {now_ms, id}).empty()) return false;
    write_word(context_, transaction, actor, "maintenance.cancel", id, "");
    return true;
  });
}

SqlStatusStore::Answer<std::vector<Maintenance>> SqlStatusStore::maintenance(std::int64_t now_ms) {
  using Announced = std::vector<Maintenance>;
  return read<Announced>("read maintenance", [&](Connection& connection) {
    const Rows rows = connection.run(select_maintenance, {now_ms});
    Announced announced;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      announced.push_back({rows.text(row, 0), rows.text(row, 1), rows.text(row, 2),
                           rows.number(row, 3), rows.number(row, 4), rows.text(row, 5),
                           rows.number(row, 6)});
    }
    return announced;
  });
}

}  // namespace turnpike::storage

#include <map>

#include "storage/evidence/status_rows.h"
#include "storage/evidence/status_store.h"

namespace turnpike::storage {
namespace {

using status::IncidentEvent;
using status::IncidentState;
using status::ShownIncident;

#define INCIDENT_COLUMNS                                                                    \
  "SELECT id, scope, source, state, severity, resolution, is_stale, signals, affected,"    \
  " difference, started_at, opened_at, recovering_at, resolved_at, first_round, last_round," \
  " calls_refused, credits_charged FROM status_incident"
constexpr char incident_kinds[] = "ttttttitttiiiiiiii";
// Unconfirmed suspicions have no opening time.
constexpr Query select_incident_page{
    INCIDENT_COLUMNS
    " WHERE (started_at, id) < ($1, $2) AND ($3 = 1 OR opened_at > 0 OR state <> 'resolved')"
    " ORDER BY started_at DESC, id DESC LIMIT $4",
    incident_kinds};
// Two parts, each with its own index.
constexpr Query select_recent_incidents{
    INCIDENT_COLUMNS " WHERE state <> 'resolved' UNION ALL " INCIDENT_COLUMNS
                     " WHERE state = 'resolved' AND resolved_at >= $1 ORDER BY started_at, id",
    incident_kinds};
constexpr Query select_one_incident{INCIDENT_COLUMNS " WHERE id = $1", incident_kinds};
#undef INCIDENT_COLUMNS

#define NOTES_OF                                                  \
  "SELECT incident_id, at, operator_id, note FROM status_incident_note" \
  " WHERE incident_id IN ("
#define EVENTS_OF                                                                             \
  "SELECT incident_id, round, at, from_state, to_state, note FROM status_incident_event" \
  " WHERE incident_id IN ("
struct OfIncidents {
  Query notes;
  Query events;
};
constexpr OfIncidents of_incidents_sqlite{
    {NOTES_OF "SELECT value FROM json_each($1)) ORDER BY incident_id, no", "titt"},
    {EVENTS_OF "SELECT value FROM json_each($1)) ORDER BY incident_id, at, round, no", "tiittt"}};
constexpr OfIncidents of_incidents_postgres{
    {NOTES_OF "SELECT json_array_elements_text($1::json)) ORDER BY incident_id, no", "titt"},
    {EVENTS_OF "SELECT json_array_elements_text($1::json)) ORDER BY incident_id, at, round, no",
     "tiittt"}};
#undef NOTES_OF
#undef EVENTS_OF

ShownIncident shown_at(const Rows& rows, std::size_t row) {
  const auto count = [&](std::size_t column) {
    return static_cast<std::uint64_t>(rows.number(row, column));
  };
  ShownIncident shown;
  status::Incident& incident = shown.incident;
  incident.id = rows.text(row, 0);
  incident.scope = rows.text(row, 1);
  shown.source = stored_enum(rows.text(row, 2), status::IncidentSource::operators);
  incident.state = stored_enum(rows.text(row, 3), IncidentState::resolved);
  incident.severity = stored_enum(rows.text(row, 4), status::Level::major_outage);
  incident.resolution = stored_enum(rows.text(row, 5), status::Resolution::removed);
  incident.is_stale = rows.number(row, 6) != 0;
  incident.signals = stored_texts(rows.text(row, 7));
  incident.affected = stored_texts(rows.text(row, 8));
  incident.difference = rows.text(row, 9);
  incident.started_at_ms = rows.number(row, 10);
  incident.opened_at_ms = rows.number(row, 11);
  incident.recovering_at_ms = rows.number(row, 12);
  incident.resolved_at_ms = rows.number(row, 13);
  incident.first_round = count(14);
  incident.last_round = count(15);
  shown.calls_refused = count(16);
  shown.credits_charged_for_failures = count(17);
  return shown;
}

IncidentEvent event_of(const Rows& rows, std::size_t row) {
  IncidentEvent event;
  event.incident_id = rows.text(row, 0);
  event.round = static_cast<std::uint64_t>(rows.number(row, 1));
  event.at_ms = rows.number(row, 2);
  event.is_first = rows.text(row, 3).empty();
  if (!event.is_first) event.from = stored_enum(rows.text(row, 3), IncidentState::resolved);
  event.to = stored_enum(rows.text(row, 4), IncidentState::resolved);
  event.note = rows.text(row, 5);
  return event;
}

}  // namespace

std::vector<ShownIncident> SqlStatusStore::shown(Transaction& transaction, const Rows& rows) {
  std::vector<ShownIncident> incidents;
  if (rows.empty()) return incidents;
  std::vector<std::string> ids;
  std::map<std::string_view, ShownIncident*> by_id;
  incidents.reserve(rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    ShownIncident& each = incidents.emplace_back(shown_at(rows, row));
    ids.push_back(each.incident.id);
    by_id[each.incident.id] = &each;
  }
  const std::string list = list_text(ids);
  const OfIncidents& queries =
      engine_ == Engine::sqlite ? of_incidents_sqlite : of_incidents_postgres;
  const Rows notes = transaction.run(queries.notes, {list});
  for (std::size_t row = 0; row < notes.size(); ++row) {
    by_id[notes.text(row, 0)]->notes.push_back(
        {notes.number(row, 1), notes.text(row, 2), notes.text(row, 3)});
  }
  const Rows events = transaction.run(queries.events, {list});
  for (std::size_t row = 0; row < events.size(); ++row) {
    by_id[events.text(row, 0)]->events.push_back(event_of(events, row));
  }
  return incidents;
}

SqlStatusStore::Answer<std::vector<ShownIncident>> SqlStatusStore::incidents(
    const status::IncidentQuery& query) {
  constexpr std::int64_t never_ms = 0x7FFF'FFFF'FFFF'FFFF;
  const std::int64_t before_ms =
      query.before_started_at_ms == 0 ? never_ms : query.before_started_at_ms;
  return read_at_once<std::vector<ShownIncident>>("read incidents", [&](Transaction& snapshot) {
    return shown(snapshot, snapshot.run(select_incident_page,
                                        {before_ms, query.before_id,
                                         std::int64_t{query.with_unconfirmed},
                                         std::int64_t{query.limit}}));
  });
}

SqlStatusStore::Answer<std::vector<ShownIncident>> SqlStatusStore::recent_incidents(
    std::int64_t since_ms) {
  return read_at_once<std::vector<ShownIncident>>(
      "read recent incidents", [&](Transaction& snapshot) {
        return shown(snapshot, snapshot.run(select_recent_incidents, {since_ms}));
      });
}

SqlStatusStore::Answer<std::optional<ShownIncident>> SqlStatusStore::incident(
    std::string_view id) {
  using Found = std::optional<ShownIncident>;
  return read_at_once<Found>("read incident", [&](Transaction& snapshot) -> Found {
    std::vector<ShownIncident> found = shown(snapshot, snapshot.run(select_one_incident, {id}));
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
  });
}

}  // namespace turnpike::storage

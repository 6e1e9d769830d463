#include "status/documents.h"

#include <algorithm>
#include <string>
#include <utility>

#include "status/board_parts.h"
#include "text/time_text.h"

namespace turnpike::status {
namespace {

std::string_view source_name(IncidentSource source) noexcept {
  return source == IncidentSource::operators ? "operator" : "automatic";
}

// The distinct capabilities of "<capability_id>:<METHOD>" names, in order.
BoardJson capabilities_json(const std::vector<std::string>& operations) {
  BoardJson shown = BoardJson::array();
  for (const std::string& name : operations) {
    const std::string capability = name.substr(0, name.rfind(':'));
    if (std::find(shown.begin(), shown.end(), capability) == shown.end()) {
      shown.push_back(capability);
    }
  }
  return shown;
}

BoardJson notes_json(const std::vector<IncidentNote>& notes) {
  BoardJson shown = BoardJson::array();
  for (const IncidentNote& note : notes) {
    shown.push_back({{"at", text::rfc3339(note.at_ms)}, {"text", note.text}});
  }
  return shown;
}

BoardJson events_json(const std::vector<IncidentEvent>& events) {
  BoardJson shown = BoardJson::array();
  for (const IncidentEvent& event : events) {
    shown.push_back({{"at", text::rfc3339(event.at_ms)},
                     {"from", event.is_first ? BoardJson() : BoardJson(name_of(event.from))},
                     {"to", name_of(event.to)},
                     {"event", event.note},
                     {"round", event.round == 0 ? BoardJson() : BoardJson(event.round)}});
  }
  return shown;
}

BoardJson sweep_target_json(const SweepTarget& target) {
  const bool has_reason = target.reason != Reason::none;
  return {{"target", target.target},
          {"monitoring_class", name_of_class(target.monitoring)},
          {"result", target.result ? BoardJson(name_of(*target.result)) : BoardJson()},
          {"reason", has_reason ? BoardJson(name_of(target.reason)) : BoardJson()},
          {"observed_at", time_or_null(target.observed_at_ms)},
          {"round", target.round == 0 ? BoardJson() : BoardJson(target.round)}};
}

}  // namespace

BoardJson incident_json(const ShownIncident& shown) {
  const Incident& incident = shown.incident;
  BoardJson rounds = BoardJson::array();
  if (incident.last_round > 0) rounds = {incident.first_round, incident.last_round};
  const bool is_over = incident.resolution != Resolution::none;
  return {{"incident_id", incident.id},
          {"scope", incident.scope},
          {"source", source_name(shown.source)},
          {"state", name_of(incident.state)},
          {"severity", name_of(incident.severity)},
          {"signals", incident.signals},
          {"affected", capabilities_json(incident.affected)},
          {"started_at", text::rfc3339(incident.started_at_ms)},
          {"opened_at", time_or_null(incident.opened_at_ms)},
          {"recovering_at", time_or_null(incident.recovering_at_ms)},
          {"resolved_at", time_or_null(incident.resolved_at_ms)},
          {"resolution", is_over ? BoardJson(name_of(incident.resolution)) : BoardJson()},
          {"impact",
           {{"calls_refused", shown.calls_refused},
            {"credits_charged_for_failures", shown.credits_charged_for_failures}}},
          {"rounds", std::move(rounds)},
          {"notes", notes_json(shown.notes)}};
}

BoardJson incident_record_json(const ShownIncident& shown) {
  BoardJson record = incident_json(shown);
  const Incident& incident = shown.incident;
  const Evidence evidence = incident.is_stale ? Evidence::stale : Evidence::current;
  const bool has_difference = !incident.difference.empty();
  record["evidence_status"] = name_of(evidence);
  record["difference"] = has_difference ? BoardJson(incident.difference) : BoardJson();
  record["affected_operations"] = incident.affected;
  record["events"] = events_json(shown.events);
  return record;
}

BoardJson maintenance_json(const Maintenance& maintenance) {
  return {{"maintenance_id", maintenance.id},
          {"scope", maintenance.scope},
          {"text", maintenance.text},
          {"starts_at", text::rfc3339(maintenance.starts_at_ms)},
          {"ends_at", text::rfc3339(maintenance.ends_at_ms)}};
}

BoardJson sweep_json(const Sweep& sweep) {
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t executions = 0;
  BoardJson targets = BoardJson::array();
  for (const SweepTarget& target : sweep.targets) {
    if (target.result == LookResult::pass) ++passed;
    if (target.result == LookResult::fail) ++failed;
    if (target.target.starts_with("operation:")) ++executions;
    targets.push_back(sweep_target_json(target));
  }
  return {{"sweep_id", sweep.id},
          {"state", name_of(sweep.state)},
          {"reason", sweep.reason.empty() ? BoardJson() : BoardJson(sweep.reason)},
          {"release", sweep.release},
          {"generation", {{"id", sweep.generation_id}, {"payload_hash", sweep.payload_hash}}},
          {"expected_targets", sweep.targets.size()},
          {"passed", passed},
          {"failed", failed},
          {"unknown", sweep.targets.size() - passed - failed},
          {"estimated_executions", executions},
          {"started_at", text::rfc3339(sweep.started_at_ms)},
          {"completed_at", time_or_null(sweep.completed_at_ms)},
          {"expires_at", text::rfc3339(sweep.expires_at_ms)},
          {"targets", std::move(targets)}};
}

std::string headline_of(const Incident& incident) {
  switch (incident.state) {
    case IncidentState::suspect:
      return incident.scope + ": a failure is suspected";
    case IncidentState::recovering:
      return incident.scope + " is recovering";
    case IncidentState::resolved:
      return incident.scope + ": resolved";
    case IncidentState::open:
      break;
  }
  return incident.scope + ": " + std::string(name_of(incident.severity));
}

}  // namespace turnpike::status

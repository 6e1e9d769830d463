#include "hosts/operator/status_words.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/strict_object.h"
#include "text/time_text.h"

namespace turnpike::hosts::operators {
namespace {

using base::Error;
using base::ErrorCode;
using base::FieldProblem;
using base::StrictObject;
using nlohmann::json;

constexpr StrictObject::Characters note_length{1, 500};
constexpr std::size_t scope_bytes_max = 300;

bool is_name(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-' || c == '.';
  });
}

// Checks the values of a body; StrictObject has checked its form.
class Checks {
 public:
  explicit Checks(const StrictObject& body) : problems_(body.problems()) {}

  void scope(const std::string& text) {
    if (has_problem("/scope") || is_scope(text)) return;
    problems_.push_back({"/scope", "it names no component",
                         "Write gateway, pricing, lane:<name>, provider:<key> or "
                         "operation:<capability_id>:<METHOD>"});
  }
  std::int64_t time(const std::string& member, const std::string& text) {
    const std::string location = "/" + member;
    if (has_problem(location)) return 0;
    const auto time_ms = text::parse_rfc3339(text);
    if (!time_ms) {
      problems_.push_back({location, "it is no time",
                           "Write it by RFC 3339 in UTC, such as 2027-01-31T18:00:00Z"});
    }
    return time_ms.value_or(0);
  }
  void order(std::int64_t starts_at_ms, std::int64_t ends_at_ms) {
    if (has_problem("/starts_at") || has_problem("/ends_at") || ends_at_ms > starts_at_ms) return;
    problems_.push_back(
        {"/ends_at", "it is not after the start", "Write a time that is later than the start"});
  }
  [[nodiscard]] std::optional<Error> refusal(std::string message) const {
    if (problems_.empty()) return std::nullopt;
    return Error{ErrorCode::request_body_rejected, std::move(message), 0, problems_};
  }

 private:
  [[nodiscard]] bool has_problem(std::string_view location) const {
    return std::any_of(problems_.begin(), problems_.end(),
                       [&](const FieldProblem& each) { return each.location == location; });
  }
  std::vector<FieldProblem> problems_;
};

json time_or_null(std::int64_t time_ms) {
  return time_ms == 0 ? json(nullptr) : json(text::rfc3339(time_ms));
}

}  // namespace

bool is_scope(std::string_view text) noexcept {
  if (text.size() > scope_bytes_max) return false;
  if (text == "gateway" || text == "pricing") return true;
  const auto behind = [&](std::string_view prefix) {
    return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string_view();
  };
  if (is_name(behind("lane:")) || is_name(behind("provider:"))) return true;
  const std::string_view operation = behind("operation:");
  const std::size_t colon = operation.rfind(':');
  if (colon == operation.npos) return false;
  const std::string_view method = operation.substr(colon + 1);
  const bool is_method = !method.empty() && std::all_of(method.begin(), method.end(), [](char c) {
    return c >= 'A' && c <= 'Z';
  });
  return is_method && is_name(operation.substr(0, colon));
}

Result<IncidentWords, Error> read_incident(std::string_view json) {
  StrictObject body(json, {"scope", "severity", "note"});
  constexpr status::Level levels[] = {status::Level::degraded, status::Level::major_outage};
  constexpr std::string_view severities[] = {name_of(levels[0]), name_of(levels[1])};
  IncidentWords words;
  words.scope = body.text("scope", {1, scope_bytes_max});
  words.severity = levels[body.one_of("severity", severities)];
  words.note = body.text("note", note_length);
  Checks checks(body);
  checks.scope(words.scope);
  if (auto refusal = checks.refusal("The body opens no incident.")) return *std::move(refusal);
  return words;
}

Result<std::string, Error> read_note(std::string_view json) {
  StrictObject body(json, {"note"});
  std::string note = body.text("note", note_length);
  if (!body.problems().empty()) return body.refusal("The body is no note.");
  return note;
}

Result<status::Maintenance, Error> read_maintenance(std::string_view json) {
  StrictObject body(json, {"scope", "starts_at", "ends_at", "note"});
  constexpr StrictObject::Characters time_length{1, 40};
  status::Maintenance maintenance;
  maintenance.scope = body.text("scope", {1, scope_bytes_max});
  const std::string starts_at = body.text("starts_at", time_length);
  const std::string ends_at = body.text("ends_at", time_length);
  maintenance.text = body.text("note", note_length);
  Checks checks(body);
  checks.scope(maintenance.scope);
  maintenance.starts_at_ms = checks.time("starts_at", starts_at);
  maintenance.ends_at_ms = checks.time("ends_at", ends_at);
  checks.order(maintenance.starts_at_ms, maintenance.ends_at_ms);
  if (auto refusal = checks.refusal("The body announces no maintenance.")) {
    return *std::move(refusal);
  }
  return maintenance;
}

json document_of(const status::ShownIncident& shown) {
  const status::Incident& incident = shown.incident;
  json notes = json::array();
  for (const status::IncidentNote& note : shown.notes) {
    notes.push_back({{"at", text::rfc3339(note.at_ms)},
                     {"operator", note.operator_id},
                     {"note", note.text}});
  }
  const bool has_resolution = incident.resolution != status::Resolution::none;
  return {{"incident_id", incident.id},
          {"scope", incident.scope},
          {"source", name_of(shown.source)},
          {"state", name_of(incident.state)},
          {"severity", name_of(incident.severity)},
          {"resolution", has_resolution ? json(name_of(incident.resolution)) : json(nullptr)},
          {"signals", incident.signals},
          {"affected", incident.affected},
          {"started_at", text::rfc3339(incident.started_at_ms)},
          {"opened_at", time_or_null(incident.opened_at_ms)},
          {"recovering_at", time_or_null(incident.recovering_at_ms)},
          {"resolved_at", time_or_null(incident.resolved_at_ms)},
          {"impact",
           {{"calls_refused", shown.calls_refused},
            {"credits_charged_for_failures", shown.credits_charged_for_failures}}},
          {"rounds", {incident.first_round, incident.last_round}},
          {"notes", std::move(notes)}};
}

json document_of(const status::Maintenance& maintenance) {
  return {{"maintenance_id", maintenance.id},
          {"scope", maintenance.scope},
          {"starts_at", text::rfc3339(maintenance.starts_at_ms)},
          {"ends_at", text::rfc3339(maintenance.ends_at_ms)},
          {"note", maintenance.text}};
}

Error no_incident(std::string_view id) {
  return {ErrorCode::status_incident_not_found,
          "There is no incident '" + std::string(id) +
              "': turnpike status incidents --all shows them."};
}

Error not_to_resolve(std::string_view id) {
  return {ErrorCode::status_incident_not_found,
          "There is no open incident of operators '" + std::string(id) +
              "': those of the evidence are resolved by evidence alone."};
}

Error no_maintenance(std::string_view id) {
  return {ErrorCode::status_maintenance_not_found,
          "There is no maintenance '" + std::string(id) +
              "' that is announced and not over: turnpike status maintenance list shows them."};
}

}  // namespace turnpike::hosts::operators

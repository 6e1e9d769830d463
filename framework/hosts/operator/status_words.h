// What operators say about the status: bodies of the routes below /internal/v1/status, and the
// documents that answer them. The command line says the same by the same rules
// (app/commands/command_status.cpp). Words move no state (status/store.h).
//
// Values and pure functions; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <turnpike/result.h>

#include "base/error.h"
#include "status/store.h"

namespace turnpike::hosts::operators {

struct IncidentWords {
  std::string scope;
  status::Level severity = status::Level::degraded;
  std::string note;
};

// Reads {"scope", "severity": "degraded" | "major_outage", "note"}.
Result<IncidentWords, base::Error> read_incident(std::string_view json);
// Reads {"note"}: 1 to 500 characters.
Result<std::string, base::Error> read_note(std::string_view json);
// Reads {"scope", "starts_at", "ends_at", "note"}; times are in RFC 3339.
Result<status::Maintenance, base::Error> read_maintenance(std::string_view json);

// Whether `text` has the form of a scope: gateway, pricing, lane:<name>, provider:<key> or
// operation:<capability_id>:<METHOD>. The named object need not be installed, since installations
// change.
bool is_scope(std::string_view text) noexcept;

nlohmann::json document_of(const status::ShownIncident& shown);
nlohmann::json document_of(const status::Maintenance& maintenance);

// The errors status.incident_not_found and status.maintenance_not_found, with advice.
base::Error no_incident(std::string_view id);
base::Error not_to_resolve(std::string_view id);
base::Error no_maintenance(std::string_view id);

}  // namespace turnpike::hosts::operators

// The public forms of incidents, maintenance and sweeps, as JSON. Pure functions; any Thread.
#pragma once

#include <nlohmann/json.hpp>

#include "status/store.h"

namespace turnpike::status {

// The form of an incident in board documents.
nlohmann::ordered_json incident_json(const ShownIncident& shown);
// The same with the whole record: quality of the evidence, difference of the contract, affected
// methods, and each state change.
nlohmann::ordered_json incident_record_json(const ShownIncident& shown);

nlohmann::ordered_json maintenance_json(const Maintenance& maintenance);

nlohmann::ordered_json sweep_json(const Sweep& sweep);

// A one-line summary: "provider:weather is degraded".
std::string headline_of(const Incident& incident);

}  // namespace turnpike::status

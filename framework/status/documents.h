// The public forms of incidents, maintenance and sweeps, as JSON. Pure functions; any Thread.
#pragma once

#include <nlohmann/json.hpp>

#include "status/store.h"

namespace turnpike::status {

// As the documents of the board show it.
nlohmann::ordered_json incident_json(const ShownIncident& shown);
// The same and all that is on record: how good the evidence on it is, what of a contract changed,
// which methods it affected, and each edge of its life.
nlohmann::ordered_json incident_record_json(const ShownIncident& shown);

nlohmann::ordered_json maintenance_json(const Maintenance& maintenance);

nlohmann::ordered_json sweep_json(const Sweep& sweep);

// One line for people: "provider:weather is degraded".
std::string headline_of(const Incident& incident);

}  // namespace turnpike::status

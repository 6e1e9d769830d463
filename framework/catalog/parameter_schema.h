// JSON Schemas (the dialect of OpenAPI 3.1) derived from declared query and body policies. Every
// accepted value satisfies its schema: declared string bounds count bytes while JSON Schema counts
// characters, so the exact bound is in the description. Pure functions; any Thread.
#pragma once

#include "catalog/capability_json.h"

namespace turnpike::catalog {

// The schema of the values that a constraint accepts.
Json value_schema(const registry::Constraint& constraint);

// A rule over several parameters, as a sentence.
std::string rule_text(const registry::QueryRule& rule);

// OpenAPI parameter objects of the path, in order of the pattern.
Json path_parameters_json(const registry::Matcher& matcher);

// OpenAPI parameter objects of the query, in order of declaration.
Json query_parameters_json(const registry::QueryPolicy& query);

// One sentence per rule over several parameters; empty if there are none.
std::string query_rules_text(const registry::QueryPolicy& policy);

// OpenAPI requestBody; REQUIRES: the body is not forbidden.
Json request_body_json(const registry::Route& route);

}  // namespace turnpike::catalog

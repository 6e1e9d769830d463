// The JSON Schema of the arguments, and the description, of a tool that the registry binds.
// Everything that hosts/mcp/tool_call.h accepts satisfies the schema, except for tolerated habits
// of models: null for an omitted argument, numbers and booleans as text, JSON bodies as text. The
// schema is simple: an object at the root, no $ref, no combinators. Rules that it cannot express
// are in the descriptions.
//
// Pure functions; safe on any Thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "registry/program.h"

namespace turnpike::catalog {

nlohmann::ordered_json tool_input_schema(const registry::Program& program,
                                         const registry::Tool& tool);

// The schema of a result's `body`, and the definitions that it refers to by `#/$defs/NAME` (null:
// none), for operations whose replies have a schema. Null if the body is unknown.
struct ToolBodySchema {
  nlohmann::ordered_json schema;
  nlohmann::ordered_json definitions;
};
ToolBodySchema tool_body_schema(const registry::Program& program, const registry::Tool& tool);

// The operator's description, the rules over several arguments, and the cost of a call.
std::string tool_description(const registry::Program& program, const registry::Tool& tool);

// The schema of the argument under which a repeated call is executed and charged once.
nlohmann::ordered_json idempotency_key_schema();

// ---- for hosts/mcp/tool_call.cpp, which must agree ----------------------------------------------

// The media types that the tool's body may have; empty: the tool takes no body.
std::vector<std::string> body_types_of(const registry::Program& program,
                                       const registry::Tool& tool);
// The type that is used when the caller names none. REQUIRES: there is one.
const std::string& default_body_type(const std::vector<std::string>& types);
// True for application/json and types with the suffix +json (RFC 6839).
bool is_json_type(std::string_view media_type) noexcept;

}  // namespace turnpike::catalog

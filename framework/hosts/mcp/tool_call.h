// Turns the arguments of a tool into a request: the raw path, the query and the body. The reverse
// of catalog/tool_schema.h. An accepted request satisfies the declared policy of the route and
// reaches the tool's own operation and no other. All problems are reported at once, each with the
// JSON pointer of its argument and the fix.
//
// Pure functions; safe on any Thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <turnpike/result.h>

#include "base/error.h"
#include "registry/program.h"

namespace turnpike::hosts::mcp {

struct ToolCall {
  std::string path;       // with `:free`
  registry::Match match;  // of the path without `:free`
  std::string query;      // without '?'
  std::optional<std::string> body;
  std::string content_type;     // of the body; empty without one
  std::string idempotency_key;  // empty: none
};

// At most this many problems are reported of one call.
inline constexpr std::size_t tool_problems_max = 32;

using ReadToolCall = Result<ToolCall, std::vector<base::FieldProblem>>;

// `tool` is one of program.tools(). Arguments that are null count as absent, and numbers and
// booleans may come as text. `body_text`: the JSON of the argument `body` exactly as the caller
// wrote it, empty without one; these bytes are sent.
ReadToolCall read_tool_call(const registry::Program& program, const registry::Tool& tool,
                            const nlohmann::json& arguments, std::string_view body_text);

}  // namespace turnpike::hosts::mcp

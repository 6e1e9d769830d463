// The three general tools of the service (interface 4.6, decisions.md, MCP): the catalog as a list,
// one capability in full, and the one that runs any route. The reads need no credential.
#pragma once

#include <memory>
#include <vector>

#include <turnpike/host.h>

#include "hosts/backend.h"
#include "hosts/mcp/execution.h"
#include "hosts/mcp/tool.h"

namespace turnpike::hosts::mcp {

// In the order of the list. All outlive the tools.
std::vector<std::shared_ptr<const Tool>> make_service_tools(Backend& backend, const Clock& clock,
                                                            const Executions& executions);

// Names that begin so are the service's.
inline constexpr std::string_view service_tool_prefix = "service.";

// The `securitySchemes` of a card, at its top and in `_meta` (mcp.md 5.3).
enum class Admits : std::uint8_t { anybody, accounts };
void add_security(nlohmann::ordered_json& card, Admits admits);

}  // namespace turnpike::hosts::mcp

// The general tools of the service (docs/interface.md, "Routes of the MCP host"): the catalog as a
// list, one capability in full, and a tool that runs any route; at the endpoint for accounts also a
// tool that runs only GET routes. Reads of the catalog need no credential.
#pragma once

#include <memory>
#include <vector>

#include <turnpike/host.h>

#include "hosts/backend.h"
#include "hosts/mcp/execution.h"
#include "hosts/mcp/tool.h"

namespace turnpike::hosts::mcp {

// Makes the tools in the order of the list. The arguments outlive them.
std::vector<std::shared_ptr<const Tool>> make_service_tools(Backend& backend, const Clock& clock,
                                                            const Executions& executions);

// Names with this prefix are reserved for the service.
inline constexpr std::string_view service_tool_prefix = "service.";

// The `securitySchemes` of a card, at its top and in `_meta` (docs/protocols.md, "Tools").
enum class Admits : std::uint8_t { anybody, accounts };
void add_security(nlohmann::ordered_json& card, Admits admits);

nlohmann::ordered_json tool_annotations(std::string_view title, bool is_read, bool is_open_world);

// Adds the size bound of results, for a client that otherwise moves long results out of its model's
// context (Claude Code, which accepts up to 500,000 characters): the bytes of a reply, and as much
// again for escapes.
void add_result_size(nlohmann::ordered_json& card, std::uint64_t reply_bytes_max);

// Adds what all tools for one operation have in common, for accounts: the annotations, which assume
// the worst where nothing is known; the id by which service.capabilities.get tells price and
// limits; and the two additions above.
struct OperationFacts {
  std::string_view title = {};  // empty: none
  bool is_read_only = false;
  std::string_view capability_id;
  std::uint64_t reply_bytes_max = 0;
};
void add_operation(nlohmann::ordered_json& card, const OperationFacts& facts);

}  // namespace turnpike::hosts::mcp

// The tools that provider plugins bring for operations of their own (turnpike/provider.h,
// OperationTool). A call of such a tool is a call of its operation: the arguments, byte for byte,
// are the body, and the JSON object of a success is the structured content itself. They exist only
// at the endpoint for accounts.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "exchange/service.h"
#include "hosts/mcp/execution.h"
#include "hosts/mcp/tool.h"

namespace turnpike::hosts::mcp {

// `tools` are those of the service of `program` (exchange::Service::operation_tools()).
// `executions` outlives what is made, which keeps the program.
std::vector<std::shared_ptr<const Tool>> make_operation_tools(
    std::span<const exchange::ToolInService> tools,
    std::shared_ptr<const registry::Program> program, const Executions& executions);

}  // namespace turnpike::hosts::mcp

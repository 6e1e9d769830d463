// The tools that a registry binds (`tools:`): each runs one operation, with its own arguments
// instead of a path and a query. They exist only at the endpoint for accounts.
#pragma once

#include <memory>
#include <vector>

#include "hosts/mcp/execution.h"
#include "hosts/mcp/tool.h"
#include "registry/program.h"

namespace turnpike::hosts::mcp {

// Makes the tools of program->tools(), in that order. `executions` outlives the tools, which keep
// the program.
std::vector<std::shared_ptr<const Tool>> make_bound_tools(
    std::shared_ptr<const registry::Program> program, const Executions& executions);

}  // namespace turnpike::hosts::mcp

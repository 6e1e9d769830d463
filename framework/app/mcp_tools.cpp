#include "app/mcp_tools.h"

#include <utility>

#include "hosts/mcp/bound_tool.h"
#include "hosts/mcp/service_tools.h"

namespace turnpike::app {

using hosts::mcp::Toolset;

McpTools::McpTools(const Generations& generations, hosts::Backend& backend, const Clock& clock,
                   const hosts::mcp::Executions& executions, std::string cursor_key)
    : generations_(generations),
      executions_(executions),
      cursor_key_(std::move(cursor_key)),
      service_tools_(hosts::mcp::make_service_tools(backend, clock, executions)),
      without_program_(std::make_shared<const Toolset>(service_tools_, "", cursor_key_)) {}

std::shared_ptr<const Toolset> McpTools::make(const registry::Installed& installed) const {
  auto tools = service_tools_;
  auto bound = hosts::mcp::make_bound_tools(installed.program, executions_);
  tools.insert(tools.end(), bound.begin(), bound.end());
  return std::make_shared<const Toolset>(std::move(tools), installed.generation.id, cursor_key_);
}

std::shared_ptr<const Toolset> McpTools::toolset() {
  const auto program = generations_.published().current();
  return program == nullptr ? without_program_ : program->toolset;
}

}  // namespace turnpike::app

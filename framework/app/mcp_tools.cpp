#include "app/mcp_tools.h"

#include <utility>

#include "hosts/mcp/bound_tool.h"
#include "hosts/mcp/service_tools.h"

namespace turnpike::app {

using hosts::mcp::Toolset;

McpTools::McpTools(const Generations& generations, hosts::Backend& backend, const Clock& clock,
                   const hosts::mcp::Executions& executions, std::string cursor_key)
    : generations_(generations),
      backend_(backend),
      clock_(clock),
      executions_(executions),
      cursor_key_(std::move(cursor_key)),
      without_program_(std::make_shared<const Toolset>(
          hosts::mcp::make_service_tools(backend_, clock_, executions_), "", cursor_key_)) {}

std::shared_ptr<const Toolset> McpTools::make(const registry::Installed& installed) const {
  auto tools = hosts::mcp::make_service_tools(backend_, clock_, executions_);
  auto bound = hosts::mcp::make_bound_tools(installed.program, executions_);
  tools.insert(tools.end(), bound.begin(), bound.end());
  return std::make_shared<const Toolset>(std::move(tools), installed.generation.id, cursor_key_);
}

std::shared_ptr<const Toolset> McpTools::toolset() {
  const auto program = generations_.published().current();
  return program == nullptr ? without_program_ : program->toolset;
}

}  // namespace turnpike::app

#include "app/services/mcp_tools.h"

#include <utility>

#include "hosts/mcp/account_tools.h"
#include "hosts/mcp/bound_tool.h"
#include "hosts/mcp/operation_tool.h"
#include "hosts/mcp/service_tools.h"

namespace turnpike::app {

using hosts::mcp::Toolset;

namespace {

using ToolList = std::vector<std::shared_ptr<const hosts::mcp::Tool>>;

ToolList joined(ToolList first, const ToolList& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

McpTools::McpTools(GatewayBackend& backend, const Clock& clock,
                   const hosts::mcp::Executions& executions, const hosts::AccountReads& reads,
                   std::string cursor_key, hosts::mcp::ToolNames names)
    : backend_(backend),
      executions_(executions),
      cursor_key_(std::move(cursor_key)),
      names_(names),
      service_tools_(joined(hosts::mcp::make_service_tools(backend, clock, executions),
                            hosts::mcp::make_account_tools(reads, executions))),
      without_program_(std::make_shared<const Toolset>(service_tools_, "", cursor_key_, names_)) {}

std::shared_ptr<const Toolset> McpTools::make(const registry::Installed& installed,
                                              const exchange::Service& service) const {
  ToolList tools = joined(
      service_tools_,
      hosts::mcp::make_operation_tools(service.operation_tools(), installed.program, executions_));
  tools = joined(std::move(tools), hosts::mcp::make_bound_tools(installed.program, executions_));
  return std::make_shared<const Toolset>(std::move(tools), installed.generation.id, cursor_key_,
                                         names_);
}

std::shared_ptr<const Toolset> McpTools::toolset() {
  auto program = std::make_shared<const GatewayBackend::Pin>(backend_.pin());
  if (!*program) return without_program_;
  const Toolset* const tools = (*program)->toolset.get();
  return {std::move(program), tools};
}

}  // namespace turnpike::app

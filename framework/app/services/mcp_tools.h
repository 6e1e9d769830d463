// McpTools: the tools of the MCP host for each generation: the service's own, those of provider
// plugins and those that the registry binds, with their rendered lists. Made when a program is
// installed, on a Thread that is not a loop.
//
// Owned by the gateway; toolset() is called on the fibers of all loop Threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/gateway_backend.h"
#include "hosts/account_reads.h"
#include "hosts/mcp/execution.h"
#include "hosts/mcp/features.h"

namespace turnpike::app {

class McpTools final : public hosts::mcp::Toolsets {
 public:
  // All arguments outlive the object.
  McpTools(GatewayBackend& backend, const Clock& clock, const hosts::mcp::Executions& executions,
           const hosts::AccountReads& reads, std::string cursor_key, hosts::mcp::ToolNames names);

  // `service` is bound for the program of `installed`.
  [[nodiscard]] std::shared_ptr<const hosts::mcp::Toolset> make(
      const registry::Installed& installed, const exchange::Service& service) const;

  std::shared_ptr<const hosts::mcp::Toolset> toolset() override;

 private:
  GatewayBackend& backend_;
  const hosts::mcp::Executions& executions_;
  const std::string cursor_key_;
  const hosts::mcp::ToolNames names_;
  const std::vector<std::shared_ptr<const hosts::mcp::Tool>> service_tools_;
  const std::shared_ptr<const hosts::mcp::Toolset> without_program_;
};

}  // namespace turnpike::app

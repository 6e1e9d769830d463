// The prompts of the service: three tasks that people give to a model which has these tools. Each
// prompt lists the calls and their order, and what to observe: costs, and the advice on retries.
//
// Owned by app/, shared by both endpoints; immutable; any Thread.
#pragma once

#include <memory>
#include <string>

#include "hosts/mcp/features.h"
#include "hosts/mcp/tool_names.h"

namespace turnpike::hosts::mcp {

class ServicePrompts final : public Prompts {
 public:
  // `names`: the form of tool names in texts.
  explicit ServicePrompts(ToolNames names = ToolNames::dotted);

  Answer list(const RpcRequest& request, const std::string* cursor) const override;
  Answer get(const RpcRequest& request, const std::string& name,
             const Json& arguments) const override;

 private:
  const ToolNames names_;
  const std::shared_ptr<const std::string> list_;
};

}  // namespace turnpike::hosts::mcp

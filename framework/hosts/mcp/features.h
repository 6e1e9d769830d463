// Features: the tools, resources and prompts of an MCP host. The gateway has its own; the test
// build for the official conformance suite has those of the suite. Plugins cannot add any here.
//
// All outlive the host; called on the fibers of all loop Threads at once, may suspend.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hosts/mcp/tool.h"
#include "hosts/mcp/toolset.h"

namespace turnpike::hosts::mcp {

class Toolsets {
 public:
  virtual ~Toolsets() = default;
  // Returns the tools in service; never null. The fiber keeps the result until its message is
  // answered, so a tool is called under the generation in which it was found.
  [[nodiscard]] virtual std::shared_ptr<const Toolset> toolset() = 0;
};

class Resources {
 public:
  virtual ~Resources() = default;
  // Results of resources/list and resources/templates/list; `cursor` null: the first page. Error:
  // -32602 for a cursor of another host.
  virtual Answer list(const RpcRequest& request, const std::string* cursor) const = 0;
  virtual Answer templates(const RpcRequest& request, const std::string* cursor) const = 0;
  // Error: -32602 with data {"uri"}, which a legacy answer turns into -32002.
  virtual Answer read(const RpcRequest& request, const std::string& uri) const = 0;
};

class Prompts {
 public:
  virtual ~Prompts() = default;
  virtual Answer list(const RpcRequest& request, const std::string* cursor) const = 0;
  // `arguments` is an object. Error: -32602 for an unknown prompt or a missing argument.
  virtual Answer get(const RpcRequest& request, const std::string& name,
                     const Json& arguments) const = 0;
};

// A method that this host answers in addition to those that every MCP server has.
struct ExtraMethod {
  std::string name;
  bool is_legacy_only = false;
  std::function<Answer(const RpcRequest&)> answer;
};

struct Features {
  Toolsets& toolsets;
  const Resources* resources = nullptr;  // null: none are offered
  const Prompts* prompts = nullptr;
  std::vector<ExtraMethod> extra = {};
  // The capabilities in server/discover and in the handshake. They promise nothing that needs a
  // stream, such as notifications of changed lists.
  std::string capabilities = R"({"tools":{},"resources":{},"prompts":{}})";
  std::string legacy_capabilities = R"({"tools":{},"resources":{},"prompts":{}})";
};

}  // namespace turnpike::hosts::mcp

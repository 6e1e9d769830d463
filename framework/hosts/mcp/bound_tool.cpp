#include "hosts/mcp/bound_tool.h"

#include <string>
#include <utility>

#include "catalog/readiness.h"
#include "catalog/tool_schema.h"
#include "hosts/mcp/service_tools.h"
#include "hosts/mcp/tool_call.h"

namespace turnpike::hosts::mcp {
namespace {

class BoundTool final : public Tool {
 public:
  BoundTool(std::shared_ptr<const registry::Program> program, const registry::Tool& tool,
            const Executions& executions)
      : program_(std::move(program)),
        tool_(tool),
        operation_(program_->operations()[tool.operation]),
        executions_(executions) {}

  [[nodiscard]] std::string_view name() const noexcept override { return tool_.name; }
  [[nodiscard]] bool is_at(Door door) const noexcept override { return door == Door::account; }
  [[nodiscard]] bool is_listed() const noexcept override {
    return catalog::is_offered(*program_, operation_);
  }
  [[nodiscard]] nlohmann::ordered_json card(Door door) const override;
  Answer call(const RpcRequest& request, const Json& arguments) const override;

 private:
  [[nodiscard]] Json output_schema() const;

  const std::shared_ptr<const registry::Program> program_;
  const registry::Tool& tool_;  // owned by the program
  const registry::Operation& operation_;
  const Executions& executions_;
};

// The output schema of every execution, with the schema of this operation's body.
Json BoundTool::output_schema() const {
  Json schema = execution_output_schema();
  auto body = catalog::tool_body_schema(*program_, tool_);
  if (body.schema.is_null()) return schema;
  schema["properties"]["body"] = std::move(body.schema);
  if (!body.definitions.is_null()) schema["$defs"] = std::move(body.definitions);
  return schema;
}

nlohmann::ordered_json BoundTool::card(Door) const {
  nlohmann::ordered_json card = {{"name", tool_.name}};
  if (!tool_.title.empty()) card["title"] = tool_.title;
  card["description"] = catalog::tool_description(*program_, tool_);
  card["inputSchema"] = catalog::tool_input_schema(*program_, tool_);
  card["outputSchema"] = output_schema();
  add_operation(card, {tool_.title, tool_.is_read_only, program_->routes()[operation_.route].id,
                       executions_.reply_bytes_max()});
  return card;
}

Answer BoundTool::call(const RpcRequest& request, const Json& arguments) const {
  auto read = read_tool_call(*program_, tool_, arguments, body_argument_text(request));
  if (!read.ok()) {
    return refused_result(
        request, {base::ErrorCode::request_malformed, "The arguments of the tool are not right.", 0,
                  std::move(read).error()});
  }
  return executions_.run(
      request, {.method = std::string(turnpike::name_of(operation_.method)),
                .path = std::move(read->path),
                .query = std::move(read->query),
                .body = std::move(read->body),
                .content_type = std::move(read->content_type),
                .idempotency_key = std::move(read->idempotency_key),
                .found = exchange::FoundOperation{program_.get(), tool_.operation, read->match}});
}

}  // namespace

std::vector<std::shared_ptr<const Tool>> make_bound_tools(
    std::shared_ptr<const registry::Program> program, const Executions& executions) {
  std::vector<std::shared_ptr<const Tool>> tools;
  for (const registry::Tool& tool : program->tools()) {
    tools.push_back(std::make_shared<BoundTool>(program, tool, executions));
  }
  return tools;
}

}  // namespace turnpike::hosts::mcp

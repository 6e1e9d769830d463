#include "hosts/mcp/operation_tool.h"

#include <string>
#include <utility>

#include "catalog/readiness.h"
#include "hosts/mcp/service_tools.h"
#include "text/words.h"

namespace turnpike::hosts::mcp {
namespace {

// Returns the JSON of the arguments exactly as the caller wrote it.
std::string_view arguments_text(const Message& message) noexcept {
  return message.arguments.empty() ? arguments_of(message.text) : message.arguments;
}

// Binding the plugin has checked that the schemas describe objects. A schema beyond the bounds of
// messages is shown as that of any object.
nlohmann::ordered_json schema_of(std::string_view text) {
  auto schema = read_json(text);
  if (!schema.ok()) return {{"type", "object"}};
  return nlohmann::ordered_json(*std::move(schema));
}

class ProviderTool final : public Tool {
 public:
  ProviderTool(std::shared_ptr<const registry::Program> program,
               const exchange::ToolInService& tool, const Executions& executions)
      : program_(std::move(program)),
        tool_(*tool.tool),
        index_(tool.operation),
        operation_(program_->operations()[index_]),
        path_(program_->routes()[operation_.route].matcher.pattern),
        executions_(executions) {}

  [[nodiscard]] std::string_view name() const noexcept override { return tool_.name; }
  [[nodiscard]] bool is_at(Door door) const noexcept override { return door == Door::account; }
  [[nodiscard]] bool is_listed() const noexcept override {
    return catalog::is_offered(*program_, operation_);
  }
  [[nodiscard]] nlohmann::ordered_json card(Door door) const override;
  Answer call(const RpcRequest& request, const Json& arguments) const override;

 private:
  const std::shared_ptr<const registry::Program> program_;
  const OperationTool& tool_;  // owned by the plugin, never freed
  const std::uint32_t index_;
  const registry::Operation& operation_;
  const std::string path_;
  const Executions& executions_;
};

nlohmann::ordered_json ProviderTool::card(Door) const {
  nlohmann::ordered_json card = {{"name", tool_.name}};
  if (!tool_.title.empty()) card["title"] = tool_.title;
  std::string description(tool_.description);
  if (operation_.price) {
    const std::uint32_t cost = program_->prices()[*operation_.price].credit_cost;
    description += " A success costs " + text::credits_text(cost) + ".";
  }
  card["description"] = std::move(description);
  card["inputSchema"] = schema_of(tool_.input_schema);
  if (!tool_.output_schema.empty()) card["outputSchema"] = schema_of(tool_.output_schema);
  add_operation(card, {tool_.title, tool_.is_read_only, program_->routes()[operation_.route].id,
                       executions_.reply_bytes_max()});
  return card;
}

Answer ProviderTool::call(const RpcRequest& request, const Json&) const {
  return executions_.run(
      request,
      {.method = "POST",
       .path = path_,
       .query = {},
       .body = std::string(arguments_text(request.message)),
       .content_type = "application/json",
       .found = exchange::FoundOperation{program_.get(), index_, program_->match(path_)},
       .tool = &tool_});
}

}  // namespace

std::vector<std::shared_ptr<const Tool>> make_operation_tools(
    std::span<const exchange::ToolInService> tools,
    std::shared_ptr<const registry::Program> program, const Executions& executions) {
  std::vector<std::shared_ptr<const Tool>> made;
  for (const exchange::ToolInService& tool : tools) {
    made.push_back(std::make_shared<ProviderTool>(program, tool, executions));
  }
  return made;
}

}  // namespace turnpike::hosts::mcp

#include "hosts/mcp/toolset.h"

#include <utility>

#include "catalog/cursor.h"
#include "text/canonical_json.h"

namespace turnpike::hosts::mcp {
namespace {

constexpr std::string_view projection = "mcp.tools";
constexpr std::uint32_t tool_list_ttl_ms = 60'000;  // a reload may change it

}  // namespace

Toolset::Toolset(std::vector<std::shared_ptr<const Tool>> tools, std::string generation,
                 std::string cursor_key, ToolNames names)
    : tools_(std::move(tools)),
      generation_(std::move(generation)),
      cursor_key_(std::move(cursor_key)),
      names_(names) {
  for (const auto& tool : tools_) {
    by_name_.emplace(listed_name(tool->name(), ToolNames::underscored), tool.get());
  }
  for (const Door door : {Door::account, Door::payment}) {
    pages_[static_cast<std::size_t>(door)] = render(door);
  }
}

std::string Toolset::cursor_after(const Tool& tool) const {
  return catalog::make_cursor({generation_, projection, ""}, tool.name(), cursor_key_);
}

Toolset::Pages Toolset::render(Door door) const {
  std::vector<const Tool*> here;
  for (const auto& tool : tools_) {
    if (tool->is_at(door) && tool->is_listed()) here.push_back(tool.get());
  }
  Pages rendered;
  std::size_t at = 0;
  do {
    const std::size_t end = std::min(at + page_tools_max, here.size());
    std::string members = R"("tools":[)";
    for (std::size_t tool = at; tool < end; ++tool) {
      if (tool > at) members += ',';
      auto card = here[tool]->card(door);
      card["name"] = listed_name(here[tool]->name(), names_);
      members += with_listed_names(
          card.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), names_);
    }
    members += ']';
    if (end < here.size()) {
      members += R"(,"nextCursor":)";
      text::append_canonical_string(members, cursor_after(*here[end - 1]));
      rendered.after.emplace(here[end - 1]->name(), rendered.pages.size() + 1);
    }
    rendered.pages.push_back({std::make_shared<const std::string>(std::move(members))});
    at = end;
  } while (at < here.size());
  return rendered;
}

const Tool* Toolset::find(std::string_view name, Door door) const {
  const auto found = by_name_.find(listed_name(name, ToolNames::underscored));
  return found != by_name_.end() && found->second->is_at(door) ? found->second : nullptr;
}

Answer Toolset::list(Door door, const std::string* cursor) const {
  const Pages& rendered = pages_[static_cast<std::size_t>(door)];
  std::size_t page = 0;
  if (cursor != nullptr) {
    const auto after = catalog::read_cursor(*cursor, {generation_, projection, ""}, cursor_key_);
    if (!after.ok()) return RpcError{RpcCode::invalid_params, after.error().message};
    const auto found = rendered.after.find(*after);
    if (found == rendered.after.end()) {
      return RpcError{RpcCode::invalid_params, "The cursor is of another list."};
    }
    page = found->second;
  }
  RpcResult result;
  result.kept = rendered.pages[page].members;
  result.ttl_ms = tool_list_ttl_ms;
  return result;
}

}  // namespace turnpike::hosts::mcp

// Toolset: the tools of one generation, with their list as it is sent: rendered once, in pages, for
// each door. Tools that need no credential come first, in the order they are given.
//
// Made by app/ at every installation beside the View; immutable; any Thread.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hosts/mcp/tool.h"
#include "hosts/mcp/tool_names.h"

namespace turnpike::hosts::mcp {

class Toolset {
 public:
  static constexpr std::size_t page_tools_max = 100;

  // `generation` binds cursors; they are signed with `cursor_key`. `names` is how tools are listed.
  Toolset(std::vector<std::shared_ptr<const Tool>> tools, std::string generation,
          std::string cursor_key, ToolNames names = ToolNames::dotted);

  [[nodiscard]] ToolNames names() const noexcept { return names_; }
  // Null when there is none of this name at this door; `_` may stand in it for `.`.
  [[nodiscard]] const Tool* find(std::string_view name, Door door) const;
  // The page behind `cursor`; the first for none. Error: -32602.
  [[nodiscard]] Answer list(Door door, const std::string* cursor) const;

 private:
  struct Page {
    std::shared_ptr<const std::string> members;
  };
  struct Pages {
    std::vector<Page> pages;
    std::unordered_map<std::string, std::size_t> after;  // name of the tool before it -> page
  };
  [[nodiscard]] Pages render(Door door) const;
  [[nodiscard]] std::string cursor_after(const Tool& tool) const;

  const std::vector<std::shared_ptr<const Tool>> tools_;
  const std::string generation_;
  const std::string cursor_key_;
  const ToolNames names_;
  std::unordered_map<std::string, const Tool*> by_name_;  // with `_` for `.`
  std::array<Pages, 2> pages_;                            // by door
};

}  // namespace turnpike::hosts::mcp

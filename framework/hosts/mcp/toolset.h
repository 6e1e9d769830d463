// Toolset: the tools of one generation, with their list as it is sent: rendered once, in pages, for
// each endpoint. Tools that need no credential come first, in the given order.
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

  // `generation`: what cursors are bound to. `cursor_key`: what signs them. `names`: the form of
  // listed names.
  Toolset(std::vector<std::shared_ptr<const Tool>> tools, std::string generation,
          std::string cursor_key, ToolNames names = ToolNames::dotted);

  [[nodiscard]] ToolNames names() const noexcept { return names_; }
  // Null: this endpoint has no such tool. `name` may have `_` for `.`.
  [[nodiscard]] const Tool* find(std::string_view name, Door door) const;
  // Returns the page behind `cursor`; null: the first page. Error: -32602.
  [[nodiscard]] Answer list(Door door, const std::string* cursor) const;

 private:
  struct Page {
    std::shared_ptr<const std::string> members;
  };
  struct Pages {
    std::vector<Page> pages;
    std::unordered_map<std::string, std::size_t> after;  // last tool of a page -> next page
  };
  [[nodiscard]] Pages render(Door door) const;
  [[nodiscard]] std::string cursor_after(const Tool& tool) const;

  const std::vector<std::shared_ptr<const Tool>> tools_;
  const std::string generation_;
  const std::string cursor_key_;
  const ToolNames names_;
  std::unordered_map<std::string, const Tool*> by_name_;  // keys have `_` for `.`
  std::array<Pages, 2> pages_;                            // by endpoint
};

}  // namespace turnpike::hosts::mcp

#include "hosts/mcp/tool_names.h"

#include <algorithm>

namespace turnpike::hosts::mcp {

std::string listed_name(std::string_view name, ToolNames names) {
  std::string listed(name);
  if (names == ToolNames::underscored) std::replace(listed.begin(), listed.end(), '.', '_');
  return listed;
}

std::string with_listed_names(std::string text, ToolNames names) {
  if (names == ToolNames::dotted) return text;
  for (const std::string_view name : service_tool_names) {
    const std::string listed = listed_name(name, names);
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at)) {
      text.replace(at, name.size(), listed);
    }
  }
  return text;
}

}  // namespace turnpike::hosts::mcp

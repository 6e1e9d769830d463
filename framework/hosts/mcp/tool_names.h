// The listed names of tools. The canonical names of the service's own tools have dots. Some clients
// refuse dots, so an operator may have names listed with `_` for `.`, and calls may always use `_`.
//
// Values and pure functions; any Thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace turnpike::hosts::mcp {

enum class ToolNames : std::uint8_t { dotted, underscored };

// The names of the service's own tools, in the order of the list. No name is a prefix of another.
inline constexpr std::array<std::string_view, 7> service_tool_names = {
    "service.capabilities.list", "service.capabilities.get", "service.route.execute",
    "service.route.read",        "service.account.balance",  "service.account.usage",
    "service.account.call"};

std::string listed_name(std::string_view name, ToolNames names);

// Returns the text with tool names in the form that its reader sees in lists.
std::string with_listed_names(std::string text, ToolNames names);

}  // namespace turnpike::hosts::mcp

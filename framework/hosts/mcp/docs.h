// The texts that the MCP host offers besides the catalog, as resources and in prompts. The texts in
// hosts/mcp/docs and registry/README.md are compiled in. The text on errors is generated from the
// tables of errors, so it cannot differ from them. Pure functions; any Thread.
#pragma once

#include <string>
#include <string_view>

namespace turnpike::hosts::mcp {

std::string_view registry_doc() noexcept;  // registry/README.md
std::string_view paying_doc() noexcept;    // docs/paying.md
std::string errors_doc();

// The texts of prompts, without their arguments: docs/prompts/.
std::string_view find_route_prompt() noexcept;
std::string_view estimate_cost_prompt() noexcept;
std::string_view diagnose_failed_call_prompt() noexcept;

}  // namespace turnpike::hosts::mcp

// The JSON Schema of the agent cards, compiled in from docs/schemas/agent-capabilities.schema.json.
// A constant; any Thread.
#pragma once

#include <string_view>

namespace turnpike::hosts {

std::string_view agent_capabilities_schema() noexcept;

}  // namespace turnpike::hosts

// Agent cards: one document with a card for each capability that can be called now, for programs
// that choose a source of data by themselves: what it is for, what goes in and comes out, what it
// costs, how fresh it is, where its status stands, and where the data comes from. Its schema is
// docs/schemas/agent-capabilities.schema.json.
//
// Internal to catalog/; a pure function of its arguments, safe on any Thread; its cost grows with
// the number of operations, so large programs are rendered away from the loops.
#pragma once

#include <string>
#include <string_view>

#include "catalog/features.h"
#include "catalog/readiness.h"
#include "registry/generation.h"

namespace turnpike::catalog {

struct AgentCardsInput {
  const registry::Program& program;
  const registry::Generation& generation;
  const ReadinessSource& readiness;
  Features features;
  std::string_view service_name;  // whose gateway it is
  // Without a slash at the end; empty: there is no such host, and no link to it.
  std::string_view api_url;
  std::string_view mcp_url;
  std::string_view web_url;
};

std::string agent_cards_text(const AgentCardsInput& input);

}  // namespace turnpike::catalog

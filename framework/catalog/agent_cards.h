// Agent cards: one document with a card for each callable capability, for programs that choose a
// data source themselves: purpose, input and output, cost, freshness, links to its status, and the
// source of the data. The schema is docs/schemas/agent-capabilities.schema.json.
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
  std::string_view service_name;  // name of the gateway's operator
  // Without a trailing slash; empty: there is no such host, and no link to it.
  std::string_view api_url;
  std::string_view mcp_url;
  std::string_view web_url;
};

std::string agent_cards_text(const AgentCardsInput& input);

}  // namespace turnpike::catalog

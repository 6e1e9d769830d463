// Programs with one tool, for the tests of tool schemas and tool calls, and a small schema
// validator. Any Thread.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "registry/compile.h"

namespace turnpike::hosts::mcp::tests {

// The program with one route (`route` in YAML) and a tool "t" for its operation; `more` extends the
// tool.
inline std::shared_ptr<const registry::Program> tool_program(const std::string& route,
                                                             const std::string& operation,
                                                             const std::string& more = {}) {
  const registry::Source source{
      "tool.yaml",
      "provider: {key: t, name: T}\nupstreams: {u: {plugin: p}}\n"
      "prices: {p: {version: 1, credit_cost: 1}}\n"
      "free_policies: {f: {window: {limit: 1, seconds: 60}, concurrency: 1}}\n"
      "defaults: {price: p, free: f}\nroutes:\n" +
          route + "tools:\n  t:\n    description: Does it.\n    route: " + operation + "\n" + more};
  auto compiled = registry::compile({{&source, 1}, {}, {}});
  if (compiled.ok()) return *std::move(compiled);
  std::string problems = source.text;
  for (const registry::Problem& problem : compiled.error()) problems += problem.text() + "\n";
  throw std::runtime_error(problems);
}

// Whether `value` satisfies `schema`. Supports only the keywords that our schemas use; throws for
// others.
bool keeps(const nlohmann::ordered_json& schema, const nlohmann::json& value);

}  // namespace turnpike::hosts::mcp::tests

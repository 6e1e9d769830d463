// Programs for tests, compiled from YAML in the test itself. Used by one Thread.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "registry/compile.h"
#include "registry/program.h"
#include "support/x402_lane.h"

namespace turnpike::registry {

// A provider, an upstream and a price, to be followed by routes.
inline const std::string preamble =
    "provider: {key: t, name: Test}\n"
    "upstreams: {main: {plugin: http}}\n"
    "prices: {standard: {version: 1, credit_cost: 1}}\n"
    "defaults: {price: standard}\n";

inline Compiled compiled(std::string text, std::vector<InstalledFact> installed = {}) {
  const Source source{"test.yaml", std::move(text)};
  return compile({.sources = {&source, 1},
                  .installed = installed,
                  .plugins = {},
                  .lane = &support::x402_lane()});
}

// Throws the problems, so that the test fails with them.
inline std::shared_ptr<const Program> program_of(std::string text) {
  Compiled result = compiled(std::move(text));
  if (result) return *result;
  std::string problems;
  for (const Problem& problem : result.error()) problems += problem.text() + "\n";
  throw std::runtime_error(problems);
}

inline std::string routes_text(const std::vector<std::string>& paths) {
  std::string text = preamble + "routes:\n";
  for (const std::string& path : paths) text += "  - path: \"" + path + "\"\n";
  return text;
}

}  // namespace turnpike::registry

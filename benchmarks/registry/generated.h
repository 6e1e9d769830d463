// Registries of any size for benchmarks: realistic routes in files as large as the language allows,
// and paths that match them. Header-only; used by one Thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "registry/compile.h"
#include "registry/program.h"

namespace turnpike::registry {

// Routes in four shapes: one has two parameters, two have one, and one has none.
inline std::string generated_path(std::uint32_t index) {
  const std::string family = "/v2/family" + std::to_string(index / 512);
  const std::string name = "resource-" + std::to_string(index);
  switch (index % 4) {
    case 0:
      return family + "/" + name + "/latest";
    case 1:
      return family + "/" + name + "/{item}";
    case 2:
      return family + "/" + name + "/{item}/details";
    default:
      return family + "/" + name + "/{item}/versions/{version}";
  }
}

inline std::string request_path(std::uint32_t index) {
  std::string path = "/v1/gateway/bulk" + generated_path(index);
  const auto replace = [&](std::string_view what, std::string_view value) {
    const std::size_t at = path.find(what);
    if (at != path.npos) path.replace(at, what.size(), value);
  };
  replace("{item}", "0x4e3f1c9d2a");
  replace("{version}", "17");
  return path;
}

// `full` routes have a summary, a query policy and a revision.
inline std::vector<Source> generated_sources(std::uint32_t routes, bool full) {
  constexpr std::uint32_t routes_per_file = 20'000;
  std::vector<Source> sources;
  sources.push_back({"bulk.yaml",
                     "provider: {key: bulk, name: Bulk}\n"
                     "upstreams:\n  bulk-main: {plugin: http, settings: {base_url: \"http://x\"}}\n"
                     "prices:\n  bulk.standard: {version: 1, credit_cost: 1}\n"
                     "query_policies:\n  paging:\n    parameters:\n"
                     "      limit: {type: integer, range: 1..200}\n"
                     "      after: {type: string, bytes: 1..256}\n"});
  for (std::uint32_t first = 0; first < routes; first += routes_per_file) {
    std::string text = "provider: bulk\ndefaults: {price: bulk.standard}\nroutes:\n";
    for (std::uint32_t at = first; at < routes && at < first + routes_per_file; ++at) {
      text += "  - path: " + generated_path(at) + "\n";
      if (full) {
        text += "    revision: 2\n    summary: What is known of resource " + std::to_string(at) +
                "\n    query: paging\n";
      }
    }
    sources.push_back({"bulk-" + std::to_string(first) + ".yaml", std::move(text)});
  }
  return sources;
}

inline std::shared_ptr<const Program> generated_program(std::uint32_t routes) {
  const std::vector<Source> sources = generated_sources(routes, false);
  Compiled compiled = compile({sources, {}, {}});
  if (!compiled) {
    std::fprintf(stderr, "%s\n", compiled.error().front().text().c_str());
    std::abort();
  }
  return *compiled;
}

}  // namespace turnpike::registry

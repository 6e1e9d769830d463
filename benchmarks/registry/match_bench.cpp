// Program::match with 64 hot paths and with uniformly random ones, from 10 to 100,000 routes,
// compared with a linear scan; constructed worst cases; allocations are counted. Budget at 100,000
// routes: hot under 80 ns and 1.5 times itself at 10, random under 400 ns (docs/decisions.md,
// "Speed goals").
#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "registry/generated.h"
#include "support/allocations.h"

namespace turnpike::registry {
namespace {

// One program of each size, shared by all benchmarks.
const Program& program_of(std::uint32_t routes) {
  static std::map<std::uint32_t, std::shared_ptr<const Program>> programs;
  auto& program = programs[routes];
  if (!program) program = generated_program(routes);
  return *program;
}

std::vector<std::string> paths_of(std::uint32_t routes, std::size_t count) {
  std::mt19937 random(7);
  std::vector<std::string> paths;
  for (std::size_t at = 0; at < count; ++at) paths.push_back(request_path(random() % routes));
  return paths;
}

void run(benchmark::State& state, const Program& program, const std::vector<std::string>& paths) {
  const std::uint64_t before = allocations_so_far();
  std::size_t at = 0;
  for (auto _ : state) {
    Match match = program.match(paths[at]);
    benchmark::DoNotOptimize(match);
    at = at + 1 == paths.size() ? 0 : at + 1;
  }
  state.counters["allocations"] =
      static_cast<double>(allocations_so_far() - before) / static_cast<double>(state.iterations());
}

void match_hot(benchmark::State& state) {
  const auto routes = static_cast<std::uint32_t>(state.range(0));
  run(state, program_of(routes), paths_of(routes, 64));
}

// As many paths as routes, in random order, so that nothing is in the caches.
void match_random(benchmark::State& state) {
  const auto routes = static_cast<std::uint32_t>(state.range(0));
  run(state, program_of(routes), paths_of(routes, std::max<std::uint32_t>(routes, 64)));
}

// Matches the same hot paths against every route's segments in turn, as a list of patterns would.
void linear_scan_hot(benchmark::State& state) {
  const auto routes = static_cast<std::uint32_t>(state.range(0));
  const Program& program = program_of(routes);
  const std::vector<std::string> paths = paths_of(routes, 64);
  const auto matches = [](const Route& route, std::string_view path) {
    for (const Segment& segment : route.matcher.segments) {
      if (path.empty()) return false;
      path.remove_prefix(1);
      const std::string_view part = path.substr(0, path.find('/'));
      if (!segment.is_parameter && part != segment.text) return false;
      path.remove_prefix(part.size());
    }
    return path.empty();
  };
  std::size_t at = 0;
  for (auto _ : state) {
    const Route* found = nullptr;
    for (const Route& route : program.routes()) {
      if (matches(route, paths[at])) {
        found = &route;
        break;
      }
    }
    benchmark::DoNotOptimize(found);
    at = at + 1 == paths.size() ? 0 : at + 1;
  }
}

// The most shapes that paths of one length may have. None matches, so every shape is probed.
void match_worst_shapes(benchmark::State& state) {
  std::string text =
      "provider: {key: bulk, name: Bulk}\nupstreams: {u: {plugin: http}}\n"
      "prices: {p: {version: 1, credit_cost: 1}}\ndefaults: {price: p}\nroutes:\n";
  for (int shape = 0; shape < 32; ++shape) {
    text += "  - path: /s" + std::to_string(shape);
    for (int bit = 0; bit < 5; ++bit) {
      text += (shape >> bit & 1) != 0 ? "/{p" + std::to_string(bit) + "}" : "/literal";
    }
    text += "\n";
  }
  const Source source{"worst.yaml", text};
  const Compiled compiled = compile({{&source, 1}, {}, {}});
  if (!compiled) {
    state.SkipWithError(compiled.error().front().text().c_str());
    return;
  }
  run(state, **compiled, {"/v1/gateway/bulk/none/literal/literal/literal/literal/literal"});
}

// The longest path, which consists of escapes.
void match_worst_escapes(benchmark::State& state) {
  std::string path = "/v1/gateway/bulk/";
  while (path.size() + 3 <= base::limits::request_path_bytes_max) path += "%41";
  run(state, program_of(1'000), {path});
}

BENCHMARK(match_hot)->ArgName("routes")->RangeMultiplier(10)->Range(10, 100'000);
BENCHMARK(match_random)->ArgName("routes")->RangeMultiplier(10)->Range(10, 100'000);
BENCHMARK(linear_scan_hot)->ArgName("routes")->RangeMultiplier(10)->Range(10, 100'000);
BENCHMARK(match_worst_shapes);
BENCHMARK(match_worst_escapes);

}  // namespace
}  // namespace turnpike::registry

BENCHMARK_MAIN();

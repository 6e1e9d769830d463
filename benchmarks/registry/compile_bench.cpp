// Compile of 10 to 100,000 routes: time, and the peak of resident memory in a process of its own.
// Budget at 100,000: 3 s, 400 MB (design.md section 9).
#include <cstddef>
#include <cstdint>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "registry/generated.h"

namespace turnpike::registry {
namespace {

// Peak resident bytes of a child that compiles `routes` routes and exits.
double peak_megabytes(std::uint32_t routes, bool full) {
  const pid_t child = fork();
  if (child == 0) {
    const std::vector<Source> sources = generated_sources(routes, full);
    const Compiled compiled = compile({sources, {}, {}});
    _exit(compiled.ok() ? 0 : 1);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void compile_routes(benchmark::State& state) {
  const auto routes = static_cast<std::uint32_t>(state.range(0));
  const bool full = state.range(1) != 0;
  const double peak = peak_megabytes(routes, full);
  const std::vector<Source> sources = generated_sources(routes, full);
  std::size_t canonical_bytes = 0;
  for (auto _ : state) {
    const Compiled compiled = compile({sources, {}, {}});
    if (!compiled) state.SkipWithError(compiled.error().front().text().c_str());
    canonical_bytes = (*compiled)->canonical_json().size();
  }
  state.counters["peak_MB"] = peak;
  state.counters["canonical_MB"] = static_cast<double>(canonical_bytes) / 1e6;
  state.counters["us_per_route"] = benchmark::Counter(
      static_cast<double>(routes) / 1e6, benchmark::Counter::kIsIterationInvariantRate |
                                             benchmark::Counter::kInvert);
}

BENCHMARK(compile_routes)
    ->ArgNames({"routes", "full"})
    ->ArgsProduct({{10, 1'000, 100'000}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace turnpike::registry

BENCHMARK_MAIN();

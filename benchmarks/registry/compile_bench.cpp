// Compiling 10 to 100,000 routes: time, and the peak of resident memory in a separate process.
// Budget at 100,000: 3 s, 400 MB (docs/decisions.md, "Speed goals").
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "registry/generated.h"

namespace turnpike::registry {
namespace {

// Peak resident memory of this program, run again only to compile (see main). A forked child would
// start with its parent's pages.
double peak_megabytes(std::uint32_t routes, bool full) {
  const std::string count = std::to_string(routes);
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "compile_bench", "--peak", count.c_str(), full ? "1" : "0", nullptr);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  return status == 0 ? static_cast<double>(usage.ru_maxrss) / 1024.0 : 0;
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
      static_cast<double>(routes) / 1e6,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK(compile_routes)
    ->ArgNames({"routes", "full"})
    ->ArgsProduct({{10, 1'000, 100'000}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace turnpike::registry

int main(int argc, char** argv) {
  using namespace turnpike::registry;
  if (argc == 4 && std::string_view(argv[1]) == "--peak") {
    const auto routes = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
    const std::vector<Source> sources = generated_sources(routes, argv[3][0] == '1');
    return compile({sources, {}, {}}).ok() ? 0 : 1;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

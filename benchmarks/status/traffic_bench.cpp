// What counting a call as passive evidence (status/traffic.h) costs the call, compared with a plain
// addition to a counter that its loop owns, and what the collector pays every five seconds.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "status/traffic.h"

namespace turnpike::status {
namespace {

constexpr std::size_t operations_count = 1'000;
constexpr std::size_t loops = 2;

std::vector<std::string> operations() {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < operations_count; ++at) {
    names.push_back("route-" + std::string(28, 'a') + std::to_string(1'000 + at) + ":GET");
  }
  return names;
}

std::vector<std::string> accounts(std::size_t count) {
  std::vector<std::string> ids;
  for (std::size_t at = 0; at < count; ++at) {
    ids.push_back("acct_01hz00000000000" + std::to_string(at));
  }
  return ids;
}

// The baseline: one counter that belongs to the loop.
void BM_add(benchmark::State& state) {
  std::vector<std::atomic<std::uint64_t>> counters(operations_count);
  std::size_t at = 0;
  for (auto _ : state) {
    auto& counter = counters[at];
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    at = at + 1 == operations_count ? 0 : at + 1;
  }
}
BENCHMARK(BM_add);

// range(0): number of accounts; range(1): number of operations that are called.
void BM_count(benchmark::State& state) {
  TrafficCells cells(operations(), loops);
  const auto ids = accounts(static_cast<std::size_t>(state.range(0)));
  const auto called = static_cast<std::uint32_t>(state.range(1));
  std::size_t account = 0;
  std::uint32_t operation = 0;
  for (auto _ : state) {
    cells.count(0, operation, TrafficClass::good, 1, ids[account]);
    account = account + 1 == ids.size() ? 0 : account + 1;
    operation = operation + 1 == called ? 0 : operation + 1;
  }
}
BENCHMARK(BM_count)->ArgsProduct({{1, 1'000}, {1, 1'000}});

void BM_collect(benchmark::State& state) {
  TrafficCells cells(operations(), loops);
  const auto ids = accounts(5);
  for (auto _ : state) {
    state.PauseTiming();
    for (std::uint32_t at = 0; at < operations_count; ++at) {
      for (const std::string& id : ids) cells.count(at % loops, at, TrafficClass::good, 1, id);
    }
    TrafficSums sums;
    state.ResumeTiming();
    cells.collect(sums);
    benchmark::DoNotOptimize(sums);
  }
}
BENCHMARK(BM_collect)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace turnpike::status

BENCHMARK_MAIN();

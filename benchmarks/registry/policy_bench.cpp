// What checking a query against its declared policy costs: for a usual query, for one that breaks
// every rule, and for the longest one, whose cost must be proportional to its bytes.
#include <cstdlib>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "registry/compile.h"
#include "registry/policy.h"

namespace turnpike::registry {
namespace {

const QueryPolicy& lookup_policy() {
  static const std::shared_ptr<const Program> program = [] {
    const Source source{
        "policy.yaml",
        "provider: {key: p, name: P}\nupstreams: {u: {plugin: http}}\n"
        "prices: {p: {version: 1, credit_cost: 1}}\nroutes:\n"
        "  - path: /signals\n    price: p\n    query:\n      parameters:\n"
        "        start_ms: {type: integer, range: 0..9007199254740991, required: true}\n"
        "        end_ms: {type: integer, range: 0..9007199254740991, required: true}\n"
        "        dao_id: {type: string, bytes: 1..128}\n"
        "        types: {type: list, values: [a, b, c, d, e, f, g], items: 1..7, unique: true}\n"
        "        text: {type: string, bytes: 1..16384}\n"
        "      rules: [{less_than: [start_ms, end_ms]}]\n"};
    Compiled compiled = compile({{&source, 1}, {}, {}});
    if (!compiled) std::abort();
    return *compiled;
  }();
  return *program->operations().front().query;
}

void check(benchmark::State& state, const std::string& query) {
  const QueryPolicy& policy = lookup_policy();
  for (auto _ : state) benchmark::DoNotOptimize(check_query(policy, query));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(query.size()));
}

void check_usual(benchmark::State& state) {
  check(state, "start_ms=1700000000000&end_ms=1700000600000&dao_id=ens&types=a,c,g");
}
void check_wrong(benchmark::State& state) {
  check(state, "start_ms=2&end_ms=1&dao_id=&types=a,a&other=1");
}
void check_long_value(benchmark::State& state) {
  check(state, "start_ms=1&end_ms=2&text=" + std::string(16'000, 'x'));
}
void check_long_escapes(benchmark::State& state) {
  std::string query = "start_ms=1&end_ms=2&text=";
  while (query.size() < 16'000) query += "%41";
  check(state, query);
}
void check_many_parameters(benchmark::State& state) {
  std::string query = "start_ms=1&end_ms=2";
  while (query.size() < 16'000) query += "&";
  check(state, query);
}

BENCHMARK(check_usual);
BENCHMARK(check_wrong);
BENCHMARK(check_long_value);
BENCHMARK(check_long_escapes);
BENCHMARK(check_many_parameters);

}  // namespace
}  // namespace turnpike::registry

BENCHMARK_MAIN();

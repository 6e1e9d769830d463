#include "exchange/bench_program.h"

#include <cstdlib>
#include <string>

#include "registry/compile.h"

namespace turnpike::exchange {

std::shared_ptr<const registry::Program> bench_program() {
  std::string text = R"(
provider: {key: bench, name: Bench, base_path: /v1/gateway/bench/global/v1}
upstreams:
  bench-main: {plugin: instant}
prices:
  bench.standard: {version: 1, credit_cost: 1}
free_policies:
  bench.free: {window: {limit: 2000000000, seconds: 60}, concurrency: 1000000}
defaults:
  price: bench.standard
  free: bench.free
  allowed_response_headers: [etag]
routes:
)";
  for (int route = 0; route < 64; ++route) {
    text += "  - path: /daos/{dao_id}/brief" + std::to_string(route) + "\n";
  }
  const registry::Source sources[] = {{"bench.yaml", std::move(text)}};
  auto compiled = registry::compile({sources, {}, {}});
  if (!compiled.ok()) std::abort();
  return *std::move(compiled);
}

}  // namespace turnpike::exchange

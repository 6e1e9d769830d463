// What public reads and the envelope of a call cost: a page from memory and one built anew, the
// documents that grow with the program, and an error envelope with its headers.
#include <benchmark/benchmark.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "base/error_envelope.h"
#include "catalog/view.h"
#include "hosts/reply_fields.h"
#include "hosts/api/api_routes.h"
#include "hosts/status_table.h"
#include "registry/compile.h"
#include "support/readiness.h"

namespace turnpike {
namespace {

std::shared_ptr<const registry::Program> program_of(int routes) {
  std::string yaml =
      "provider: {key: bulk, name: Bulk}\nupstreams: {bulk-main: {plugin: http}}\n"
      "prices: {bulk.standard: {version: 1, credit_cost: 1}}\n"
      "query_policies:\n  common:\n    parameters:\n"
      "      limit: {type: integer, range: 1..200}\n"
      "      title: {type: string, bytes: 1..512}\n"
      "defaults: {price: bulk.standard, query: common}\nroutes:\n";
  for (int at = 0; at < routes; ++at) {
    yaml += "  - {path: \"/items-" + std::to_string(at) + "/{item_id}/parts\"}\n";
  }
  const registry::Source sources[] = {{"bulk.yaml", yaml}};
  auto program = registry::compile({.sources = sources, .installed = {}, .plugins = {}});
  if (!program.ok()) throw std::runtime_error(program.error().front().text());
  return *program;
}

std::unique_ptr<catalog::View> view_of(const std::shared_ptr<const registry::Program>& program) {
  registry::Generation generation;
  generation.id = "gen_bench";
  generation.payload_hash = program->payload_hash();
  return std::make_unique<catalog::View>(
      registry::Installed{program, generation}, std::make_shared<support::EverythingReady>(),
      catalog::ViewOptions{.base_url = "https://api.example.test",
                           .cursor_key = std::string(32, 'k'),
                           .features = {},
                           .http_status = hosts::call_status,
                           .openapi_frame = hosts::api::api_openapi_frame()});
}

void make_view(benchmark::State& state) {
  const auto program = program_of(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(view_of(program));
}
BENCHMARK(make_view)->Arg(10)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond);

void kept_page(benchmark::State& state) {
  const auto view = view_of(program_of(1'000));
  catalog::PageRequest request;
  request.limit = static_cast<std::uint32_t>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(view->page(request, 0));
}
BENCHMARK(kept_page)->Arg(50)->Arg(1'000)->Unit(benchmark::kMicrosecond);

void new_page(benchmark::State& state) {
  const auto view = view_of(program_of(1'000));
  catalog::PageRequest request;
  request.limit = static_cast<std::uint32_t>(state.range(0));
  std::int64_t now_ms = 0;
  for (auto _ : state) {
    now_ms += catalog::RenderingCache::age_ms_max;
    benchmark::DoNotOptimize(view->page(request, now_ms));
  }
}
BENCHMARK(new_page)->Arg(50)->Arg(1'000)->Unit(benchmark::kMicrosecond);

void new_detail(benchmark::State& state) {
  const auto program = program_of(1'000);
  const auto view = view_of(program);
  const std::string id = program->routes().front().id;
  std::int64_t now_ms = 0;
  for (auto _ : state) {
    now_ms += catalog::RenderingCache::age_ms_max;
    benchmark::DoNotOptimize(view->detail(id, now_ms));
  }
}
BENCHMARK(new_detail)->Unit(benchmark::kMicrosecond);

void render_openapi(benchmark::State& state) {
  const auto view = view_of(program_of(static_cast<int>(state.range(0))));
  for (auto _ : state) benchmark::DoNotOptimize(view->render_openapi());
}
BENCHMARK(render_openapi)->Arg(10)->Arg(200)->Arg(1'000)->Unit(benchmark::kMillisecond);

void kept_openapi(benchmark::State& state) {
  const auto view = view_of(program_of(static_cast<int>(state.range(0))));
  benchmark::DoNotOptimize(view->render_openapi());
  for (auto _ : state) benchmark::DoNotOptimize(view->kept_openapi());
}
BENCHMARK(kept_openapi)->Arg(10)->Arg(1'000)->Unit(benchmark::kMicrosecond);

void error_envelope(benchmark::State& state) {
  base::Error error;
  error.code = base::ErrorCode::billing_credits_exhausted;
  error.message = "The account has not enough Credits for this call.";
  for (auto _ : state) {
    std::string body;
    base::append_envelope(body, error, "01939d2c-7a40-7c6e-8f3b-5a1f0e9d2c11");
    benchmark::DoNotOptimize(body);
  }
}
BENCHMARK(error_envelope);

void reply_fields(benchmark::State& state) {
  for (auto _ : state) {
    hosts::ReplyFields fields;
    fields.add("Content-Type", "application/json");
    if (!fields.has("Cache-Control")) fields.add("Cache-Control", "private, no-store");
    fields.add("Turnpike-Generation", "gen_3f9a");
    fields.add("Turnpike-Lane", "credits");
    fields.add_number("Turnpike-Credits-Charged", 1);
    fields.add_number("Turnpike-Credits-Remaining", 999);
    fields.add("Turnpike-Reply-From", "provider");
    fields.add_timing(12, 1'234);
    fields.add("X-Request-Id", "01939d2c-7a40-7c6e-8f3b-5a1f0e9d2c11");
    benchmark::DoNotOptimize(fields.view());
  }
}
BENCHMARK(reply_fields);

}  // namespace
}  // namespace turnpike

BENCHMARK_MAIN();

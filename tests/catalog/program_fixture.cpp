#include "catalog/program_fixture.h"

#include <cstdio>
#include <stdexcept>

#include "support/x402_lane.h"

namespace turnpike::catalog::tests {

const std::string varied_yaml = R"yaml(
provider:
  {key: alpha, id: alpha-data, name: Alpha data, revision: 2, base_path: /v1/gateway/alpha/v1}
upstreams:
  alpha-main: {plugin: http, revision: 5}
free_policies:
  alpha.free:
    window: {limit: 60, seconds: 60}
    concurrency: 4
    quota: {limit: 1000, seconds: 86400}
x402:
  enabled: true
  networks:
    base: {id: "eip155:8453", pay_to: "0x1111111111111111111111111111111111111111"}
  assets:
    base-usdc: {network: base, address: "0x2222222222222222222222222222222222222222", decimals: 6,
                name: USD Coin, version: "2"}
prices:
  alpha.standard:
    version: 4
    credit_cost: 1
    x402: [{asset: base-usdc, amount: "1000"}]
  alpha.heavy: {version: 1, credit_cost: 25, no_charge_when: [empty_body]}
defaults: {price: alpha.standard, free: alpha.free}
routes:
  - path: /things
    summary: List the things
    revision: 3
  - path: /things/{thing_id}/parts/{part}
    query:
      parameters:
        limit: {type: integer, range: 1..200}
        kinds: {type: list, values: [red, green, blue], items: 1..2, unique: true}
        sort: {type: string, values: [newest, oldest], required: true}
        deep: {type: boolean}
  - path: /search
    query:
      max_encoded_bytes: 4096
      parameters:
        from_ms: {type: integer, range: 0..9007199254740991, required: true}
        to_ms: {type: integer, range: 0..9007199254740991, required: true}
        title: {type: string, bytes: 1..512}
        url: {type: string, bytes: 5..2048}
      rules:
        - at_least_one: [title, url]
        - less_than: [from_ms, to_ms]
  - path: /reports
    methods: [GET, POST]
    price: {GET: alpha.standard, POST: alpha.heavy}
    body: {max_bytes: 65536, media_types: [application/json]}
    no_charge_when: [{upstream_over_ms: 2000}, {empty_at: /items/0~1x}]
    enforcement: declared
  - path: /events
    price: unavailable
    free: none
    credential_required: true
  - path: /narrow
    response: {error_content_types: [none, application/problem+json]}
  - path: /blocked
    readiness: {status: blocked, reason: Its importer is not built yet.}
)yaml";

std::shared_ptr<const registry::Program> compiled(const std::string& yaml) {
  const registry::Source sources[] = {{"test.yaml", yaml}};
  auto program = registry::compile(
      {.sources = sources, .installed = {}, .plugins = {}, .lane = &support::x402_lane()});
  if (!program.ok()) {
    std::string problems;
    for (const registry::Problem& problem : program.error()) problems += problem.text() + "\n";
    throw std::runtime_error(problems);
  }
  return *program;
}

std::string bulk_yaml(int count) {
  std::string yaml =
      "provider: {key: bulk, name: Bulk}\n"
      "upstreams: {bulk-main: {plugin: http}}\n"
      "prices: {bulk.standard: {version: 1, credit_cost: 1}}\n"
      "defaults: {price: bulk.standard}\n"
      "routes:\n";
  for (int number = 0; number < count; ++number) {
    char line[128];
    std::snprintf(line, sizeof line, "  - {path: /item-%04d%s}\n", number,
                  number % 3 == 0 ? ", methods: [GET, POST], body: forbidden" : "");
    yaml += line;
  }
  return yaml;
}

registry::Installed installed(std::shared_ptr<const registry::Program> program,
                              std::string generation_id) {
  registry::Generation generation;
  generation.epoch_id = "ep_01";
  generation.id = std::move(generation_id);
  generation.sequence = 7;
  generation.manifest_sequence = 9;
  generation.payload_hash = program->payload_hash();
  generation.compiled_at_ms = 1'795'242'540'000;
  generation.installed_at_ms = 1'795'242'541'000;
  return {std::move(program), generation};
}

const std::string frame_for_tests = R"json({
  "openapi": "3.1.0",
  "info": {"title": "T", "version": "0.2.36", "license": {"name": "L", "identifier": "Apache-2.0"}},
  "servers": [], "security": [], "tags": [{"name": "Catalog", "description": "d"}],
  "paths": {"/v1/capabilities/{capability_id}": {"get": {
    "operationId": "getCapability", "tags": ["Catalog"], "security": [],
    "responses": {"200": {"description": "d"}, "304": {"description": "d"},
                  "400": {"$ref": "#/components/responses/Catalog400"},
                  "404": {"$ref": "#/components/responses/Catalog404"}}}}},
  "components": {"schemas": {"ErrorEnvelope": {"type": "object"}}}
})json";

int status_for_tests(base::ErrorCode code) noexcept {
  if (const base::LaneError* of_lane = base::lane_error(code))
    return of_lane->status == 412 ? 412 : 400;
  switch (base::info_of(code).fault) {
    case base::Fault::caller:
      return 400;
    case base::Fault::provider:
      return 502;
    case base::Fault::gateway:
      return 503;
  }
  return 500;
}

const registry::Route& route_with(const registry::Program& program, const std::string& pattern) {
  for (const registry::Route& route : program.routes()) {
    if (route.matcher.pattern == pattern) return route;
  }
  throw std::runtime_error("no route " + pattern);
}

}  // namespace turnpike::catalog::tests

#include "exchange/program_fixture.h"

#include <cstdlib>
#include <iostream>
#include <string>

#include "registry/compile.h"
#include "support/x402_lane.h"

namespace turnpike::exchange {
namespace {

constexpr std::string_view source = R"(
provider:
  key: acme
  name: Acme
  base_path: /v1/gateway/acme
upstreams:
  acme-main:
    plugin: scripted
    settings:
      base_url: http://127.0.0.1:1
      token: {secret: {env: ACME_TOKEN}}
prices:
  acme.standard: {version: 1, credit_cost: 1}
  acme.dear: {version: 1, credit_cost: 5}
  acme.payable:
    version: 1
    credit_cost: 5
    x402:
      - {asset: base-usdc, amount: "1000"}
x402:
  enabled: true
  networks:
    base: {id: "eip155:8453", pay_to: "0x00000000000000000000000000000000000000aa"}
  assets:
    base-usdc:
      network: base
      address: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
      decimals: 6
      name: USD Coin
      version: "2"
free_policies:
  acme.free:
    window: {limit: 60, seconds: 60}
    concurrency: 4
    permit_ttl_seconds: 60
defaults:
  price: acme.standard
  response: {statuses: [200], content_types: [application/json], max_bytes: 3000000}
  # The registry cannot know that x-bench-lane is a credential; the lane says so.
  forwarded_headers: [accept-language, x-bench-lane]
  allowed_response_headers: [etag]
routes:
  - path: /items
  - path: /items/{id}
  - path: /search
    methods: [POST]
    body: {max_bytes: 1024, media_types: [application/json]}
  - path: /both
    methods: [GET, POST]
    body: {max_bytes: 1024, media_types: [application/json]}
  - path: /narrow
    response: {error_content_types: [none, application/problem+json]}
  - path: /orders
    methods: [GET, POST]
    body: {max_bytes: 1024, media_types: [application/json, text/plain], required: true}
    price: acme.payable
    response: {statuses: [200], content_types: [application/json], max_bytes: 1048576}
  - path: /tuned
    upstream_settings: {path: /elsewhere}
  - path: /blocked
    readiness: {status: blocked, reason: It comes later.}
  - path: /unpriced
    price: unavailable
    credential_required: true
  - path: /strict
    enforcement: declared
    query: {parameters: {limit: {type: integer, range: 1..10}}}
  - path: /typed/{itemId}
    enforcement: declared
    path_parameters: {itemId: {type: integer, range: 1..99}}
    methods:
      GET: {query: {parameters: {half: {type: number, range: 0.5..1}}}}
      POST: {body: forbidden, response: {statuses: [201], max_bytes: 10}}
  - path: /payable
    price: acme.payable
    response: {statuses: [200], content_types: [application/json], max_bytes: 1048576}
  - path: /free
    methods: [GET, POST]
    body: {max_bytes: 1024, media_types: [application/json]}
    free: acme.free
  - path: /gifts
    methods: [GET, POST]
    body: {max_bytes: 1024, media_types: [application/json]}
    price: {GET: acme.standard, POST: acme.dear}
    response: {statuses: [200, 204], content_types: [application/json], max_bytes: 9000000}
    no_charge_when: [empty_body, {empty_at: /items}, {upstream_over_ms: 10000}]
  - path: /payable-gifts
    price: acme.payable
    response: {statuses: [200], content_types: [application/json], max_bytes: 1048576}
    no_charge_when: [{empty_at: /items}]
)";

}  // namespace

std::shared_ptr<const registry::Program> program_fixture() {
  static const std::shared_ptr<const registry::Program> program = [] {
    const registry::Source sources[] = {{"program_fixture.yaml", std::string(source)}};
    auto compiled = registry::compile(
        {.sources = sources, .installed = {}, .plugins = {}, .lane = &support::x402_lane()});
    if (compiled.ok()) return *std::move(compiled);
    for (const registry::Problem& problem : compiled.error()) std::cerr << problem.text() << '\n';
    std::abort();
  }();
  return program;
}

}  // namespace turnpike::exchange

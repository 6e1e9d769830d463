// Arbitrary bytes as the arguments of a tool: accepted arguments satisfy the declared policy and
// reach the tool's route; each problem has a location.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "fuzz/check.h"
#include "hosts/mcp/tool_call.h"
#include "registry/compile.h"
#include "registry/policy.h"
#include "text/uri.h"

using turnpike::fuzz::check;

namespace {

using namespace turnpike;

constexpr const char* source = R"(
provider: {key: t, name: T}
upstreams: {u: {plugin: p}}
prices: {p: {version: 1, credit_cost: 1}}
defaults: {price: p}
routes:
  - path: /{p}/x/{q}
    methods: [POST]
    allow_slash: [q]
    body: {max_bytes: 64, media_types: [application/json, text/plain]}
    query:
      parameters:
        flag: {type: boolean}
        kinds: {type: list, values: [a, "b c", "d&e"], items: 1..2, unique: true}
        left: {type: integer, range: -9007199254740991..9007199254740991}
        right: {type: integer, range: -9007199254740991..9007199254740991}
        text: {type: string, bytes: 1..32}
      rules: [{less_than: [left, right]}, {at_least_one: [text, kinds]}]
  - path: /{p}/x/y
tools:
  t: {route: "POST /v1/gateway/t/{p}/x/{q}", description: d}
)";

std::shared_ptr<const registry::Program> make_program() {
  const registry::Source sources[] = {{"fuzz.yaml", source}};
  auto compiled = registry::compile({sources, {}, {}});
  check(compiled.ok());
  return *std::move(compiled);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto program = make_program();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr int depth_max = 64;  // the hosts' bound
  const auto arguments = nlohmann::json::parse(
      text,
      [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) { return depth < depth_max; },
      false);
  if (arguments.is_discarded()) return 0;
  const registry::Tool& tool = program->tools()[0];
  const registry::Route& route = program->routes()[program->operations()[tool.operation].route];
  const auto body = arguments.find("body");  // end() if it is no object
  const std::string body_text = body == arguments.end() ? "" : body->dump();
  const auto call = hosts::mcp::read_tool_call(*program, tool, arguments, body_text);
  if (!call.ok()) {
    check(!call.error().empty() && call.error().size() <= hosts::mcp::tool_problems_max);
    for (const auto& problem : call.error()) {
      check(problem.location.empty() || problem.location.starts_with('/'));
    }
    return 0;
  }
  check(program->match(call->path).route == &route);
  check(text::query_fault(call->query) == std::string::npos);
  check(registry::check_query(*program->operations()[tool.operation].query, call->query).empty());
  check(registry::check_body(*route.body, call->content_type, call->body.value_or("").size())
            .empty());
  return 0;
}

#include "catalog/agent_cards.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "catalog/capability_json.h"
#include "catalog/tool_schema.h"

namespace turnpike::catalog {

namespace {

// The generic tool of the MCP host, for operations without a tool of their own.
constexpr std::string_view execute_tool = "service.route.execute";

Json text_or_null(std::string_view text) { return text.empty() ? Json() : Json(text); }

// The tools of the registry, by operation.
using ToolsOf = std::vector<std::vector<const registry::Tool*>>;

ToolsOf tools_of(const registry::Program& program) {
  ToolsOf tools(program.operations().size());
  for (const registry::Tool& tool : program.tools()) tools[tool.operation].push_back(&tool);
  return tools;
}

// The arguments of the whole operation: those of its own tool if that fixes no parameter.
Json input_schema(const registry::Program& program, const registry::Operation& operation,
                  const std::vector<const registry::Tool*>& tools) {
  for (const registry::Tool* const tool : tools) {
    if (tool->fixed.empty()) return tool_input_schema(program, *tool);
  }
  registry::Tool whole;
  whole.operation = operation.index;
  return tool_input_schema(program, whole);
}

std::string purpose_of(const registry::Route& route, const registry::Operation& operation,
                       const std::vector<const registry::Tool*>& tools) {
  for (const registry::Tool* const tool : tools) {
    if (tool->fixed.empty()) return tool->description;
  }
  if (!operation.summary.empty()) return operation.summary;
  return std::string(name_of(operation.method)) + " " + route.matcher.pattern;
}

Json freshness_json(const registry::Expectation& expect) {
  if (expect.fresh_within_seconds == 0) return nullptr;
  return {{"within_seconds", expect.fresh_within_seconds},
          {"told_by", expect.fresh_at.empty() ? "header Last-Modified" : expect.fresh_at}};
}

class Cards {
 public:
  explicit Cards(const AgentCardsInput& input)
      : input_(input), tools_(tools_of(input.program)) {}

  [[nodiscard]] std::string text() const {
    Json cards = Json::array();
    for (const registry::Route& route : input_.program.routes()) {
      Json operations = operations_of(route);
      if (!operations.empty()) cards.push_back(card(route, std::move(operations)));
    }
    Json document = Json::object();
    if (!input_.web_url.empty()) {
      document["$schema"] = on(input_.web_url, "/discovery/agent-capabilities.schema.json");
    }
    document["schema_version"] = "service.agent-capabilities.v1";
    document["service"] = {{"name", input_.service_name},
                           {"api", text_or_null(input_.api_url)},
                           {"mcp", text_or_null(input_.mcp_url)},
                           {"web", text_or_null(input_.web_url)}};
    document["generation"] = generation_json(input_.generation);
    document["capabilities"] = std::move(cards);
    return text_of(document);
  }

 private:
  static std::string on(std::string_view url, std::string_view path) {
    return std::string(url).append(path);
  }

  [[nodiscard]] Json operations_of(const registry::Route& route) const {
    Json shown = Json::array();
    for (const std::uint32_t index : route.operations) {
      const registry::Operation& operation = input_.program.operations()[index];
      if (is_callable(input_.program, operation, input_.readiness)) {
        shown.push_back(operation_json(route, operation));
      }
    }
    return shown;
  }

  [[nodiscard]] Json operation_json(const registry::Route& route,
                                    const registry::Operation& operation) const {
    const registry::Program& program = input_.program;
    const auto& tools = tools_[operation.index];
    const bool is_free = input_.features.free_lane && route.free_policy.has_value();
    Json shown = {{"method", name_of(operation.method)},
                  {"purpose", purpose_of(route, operation, tools)},
                  {"input_schema", input_schema(program, operation, tools)},
                  {"output", {{"statuses", operation.response->success_statuses},
                              {"content_types", operation.response->allowed_content_types}}},
                  {"price", billing_json(program, operation, input_.features)},
                  {"free", nullptr},
                  {"freshness", freshness_json(operation.monitoring->expect)},
                  {"call", call_json(route, tools, is_free)}};
    if (is_free) {
      shown["free"] = free_rate_limit_json(program.free_policies()[*route.free_policy]);
    }
    return shown;
  }

  [[nodiscard]] Json call_json(const registry::Route& route,
                               const std::vector<const registry::Tool*>& tools,
                               bool is_free) const {
    Json call = {{"url_template", nullptr}, {"free_url_template", nullptr}, {"tools", nullptr}};
    if (!input_.api_url.empty()) {
      const std::string url = on(input_.api_url, route.matcher.pattern);
      call["url_template"] = url;
      if (is_free) call["free_url_template"] = url + ":free";
    }
    if (input_.mcp_url.empty()) return call;
    call["tools"] = Json::array({execute_tool});
    for (const registry::Tool* const tool : tools) call["tools"].push_back(tool->name);
    return call;
  }

  [[nodiscard]] Json card(const registry::Route& route, Json operations) const {
    const registry::Provider& provider = input_.program.providers()[route.provider];
    Json shown = {{"id", route.id},
                  {"path", route.matcher.pattern},
                  {"purpose", operations.front()["purpose"]},
                  {"operations", std::move(operations)},
                  {"credential_required", route.credential_required},
                  {"detail", nullptr},
                  {"status", nullptr},
                  {"provenance", provenance_json(provider)},
                  {"generation", input_.generation.id}};
    if (!input_.api_url.empty()) {
      shown["detail"] = on(input_.api_url, "/v1/capabilities/" + route.id);
      shown["status"] = on(input_.api_url, "/v1/status/gateway/operations/" + route.id);
    }
    return shown;
  }

  [[nodiscard]] Json provenance_json(const registry::Provider& provider) const {
    Json shown = {{"provider_key", provider.key}, {"provider_name", provider.name},
                  {"page", nullptr},              {"category", nullptr},
                  {"chains", Json::array()},      {"topics", Json::array()},
                  {"source", nullptr}};
    if (!input_.web_url.empty()) {
      shown["page"] = on(input_.web_url, "/discovery/sources/" + provider.key);
    }
    if (provider.listing == nullptr) return shown;
    const registry::Listing& listing = *provider.listing;
    shown["category"] = listing.category;
    shown["chains"] = listing.chains;
    shown["topics"] = listing.topics;
    if (listing.source.name.empty()) return shown;
    shown["source"] = {{"name", listing.source.name},
                       {"url", text_or_null(listing.source.url)},
                       {"licence", text_or_null(listing.source.licence)},
                       {"updated", text_or_null(listing.source.updated)}};
    return shown;
  }

  const AgentCardsInput& input_;
  const ToolsOf tools_;
};

}  // namespace

std::string agent_cards_text(const AgentCardsInput& input) { return Cards(input).text(); }

}  // namespace turnpike::catalog

#include "hosts/mcp/service_tools.h"

#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "base/limits.h"
#include "base/strict_object.h"
#include "base/uri.h"
#include "catalog/page_request.h"
#include "catalog/tool_call.h"
#include "catalog/tool_schema.h"

namespace turnpike::hosts::mcp {
namespace {

using base::ErrorCode;
using Card = nlohmann::ordered_json;

std::string text_of_card(const Card& card) {
  return card.dump(-1, ' ', false, Card::error_handler_t::replace);
}

Card text_schema(std::string_view description) {
  return {{"type", "string"}, {"description", description}};
}

// What is not known to be harmless is taken for the worst (mcp.md 5.1).
Card annotations(std::string_view title, bool is_read, bool is_open_world) {
  return {{"title", title},
          {"readOnlyHint", is_read},
          {"destructiveHint", !is_read},
          {"idempotentHint", is_read},
          {"openWorldHint", is_open_world}};
}

// Reads arguments by name and remembers what is wrong with them, and which are not known.
class Arguments {
 public:
  Arguments(const Json& arguments, std::initializer_list<std::string_view> known)
      : arguments_(arguments) {
    for (const auto& [name, value] : arguments.items()) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      if (problems_.size() == catalog::tool_problems_max) break;
      std::string names;
      for (const std::string_view one : known) names.append(names.empty() ? "" : ", ").append(one);
      report(name, "it is not known", "Leave it out; known are: " + names + ".");
    }
  }

  // Absent and null are the same: models fill in nulls.
  [[nodiscard]] std::optional<std::string> text(const char* name) {
    const Json* const value = given(name);
    if (value == nullptr) return std::nullopt;
    if (const auto* text = value->get_ptr<const std::string*>()) return *text;
    report(name, "it is not a string", "Send a string.");
    return std::nullopt;
  }
  [[nodiscard]] std::string required(const char* name, std::string_view fix) {
    auto value = text(name);
    if (!value && given(name) == nullptr) report(name, "it is missing", std::string(fix));
    return std::move(value).value_or("");
  }
  [[nodiscard]] std::optional<bool> flag(const char* name) {
    const Json* const value = given(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_boolean()) return value->get<bool>();
    report(name, "it is not a boolean", "Send true or false.");
    return std::nullopt;
  }
  // An integer, or its digits.
  [[nodiscard]] std::optional<std::string> integer(const char* name) {
    const Json* const value = given(name);
    if (value == nullptr) return std::nullopt;
    if (value->is_number_integer()) return text_of(*value);
    if (const auto* digits = value->get_ptr<const std::string*>()) return *digits;
    report(name, "it is not an integer", "Send an integer.");
    return std::nullopt;
  }

  // Bounded, since anybody may send as many names as a message holds.
  void report(std::string_view name, std::string problem, std::string fix) {
    if (problems_.size() == catalog::tool_problems_max) return;
    problems_.push_back({base::pointer_to(name), std::move(problem), std::move(fix)});
  }
  [[nodiscard]] std::optional<base::Error> error() {
    if (problems_.empty()) return std::nullopt;
    return base::Error{ErrorCode::request_malformed, "The arguments of the tool are not right.", 0,
                       std::move(problems_)};
  }

 private:
  [[nodiscard]] const Json* given(const char* name) const noexcept {
    const Json* const value = find(arguments_, name);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  const Json& arguments_;
  std::vector<base::FieldProblem> problems_;
};

// A refusal of the catalog, which says "query.limit" where an argument was.
Answer refused_by_catalog(const RpcRequest& request, base::Error error) {
  for (base::FieldProblem& field : error.fields) {
    field.location = base::pointer_to(field.location.substr(field.location.find('.') + 1));
  }
  return refused_result(request, error);
}

// What the catalog's own documents become.
Answer document_result(const RpcRequest& request,
                       const Result<catalog::Document, base::Error>& document) {
  if (!document.ok()) return refused_by_catalog(request, document.error());
  return tool_result((*document)->body, false);
}

base::Error no_registry() {
  return {ErrorCode::registry_unavailable, "No valid registry is installed on this gateway.", 5};
}

class CapabilityList final : public Tool {
 public:
  CapabilityList(Backend& backend, const Clock& clock, const Executions& executions)
      : backend_(backend), clock_(clock), executions_(executions) {}

  [[nodiscard]] std::string_view name() const noexcept override {
    return "service.capabilities.list";
  }
  [[nodiscard]] bool is_at(Door) const noexcept override { return true; }
  [[nodiscard]] std::string card(Door) const override {
    Card card = {
        {"name", name()},
        {"title", "List capabilities"},
        {"description",
         "Lists the routes of the catalog, a page at a time: path, methods, price, readiness, free "
         "variant. Costs nothing."},
        {"inputSchema",
         {{"type", "object"},
          {"properties",
           {{"limit",
             {{"type", "integer"},
              {"minimum", 1},
              {"maximum", catalog::page_limit_max},
              {"description", "Entries of a page; 50 without it."}}},
            {"cursor", text_schema("next_cursor of the page before, with the same filters.")},
            {"provider_key", text_schema("Only routes of this provider.")},
            {"method",
             {{"type", "string"},
              {"enum", {"GET", "POST"}},
              {"description", "Only routes with this method."}}}}},
          {"additionalProperties", false}}},
        {"outputSchema",
         {{"type", "object"},
          {"properties",
           {{"generation", {{"type", "object"}}},
            {"capabilities", {{"type", "array"}, {"items", {{"type", "object"}}}}},
            {"next_cursor", {{"description", "Of the next page; absent or null on the last."}}},
            {"error", {{"type", "object"}}}}}}},
        {"annotations", annotations("List capabilities", true, false)}};
    add_security(card, Admits::anybody);
    return text_of_card(card);
  }
  Answer call(const RpcRequest& request, const Json& given) const override {
    if (auto refused = executions_.refuse_public(request)) return *std::move(refused);
    Arguments arguments(given, {"limit", "cursor", "provider_key", "method"});
    const catalog::PageParameters parameters = {.limit = arguments.integer("limit"),
                                                .cursor = arguments.text("cursor"),
                                                .provider_key = arguments.text("provider_key"),
                                                .method = arguments.text("method")};
    if (const auto error = arguments.error()) return refused_result(request, *error);
    const auto page = catalog::read_page_request(parameters);
    if (!page.ok()) return refused_by_catalog(request, page.error());
    const auto view = backend_.view();
    if (view == nullptr) return refused_result(request, no_registry());
    return document_result(request, view->page(*page, clock_.now_ms()));
  }

 private:
  Backend& backend_;
  const Clock& clock_;
  const Executions& executions_;
};

class CapabilityGet final : public Tool {
 public:
  CapabilityGet(Backend& backend, const Clock& clock, const Executions& executions)
      : backend_(backend), clock_(clock), executions_(executions) {}

  [[nodiscard]] std::string_view name() const noexcept override {
    return "service.capabilities.get";
  }
  [[nodiscard]] bool is_at(Door) const noexcept override { return true; }
  [[nodiscard]] std::string card(Door) const override {
    Card card = {
        {"name", name()},
        {"title", "Read a capability"},
        {"description",
         "Everything about one route: its parameters and their bounds, its price on each way to "
         "pay, "
         "limits of its free variant, readiness. Costs nothing."},
        {"inputSchema",
         {{"type", "object"},
          {"properties",
           {{"capability_id",
             text_schema("The capability_id of an entry of service.capabilities.list.")}}},
          {"required", {"capability_id"}},
          {"additionalProperties", false}}},
        {"outputSchema",
         {{"type", "object"},
          {"properties", {{"capability", {{"type", "object"}}}, {"error", {{"type", "object"}}}}}}},
        {"annotations", annotations("Read a capability", true, false)}};
    add_security(card, Admits::anybody);
    return text_of_card(card);
  }
  Answer call(const RpcRequest& request, const Json& given) const override {
    if (auto refused = executions_.refuse_public(request)) return *std::move(refused);
    Arguments arguments(given, {"capability_id"});
    const std::string id = arguments.required(
        "capability_id", "Send the capability_id of an entry of service.capabilities.list.");
    if (const auto error = arguments.error()) return refused_result(request, *error);
    const auto view = backend_.view();
    if (view == nullptr) return refused_result(request, no_registry());
    return document_result(request, view->detail(id, clock_.now_ms()));
  }

 private:
  Backend& backend_;
  const Clock& clock_;
  const Executions& executions_;
};

class RouteExecute final : public Tool {
 public:
  explicit RouteExecute(const Executions& executions) : executions_(executions) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "service.route.execute"; }
  [[nodiscard]] bool is_at(Door) const noexcept override { return true; }
  [[nodiscard]] std::string card(Door door) const override;
  Answer call(const RpcRequest& request, const Json& given) const override;

 private:
  static RouteAsk read(Arguments& arguments);
  static void read_body(Arguments& arguments, RouteAsk& ask);

  const Executions& executions_;
};

std::string RouteExecute::card(Door door) const {
  const std::string_view paid =
      door == Door::account
          ? "It is charged to the account of the API key, unless free is true or its billing says "
            "otherwise."
          : "Each call is paid by itself: without a payment the result says what to pay; send it "
            "in _meta[\"x402/payment\"] with the same arguments.";
  Card card = {
      {"name", name()},
      {"title", "Run a route"},
      {"description",
       "Runs one route of the catalog and returns the provider's reply. " + std::string(paid)},
      {"inputSchema",
       {{"type", "object"},
        {"properties",
         {{"method", {{"type", "string"}, {"enum", {"GET", "POST"}}}},
          {"path", text_schema("Path with its parameters filled in and percent-encoded, such as "
                               "/v1/gateway/acme/items/7.")},
          {"query", text_schema("Raw query string without '?', percent-encoded.")},
          {"body", text_schema("Request body, sent as it is.")},
          {"body_base64", text_schema("Request body as base64, for bytes that are no text.")},
          {"content_type", text_schema("Of the body; application/json without it.")},
          {"idempotency_key", catalog::idempotency_key_schema()}}},
        {"required", {"method", "path"}},
        {"additionalProperties", false}}},
      {"outputSchema", execution_output_schema()},
      {"annotations", annotations("Run a route", false, true)}};
  if (door == Door::account) {
    card["inputSchema"]["properties"]["free"] = {
        {"type", "boolean"},
        {"description", "Run the free variant of the route, within its limits."}};
  }
  add_security(card, door == Door::account ? Admits::accounts : Admits::anybody);
  return text_of_card(card);
}

void RouteExecute::read_body(Arguments& arguments, RouteAsk& ask) {
  ask.body = arguments.text("body");
  const auto encoded = arguments.text("body_base64");
  if (encoded && ask.body) {
    arguments.report("body_base64", "body is there, too", "Send one of the two.");
  } else if (encoded) {
    ask.body = base::from_base64(*encoded);
    if (!ask.body) {
      arguments.report("body_base64", "it is not base64",
                       "Send the standard alphabet with its padding.");
    }
  }
  ask.content_type = arguments.text("content_type").value_or("");
  if (ask.body && ask.content_type.empty()) ask.content_type = json_type;
  const bool is_field = ask.content_type.size() <= base::limits::request_header_bytes_max &&
                        std::all_of(ask.content_type.begin(), ask.content_type.end(),
                                    [](char c) { return c >= ' ' && c < 0x7F; });
  if (!is_field) {
    arguments.report("content_type", "it is no header value", "Send one like application/json.");
  }
}

RouteAsk RouteExecute::read(Arguments& arguments) {
  constexpr std::string_view free_suffix = ":free";
  RouteAsk ask;
  ask.method = arguments.required("method", "Send GET or POST.");
  ask.path = arguments.required("path", "Send the path of a route, such as one of the catalog.");
  ask.query = arguments.text("query").value_or("");
  read_body(arguments, ask);
  if (!ask.path.empty() && ask.path.front() != '/') {
    arguments.report("path", "it does not begin with '/'",
                     "Send the path alone, without scheme and host.");
  } else if (ask.path.find_first_of("?#") != ask.path.npos) {
    arguments.report("path", "it holds a query or a fragment", "Send the query as query.");
  } else if (base::path_fault(ask.path) != ask.path.npos) {
    arguments.report("path", "it holds what may not stand in a path by RFC 3986",
                     "Percent-encode its parameters: %20 for a blank.");
  }
  const auto free = arguments.flag("free");
  const bool has_suffix = ask.path.ends_with(free_suffix);
  if (free == true && !has_suffix) ask.path += free_suffix;
  if (free == false && has_suffix) {
    arguments.report("free", "it is false, but the path ends in :free", "Send one or the other.");
  }
  ask.idempotency_key = arguments.text("idempotency_key").value_or("");
  if (!ask.idempotency_key.empty() && !is_idempotency_key(ask.idempotency_key)) {
    arguments.report("idempotency_key", "it is not in its form",
                     "Send 1 to 255 visible ASCII characters.");
  }
  return ask;
}

Answer RouteExecute::call(const RpcRequest& request, const Json& given) const {
  Arguments arguments(given, {"method", "path", "query", "body", "body_base64", "content_type",
                              "free", "idempotency_key"});
  const RouteAsk ask = read(arguments);
  if (const auto error = arguments.error()) return refused_result(request, *error);
  return executions_.run(request, ask);
}

}  // namespace

std::vector<std::shared_ptr<const Tool>> make_service_tools(Backend& backend, const Clock& clock,
                                                            const Executions& executions) {
  return {std::make_shared<CapabilityList>(backend, clock, executions),
          std::make_shared<CapabilityGet>(backend, clock, executions),
          std::make_shared<RouteExecute>(executions)};
}

void add_security(nlohmann::ordered_json& card, Admits admits) {
  const Card schemes = admits == Admits::anybody
                           ? Card::array({{{"type", "noauth"}}})
                           : Card::array({{{"type", "oauth2"}, {"scopes", Card::array()}}});
  card["securitySchemes"] = schemes;
  card["_meta"]["securitySchemes"] = schemes;
}

}  // namespace turnpike::hosts::mcp

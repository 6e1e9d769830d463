#include "hosts/mcp/service_tools.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "catalog/page_request.h"
#include "catalog/tool_schema.h"
#include "hosts/mcp/arguments.h"
#include "text/encoding.h"
#include "text/uri.h"

namespace turnpike::hosts::mcp {
namespace {

using base::ErrorCode;
using Card = nlohmann::ordered_json;

Card text_schema(std::string_view description) {
  return {{"type", "string"}, {"description", description}};
}

// Turns a document of the catalog into a resource or tool result.
Answer document_result(const RpcRequest& request,
                       const Result<catalog::Document, base::Error>& document) {
  if (!document.ok()) return refused_by_query(request, document.error());
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
  [[nodiscard]] Card card(Door) const override {
    Card card = {
        {"name", name()},
        {"title", "List capabilities"},
        {"description",
         "Lists the routes of the catalog, a page at a time: path, what it is for, methods, price, "
         "readiness, free variant. Costs nothing."},
        {"inputSchema",
         {{"type", "object"},
          {"properties",
           {{"limit",
             {{"type", "integer"},
              {"minimum", 1},
              {"maximum", catalog::page_limit_max},
              {"description",
               "Entries of a page; 50 without it. A page ends earlier where it would "
               "grow too long; follow next_cursor."}}},
            {"cursor", text_schema("next_cursor of the page before, with the same filters.")},
            {"q", text_schema("Only routes with all of these words in their path, summary or "
                              "provider, such as \"weather forecast\".")},
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
        {"annotations", tool_annotations("List capabilities", true, false)}};
    add_security(card, Admits::anybody);
    add_result_size(card, executions_.reply_bytes_max());
    return card;
  }
  Answer call(const RpcRequest& request, const Json& given) const override {
    if (auto refused = executions_.refuse_public(request)) return *std::move(refused);
    Arguments arguments(given, {"limit", "cursor", "q", "provider_key", "method"});
    const catalog::PageParameters parameters = {.limit = arguments.integer("limit"),
                                                .cursor = arguments.text("cursor"),
                                                .provider_key = arguments.text("provider_key"),
                                                .method = arguments.text("method"),
                                                .q = arguments.text("q")};
    if (const auto error = arguments.error()) return refused_result(request, *error);
    auto page = catalog::read_page_request(parameters);
    if (!page.ok()) return refused_by_query(request, page.error());
    page->bytes_max = executions_.reply_bytes_max();
    page->shows_payments = request.door == Door::payment;
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
  [[nodiscard]] Card card(Door) const override {
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
        {"annotations", tool_annotations("Read a capability", true, false)}};
    add_security(card, Admits::anybody);
    return card;
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

// Runs any route, or, as the reading tool, only GET routes: MCP hosts that ask people before a tool
// may change something need not ask for that one.
class RouteTool final : public Tool {
 public:
  enum class Kind : std::uint8_t { execute, read };
  RouteTool(Kind kind, const Executions& executions) : kind_(kind), executions_(executions) {}

  [[nodiscard]] std::string_view name() const noexcept override {
    return kind_ == Kind::read ? "service.route.read" : "service.route.execute";
  }
  [[nodiscard]] bool is_at(Door door) const noexcept override {
    return kind_ == Kind::execute || door == Door::account;
  }
  [[nodiscard]] Card card(Door door) const override;
  Answer call(const RpcRequest& request, const Json& given) const override;

 private:
  [[nodiscard]] Card properties(Door door) const;
  static void read(Arguments& arguments, RouteAsk& ask);
  static void read_method(Arguments& arguments, RouteAsk& ask);
  static void read_path(Arguments& arguments, RouteAsk& ask);
  static void read_body(Arguments& arguments, std::string_view body_text, RouteAsk& ask);

  const Kind kind_;
  const Executions& executions_;
};

Card RouteTool::properties(Door door) const {
  Card all = Card::object();
  if (kind_ == Kind::execute) all["method"] = {{"type", "string"}, {"enum", {"GET", "POST"}}};
  all["path"] = text_schema(
      "Path with its parameters filled in and percent-encoded, such as /v1/gateway/acme/items/7.");
  all["query"] = text_schema("Raw query string without '?', percent-encoded.");
  if (kind_ == Kind::execute) {
    all["body"] = text_schema("Request body, sent as it is.");
    all["body_base64"] = text_schema("Request body as base64, for bytes that are no text.");
    all["content_type"] = text_schema("Of the body; application/json without it.");
  }
  all["idempotency_key"] = catalog::idempotency_key_schema();
  if (door == Door::account) {
    all["free"] = {{"type", "boolean"},
                   {"description", "Run the free variant of the route, within its limits."}};
  }
  return all;
}

Card RouteTool::card(Door door) const {
  const bool is_read = kind_ == Kind::read;
  std::string text = is_read ? "Runs one GET route of the catalog, which changes nothing at the "
                               "provider, and returns the provider's reply. "
                             : "Runs one route of the catalog and returns the provider's reply. ";
  text += door == Door::account
              ? "A success is charged to the account of the API key: credit_cost of its billing in "
                "the catalog, nothing with free: true. What fails costs nothing."
              : "Each call is paid by itself: without a payment the result says what to pay; send "
                "it in _meta[\"x402/payment\"] with the same arguments.";
  const std::string_view title = is_read ? "Run a route that reads" : "Run a route";
  Card schema = {{"type", "object"}, {"properties", properties(door)}};
  schema["required"] = is_read ? Card::array({"path"}) : Card::array({"method", "path"});
  schema["additionalProperties"] = false;
  Card card = {{"name", name()},
               {"title", title},
               {"description", std::move(text)},
               {"inputSchema", std::move(schema)},
               {"outputSchema", execution_output_schema()},
               {"annotations", tool_annotations(title, is_read, true)}};
  add_security(card, door == Door::account ? Admits::accounts : Admits::anybody);
  add_result_size(card, executions_.reply_bytes_max());
  return card;
}

// `body_text`: the JSON of the argument `body`, exactly as the caller wrote it.
void RouteTool::read_body(Arguments& arguments, std::string_view body_text, RouteAsk& ask) {
  const Json* const body = arguments.given("body");
  const bool is_json = body != nullptr && !body->is_string();
  ask.body = is_json ? std::optional<std::string>(body_text) : arguments.text("body");
  const auto encoded = arguments.text("body_base64");
  if (encoded && ask.body) {
    arguments.report("body_base64", "body is there, too", "Send one of the two.");
  } else if (encoded) {
    ask.body = text::from_base64(*encoded);
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
  } else if (is_json && !catalog::is_json_type(ask.content_type)) {
    arguments.report("body", "it is JSON, and content_type says that the body is none",
                     "Send the text of the body as a string.");
  }
}

void RouteTool::read_method(Arguments& arguments, RouteAsk& ask) {
  ask.method = arguments.required("method", "Send GET or POST.");
  for (char& c : ask.method) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

void RouteTool::read_path(Arguments& arguments, RouteAsk& ask) {
  ask.path = arguments.required("path", "Send the path of a route, such as one of the catalog.");
  const std::string_view unfilled = text::unfilled_parameter(ask.path);
  if (!ask.path.empty() && ask.path.front() != '/') {
    arguments.report("path", "it does not begin with '/'",
                     "Send the path alone, without scheme and host.");
  } else if (!unfilled.empty()) {
    arguments.report("path", "it still holds the parameter " + std::string(unfilled.substr(0, 66)),
                     "Put the value in its place, percent-encoded.");
  } else if (ask.path.find_first_of("?#") != ask.path.npos) {
    arguments.report("path", "it holds a query or a fragment", "Send the query as query.");
  } else if (text::path_fault(ask.path) != ask.path.npos) {
    arguments.report("path", "it holds what may not stand in a path by RFC 3986",
                     "Percent-encode its parameters: %20 for a blank.");
  }
}

void RouteTool::read(Arguments& arguments, RouteAsk& ask) {
  constexpr std::string_view free_suffix = ":free";
  read_path(arguments, ask);
  ask.query = arguments.query("query");
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
}

Answer RouteTool::call(const RpcRequest& request, const Json& given) const {
  RouteAsk ask;
  std::optional<base::Error> error;
  if (kind_ == Kind::read) {
    Arguments arguments(given, {"path", "query", "free", "idempotency_key"});
    ask.method = "GET";
    read(arguments, ask);
    error = arguments.error();
  } else {
    Arguments arguments(given, {"method", "path", "query", "body", "body_base64", "content_type",
                                "free", "idempotency_key"});
    read_method(arguments, ask);
    read(arguments, ask);
    read_body(arguments, body_argument_text(request), ask);
    error = arguments.error();
  }
  if (error) return refused_result(request, *error);
  return executions_.run(request, ask);
}

}  // namespace

std::vector<std::shared_ptr<const Tool>> make_service_tools(Backend& backend, const Clock& clock,
                                                            const Executions& executions) {
  return {std::make_shared<CapabilityList>(backend, clock, executions),
          std::make_shared<CapabilityGet>(backend, clock, executions),
          std::make_shared<RouteTool>(RouteTool::Kind::execute, executions),
          std::make_shared<RouteTool>(RouteTool::Kind::read, executions)};
}

// Hints assume the worst unless a tool is known to be harmless (docs/protocols.md, "Tools").
Card tool_annotations(std::string_view title, bool is_read, bool is_open_world) {
  return {{"title", title},
          {"readOnlyHint", is_read},
          {"destructiveHint", !is_read},
          {"idempotentHint", is_read},
          {"openWorldHint", is_open_world}};
}

void add_result_size(Card& card, std::uint64_t reply_bytes_max) {
  constexpr std::uint64_t characters_max = 500'000;
  card["_meta"]["anthropic/maxResultSizeChars"] = std::min(2 * reply_bytes_max, characters_max);
}

void add_operation(Card& card, const OperationFacts& facts) {
  card["annotations"] = {{"readOnlyHint", facts.is_read_only},
                         {"destructiveHint", !facts.is_read_only},
                         {"idempotentHint", facts.is_read_only},
                         {"openWorldHint", true}};
  if (!facts.title.empty()) card["annotations"]["title"] = facts.title;
  add_security(card, Admits::accounts);
  card["_meta"]["turnpike/capability_id"] = facts.capability_id;
  add_result_size(card, facts.reply_bytes_max);
}

void add_security(nlohmann::ordered_json& card, Admits admits) {
  const Card schemes = admits == Admits::anybody
                           ? Card::array({{{"type", "noauth"}}})
                           : Card::array({{{"type", "oauth2"}, {"scopes", Card::array()}}});
  card["securitySchemes"] = schemes;
  card["_meta"]["securitySchemes"] = schemes;
}

}  // namespace turnpike::hosts::mcp

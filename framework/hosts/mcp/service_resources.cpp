#include "hosts/mcp/service_resources.h"

#include <utility>

#include "catalog/page_request.h"
#include "hosts/mcp/docs.h"
#include "hosts/query.h"
#include "registry/program.h"
#include "text/canonical_json.h"

namespace turnpike::hosts::mcp {

namespace {

constexpr std::string_view catalog_uri = "service://capabilities";
constexpr std::string_view markdown_type = "text/markdown";

constexpr std::uint32_t resource_list_ttl_ms = 60'000;  // a reload may change it
constexpr std::uint32_t readiness_ttl_ms = 10'000;      // what the catalog's documents show
constexpr std::uint32_t fixed_ttl_ms = 3'600'000;       // a release may change it

constexpr std::size_t lists_kept = 64;  // pages, about 30 kB each

constexpr std::string_view templates_members =
    R"("resourceTemplates":[{"uriTemplate":"service://capabilities/{capability_id}",)"
    R"("name":"capability","title":"A capability","mimeType":"application/json","description":)"
    R"("Everything about one route: parameters, price on each way to pay, limits, readiness."},)"
    R"({"uriTemplate":"service://capabilities{?limit,cursor,provider_key,method,q}",)"
    R"("name":"capabilities-page","title":"A page of the catalog","mimeType":"application/json",)"
    R"("description":"Routes, of one provider or method or with the words of q if wanted; follow )"
    R"(next_cursor to its end."}])";

void append_member(std::string& out, std::string_view name, std::string_view value) {
  out.append(out.empty() || out.back() == '{' ? "\"" : ",\"").append(name).append("\":");
  text::append_canonical_string(out, value);
}

// Begins the next object of a list.
void begin_entry(std::string& out) {
  if (out.back() != '[') out += ',';
  out += '{';
}

std::string contents_of(std::string_view uri, std::string_view type, std::string_view text) {
  std::string members = R"("contents":[{)";
  members.reserve(text.size() + text.size() / 8 + 128);
  append_member(members, "uri", uri);
  append_member(members, "mimeType", type);
  append_member(members, "text", text);
  return members += "}]";
}

void append_catalog(std::string& out) {
  begin_entry(out);
  append_member(out, "uri", catalog_uri);
  append_member(out, "name", "capabilities");
  append_member(out, "title", "Catalog");
  append_member(out, "description", "The first page of the routes that can be run, with prices.");
  append_member(out, "mimeType", json_type);
  out += '}';
}

// "GET, POST /v1/gateway/acme/items/{item_id}"
std::string name_of(const registry::Route& route) {
  std::string name;
  for (const Method method : route.methods) {
    name += (name.empty() ? "" : ", ") + std::string(turnpike::name_of(method));
  }
  return name + " " + route.matcher.pattern;
}

void append_capability(std::string& out, const registry::Program& program,
                       const registry::Route& route) {
  begin_entry(out);
  append_member(out, "uri", std::string(catalog_uri) + "/" + route.id);
  append_member(out, "name", name_of(route));
  append_member(out, "description",
                route.summary.empty() ? "A route of " + program.providers()[route.provider].name
                                      : route.summary);
  append_member(out, "mimeType", json_type);
  out += '}';
}

RpcError invalid_params_of(const base::Error& error) {
  RpcError invalid{RpcCode::invalid_params, error.message};
  for (const base::FieldProblem& field : error.fields) {
    invalid.message += " " + field.location + ": " + field.problem + ". " + field.fix;
  }
  return invalid;
}

RpcError unknown(const std::string& uri) {
  return {RpcCode::invalid_params, "There is no such resource; resources/list names them.", 200,
          Json{{"uri", uri}}};
}

RpcError no_registry(const RpcRequest& request) {
  request.turn.record.error = base::ErrorCode::registry_unavailable;
  return {RpcCode::internal_error, "No valid registry is installed on this gateway."};
}

RpcError foreign_cursor() {
  return {RpcCode::invalid_params, "The cursor is of another list; leave it out to begin."};
}

}  // namespace

ServiceResources::ServiceResources(Backend& backend, const Clock& clock,
                                   std::uint64_t page_bytes_max, ToolNames names)
    : backend_(backend),
      clock_(clock),
      page_bytes_max_(page_bytes_max),
      texts_{
          make_text("service://docs/paying", "How calls are paid for",
                    "API keys, free variants, x402, repeating a call safely, and what to do when "
                    "an outcome is not known.",
                    with_listed_names(std::string(paying_doc()), names)),
          make_text("service://docs/errors", "Errors",
                    "Every error code with its fault, its status and what to do next.",
                    errors_doc()),
          make_text("service://docs/registry", "The registry language",
                    "For operators: how routes, prices and tools are written in YAML.",
                    with_listed_names(std::string(registry_doc()), names))},
      lists_(lists_kept) {}

ServiceResources::Text ServiceResources::make_text(std::string_view uri, std::string_view title,
                                                   std::string_view description,
                                                   std::string_view markdown) {
  std::string entry;
  append_member(entry, "uri", uri);
  append_member(entry, "name", uri.substr(uri.rfind('/') + 1));
  append_member(entry, "title", title);
  append_member(entry, "description", description);
  append_member(entry, "mimeType", markdown_type);
  entry += ",\"size\":";
  text::append_canonical_integer(entry, static_cast<std::int64_t>(markdown.size()));
  return {uri, std::move(entry),
          std::make_shared<const std::string>(contents_of(uri, markdown_type, markdown))};
}

// A list shows only facts of the program, so it is valid as long as its installation.
Answer ServiceResources::list(const RpcRequest& request, const std::string* cursor) const {
  const auto view = backend_.view();
  if (cursor != nullptr && view == nullptr) return no_registry(request);
  if (cursor != nullptr && cursor->empty()) return foreign_cursor();
  std::string key = view == nullptr ? "none" : std::to_string(view->generation().manifest_sequence);
  key.append("\n").append(view == nullptr ? "" : view->generation().id);
  if (cursor != nullptr) key.append("\n").append(*cursor);
  auto rendering = lists_.find(key, {}, 0);
  if (rendering == nullptr) {
    auto members = render(view.get(), cursor);
    if (!members.ok()) return std::move(members).error();
    rendering = catalog::make_rendering(*std::move(members), {}, std::nullopt);
    lists_.store(std::move(key), rendering);
  }
  RpcResult result;
  result.ttl_ms = resource_list_ttl_ms;
  result.kept = {rendering, &rendering->body};
  return result;
}

Result<std::string, RpcError> ServiceResources::render(const catalog::View* view,
                                                       const std::string* cursor) const {
  std::string members = R"("resources":[)";
  if (cursor == nullptr) {
    for (const Text& text : texts_) {
      begin_entry(members);
      members.append(text.entry).append("}");
    }
    append_catalog(members);
  }
  if (view == nullptr) return members += ']';
  const auto page = view->routes(
      {.limit = page_resources_max, .cursor = cursor == nullptr ? std::string() : *cursor});
  if (!page.ok()) return invalid_params_of(page.error());
  for (const registry::Route* route : page->routes) {
    append_capability(members, view->program(), *route);
  }
  members += ']';
  if (!page->next_cursor.empty()) append_member(members, "nextCursor", page->next_cursor);
  return members;
}

Answer ServiceResources::templates(const RpcRequest&, const std::string* cursor) const {
  if (cursor != nullptr) return foreign_cursor();
  static const auto members = std::make_shared<const std::string>(templates_members);
  RpcResult result;
  result.kept = members;
  result.ttl_ms = fixed_ttl_ms;
  return result;
}

Answer ServiceResources::read(const RpcRequest& request, const std::string& uri) const {
  for (const Text& text : texts_) {
    if (uri != text.uri) continue;
    RpcResult result;
    result.kept = text.contents;
    result.ttl_ms = fixed_ttl_ms;
    return result;
  }
  if (!uri.starts_with(catalog_uri)) return unknown(uri);
  const std::string_view rest = std::string_view(uri).substr(catalog_uri.size());
  if (rest.empty()) return read_page(request, uri, {});
  if (rest.front() == '?') return read_page(request, uri, rest.substr(1));
  if (rest.front() == '/') return read_detail(request, uri, rest.substr(1));
  return unknown(uri);
}

Answer ServiceResources::read_page(const RpcRequest& request, const std::string& uri,
                                   std::string_view query) const {
  const auto fields = read_query(query, {"limit", "cursor", "provider_key", "method", "q"});
  if (!fields.ok()) return invalid_params_of(fields.error());
  auto page = catalog::read_page_request({.limit = fields->find("limit"),
                                          .cursor = fields->find("cursor"),
                                          .provider_key = fields->find("provider_key"),
                                          .method = fields->find("method"),
                                          .q = fields->find("q")});
  if (!page.ok()) return invalid_params_of(page.error());
  page->bytes_max = page_bytes_max_;
  page->shows_payments = request.door == Door::payment;
  const auto view = backend_.view();
  if (view == nullptr) return no_registry(request);
  const auto document = view->page(*page, clock_.now_ms());
  if (!document.ok()) return invalid_params_of(document.error());
  RpcResult result;
  result.members = contents_of(uri, json_type, (*document)->body);
  result.ttl_ms = readiness_ttl_ms;
  return result;
}

Answer ServiceResources::read_detail(const RpcRequest& request, const std::string& uri,
                                     std::string_view capability_id) const {
  const auto view = backend_.view();
  if (view == nullptr) return no_registry(request);
  const auto document = view->detail(capability_id, clock_.now_ms());
  if (!document.ok()) return unknown(uri);
  RpcResult result;
  result.members = contents_of(uri, json_type, (*document)->body);
  result.ttl_ms = readiness_ttl_ms;
  return result;
}

}  // namespace turnpike::hosts::mcp

#include "catalog/view.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "catalog/agent_cards.h"
#include "catalog/capability_json.h"
#include "catalog/cursor.h"
#include "catalog/openapi.h"
#include "text/time_text.h"

namespace turnpike::catalog {

namespace {

constexpr std::size_t kept_renderings = 256;
constexpr std::size_t many_operations = 200;  // about 10 ms of rendering

constexpr std::string_view inventory_key = "inventory";
constexpr std::string_view ready_text = R"({"status":"ready"})";

// Size of a page around its entries, including the cursor.
constexpr std::size_t page_frame_bytes = 2'048;
// A page is made on a loop, so it ends, with a cursor, after this many routes were examined.
constexpr std::size_t routes_looked_at_max = 10'000;

void append_signature(std::string& signature, const ShownReadiness& shown) {
  if (shown.ready) {
    signature += '+';
  } else {
    (signature += '-').append(shown.reason) += '\0';
  }
}

// "route-" and 32 lower-case hex digits.
bool is_capability_id(std::string_view text) noexcept {
  constexpr std::string_view prefix = "route-";
  if (text.size() != prefix.size() + 32 || !text.starts_with(prefix)) return false;
  return std::all_of(text.begin() + prefix.size(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

base::Error refuse(base::ErrorCode code, std::string message) {
  base::Error error;
  error.code = code;
  error.message = std::move(message);
  return error;
}

std::string method_text(const PageRequest& request) {
  return request.method ? std::string(name_of(*request.method)) : std::string();
}

std::string searched_text(const registry::Program& program, const registry::Route& route) {
  const registry::Provider& provider = program.providers()[route.provider];
  std::string text = route.matcher.pattern + "\n" + route.summary + "\n" + provider.key + "\n" +
                     provider.name + "\n";
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool has_words(std::string_view text, std::string_view words) noexcept {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (text.find(words.substr(0, end)) == text.npos) return false;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return true;
}

}  // namespace

// The routes of one page and the cursor after it.
struct View::Selection {
  std::vector<std::uint32_t> routes;
  std::string after;
  std::string next_cursor;  // empty: the last page
};

View::View(registry::Installed installed, std::shared_ptr<const ReadinessSource> readiness,
           ViewOptions options)
    : installed_(std::move(installed)),
      readiness_(std::move(readiness)),
      options_(std::move(options)),
      free_quotas_(*installed_.program),
      inventory_(inventory_text(installed_, options_.features)),
      kept_(kept_renderings),
      kept_openapi_(1),
      kept_agent_cards_(1) {
  const registry::Program& program = *installed_.program;
  const Json head = {{"generation", generation_json(installed_.generation)},
                     {"manifest", manifest_json(installed_.generation)}};
  head_ = text_of(head);
  head_ = head_.substr(1, head_.size() - 2);  // without the braces
  for (const registry::Route& route : program.routes()) {
    const auto add_entry = [&](Texts& texts, bool shows_payments) {
      const std::string entry =
          text_of(summary_json(program, route, options_.features, shows_payments));
      texts.add(std::string_view(entry).substr(0, entry.size() - 1));  // without the brace
    };
    add_entry(entries_, false);
    if (options_.features.per_call) add_entry(entries_of_payments_, true);
    searched_.add(searched_text(program, route));
  }
}

View::~View() = default;

const View::Texts& View::entries(const PageRequest& request) const noexcept {
  return request.shows_payments && options_.features.per_call ? entries_of_payments_ : entries_;
}

std::size_t View::entry_bytes(std::uint32_t route, const PageRequest& request) const {
  const ShownReadiness shown = route_readiness(installed_.program->routes()[route], *readiness_);
  const std::size_t readiness =
      shown.ready ? ready_text.size() : text_of(readiness_json(shown)).size();
  constexpr std::size_t around = std::string_view(R"(,,"readiness":})").size();
  return entries(request).of(route).size() + readiness + around;
}

bool View::passes(std::uint32_t index, const PageRequest& request) const noexcept {
  const registry::Program& program = *installed_.program;
  const registry::Route& route = program.routes()[index];
  if (!request.provider_key.empty() &&
      program.providers()[route.provider].key != request.provider_key) {
    return false;
  }
  if (request.method && program.operation(route, *request.method) == nullptr) return false;
  return has_words(searched_.of(index), request.search);
}

Result<View::Selection, base::Error> View::select(const PageRequest& request) const {
  const registry::Program& program = *installed_.program;
  const std::string filter =
      filter_digest(request.provider_key, method_text(request), request.search);
  const CursorBinding binding = {installed_.generation.id, public_projection, filter};
  Selection selection;
  if (!request.cursor.empty()) {
    auto after = read_cursor(request.cursor, binding, options_.cursor_key);
    if (!after.ok()) return std::move(after).error();
    selection.after = *std::move(after);
  }
  const auto& routes = program.routes();
  auto route = std::upper_bound(
      routes.begin(), routes.end(), selection.after,
      [](const std::string& after, const registry::Route& entry) { return after < entry.id; });
  const auto first = route;
  const bool is_bounded = request.bytes_max != std::numeric_limits<std::size_t>::max();
  std::size_t bytes = page_frame_bytes;
  for (; route != routes.end(); ++route) {
    const auto index = static_cast<std::uint32_t>(route - routes.begin());
    const bool is_looked_at_enough =
        static_cast<std::size_t>(route - first) == routes_looked_at_max;
    if (!is_looked_at_enough && !passes(index, request)) continue;
    if (is_bounded) bytes += entry_bytes(index, request);
    const bool is_full = selection.routes.size() == request.limit ||
                         (bytes > request.bytes_max && !selection.routes.empty());
    if (is_looked_at_enough || is_full) {
      selection.next_cursor = make_cursor(binding, std::prev(route)->id, options_.cursor_key);
      break;
    }
    selection.routes.push_back(index);
  }
  return selection;
}

std::string View::page_body(const Selection& selection, const Texts& entries,
                            std::int64_t now_ms) const {
  const registry::Program& program = *installed_.program;
  std::string body = "{\"schema_version\":\"service.gateway.registry.capability-page.v5\"," +
                     head_ + ",\"projection\":\"" + std::string(public_projection) +
                     "\",\"compiled_at\":\"" + text::rfc3339(installed_.generation.compiled_at_ms) +
                     "\",\"observed_at\":\"" + text::rfc3339(now_ms) + "\",\"capabilities\":[";
  for (const std::uint32_t index : selection.routes) {
    if (index != selection.routes.front()) body += ',';
    const ShownReadiness shown = route_readiness(program.routes()[index], *readiness_);
    body += entries.of(index);
    body += ",\"readiness\":";
    body += shown.ready ? ready_text : text_of(readiness_json(shown));
    body += '}';
  }
  body += "],\"next_cursor\":";
  body += selection.next_cursor.empty() ? "null" : "\"" + selection.next_cursor + "\"";
  body += '}';
  return body;
}

Result<Document, base::Error> View::page(const PageRequest& request, std::int64_t now_ms) const {
  auto selection = select(request);
  if (!selection.ok()) return std::move(selection).error();
  std::string signature;
  for (const std::uint32_t index : selection->routes) {
    append_signature(signature, route_readiness(installed_.program->routes()[index], *readiness_));
  }
  std::string key = "page\n" + std::to_string(request.limit) + "\n" + method_text(request) + "\n" +
                    selection->after + "\n" + (request.shows_payments ? "payments" : "") + "\n" +
                    std::to_string(request.bytes_max) + "\n" + request.search + "\n" +
                    request.provider_key;
  if (Document kept = kept_.find(key, signature, now_ms)) return kept;
  Document made =
      make_rendering(page_body(*selection, entries(request), now_ms), std::move(signature), now_ms);
  kept_.store(std::move(key), made);
  return made;
}

Result<RoutePage, base::Error> View::routes(const PageRequest& request) const {
  auto selection = select(request);
  if (!selection.ok()) return std::move(selection).error();
  RoutePage page;
  for (const std::uint32_t index : selection->routes)
    page.routes.push_back(&program().routes()[index]);
  page.next_cursor = std::move(selection->next_cursor);
  return page;
}

Result<Document, base::Error> View::detail(std::string_view capability_id,
                                           std::int64_t now_ms) const {
  if (!is_capability_id(capability_id)) {
    base::Error error = refuse(base::ErrorCode::catalog_capability_id_invalid,
                               "The capability id is not well formed.");
    error.fields.push_back({"path.capability_id", "it is not route- and 32 lower-case hex digits",
                            "Copy capability_id from an entry of the catalog."});
    return error;
  }
  const registry::Program& program = *installed_.program;
  const registry::Route* route = program.find_route(capability_id);
  if (route == nullptr) {
    return refuse(base::ErrorCode::catalog_capability_not_found,
                  "No capability with this id is installed. Copy one from the catalog: "
                  "/v1/capabilities over HTTP, service.capabilities.list over MCP.");
  }
  const ShownReadiness shown = route_readiness(*route, *readiness_);
  std::string signature;
  append_signature(signature, shown);
  for (const std::uint32_t operation : route->operations) {
    append_signature(signature, payment_readiness(operation, *readiness_));
  }
  if (Document kept = kept_.find(capability_id, signature, now_ms)) return kept;
  const Json capability = capability_json(program, *route, options_.features, *readiness_);
  std::string body = "{\"schema_version\":\"service.gateway.registry.capability-detail.v5\"," +
                     head_ + ",\"compiled_at\":\"" +
                     text::rfc3339(installed_.generation.compiled_at_ms) + "\",\"observed_at\":\"" +
                     text::rfc3339(now_ms) + "\",\"capability\":" + text_of(capability) + "}";
  Document made = make_rendering(std::move(body), std::move(signature), now_ms);
  kept_.store(std::string(capability_id), made);
  return made;
}

Result<Document, base::Error> View::inventory(std::int64_t now_ms) const {
  if (!inventory_.ok()) return inventory_.error();
  if (Document kept = kept_.find(inventory_key, {}, now_ms)) return kept;
  Document made = make_rendering(
      inventory_->before_observed_at + text::rfc3339(now_ms) + inventory_->after_observed_at, {},
      now_ms);
  kept_.store(std::string(inventory_key), made);
  return made;
}

std::string View::callable_signature() const {
  std::string signature;
  signature.reserve(installed_.program->operations().size());
  for (const registry::Route& route : installed_.program->routes()) {
    for (const std::uint32_t operation : route.operations) {
      signature +=
          is_callable(program(), program().operations()[operation], *readiness_) ? '+' : '-';
    }
  }
  return signature;
}

Document View::kept_openapi() const { return kept_openapi_.find({}, callable_signature(), 0); }

Document View::render_openapi() const {
  std::string signature = callable_signature();
  Document made = make_rendering(
      openapi_text({*installed_.program, installed_.generation, *readiness_, options_.openapi_frame,
                    options_.service_name, options_.base_url, options_.features,
                    options_.http_status}),
      std::move(signature), std::nullopt);
  kept_openapi_.store({}, made);
  return made;
}

Document View::kept_agent_cards() const {
  return kept_agent_cards_.find({}, callable_signature(), 0);
}

Document View::render_agent_cards() const {
  std::string signature = callable_signature();
  Document made =
      make_rendering(agent_cards_text({.program = *installed_.program,
                                       .generation = installed_.generation,
                                       .readiness = *readiness_,
                                       .features = options_.features,
                                       .service_name = options_.service_name,
                                       .api_url = options_.base_url,
                                       .mcp_url = options_.mcp_url,
                                       .web_url = options_.web_url}),
                     std::move(signature), std::nullopt);
  kept_agent_cards_.store({}, made);
  return made;
}

bool View::has_many_operations() const noexcept {
  return installed_.program->operations().size() > many_operations;
}

}  // namespace turnpike::catalog

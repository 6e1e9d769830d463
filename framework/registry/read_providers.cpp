#include "registry/read_providers.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/limits.h"
#include "registry/pattern.h"
#include "registry/read_listing.h"
#include "registry/read_monitoring.h"
#include "registry/read_policies.h"
#include "registry/read_schemas.h"

namespace turnpike::registry {
namespace {

namespace limits = base::limits;

constexpr Bounds revision_bounds{1, std::numeric_limits<std::int32_t>::max()};
constexpr Bounds deadline_bounds{1, limits::upstream_deadline_ms_max};

std::uint32_t read_revision(const Cursor& map) {
  const auto revision = map.find("revision");
  if (!revision) return 1;
  return static_cast<std::uint32_t>(revision->integer(revision_bounds).value_or(1));
}

std::uint32_t read_deadline(const Cursor& map, std::uint32_t fallback) {
  const auto deadline = map.find("deadline_ms");
  if (!deadline) return fallback;
  return static_cast<std::uint32_t>(deadline->integer(deadline_bounds).value_or(fallback));
}

// The provider of this file, defined here or named. Null after a reported problem.
DraftProvider* provider_of(const Cursor& root, Draft& draft) {
  const auto provider = root.find("provider");
  if (!provider) {
    root.report(Rule::no_provider);
    return nullptr;
  }
  const std::uint32_t* found = nullptr;
  if (provider->kind() == NodeKind::map) {
    const auto key = provider->find("key");
    if (key) found = draft.providers.find(std::string(key->raw_text()));
  } else {
    found = draft.providers.resolve(*provider, "provider");
  }
  return found == nullptr ? nullptr : &draft.providers.entries()[*found].value;
}

// ---- headers ------------------------------------------------------------------------------------

// Credentials, and fields that the gateway sets itself; those on framing are refused besides.
constexpr std::string_view never_forwarded[] = {"accept-encoding",
                                                "authorization",
                                                "content-type",
                                                "cookie",
                                                "expect",
                                                "host",
                                                "if-match",
                                                "if-modified-since",
                                                "if-none-match",
                                                "if-range",
                                                "if-unmodified-since",
                                                "proxy-authenticate",
                                                "proxy-authorization",
                                                "range",
                                                "x-service-api-key"};
constexpr std::string_view never_passed_back[] = {
    "content-type",        "date",       "location",         "proxy-authenticate",
    "proxy-authorization", "ratelimit",  "ratelimit-policy", "server",
    "server-timing",       "set-cookie", "www-authenticate", "x-request-id"};

// `lanes`: the headers of the lane with terms.
std::vector<std::string> read_headers(const Cursor& list, std::span<const std::string_view> refused,
                                      std::span<const std::string_view> lanes,
                                      std::string_view purpose) {
  std::vector<std::string> names;
  if (!list.list_of(limits::request_header_fields_max, "a list of header names")) return names;
  for (const Cursor& item : list.items()) {
    const auto text = item.text(1, 64);
    if (!text) continue;
    std::string name(*text);
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") != name.npos) {
      item.report(Rule::bad_name, {*text, "the name of a header: letters, digits, - and _"});
    } else if (is_framing_field(name) || std::binary_search(refused.begin(), refused.end(), name) ||
               std::find(lanes.begin(), lanes.end(), name) != lanes.end() ||
               name.starts_with("turnpike-")) {
      item.report(Rule::header_refused, {name, purpose});
    } else if (const auto at = std::lower_bound(names.begin(), names.end(), name);
               at != names.end() && *at == name) {
      item.report(Rule::duplicate_item, {name});
    } else {
      names.insert(at, std::move(name));
    }
  }
  return names;
}

// ---- terms of a route, or its file's defaults -------------------------------------------------

// The members that `defaults` and routes have in common. Prices are per method.
struct Terms {
  std::optional<std::uint32_t> upstream;
  std::vector<Method> methods = {Method::get};
  std::optional<std::uint32_t> prices[2];  // no_node: pricing_unavailable
  std::optional<std::uint32_t> free_policy;
  std::shared_ptr<const QueryPolicy> query;
  std::shared_ptr<const BodyPolicy> body;
  bool body_stated = false;
  std::shared_ptr<const ResponsePolicy> response;
  bool credential_required = false;
  bool enforce_declared = false;
  NoCharges no_charge_when;
  std::uint32_t policy = 0;  // of the lane with terms
  std::optional<std::uint32_t> deadline_ms;
  MonitoringDraft monitoring;
  std::shared_ptr<const ReplySchema> reply_schema, error_schema;
  std::vector<std::string> forwarded_headers;
  std::vector<std::string> allowed_response_headers;
};

constexpr std::size_t slot_of(Method method) noexcept { return static_cast<std::size_t>(method); }

std::optional<Method> read_method(const Cursor& item) {
  constexpr std::string_view methods[] = {"GET", "POST"};
  const auto method = item.one_of(methods);
  if (!method) return std::nullopt;
  return *method == 0 ? Method::get : Method::post;
}

// A list of methods or, in a route, a map from methods to their own definitions.
void read_methods(const Cursor& list, Terms& terms) {
  if (list.kind() == NodeKind::map) {
    if (!list.map_of({"GET", "POST"})) return;
    terms.methods.clear();
    if (list.find("GET")) terms.methods.push_back(Method::get);
    if (list.find("POST")) terms.methods.push_back(Method::post);
    if (terms.methods.empty()) {
      list.report(Rule::empty_list);
      terms.methods = {Method::get};
    }
    return;
  }
  if (!list.expect(NodeKind::list, "a list of methods, or a map from methods to definitions")) {
    return;
  }
  std::vector<Method> methods;
  const std::vector<Cursor> items = list.items();
  if (items.empty()) list.report(Rule::empty_list);
  for (const Cursor& item : items) {
    const auto method = read_method(item);
    if (!method) continue;
    if (std::find(methods.begin(), methods.end(), *method) != methods.end()) {
      item.report(Rule::duplicate_item, {item.raw_text()});
    } else {
      methods.push_back(*method);
    }
  }
  std::sort(methods.begin(), methods.end());
  if (!methods.empty()) terms.methods = std::move(methods);
}

std::optional<std::uint32_t> read_price_name(const Cursor& value, const Draft& draft) {
  if (value.kind() == NodeKind::scalar && value.raw_text() == "unavailable") return no_node;
  const std::uint32_t* found = draft.prices.resolve(value, "price policy");
  return found == nullptr ? no_node : *found;
}

// One name for all methods, or a map from methods to names.
void read_price_terms(const Cursor& value, const Draft& draft, Terms& terms) {
  if (value.kind() != NodeKind::map) {
    terms.prices[0] = terms.prices[1] = read_price_name(value, draft);
    return;
  }
  if (!value.map_of({"GET", "POST"})) return;
  terms.prices[0] = terms.prices[1] = std::nullopt;
  for (const Cursor& field : value.fields()) {
    const Method method = field.key() == "POST" ? Method::post : Method::get;
    if (std::find(terms.methods.begin(), terms.methods.end(), method) == terms.methods.end()) {
      field.report_key(Rule::method_unlisted, {field.key()});
    }
    terms.prices[slot_of(method)] = read_price_name(field, draft);
  }
}

void read_free(const Cursor& value, const Draft& draft, Terms& terms) {
  if (value.kind() == NodeKind::scalar && value.raw_text() == "none") {
    terms.free_policy.reset();
    return;
  }
  const std::uint32_t* found = draft.free_policies.resolve(value, "free policy");
  if (found != nullptr) terms.free_policy = *found;
}

void read_upstream_name(const Cursor& value, const DraftProvider& provider, const Draft& draft,
                        Terms& terms) {
  if (!value.expect(NodeKind::scalar, "the name of an upstream")) return;
  const std::uint32_t* found = draft.upstreams.find(std::string(value.raw_text()));
  if (found != nullptr &&
      std::binary_search(provider.upstreams.begin(), provider.upstreams.end(), *found)) {
    terms.upstream = *found;
    return;
  }
  std::vector<std::string_view> names;
  if (!value.problems().full()) {
    for (const std::uint32_t index : provider.upstreams) {
      names.push_back(draft.upstreams.entries()[index].name);
    }
  }
  terms.upstream = no_node;  // reported; avoids a second report of a missing upstream
  value.report(Rule::unknown_reference, {"upstream of this provider", value.raw_text(),
                                         suggestion(value.raw_text(), names)});
}

void read_flags(const Cursor& map, const LaneTraits& lane, Terms& terms) {
  if (const auto required = map.find("credential_required")) {
    terms.credential_required = required->boolean().value_or(false);
  }
  if (const auto enforcement = map.find("enforcement")) {
    constexpr std::string_view choices[] = {"none", "declared"};
    terms.enforce_declared = enforcement->one_of(choices).value_or(0) == 1;
  }
  if (const auto headers = map.find("forwarded_headers")) {
    terms.forwarded_headers =
        read_headers(*headers, never_forwarded, lane.reserved_headers, "forwarded");
  }
  if (const auto headers = map.find("allowed_response_headers")) {
    terms.allowed_response_headers =
        read_headers(*headers, never_passed_back, lane.reserved_headers, "passed back");
  }
}

// Members that may be defined per method as well as elsewhere.
void read_own_terms(const Cursor& map, Draft& draft, Terms& terms) {
  if (const auto value = map.find("no_charge_when")) terms.no_charge_when = read_no_charge(*value);
  if (const auto value = map.find("query")) terms.query = read_query(*value, draft);
  if (const auto value = map.find("body")) {
    terms.body = read_body(*value, draft);
    terms.body_stated = true;
  }
  if (const auto value = map.find("response")) terms.response = read_response(*value, draft);
  if (const auto value = map.find("reply_schema")) {
    terms.reply_schema = resolve_reply_schema(*value, draft);
  }
  if (const auto value = map.find("error_schema")) {
    terms.error_schema = resolve_reply_schema(*value, draft);
  }
  if (map.find("deadline_ms")) {
    terms.deadline_ms = read_deadline(map, limits::upstream_deadline_ms);
  }
  if (const auto value = map.find("monitoring")) read_monitoring(*value, terms.monitoring);
}

// The policy of the lane with terms in `map`, or `before` if there is none.
std::uint32_t policy_in(const Cursor& map, const LaneDraft& lane, std::uint32_t before) {
  const auto value = lane.word.empty() ? std::nullopt : map.find(lane.word);
  const auto found = value ? lane.policy_at.find(&value->node()) : lane.policy_at.end();
  return found == lane.policy_at.end() ? before : found->second;
}

void read_terms(const Cursor& map, const DraftProvider& provider, const LaneTraits& lane,
                Draft& draft, Terms& terms) {
  if (const auto value = map.find("upstream")) read_upstream_name(*value, provider, draft, terms);
  if (const auto value = map.find("methods")) read_methods(*value, terms);
  if (const auto value = map.find("price")) read_price_terms(*value, draft, terms);
  if (const auto value = map.find("free")) read_free(*value, draft, terms);
  terms.policy = policy_in(map, draft.lane, terms.policy);
  read_own_terms(map, draft, terms);
  read_flags(map, lane, terms);
}

// ---- one route ----------------------------------------------------------------------------------

bool takes(const Terms& terms, Method method) {
  return std::find(terms.methods.begin(), terms.methods.end(), method) != terms.methods.end();
}

// One method of a route: the route's terms, overridden by those under the method.
struct MethodTerms {
  Method method;
  Terms terms;
  std::optional<std::string> summary;
  Cursor where;         // the method's own definition, or the route
  bool is_own = false;  // `where` is the method's own definition
};

std::optional<std::string> read_summary(const Cursor& map) {
  constexpr std::size_t summary_bytes_max = 200;
  const auto summary = map.find("summary");
  const auto text = summary ? summary->text(0, summary_bytes_max) : std::nullopt;
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

// `section` is the route's `methods`, if present; it must outlive the result.
std::vector<MethodTerms> read_method_terms(const Cursor& item, const Cursor* section,
                                           const Terms& terms, Draft& draft) {
  std::vector<MethodTerms> methods;
  for (const Method method : terms.methods) {
    methods.push_back({method, terms, std::nullopt, item});
  }
  if (section == nullptr || section->kind() != NodeKind::map) return methods;
  for (MethodTerms& entry : methods) {
    const auto field = section->find(name_of(entry.method));
    if (!field || field->kind() == NodeKind::null) continue;
    const bool is_known = entry.method == Method::post
                              ? field->map_of({"summary", "price", "no_charge_when", "query",
                                               "body", "response", "reply_schema", "error_schema",
                                               "deadline_ms", "monitoring"})
                              : field->map_of({"summary", "price", "no_charge_when", "query",
                                               "response", "reply_schema", "error_schema",
                                               "deadline_ms", "monitoring"});
    if (!is_known) continue;
    if (const auto price = field->find("price")) {
      entry.terms.prices[slot_of(entry.method)] = read_price_name(*price, draft);
    }
    read_own_terms(*field, draft, entry.terms);
    entry.summary = read_summary(*field);
    entry.where = *field;
    entry.is_own = true;
  }
  return methods;
}

void check_body_stated(const Cursor& item, const Terms& terms,
                       const std::vector<MethodTerms>& methods) {
  if (takes(terms, Method::post)) {
    if (!methods.back().terms.body_stated) item.report(Rule::body_undeclared);
  } else if (const auto body = item.find("body"); body && !terms.body->forbidden) {
    body->report(Rule::body_without_post);
  }
}

void take_prices(const Cursor& item, const std::vector<MethodTerms>& methods,
                 DraftRoute& draft_route) {
  bool any_priced = false;
  for (std::size_t at = 0; at < methods.size(); ++at) {
    const MethodTerms& entry = methods[at];
    const std::optional<std::uint32_t> price = entry.terms.prices[slot_of(entry.method)];
    if (!price) item.report(Rule::method_unpriced, {name_of(entry.method)});
    draft_route.operations[at].price = price.value_or(no_node);
    const bool is_priced = !price || *price != no_node;
    any_priced = any_priced || is_priced;
    const auto conditions = entry.where.find("no_charge_when");
    if (entry.is_own && conditions && !is_priced) {
      conditions->report_key(Rule::no_charge_without_price);
    }
  }
  if (methods.front().terms.free_policy && !any_priced) {
    (item.find("free") ? *item.find("free") : item).report(Rule::free_without_price);
  }
  if (const auto conditions = item.find("no_charge_when"); conditions && !any_priced) {
    conditions->report_key(Rule::no_charge_without_price);
  }
}

// A lane that buffers whole replies needs a bound that fits the buffer: returns false, after a
// report, if the stated bound is larger.
bool is_reply_kept(const MethodTerms& entry, const Draft& draft, std::uint32_t price) {
  if (price == no_node || !draft.lane_terms || !draft.lane_terms->traits.buffer_whole) return true;
  const Price& of_call = draft.prices.entries()[price].value;
  const std::uint64_t bytes_max = entry.terms.response->max_bytes;
  const bool is_stated = bytes_max != limits::response_bytes_max;
  if (entry.terms.credential_required || !is_stated ||
      bytes_max <= limits::response_whole_bytes_max || of_call.terms == nullptr ||
      !of_call.terms->is_offered) {
    return true;
  }
  const auto response = entry.where.find("response");
  (response ? *response : entry.where)
      .report(Rule::reply_too_long_to_keep, {of_call.policy_key, of_call.terms->lane,
                                             std::to_string(limits::response_whole_bytes_max)});
  return false;
}

void take_upstream(const Cursor& item, const DraftProvider& provider, const Terms& terms,
                   Route& route) {
  if (terms.upstream) {
    route.upstream = *terms.upstream;
  } else if (provider.upstreams.size() == 1) {
    route.upstream = provider.upstreams.front();
  } else {
    route.upstream = no_node;
    item.report(Rule::missing_key,
                {"upstream", "the provider has " + std::to_string(provider.upstreams.size()) +
                                 " upstreams, name the one to use"});
  }
}

std::uint32_t deadline_of(const Terms& terms, const Route& route, const Draft& draft) {
  if (terms.deadline_ms) return *terms.deadline_ms;
  if (route.upstream == no_node) return limits::upstream_deadline_ms;
  return draft.upstreams.entries()[route.upstream].value.deadline_ms;
}

bool is_permit_long(const MethodTerms& entry, const Draft& draft, std::uint32_t deadline_ms) {
  if (!entry.terms.free_policy) return true;
  const FreePolicy& policy = draft.free_policies.entries()[*entry.terms.free_policy].value;
  const std::uint64_t permit_ms = std::uint64_t{policy.permit_ttl_seconds} * 1000;
  if (permit_ms > deadline_ms) return true;
  entry.where.report(Rule::permit_too_short,
                     {policy.policy_key, std::to_string(permit_ms), std::to_string(deadline_ms)});
  return false;
}

Readiness read_readiness(const Cursor& value) {
  Readiness readiness;
  if (!value.map_of({"status", "reason"})) return readiness;
  constexpr std::size_t reason_bytes_max = 300;
  constexpr std::string_view states[] = {"ready", "blocked"};
  const auto status = value.need("status", "ready or blocked");
  if (status) readiness.ready = status->one_of(states).value_or(0) == 0;
  const auto reason = value.find("reason");
  if (readiness.ready) {
    if (reason) reason->report_key(Rule::reason_misplaced);
  } else if (!reason) {
    value.report(Rule::reason_missing);
  } else {
    readiness.reason = reason->text(1, reason_bytes_max).value_or("");
  }
  return readiness;
}

void read_slashes(const Cursor& list, Matcher& matcher) {
  if (!list.expect(NodeKind::list, "a list of path parameters")) return;
  for (const Cursor& item : list.items()) {
    const auto text = item.text(1, 64);
    if (!text) continue;
    const auto segment = std::find_if(
        matcher.segments.begin(), matcher.segments.end(),
        [&](const Segment& known) { return known.is_parameter && known.text == *text; });
    if (segment == matcher.segments.end()) {
      item.report(Rule::not_in_path, {*text});
    } else {
      segment->allows_slash = true;
    }
  }
}

// A path below the provider's base path; an empty path is the base path itself.
std::optional<Matcher> read_path(const Cursor& item, const DraftProvider& provider) {
  const auto field = item.need("path", "the path below the provider's base_path");
  const auto text = field ? field->text(0, limits::request_path_bytes_max) : std::nullopt;
  if (!text || provider.base_path.empty()) return std::nullopt;
  if (text->starts_with(gateway_prefix)) {
    field->report(Rule::path_relative, {provider.base_path});
    return std::nullopt;
  }
  if (!text->empty() && text->front() != '/') {
    field->report(Rule::path_shape, {"no leading slash", *text});
    return std::nullopt;
  }
  auto matcher = read_pattern(provider.base_path + std::string(*text), *field);
  const auto slashes = item.find("allow_slash");
  if (matcher && slashes) read_slashes(*slashes, *matcher);
  const auto types = item.find("path_parameters");
  if (matcher && types) read_path_parameters(*types, *matcher);
  return matcher;
}

// Reports a fault of the route's own monitoring once, not per method. `matcher` is null if the path
// is invalid; then no sample is checked.
void take_monitoring(const Matcher* matcher, const std::vector<MethodTerms>& methods, Draft& draft,
                     const Cursor& item, DraftRoute& entry) {
  const MonitoringDraft* refused = nullptr;
  for (std::size_t at = 0; at < methods.size(); ++at) {
    const MethodTerms& from = methods[at];
    DraftOperation& into = entry.operations[at];
    into.operation.monitoring = draft.unmonitored;
    const MonitoringDraft& stated = from.terms.monitoring;
    if (matcher == nullptr || !stated.is_stated) continue;
    const auto& body = methods.back().terms.body;
    if (from.terms.query == nullptr || body == nullptr) continue;  // already reported
    if (refused != nullptr && refused->path == stated.path) continue;
    auto monitoring = monitoring_of(stated, {from.method, *matcher, *from.terms.query, *body},
                                    item.problems());
    if (!monitoring) {
      refused = &stated;
      continue;
    }
    if (!monitoring->sample.path.empty()) {
      into.sample_place = stated.place;
      into.sample_path = stated.path;
    }
    into.operation.monitoring = draft.shared_monitoring.of(*std::move(monitoring));
  }
}

void take_operations(const Cursor& item, std::vector<MethodTerms> methods, const Matcher* matcher,
                     Draft& draft, DraftRoute& entry) {
  Route& route = entry.route;
  entry.operations.resize(methods.size());
  take_prices(item, methods, entry);
  take_monitoring(matcher, methods, draft, item, entry);
  // Faults of terms that the route states for all methods are reported once.
  bool permits_are_long = true;
  bool replies_are_kept = true;
  for (std::size_t at = 0; at < methods.size(); ++at) {
    MethodTerms& from = methods[at];
    Operation& operation = entry.operations[at].operation;
    operation.method = from.method;
    operation.deadline_ms = deadline_of(from.terms, route, draft);
    if (from.is_own || permits_are_long) {
      permits_are_long = is_permit_long(from, draft, operation.deadline_ms);
    }
    if (from.is_own || replies_are_kept) {
      replies_are_kept = is_reply_kept(from, draft, entry.operations[at].price);
    }
    operation.summary = from.summary.value_or(route.summary);
    operation.query = std::move(from.terms.query);
    operation.response = std::move(from.terms.response);
    operation.reply_schema = std::move(from.terms.reply_schema);
    operation.error_schema = std::move(from.terms.error_schema);
    operation.own_no_charge_when = std::move(from.terms.no_charge_when);
    if (from.method == Method::post) route.body = std::move(from.terms.body);
  }
  // Lists of routes need a summary: that of the first method is better than none.
  if (route.summary.empty()) route.summary = entry.operations.front().operation.summary;
}

void read_route(const Cursor& item, std::span<const Source> sources, const Terms& defaults,
                std::uint32_t provider_index, const LaneTraits& lane, Draft& draft) {
  if (!item.map_of({"path",
                    "revision",
                    "summary",
                    "upstream",
                    "methods",
                    "price",
                    "free",
                    "query",
                    "body",
                    "response",
                    "reply_schema",
                    "error_schema",
                    "credential_required",
                    "enforcement",
                    "readiness",
                    "no_charge_when",
                    "deadline_ms",
                    "monitoring",
                    "forwarded_headers",
                    "allowed_response_headers",
                    "allow_slash",
                    "path_parameters",
                    "upstream_settings"},
                   draft.lane.word)) {
    return;
  }
  const DraftProvider& provider = draft.providers.entries()[provider_index].value;
  DraftRoute entry;
  Route& route = entry.route;
  auto matcher = read_path(item, provider);
  Terms terms = defaults;
  read_terms(item, provider, lane, draft, terms);
  const auto section = item.find("methods");
  std::vector<MethodTerms> methods =
      read_method_terms(item, section ? &*section : nullptr, terms, draft);
  check_body_stated(item, terms, methods);
  take_upstream(item, provider, terms, route);
  route.revision = read_revision(item);
  route.provider = provider_index;
  route.summary = read_summary(item).value_or("");
  if (const auto readiness = item.find("readiness")) route.readiness = read_readiness(*readiness);
  if (const auto settings = item.find("upstream_settings")) {
    if (auto read = read_settings(*settings, sources)) {
      route.upstream_settings = std::make_shared<const Settings>(std::move(*read));
    }
  }
  route.body = terms.body;
  take_operations(item, std::move(methods), matcher ? &*matcher : nullptr, draft, entry);
  route.methods = std::move(terms.methods);
  route.policy = terms.policy;
  route.credential_required = terms.credential_required;
  route.enforce_declared = terms.enforce_declared;
  route.free_policy = terms.free_policy;
  route.forwarded_headers = std::move(terms.forwarded_headers);
  route.allowed_response_headers = std::move(terms.allowed_response_headers);
  if (!matcher) return;
  route.matcher = std::move(*matcher);
  route.id = route_id_of(provider.provider.key, route.matcher);
  entry.place = item.place();
  entry.index = item.index();
  draft.routes.push_back(std::move(entry));
}

Terms initial_terms(Draft& draft) {
  Terms terms;
  QueryPolicy deny;
  deny.max_encoded_bytes = limits::declared_query_bytes_max;
  terms.query = draft.shared_query.of(std::move(deny));
  terms.body = draft.shared_body.of(BodyPolicy());
  terms.response = draft.shared_response.of(default_response());
  return terms;
}

}  // namespace

void read_provider(const Cursor& root, Draft& draft) {
  const auto section = root.find("provider");
  if (!section || section->kind() != NodeKind::map) return;  // a name is resolved later
  if (!section->map_of({"key", "id", "name", "revision", "base_path", "listing"})) return;
  DraftProvider entry;
  const auto key_field = section->need("key", "the name that callers filter by");
  const auto name_field = section->need("name", "the name for people");
  const auto key = key_field ? key_field->name() : std::nullopt;
  constexpr std::size_t name_bytes_max = 100;
  if (name_field) entry.provider.name = name_field->text(1, name_bytes_max).value_or("");
  entry.provider.revision = read_revision(*section);
  const auto listing = section->find("listing");
  if (listing) entry.provider.listing = read_listing(*listing);
  if (!key) return;
  entry.provider.key = *key;
  entry.provider.id = *key;
  if (const auto id = section->find("id")) entry.provider.id = id->name().value_or(*key);
  entry.base_path = std::string(gateway_prefix) + *key;
  if (const auto base = section->find("base_path")) {
    const auto text = base->text(1, limits::request_path_bytes_max);
    const auto matcher = text ? read_pattern(*text, *base) : std::nullopt;
    entry.base_path = matcher ? std::string(*text) : std::string();
  }
  for (const auto& known : draft.providers.entries()) {
    if (known.value.provider.id != entry.provider.id || known.name == *key) continue;
    section->report(Rule::duplicate_definition,
                    {"provider id", entry.provider.id, section->problems().text_of(known.place)});
  }
  draft.providers.add(*key, std::move(entry), "provider", *section);
}

void read_upstreams(const Cursor& root, std::span<const Source> sources,
                    std::span<const std::string> plugins, Draft& draft) {
  const auto section = root.find("upstreams");
  if (!section) return;
  DraftProvider* provider = provider_of(root, draft);
  if (provider == nullptr || !section->expect(NodeKind::map, "a map from names to upstreams")) {
    return;
  }
  const std::uint32_t* provider_index = draft.providers.find(provider->provider.key);
  for (const Cursor& field : section->fields()) {
    auto id = field.key_name();
    Upstream upstream;
    upstream.deadline_ms = limits::upstream_deadline_ms;
    upstream.settings.kind = Settings::Kind::map;
    upstream.provider = *provider_index;
    if (field.map_of({"revision", "plugin", "deadline_ms", "probe", "settings"})) {
      upstream.revision = read_revision(field);
      upstream.deadline_ms = read_deadline(field, limits::upstream_deadline_ms);
      const auto plugin = field.need("plugin", "the name of a provider plugin");
      if (plugin) upstream.plugin = plugin->name().value_or("");
      if (plugin && !plugins.empty() && !upstream.plugin.empty() &&
          std::find(plugins.begin(), plugins.end(), upstream.plugin) == plugins.end()) {
        const std::vector<std::string_view> names(plugins.begin(), plugins.end());
        plugin->report(Rule::unknown_plugin, {upstream.plugin, suggestion(upstream.plugin, names)});
      }
      if (const auto probe = field.find("probe")) upstream.probe = read_probe(*probe);
      if (const auto settings = field.find("settings")) {
        upstream.settings = read_settings(*settings, sources).value_or(Settings());
      }
    }
    if (!id) continue;
    upstream.id = *id;
    if (draft.upstreams.add(std::move(*id), std::move(upstream), "upstream", field)) {
      provider->upstreams.push_back(
          static_cast<std::uint32_t>(draft.upstreams.entries().size() - 1));
    }
  }
}

void read_routes(const Cursor& root, std::span<const Source> sources, const LaneTraits& lane,
                 Draft& draft) {
  const auto section = root.find("routes");
  const auto defaults = root.find("defaults");
  if (!section && !defaults) return;
  const DraftProvider* provider = provider_of(root, draft);
  if (provider == nullptr) return;
  const std::uint32_t provider_index = *draft.providers.find(provider->provider.key);
  Terms terms = initial_terms(draft);
  if (defaults &&
      defaults->map_of({"upstream", "methods", "price", "free", "query", "body", "response",
                        "error_schema", "credential_required", "enforcement", "no_charge_when",
                        "deadline_ms", "monitoring", "forwarded_headers",
                        "allowed_response_headers"},
                       draft.lane.word)) {
    const auto methods = defaults->find("methods");
    if (methods && methods->kind() == NodeKind::map) {
      (void)methods->expect(NodeKind::list, "a list of methods");
    }
    read_terms(*defaults, *provider, lane, draft, terms);
  }
  if (!section || !section->expect(NodeKind::list, "a list of routes")) return;
  for (const Cursor& item : section->items()) {
    read_route(item, sources, terms, provider_index, lane, draft);
  }
}

}  // namespace turnpike::registry

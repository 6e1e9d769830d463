#include "registry/canonical.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "crypto/digest.h"
#include "registry/reader.h"
#include "text/canonical_json.h"

namespace turnpike::registry {
namespace {

// A member that belongs to a lane, under the lane's name.
struct LaneMember {
  std::string name;
  std::string_view text;  // canonical
};
using LaneMembers = std::vector<LaneMember>;

// Writes one object; keys must come in canonical order, which for our names is byte order. Members
// of lanes, in the same order, are merged in between.
class Object {
 public:
  explicit Object(std::string& out, LaneMembers lane = {}) : out_(out), lane_(std::move(lane)) {
    out_.push_back('{');
  }

  std::string& key(std::string_view name) {
    while (written_ < lane_.size() && lane_[written_].name < name) write_member();
    return write_key(name);
  }
  void text(std::string_view name, std::string_view value) {
    text::append_canonical_string(key(name), value);
  }
  void number(std::string_view name, std::uint64_t value) {
    text::append_canonical_integer(key(name), static_cast<std::int64_t>(value));
  }
  void flag(std::string_view name, bool value) { key(name).append(value ? "true" : "false"); }
  template <class Part>
  void part(std::string_view name, const Part& value) {
    append_canonical(key(name), value);
  }
  void end() {
    while (written_ < lane_.size()) write_member();
    out_.push_back('}');
  }

 private:
  void write_member() {
    const LaneMember& member = lane_[written_++];
    write_key(member.name).append(member.text);
  }
  std::string& write_key(std::string_view name) {
    assert(last_.empty() || last_ < name);
    if (!last_.empty()) out_.push_back(',');
    last_ = name;
    out_.push_back('"');
    out_.append(name).append("\":");
    return out_;
  }

  std::string& out_;
  std::string_view last_;
  const LaneMembers lane_;
  std::size_t written_ = 0;  // number of lane members written
};

template <class Items, class Write>
void append_list(std::string& out, const Items& items, Write write) {
  out.push_back('[');
  bool first = true;
  for (const auto& item : items) {
    if (!std::exchange(first, false)) out.push_back(',');
    write(item);
  }
  out.push_back(']');
}

void append_texts(std::string& out, const std::vector<std::string>& texts) {
  append_list(out, texts,
              [&](const std::string& text) { text::append_canonical_string(out, text); });
}

template <class Number>
void append_numbers(std::string& out, const std::vector<Number>& numbers) {
  append_list(out, numbers, [&](Number number) {
    text::append_canonical_integer(out, static_cast<std::int64_t>(number));
  });
}

void append_constraint(std::string& out, const StringConstraint& constraint) {
  Object object(out);
  append_texts(object.key("allowed_values"), constraint.allowed_values);
  object.text("kind", "string");
  object.number("max_bytes", constraint.max_bytes);
  object.number("min_bytes", constraint.min_bytes);
  object.end();
}

void append_constraint(std::string& out, const IntegerConstraint& constraint) {
  Object object(out);
  append_numbers(object.key("allowed_values"), constraint.allowed_values);
  object.text("kind", "integer");
  text::append_canonical_integer(object.key("maximum"), constraint.maximum);
  text::append_canonical_integer(object.key("minimum"), constraint.minimum);
  object.end();
}

void append_constraint(std::string& out, const BooleanConstraint&) {
  Object object(out);
  object.text("kind", "boolean");
  object.end();
}

void append_constraint(std::string& out, const CommaListConstraint& constraint) {
  Object object(out);
  append_texts(object.key("allowed_values"), constraint.allowed_values);
  object.text("kind", "comma_delimited_enum");
  object.number("max_items", constraint.max_items);
  object.number("min_items", constraint.min_items);
  object.flag("unique", constraint.unique);
  object.end();
}

void append_constraint(std::string& out, const NumberConstraint& constraint) {
  Object object(out);
  object.text("kind", "number");
  text::append_canonical_number(object.key("maximum"), constraint.maximum);
  text::append_canonical_number(object.key("minimum"), constraint.minimum);
  object.end();
}

void append_constraint(std::string& out, const Constraint& constraint) {
  std::visit([&](const auto& kind) { append_constraint(out, kind); }, constraint);
}

void append_parameter(std::string& out, const QueryParameter& parameter) {
  Object object(out);
  object.text("name", parameter.name);
  object.text("presence", parameter.required ? "required" : "optional");
  append_constraint(object.key("value"), parameter.constraint);
  object.end();
}

void append_rule(std::string& out, const QueryRule& rule) {
  Object object(out);
  if (const auto* any = std::get_if<AtLeastOne>(&rule)) {
    object.text("kind", "at_least_one");
    append_texts(object.key("parameters"), any->parameters);
  } else {
    const auto& comparison = std::get<IntegerComparison>(rule);
    object.text("kind", "integer_comparison");
    object.text("left", comparison.left);
    object.text("operator", "less_than");
    object.text("right", comparison.right);
  }
  object.end();
}

void append_window(std::string& out, const Window& window) {
  Object object(out);
  object.number("limit", window.limit);
  object.number("seconds", window.seconds);
  object.end();
}

void append_no_charge(std::string& out, const NoCharges& conditions) {
  append_list(out, conditions,
              [&](const NoCharge& condition) { append_canonical(out, condition); });
}

void append_price(std::string& out, const Price& price, bool whole) {
  LaneMembers members;
  if (const LanePrice* const terms = price.terms.get()) {
    if (whole) members.push_back({terms->lane + "_enabled", terms->is_offered ? "true" : "false"});
    members.push_back({terms->lane + "_terms", whole ? terms->canonical : terms->definition});
  }
  Object object(out, std::move(members));
  object.number("credit_cost", price.credit_cost);
  append_no_charge(object.key("no_charge_when"), price.no_charge_when);
  object.text("policy_key", price.policy_key);
  object.number("version", price.version);
  object.end();
}

void append_billing(std::string& out, const Program& program, const Route& route) {
  Object object(out);
  for (const std::uint32_t index : route.operations) {
    const Operation& operation = program.operations()[index];
    Object billing(object.key(name_of(operation.method)));
    if (operation.price) {
      billing.text("mode", "service_priced");
      billing.text("price_policy_key", program.prices()[*operation.price].policy_key);
    } else {
      billing.text("mode", "pricing_unavailable");
    }
    billing.end();
  }
  object.end();
}

void append_segments(std::string& out, const Matcher& matcher) {
  append_list(out, matcher.segments, [&](const Segment& segment) {
    Object object(out);
    if (segment.is_parameter) {
      object.flag("allows_slash", segment.allows_slash);
      object.text("parameter", segment.text);
      if (segment.constraint) append_constraint(object.key("value"), *segment.constraint);
    } else {
      object.text("literal", segment.text);
    }
    object.end();
  });
}

void append_readiness(std::string& out, const Readiness& readiness) {
  Object object(out);
  if (!readiness.ready) object.text("reason", readiness.reason);
  object.text("status", readiness.ready ? "ready" : "blocked");
  object.end();
}

// Only if the policy differs from the default, so that routes without a policy keep their hash.
LaneMembers policy_of(const Program& program, const Route& route) {
  const LaneTerms* const terms = program.lane_terms();
  if (terms == nullptr || terms->policies[route.policy].canonical.empty()) return {};
  return {{std::string(terms->traits.name), terms->policies[route.policy].canonical}};
}

void append_schema(std::string& out, const std::shared_ptr<const ReplySchema>& schema) {
  out += schema ? schema->json : "null";
}

// Writes the members in which a method differs from the first method, whose values the route
// states. Routes whose methods do not differ keep the form they had before methods could differ.
void append_methods(Object& object, const Program& program, const Route& route, bool whole) {
  const Operation& first = program.operations()[route.operations.front()];
  std::string methods;
  for (const std::uint32_t index : route.operations) {
    const Operation& operation = program.operations()[index];
    std::string own;
    Object entry(own);
    if (operation.deadline_ms != first.deadline_ms) {
      entry.number("deadline_ms", operation.deadline_ms);
    }
    if (whole && operation.error_schema != first.error_schema) {
      append_schema(entry.key("error_schema"), operation.error_schema);
    }
    if (whole && operation.monitoring != first.monitoring) {
      entry.part("monitoring", *operation.monitoring);
    }
    if (operation.own_no_charge_when != first.own_no_charge_when) {
      append_no_charge(entry.key("no_charge_when"), operation.own_no_charge_when);
    }
    if (operation.query != first.query) entry.part("query", *operation.query);
    if (whole && operation.reply_schema != first.reply_schema) {
      append_schema(entry.key("reply_schema"), operation.reply_schema);
    }
    if (operation.response != first.response) entry.part("response", *operation.response);
    if (whole && operation.summary != route.summary) entry.text("summary", operation.summary);
    entry.end();
    if (own == "{}") continue;
    methods.append(methods.empty() ? "{\"" : ",\"").append(name_of(operation.method));
    methods.append("\":").append(own);
  }
  if (!methods.empty()) object.key("methods").append(methods).push_back('}');
}

void append_route(std::string& out, const Program& program, const Route& route, bool whole) {
  const Operation& first = program.operations()[route.operations.front()];
  Object object(out, policy_of(program, route));
  append_texts(object.key("allowed_response_headers"), route.allowed_response_headers);
  append_billing(object.key("billing"), program, route);
  object.part("body", *route.body);
  object.flag("credential_required", route.credential_required);
  object.number("deadline_ms", first.deadline_ms);
  object.text("enforcement", route.enforce_declared ? "declared" : "none");
  if (whole && first.error_schema) append_schema(object.key("error_schema"), first.error_schema);
  append_texts(object.key("forwarded_headers"), route.forwarded_headers);
  if (route.free_policy) {
    object.text("free_policy", program.free_policies()[*route.free_policy].policy_key);
  }
  object.text("id", route.id);
  append_segments(object.key("matcher"), route.matcher);
  append_methods(object, program, route, whole);
  if (whole && first.monitoring->kind != MonitoringClass::unreviewed) {
    object.part("monitoring", *first.monitoring);
  }
  if (!first.own_no_charge_when.empty()) {
    append_no_charge(object.key("no_charge_when"), first.own_no_charge_when);
  }
  object.text("path", route.matcher.pattern);
  object.text("provider", program.providers()[route.provider].id);
  object.part("query", *first.query);
  if (whole) append_readiness(object.key("readiness"), route.readiness);
  if (whole && first.reply_schema) append_schema(object.key("reply_schema"), first.reply_schema);
  object.part("response", *first.response);
  object.number("revision", route.revision);
  if (whole) object.text("summary", route.summary);
  object.text("upstream", program.upstreams()[route.upstream].id);
  if (route.upstream_settings) object.part("upstream_settings", *route.upstream_settings);
  object.end();
}

void append_sample(std::string& out, const Sample& sample) {
  Object object(out);
  if (!sample.body.empty()) object.text("body", sample.body);
  if (!sample.content_type.empty()) object.text("content_type", sample.content_type);
  object.text("path", sample.path);
  if (!sample.query.empty()) object.text("query", sample.query);
  object.end();
}

// Only if the operator states a value, so that other programs keep their hashes.
void append_probe(Object& object, const ProbePolicy& probe) {
  const ProbePolicy usual;
  if (probe.interval_ms == usual.interval_ms && probe.per_day_max == usual.per_day_max &&
      probe.uses_credential == usual.uses_credential) {
    return;
  }
  Object entry(object.key("probe"));
  entry.flag("credential", probe.uses_credential);
  entry.number("interval_ms", probe.interval_ms);
  entry.number("per_day_max", probe.per_day_max);
  entry.end();
}

void append_listing(std::string& out, const Listing& listing) {
  Object object(out);
  object.text("category", listing.category);
  append_texts(object.key("chains"), listing.chains);
  object.text("description", listing.description);
  Object source(object.key("source"));
  source.text("licence", listing.source.licence);
  source.text("name", listing.source.name);
  source.text("updated", listing.source.updated);
  source.text("url", listing.source.url);
  source.end();
  append_texts(object.key("topics"), listing.topics);
  object.end();
}

void append_provider(std::string& out, const Provider& provider, bool whole) {
  Object object(out);
  object.text("id", provider.id);
  object.text("key", provider.key);
  // Omitted when absent, so that programs without a listing keep their hashes.
  if (whole && provider.listing) append_listing(object.key("listing"), *provider.listing);
  object.text("name", provider.name);
  object.number("revision", provider.revision);
  object.end();
}

void append_upstream(std::string& out, const Program& program, const Upstream& upstream,
                     bool whole) {
  Object object(out);
  object.number("deadline_ms", upstream.deadline_ms);
  object.text("id", upstream.id);
  object.text("plugin", upstream.plugin);
  if (whole) append_probe(object, upstream.probe);
  object.text("provider", program.providers()[upstream.provider].id);
  object.number("revision", upstream.revision);
  object.part("settings", upstream.settings);
  object.end();
}

std::string hex_prefix(std::string_view form) {
  constexpr std::size_t id_digits = 32;
  return crypto::sha256_hex(form).substr(0, id_digits);
}

}  // namespace

void append_canonical(std::string& out, const QueryPolicy& policy) {
  Object object(out);
  object.text("kind", policy.deny ? "deny" : "fields");
  object.number("max_encoded_bytes", policy.max_encoded_bytes);
  if (!policy.deny) {
    append_list(object.key("parameters"), policy.parameters,
                [&](const QueryParameter& parameter) { append_parameter(out, parameter); });
    append_list(object.key("rules"), policy.rules,
                [&](const QueryRule& rule) { append_rule(out, rule); });
  }
  object.end();
}

void append_canonical(std::string& out, const BodyPolicy& policy) {
  Object object(out);
  object.text("kind", policy.forbidden ? "forbidden" : "bytes");
  if (!policy.forbidden) {
    object.number("max_bytes", policy.max_bytes);
    append_texts(object.key("media_types"), policy.media_types);
    // Only if set: programs from before this option existed keep their hashes.
    if (policy.required) object.flag("required", true);
  }
  object.end();
}

void append_canonical(std::string& out, const ResponsePolicy& policy) {
  Object object(out);
  append_texts(object.key("allowed_content_types"), policy.allowed_content_types);
  if (policy.narrows_errors) {
    append_texts(object.key("error_content_types"), policy.error_content_types);
  }
  object.number("max_bytes", policy.max_bytes);
  append_numbers(object.key("success_statuses"), policy.success_statuses);
  object.end();
}

void append_canonical(std::string& out, const FreePolicy& policy) {
  Object object(out);
  object.text("bucket_scope", policy.bucket_scope);
  object.number("concurrency", policy.concurrency);
  if (policy.cumulative_limit) object.number("cumulative_limit", *policy.cumulative_limit);
  object.number("permit_ttl_seconds", policy.permit_ttl_seconds);
  object.text("policy_key", policy.policy_key);
  if (policy.quota) append_window(object.key("quota"), *policy.quota);
  append_window(object.key("window"), policy.window);
  object.end();
}

void append_canonical(std::string& out, const Expectation& expect) {
  constexpr std::string_view kinds[] = {"null", "boolean", "number", "string", "array", "object"};
  Object object(out);
  if (!expect.fresh_at.empty()) object.text("fresh_at", expect.fresh_at);
  if (expect.fresh_within_seconds > 0) {
    object.number("fresh_within_seconds", expect.fresh_within_seconds);
  }
  if (!expect.kinds.empty()) {
    append_list(object.key("json"), expect.kinds, [&](const auto& entry) {
      Object item(out);
      item.text("key", entry.first);
      item.text("kind", kinds[static_cast<std::size_t>(entry.second)]);
      item.end();
    });
  }
  if (expect.learns_shape) object.flag("learn_shape", true);
  object.end();
}

void append_canonical(std::string& out, const Monitoring& monitoring) {
  constexpr std::string_view classes[] = {"unreviewed", "continuous", "manual", "not_applicable"};
  Object object(out);
  object.text("class", classes[static_cast<std::size_t>(monitoring.kind)]);
  if (!monitoring.expect.hash.empty()) object.part("expect", monitoring.expect);
  if (monitoring.interval_ms > 0) object.number("interval_ms", monitoring.interval_ms);
  if (monitoring.per_day_max > 0) object.number("per_day_max", monitoring.per_day_max);
  if (!monitoring.sample.path.empty()) append_sample(object.key("sample"), monitoring.sample);
  object.end();
}

void append_canonical(std::string& out, const Provider& provider) {
  append_provider(out, provider, true);
}

void append_canonical(std::string& out, const Price& price) { append_price(out, price, true); }

// Plain text that reads as an integer or a boolean is written as one, as plugins see it; the
// language refuses plain numbers that would not survive this (see Rule::setting_number).
void append_canonical(std::string& out, const Settings& settings) {
  switch (settings.kind) {
    case Settings::Kind::null:
      out.append("null");
      return;
    case Settings::Kind::list:
      append_list(out, settings.items, [&](const Settings& item) { append_canonical(out, item); });
      return;
    case Settings::Kind::map: {
      std::size_t written = 0;
      std::vector<const Settings::Field*> fields;
      for (const auto& field : settings.fields) fields.push_back(&field);
      std::sort(fields.begin(), fields.end(), [](const auto* left, const auto* right) {
        return text::canonical_key_less(left->name, right->name);
      });
      out.push_back('{');
      for (const auto* field : fields) {
        if (written++ > 0) out.push_back(',');
        text::append_canonical_string(out, field->name);
        out.push_back(':');
        append_canonical(out, field->value);
      }
      out.push_back('}');
      return;
    }
    case Settings::Kind::scalar:
      break;
  }
  const bool is_bare = !settings.quoted && (settings.text == "true" || settings.text == "false" ||
                                            decimal_integer(settings.text).has_value());
  if (is_bare) {
    out.append(settings.text);
  } else {
    text::append_canonical_string(out, settings.text);
  }
}

void append_canonical(std::string& out, const Program& program, const Upstream& upstream) {
  append_upstream(out, program, upstream, true);
}

void append_canonical(std::string& out, const Program& program, const Route& route) {
  append_route(out, program, route, true);
}

void append_canonical(std::string& out, const Program& program, const Tool& tool) {
  const Operation& operation = program.operations()[tool.operation];
  const Route& route = program.routes()[operation.route];
  Object object(out);
  const auto append_texts_by_name = [&](std::string_view key, const auto& texts) {
    if (texts.empty()) return;
    append_list(object.key(key), texts, [&](const auto& entry) {
      Object item(out);
      item.text("name", entry.first);
      item.text("text", entry.second);
      item.end();
    });
  };
  append_texts_by_name("arguments", tool.descriptions);
  object.text("description", tool.description);
  append_texts_by_name("fixed", tool.fixed);
  object.text("name", tool.name);
  object.flag("read_only", tool.is_read_only);
  object.text("route", std::string(name_of(operation.method)) + " " + route.matcher.pattern);
  if (!tool.title.empty()) object.text("title", tool.title);
  if (tool.is_free) object.text("variant", "free");
  object.end();
}

void append_canonical(std::string& out, const Program& program) {
  const auto write = [&out](const auto& entry) { append_canonical(out, entry); };
  const auto write_within = [&](const auto& entry) { append_canonical(out, program, entry); };
  // Reserves the whole size, estimated from a sample of the routes: growing by doubling would need
  // twice the memory.
  const std::vector<Route>& routes = program.routes();
  constexpr std::size_t samples = 64;
  std::string sample;
  for (std::size_t at = 0; at < std::min(samples, routes.size()); ++at) {
    append_canonical(sample, program, routes[at * routes.size() / samples % routes.size()]);
  }
  if (!routes.empty()) {
    const std::size_t mean = sample.size() / std::min(samples, routes.size()) + 1;
    out.reserve(mean * routes.size() * 21 / 20 + 64 * 1024);
  }
  LaneMembers members;
  const LaneTerms* const terms = program.lane_terms();
  if (terms != nullptr && !terms->canonical.empty()) {
    members.push_back({std::string(terms->traits.name), terms->canonical});
  }
  Object object(out, std::move(members));
  object.text("format", "turnpike.registry.v1");
  append_list(object.key("free_policies"), program.free_policies(), write);
  append_list(object.key("prices"), program.prices(), write);
  append_list(object.key("providers"), program.providers(), write);
  append_list(object.key("routes"), program.routes(), write_within);
  // Omitted when empty, so that programs without tools keep their hashes.
  if (!program.tools().empty()) append_list(object.key("tools"), program.tools(), write_within);
  append_list(object.key("upstreams"), program.upstreams(), write_within);
  object.end();
}

std::string definition_of(const Provider& provider) {
  std::string out;
  append_provider(out, provider, false);
  return out;
}

std::string definition_of(const Price& price) {
  std::string out;
  append_price(out, price, false);
  return out;
}

std::string definition_of(const Program& program, const Upstream& upstream) {
  std::string out;
  append_upstream(out, program, upstream, false);
  return out;
}

std::string definition_of(const Program& program, const Route& route) {
  std::string out;
  append_route(out, program, route, false);
  return out;
}

std::string route_id_of(std::string_view provider_key, const Matcher& matcher) {
  std::string erased;
  bool in_name = false;
  for (const char character : matcher.pattern) {
    if (character == '}') in_name = false;
    if (!in_name) erased.push_back(character);
    if (character == '{') in_name = true;
  }
  std::string form;
  Object object(form);
  object.text("path", erased);
  object.text("provider_key", provider_key);
  object.end();
  return "route-" + hex_prefix(form);
}

std::string settings_digest_of(const Program& program, const Upstream& upstream) {
  std::string form;
  std::string one;  // an operation is included as its digest, since there may be 100,000 operations
  Object object(form);
  append_list(object.key("operations"), upstream.operations, [&](std::uint32_t index) {
    const Operation& operation = program.operations()[index];
    const Route& route = program.routes()[operation.route];
    one.clear();
    Object entry(one);
    // With a required credential nothing is sold per call, whatever the price says.
    if (route.credential_required) entry.flag("credential_required", true);
    entry.text("method", name_of(operation.method));
    entry.text("path", route.matcher.pattern);
    if (operation.price) entry.part("price", program.prices()[*operation.price]);
    entry.text("route", route.id);
    if (route.upstream_settings) entry.part("settings", *route.upstream_settings);
    entry.end();
    text::append_canonical_string(form, crypto::sha256_hex(one));
  });
  object.text("plugin", upstream.plugin);
  if (upstream.probe.uses_credential) object.flag("probe_credential", true);
  object.part("settings", upstream.settings);
  object.end();
  return crypto::sha256_hex(form);
}

}  // namespace turnpike::registry

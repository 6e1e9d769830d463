#include "catalog/capability_json.h"

#include <variant>

namespace turnpike::catalog {

namespace {

Json identity_json(const std::string& id, std::uint32_t revision) {
  return {{"id", id}, {"revision", revision}};
}

Json window_json(const registry::Window& window) {
  return {{"limit", window.limit}, {"seconds", window.seconds}};
}

// Renders a constraint: a scalar is a constraint inside a value, a comma-separated list is its own
// kind.
struct ValueJson {
  Json operator()(const registry::StringConstraint& constraint) const {
    Json inner = {{"kind", "string"},
                  {"min_length", constraint.min_bytes},
                  {"max_length", constraint.max_bytes}};
    if (!constraint.allowed_values.empty()) inner["allowed_values"] = constraint.allowed_values;
    return scalar(std::move(inner));
  }
  Json operator()(const registry::IntegerConstraint& constraint) const {
    Json inner = {
        {"kind", "integer"}, {"minimum", constraint.minimum}, {"maximum", constraint.maximum}};
    if (!constraint.allowed_values.empty()) inner["allowed_values"] = constraint.allowed_values;
    return scalar(std::move(inner));
  }
  Json operator()(const registry::NumberConstraint& constraint) const {
    return scalar(
        {{"kind", "number"}, {"minimum", constraint.minimum}, {"maximum", constraint.maximum}});
  }
  Json operator()(const registry::BooleanConstraint&) const {
    return scalar({{"kind", "boolean"}});
  }
  Json operator()(const registry::CommaListConstraint& constraint) const {
    return {{"kind", "comma_delimited_enum"},
            {"allowed_values", constraint.allowed_values},
            {"min_items", constraint.min_items},
            {"max_items", constraint.max_items},
            {"unique", constraint.unique}};
  }
  static Json scalar(Json constraint) {
    return {{"kind", "scalar"}, {"constraint", std::move(constraint)}};
  }
};

struct RuleJson {
  Json operator()(const registry::AtLeastOne& rule) const {
    return {{"kind", "at_least_one"}, {"parameters", rule.parameters}};
  }
  Json operator()(const registry::IntegerComparison& rule) const {
    return {{"kind", "integer_comparison"},
            {"left", rule.left},
            {"operator", "less_than"},
            {"right", rule.right}};
  }
};

Json matcher_json(const registry::Matcher& matcher) {
  if (matcher.is_exact) return {{"kind", "exact"}, {"path", matcher.pattern}};
  Json segments = Json::array();
  for (const registry::Segment& segment : matcher.segments) {
    if (segment.is_parameter) {
      Json parameter = {{"kind", "parameter"}, {"name", segment.text}};
      if (segment.constraint) parameter["value"] = std::visit(ValueJson{}, *segment.constraint);
      segments.push_back(std::move(parameter));
    } else {
      segments.push_back({{"kind", "literal"}, {"value", segment.text}});
    }
  }
  return {{"kind", "template"}, {"template", std::move(segments)}};
}

Json methods_json(const registry::Route& route) {
  Json methods = Json::array();
  for (const Method method : route.methods) methods.push_back(name_of(method));
  return methods;
}

// The name of the member of `billing` for payment per call. Without a lane that takes such payments
// it is the name in the interface (docs/interface.md), so that readers find the member, disabled.
std::string per_call_member(const registry::Program& program) {
  const registry::LaneTerms* const lane = program.lane_terms();
  return lane == nullptr ? "x402" : std::string(lane->traits.name);
}

Json per_call_json(const registry::Program& program, const registry::Operation& operation,
                   Features features) {
  if (!is_paid_per_call(program, operation, features)) {
    return {{"enabled", false}, {"terms", Json::array()}};
  }
  const std::uint32_t policy = program.routes()[operation.route].policy;
  Json json = Json::parse(program.prices()[*operation.price].terms->billing);
  json.update(Json::parse(program.lane_terms()->policies[policy].billing));
  return json;
}

Json request_json(const registry::Route& route, const registry::Operation& operation) {
  return {{"query", query_policy_json(*operation.query)},
          {"body", body_policy_json(*route.body)},
          {"enforcement", route.enforce_declared ? "declared" : "none"}};
}

Json response_json(const registry::Operation& operation) {
  Json json = {
      {"success",
       {{"kind", "explicit_statuses"}, {"statuses", operation.response->success_statuses}}},
      {"allowed_content_types", operation.response->allowed_content_types}};
  if (operation.reply_schema) json["schema"] = Json::parse(operation.reply_schema->json);
  if (operation.error_schema) json["error_schema"] = Json::parse(operation.error_schema->json);
  return json;
}

bool has_own_response(const registry::Operation& operation, const registry::Operation& first) {
  return operation.response != first.response || operation.reply_schema != first.reply_schema ||
         operation.error_schema != first.error_schema;
}

// Adds a method's own definitions to its entry; they override the capability's.
void add_own_definitions(Json& entry, const registry::Program& program,
                         const registry::Route& route, const registry::Operation& operation) {
  const registry::Operation& first = program.operations()[route.operations.front()];
  if (operation.summary != route.summary) entry["summary"] = operation.summary;
  if (operation.query != first.query) entry["request"] = request_json(route, operation);
  if (has_own_response(operation, first)) entry["response"] = response_json(operation);
}

Json operations_json(const registry::Program& program, const registry::Route& route,
                     Features features, const ReadinessSource& readiness) {
  Json operations = Json::array();
  for (const std::uint32_t index : route.operations) {
    const registry::Operation& operation = program.operations()[index];
    Json entry = {{"method", name_of(operation.method)},
                  {"billing", billing_json(program, operation, features)}};
    if (is_paid_per_call(program, operation, features)) {
      entry["billing"][per_call_member(program)]["readiness"] =
          readiness_json(payment_readiness(index, readiness));
    }
    if (features.free_lane && route.free_policy) {
      entry["free_rate_limit"] = free_rate_limit_json(program.free_policies()[*route.free_policy]);
    }
    add_own_definitions(entry, program, route, operation);
    operations.push_back(std::move(entry));
  }
  return operations;
}

}  // namespace

Json generation_json(const registry::Generation& generation) {
  return {{"epoch_id", generation.epoch_id},
          {"id", generation.id},
          {"sequence", generation.sequence},
          {"codec", "canonical_json_v1"},
          {"payload_hash", generation.payload_hash}};
}

Json manifest_json(const registry::Generation& generation) {
  return {{"registry_epoch_id", generation.epoch_id},
          {"manifest_sequence", generation.manifest_sequence},
          {"manifest_payload_hash", generation.payload_hash}};
}

Json readiness_json(const ShownReadiness& readiness) {
  if (readiness.ready) return {{"status", "ready"}};
  return {{"status", "blocked"}, {"reason", readiness.reason}};
}

Json free_rate_limit_json(const registry::FreePolicy& policy) {
  Json limits = {{"policy_key", policy.policy_key},
                 {"window", window_json(policy.window)},
                 {"concurrency", policy.concurrency},
                 {"permit_ttl_seconds", policy.permit_ttl_seconds},
                 {"quota", nullptr},
                 {"cumulative_limit", nullptr},
                 {"bucket_scope", policy.bucket_scope}};
  if (policy.quota) limits["quota"] = window_json(*policy.quota);
  if (policy.cumulative_limit) limits["cumulative_limit"] = *policy.cumulative_limit;
  return limits;
}

Json query_policy_json(const registry::QueryPolicy& policy) {
  if (policy.deny) return {{"kind", "deny"}};
  Json parameters = Json::array();
  for (const registry::QueryParameter& parameter : policy.parameters) {
    parameters.push_back({{"name", parameter.name},
                          {"presence", parameter.required ? "required" : "optional"},
                          {"value", std::visit(ValueJson{}, parameter.constraint)}});
  }
  Json rules = Json::array();
  for (const registry::QueryRule& rule : policy.rules) {
    rules.push_back(std::visit(RuleJson{}, rule));
  }
  return {{"kind", "fields"},
          {"max_encoded_bytes", policy.max_encoded_bytes},
          {"parameters", std::move(parameters)},
          {"rules", std::move(rules)}};
}

Json body_policy_json(const registry::BodyPolicy& policy) {
  if (policy.forbidden) return {{"kind", "forbidden"}};
  return {{"kind", "bytes"},
          {"max_bytes", policy.max_bytes},
          {"media_types", policy.media_types},
          {"required", policy.required}};
}

struct NoChargeJson {
  Json operator()(const registry::EmptyBody&) const { return {{"kind", "empty_body"}}; }
  Json operator()(const registry::EmptyAt& condition) const {
    return {{"kind", "empty_at"}, {"pointer", condition.pointer.text()}};
  }
  Json operator()(const registry::UpstreamOver& condition) const {
    return {{"kind", "upstream_over"}, {"ms", condition.ms}};
  }
};

Json no_charge_json(const registry::NoCharges& conditions) {
  Json list = Json::array();
  for (const registry::NoCharge& each : conditions)
    list.push_back(std::visit(NoChargeJson{}, each));
  return list;
}

Json billing_json(const registry::Program& program, const registry::Operation& operation,
                  Features features) {
  if (!operation.price) return {{"mode", "pricing_unavailable"}};
  const registry::Price& price = program.prices()[*operation.price];
  return {{"mode", "service_priced"},
          {"price_policy_key", price.policy_key},
          {"price_version", price.version},
          {"credit_cost", price.credit_cost},
          {"no_charge_when", no_charge_json(operation.no_charge_when)},
          {per_call_member(program), per_call_json(program, operation, features)}};
}

const TermsDocuments* payment_documents(const registry::Program& program,
                                        Features features) noexcept {
  const registry::LaneTerms* const lane = program.lane_terms();
  return features.per_call && lane != nullptr ? lane->traits.terms_documents : nullptr;
}

bool is_paid_per_call(const registry::Program& program, const registry::Operation& operation,
                      Features features) noexcept {
  return features.per_call && program.is_sold_per_call(operation);
}

Json summary_json(const registry::Program& program, const registry::Route& route, Features features,
                  bool shows_payments) {
  const registry::Provider& provider = program.providers()[route.provider];
  Json operations = Json::array();
  for (const std::uint32_t index : route.operations) {
    const registry::Operation& operation = program.operations()[index];
    Json billing = {{"mode", operation.price ? "service_priced" : "pricing_unavailable"}};
    if (operation.price) billing["credit_cost"] = program.prices()[*operation.price].credit_cost;
    if (operation.price && shows_payments) {
      billing[per_call_member(program)] = per_call_json(program, operation, features);
    }
    operations.push_back({{"method", name_of(operation.method)}, {"billing", std::move(billing)}});
  }
  return {{"capability_id", route.id},
          {"provider_key", provider.key},
          {"provider_name", provider.name},
          {"path", route.matcher.pattern},
          {"summary", route.summary},
          {"methods", methods_json(route)},
          {"credential_required", route.credential_required},
          {"operations", std::move(operations)},
          {"free", features.free_lane && route.free_policy.has_value()}};
}

Json capability_json(const registry::Program& program, const registry::Route& route,
                     Features features, const ReadinessSource& readiness) {
  const registry::Provider& provider = program.providers()[route.provider];
  const registry::Upstream& upstream = program.upstreams()[route.upstream];
  const registry::Operation& first = program.operations()[route.operations.front()];
  return {{"capability_id", route.id},
          {"route", identity_json(route.id, route.revision)},
          {"provider", identity_json(provider.id, provider.revision)},
          {"provider_key", provider.key},
          {"provider_name", provider.name},
          {"upstream", identity_json(upstream.id, upstream.revision)},
          {"matcher", matcher_json(route.matcher)},
          {"summary", route.summary},
          {"methods", methods_json(route)},
          {"request", request_json(route, first)},
          {"response", response_json(first)},
          {"credential_required", route.credential_required},
          {"operations", operations_json(program, route, features, readiness)},
          {"readiness", readiness_json(route_readiness(route, readiness))}};
}

std::string text_of(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace turnpike::catalog

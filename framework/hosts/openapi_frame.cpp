#include "hosts/openapi_frame.h"

#include <algorithm>
#include <cctype>

#include <nlohmann/json.hpp>

#include "text/json_text.h"

namespace turnpike::hosts {

namespace {

using SortedJson = nlohmann::json;

constexpr std::size_t status_digits = 3;

SortedJson reference(std::string_view kind, std::string_view name) {
  return {{"$ref", "#/components/" + std::string(kind) + "/" + std::string(name)}};
}

SortedJson parameter_json(const Parameter& parameter, bool is_in_path) {
  SortedJson shown = {{"name", parameter.name}, {"in", is_in_path ? "path" : "query"}};
  if (is_in_path || parameter.is_required) shown["required"] = true;
  shown["description"] = parameter.description;
  shown["schema"] = text::parse_json(parameter.schema);
  if (!parameter.example.empty()) shown["example"] = text::parse_json(parameter.example);
  return shown;
}

SortedJson idempotency_key_json() {
  return {{"name", "Idempotency-Key"},
          {"in", "header"},
          {"required", true},
          {"description", "1 to 255 visible ASCII characters, of your choice."},
          {"schema",
           {{"type", "string"}, {"minLength", 1}, {"maxLength", 255}, {"pattern", "^[!-~]+$"}}}};
}

SortedJson reply_json(const DescribedReply& reply, bool has_etag, bool may_be_repeat) {
  SortedJson shown = {{"description", reply.description}};
  if (has_etag) shown["headers"]["ETag"] = reference("headers", "ETag");
  if (may_be_repeat) {
    shown["headers"]["Idempotent-Replayed"] = reference("headers", "Idempotent-Replayed");
  }
  if (reply.status == 303) shown["headers"]["Location"] = reference("headers", "Location");
  if (reply.content_type.empty()) return shown;
  SortedJson schema = {{"type", reply.content_type == "text/html" ? "string" : "object"}};
  if (!reply.schema.empty()) schema = reference("schemas", reply.schema);
  shown["content"] = {{reply.content_type, {{"schema", std::move(schema)}}}};
  return shown;
}

SortedJson responses_json(const RouteFacts& facts) {
  const RouteDescription& described = facts.described;
  SortedJson responses = SortedJson::object();
  for (const DescribedReply& reply : described.replies) {
    const bool has_etag = facts.has_etag && reply.status == 200;
    responses[std::to_string(reply.status)] =
        reply_json(reply, has_etag, facts.needs_idempotency_key);
  }
  if (facts.has_etag) {
    responses["304"] = {{"description", "Unchanged since the ETag in If-None-Match."}};
  }
  for (std::string_view rest = described.refusals; !rest.empty();) {
    const std::string one(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const bool has_group = std::isalpha(static_cast<unsigned char>(one.front())) != 0;
    responses[one.substr(one.size() - status_digits)] =
        reference("responses", has_group ? one : std::string(described.tag) + one);
  }
  return responses;
}

SortedJson body_json(const RouteFacts& facts) {
  SortedJson media = SortedJson::object();
  const std::string_view schema = facts.described.body_schema;
  if (!schema.empty()) media["schema"] = reference("schemas", schema);
  return {{"required", facts.body != BodyForm::raw},
          {"content", {{media_type_of(facts.body), std::move(media)}}}};
}

// The names, in components/securitySchemes, of the credentials that `callers` may use; any of them
// suffices.
SortedJson security_json(const Callers& callers) {
  constexpr std::pair<PrincipalKind, const char*> schemes[] = {
      {PrincipalKind::api_key, "ApiKey"},
      {PrincipalKind::person, "Session"},
      {PrincipalKind::operator_credential, "OperatorCredential"}};
  SortedJson security = SortedJson::array();
  for (const auto& [kind, name] : schemes) {
    if (callers.kinds().has(kind)) security.push_back({{name, SortedJson::array()}});
  }
  return security;
}

SortedJson operation_json(const RouteFacts& facts) {
  const RouteDescription& described = facts.described;
  SortedJson operation = {{"operationId", described.operation_id},
                          {"tags", SortedJson::array({described.tag})},
                          {"security", security_json(facts.callers)},
                          {"summary", described.summary}};
  if (!described.description.empty()) operation["description"] = described.description;
  SortedJson parameters = SortedJson::array();
  for (const Parameter& one : described.path_parameters) {
    parameters.push_back(parameter_json(one, true));
  }
  for (const Parameter& one : facts.query) parameters.push_back(parameter_json(one, false));
  if (facts.needs_idempotency_key) parameters.push_back(idempotency_key_json());
  if (!parameters.empty()) operation["parameters"] = std::move(parameters);
  if (facts.body != BodyForm::none) operation["requestBody"] = body_json(facts);
  operation["responses"] = responses_json(facts);
  return operation;
}

}  // namespace

std::string openapi_frame(std::string_view components, std::span<const RouteFacts* const> routes) {
  SortedJson document = text::parse_json(components);
  document["paths"] = SortedJson::object();
  for (const RouteFacts* const facts : routes) {
    if (facts->described.operation_id.empty()) continue;
    std::string method(facts->method);
    std::transform(method.begin(), method.end(), method.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    document["paths"][facts->path][method] = operation_json(*facts);
  }
  return document.dump();
}

}  // namespace turnpike::hosts

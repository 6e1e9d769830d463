#include "catalog/openapi.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <set>

#include "base/limits.h"
#include "catalog/capability_json.h"
#include "catalog/parameter_schema.h"
#include "catalog/tool_schema.h"
#include "text/json_text.h"
#include "text/words.h"

namespace turnpike::catalog {

namespace {

// The error codes that responses of a group of routes may have. Referenced as
// components/responses/<name><status>.
struct Group {
  std::string_view name;
  bool (*has)(std::string_view code);
};

bool in_area(std::string_view code, std::string_view area) {
  return code.size() > area.size() && code.starts_with(area) && code[area.size()] == '.';
}

bool is_one_of(std::string_view code, std::initializer_list<std::string_view> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// Codes about API keys.
bool is_of_keys(std::string_view code) {
  return is_one_of(code, {"auth.credential_conflict", "auth.credential_required",
                          "auth.credential_invalid", "auth.wrong_environment", "auth.unavailable"});
}

// Codes about API keys and about sessions of members who read.
bool is_of_readers(std::string_view code) {
  return is_of_keys(code) ||
         is_one_of(code, {"auth.session_ended", "auth.step_up_required", "auth.overloaded"});
}

constexpr std::array<Group, 9> groups = {{
    {"Service", [](std::string_view code) { return in_area(code, "request"); }},
    {"Catalog",
     [](std::string_view code) {
       return in_area(code, "request") || in_area(code, "catalog") || in_area(code, "registry");
     }},
    {"Account",
     [](std::string_view code) {
       return in_area(code, "request") || is_of_readers(code) || in_area(code, "account") ||
              code == "billing.ledger_unavailable" || code == "billing.message_not_found";
     }},
    {"People",
     [](std::string_view code) {
       return in_area(code, "request") || in_area(code, "auth") || in_area(code, "account") ||
              in_area(code, "identity");
     }},
    {"Purchases",
     [](std::string_view code) {
       return in_area(code, "request") || in_area(code, "auth") || in_area(code, "account") ||
              in_area(code, "purchase") ||
              is_one_of(code, {"idempotency.conflict", "idempotency.in_progress"});
     }},
    {"Notifications",
     [](std::string_view code) {
       return in_area(code, "request") || in_area(code, "auth") || in_area(code, "account") ||
              in_area(code, "notification");
     }},
    {"Status",
     [](std::string_view code) {
       return in_area(code, "request") || in_area(code, "registry") ||
              is_one_of(code, {"status.authority_unavailable", "status.not_in_catalog",
                               "status.query_invalid", "status.unavailable"});
     }},
    {"Sweep",
     [](std::string_view code) {
       return in_area(code, "request") || in_area(code, "registry") || is_of_keys(code) ||
              is_one_of(code, {"status.sweep_not_found", "status.sweep_principal",
                               "status.sweep_incomplete", "status.generation_mismatch",
                               "status.unavailable"});
     }},
    {"Gateway",
     [](std::string_view code) {
       const bool account_may_not = code == "account.suspended" || code == "account.closed";
       return in_area(code, "request") || is_of_keys(code) || in_area(code, "registry") ||
              in_area(code, "gateway") || in_area(code, "billing") ||
              in_area(code, "idempotency") || account_may_not;
     }},
}};

constexpr const Group& gateway_group = groups.back();

// Statuses of the provider that a gateway route passes on unchanged.
constexpr std::array<int, 5> passed_on_statuses = {400, 404, 409, 410, 422};

// Statuses of a gateway operation besides its success.
constexpr std::array<int, 15> gateway_statuses = {400, 401, 402, 403, 404, 408, 409, 410,
                                                  422, 429, 431, 500, 502, 503, 504};

std::string_view title_of(int status) {
  switch (status) {
    case 400:
      return "The request is refused.";
    case 401:
      return "The credential is missing or not valid.";
    case 402:
      return "Not enough Credits; nothing was called or charged.";
    case 403:
      return "The caller is not allowed to do this.";
    case 404:
      return "There is no such thing.";
    case 408:
      return "The request did not arrive in time.";
    case 409:
      return "The request conflicts with the present state.";
    case 410:
      return "The thing is gone.";
    case 422:
      return "The provider cannot process the request.";
    case 429:
      return "Too much at once; try again after the delay.";
    case 431:
      return "The header fields are too large.";
    case 500:
      return "The gateway failed.";
    case 502:
      return "The provider's answer could not be used; nothing was charged.";
    case 503:
      return "Something that the request needs is not available now.";
    case 504:
      return "The provider did not answer in time; nothing was charged.";
    default:
      break;
  }
  for (const base::ErrorInfo& info : base::all_errors()) {
    const base::LaneError* const of_lane = base::lane_error(info.code);
    if (of_lane != nullptr && of_lane->status == status) return of_lane->text;
  }
  return "An error.";
}

// Lanes' codes occur in calls only.
bool may_answer(const Group& group, const base::ErrorInfo& info, Features features) {
  if (base::lane_error(info.code) == nullptr) return group.has(info.name);
  return &group == &gateway_group && features.per_call;
}

std::vector<std::string_view> codes_of(const Group& group, int status, const OpenApiInput& input) {
  std::vector<std::string_view> codes;
  for (const base::ErrorInfo& info : base::all_errors()) {
    if (input.http_status(info.code) == status && may_answer(group, info, input.features)) {
      codes.push_back(info.name);
    }
  }
  return codes;
}

Json header_reference(std::string_view name) {
  return {{"$ref", "#/components/headers/" + std::string(name)}};
}

Json header_references(std::initializer_list<std::string_view> names) {
  Json headers = Json::object();
  for (const std::string_view name : names) headers[std::string(name)] = header_reference(name);
  return headers;
}

Json payment_header(std::string_view text) {
  return {{"description", text}, {"schema", {{"type", "string"}}}};
}

Json error_headers(const Group& group, int status, const TermsDocuments* payments) {
  Json headers = header_references({"X-Request-Id"});
  if (status == 401) headers["WWW-Authenticate"] = header_reference("WWW-Authenticate");
  const bool may_pass = status == 429 || status == 503 ||
                        (status == 409 && group.name == "Purchases");
  if (may_pass) headers["Retry-After"] = header_reference("Retry-After");
  if (&group == &gateway_group) {
    headers.update(header_references({"Turnpike-Reply-From", "Turnpike-Generation", "Turnpike-Lane",
                                      "Turnpike-Credits-Charged", "Server-Timing"}));
    if (status == 429) headers.update(header_references({"RateLimit", "RateLimit-Policy"}));
    if (status == 402 && payments != nullptr) {
      headers[std::string(payments->challenge_header)] = payment_header(payments->challenge_text);
    }
  }
  return headers;
}

bool is_passed_on(int status) {
  return std::find(passed_on_statuses.begin(), passed_on_statuses.end(), status) !=
         passed_on_statuses.end();
}

Json schema_reference(const std::string& name) {
  return {{"$ref", "#/components/schemas/" + name}};
}

// The provider's error formats, beside the gateway's own error, which is JSON.
Json error_content(const Json& envelope_or_provider, const Json& provider,
                   const std::vector<std::string>& types) {
  Json content = {{"application/json", {{"schema", envelope_or_provider}}}};
  for (const std::string& type : types) {
    if (type == registry::no_content_type || content.contains(type)) continue;
    content[type] = {{"schema", provider}};
  }
  return content;
}

// `types`: the media types of the provider's own errors; `of_provider`: the schema of their JSON,
// or null.
Json error_response(const Group& group, int status, const OpenApiInput& input,
                    const std::vector<std::string>& types,
                    const registry::ReplySchema* of_provider = nullptr) {
  const bool passes_on = &group == &gateway_group && is_passed_on(status);
  const auto codes = codes_of(group, status, input);
  std::string text(title_of(status));
  if (!codes.empty()) text += " Codes:";
  for (const std::string_view code : codes) {
    text += (code == codes.front() ? " `" : ", `") + std::string(code) + "`";
  }
  if (!codes.empty()) text += '.';
  if (passes_on) {
    text +=
        " The provider's own answer of this status is delivered unchanged and not charged;"
        " `Turnpike-Reply-From` says whose answer it is.";
  }
  Json schema = {{"$ref", "#/components/schemas/ErrorEnvelope"}};
  const Json provider = {{"description", "The provider's answer."}};
  const Json as_json = of_provider != nullptr ? schema_reference(of_provider->name) : provider;
  if (passes_on) schema = codes.empty() ? as_json : Json{{"anyOf", {schema, as_json}}};
  return {
      {"description", text},
      {"headers", error_headers(group, status, payment_documents(input.program, input.features))},
      {"content", error_content(schema, provider, passes_on ? types : std::vector<std::string>{})}};
}

// Collects every reference #/components/responses/<name> below `node`.
void collect_responses(const Json& node, std::set<std::string>& names) {
  constexpr std::string_view prefix = "#/components/responses/";
  if (node.is_object()) {
    const auto reference = node.find("$ref");
    if (reference != node.end() && reference->is_string()) {
      const auto& target = reference->get_ref<const std::string&>();
      if (target.starts_with(prefix)) names.insert(target.substr(prefix.size()));
    }
  }
  if (node.is_structured()) {
    for (const Json& child : node) collect_responses(child, names);
  }
}

Json responses_for(const std::set<std::string>& names, const OpenApiInput& input) {
  Json responses = Json::object();
  for (const std::string& name : names) {
    for (const Group& group : groups) {
      if (!name.starts_with(group.name)) continue;
      const int status = std::stoi(name.substr(group.name.size()));
      responses[name] =
          error_response(group, status, input, registry::default_response().error_content_types);
    }
  }
  return responses;
}

Json error_code_schema(const OpenApiInput& input) {
  Json names = Json::array();
  std::string table =
      "Stable names of all errors.\n\n| code | status | fault | advice |\n"
      "|---|---|---|---|\n";
  for (const base::ErrorInfo& info : base::all_errors()) {
    names.push_back(info.name);
    table += "| `" + std::string(info.name) + "` | " +
             std::to_string(input.http_status(info.code)) + " | " +
             std::string(base::name_of(info.fault)) + " | " +
             std::string(base::name_of(info.advice)) + " |\n";
  }
  return {{"type", "string"}, {"enum", std::move(names)}, {"description", std::move(table)}};
}

// ---- operations of the program ------------------------------------------------------------------

// "GET /v1/gateway/govdata/global/v1/daos/{dao_id}" -> "get_govdata_global_v1_daos_dao_id".
std::string operation_id_of(Method method, std::string_view pattern) {
  constexpr std::string_view prefix = "/v1/gateway/";
  if (pattern.starts_with(prefix)) pattern.remove_prefix(prefix.size());
  std::string id = method == Method::get ? "get_" : "post_";
  for (const char c : pattern) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      id += c;
    } else if (id.back() != '_') {
      id += '_';
    }
  }
  while (id.back() == '_') id.pop_back();
  return id;
}

struct NoChargeText {
  std::string operator()(const registry::EmptyBody&) const { return "its reply has no body"; }
  std::string operator()(const registry::EmptyAt& condition) const {
    return "its reply has null or an empty list at \"" + condition.pointer.text() + "\"";
  }
  std::string operator()(const registry::UpstreamOver& condition) const {
    return "it takes over " + std::to_string(condition.ms) + " ms";
  }
};

std::string description_of(const registry::Program& program, const registry::Route& route,
                           const registry::Operation& operation, Features features) {
  std::string text;
  if (operation.price) {
    const registry::Price& price = program.prices()[*operation.price];
    text = "Costs " + text::credits_text(price.credit_cost) +
           ", charged when the provider answers with success";
    for (const registry::NoCharge& condition : operation.no_charge_when) {
      text += &condition == &operation.no_charge_when.front() ? ", unless " : " or ";
      text += std::visit(NoChargeText{}, condition);
    }
    text += '.';
    if (is_paid_per_call(program, operation, features)) {
      text += " " + std::string(payment_documents(program, features)->sentence);
    }
  } else {
    text = "Has no price now and cannot be called.";
  }
  if (operation.query->deny) {
    text += " Takes no query.";
  } else {
    const std::string rules = query_rules_text(*operation.query);
    if (!rules.empty()) text += " " + rules;
    text += " The encoded query is at most " + std::to_string(operation.query->max_encoded_bytes) +
            " bytes.";
  }
  text += route.enforce_declared
              ? " A request outside of what is declared here is refused with 400."
              : " What is declared here informs: any valid query is forwarded unchanged.";
  return text;
}

// Renders an example as a query value.
std::string query_text(const Json& example) {
  if (!example.is_array()) {
    return example.is_string() ? example.get<std::string>() : example.dump();
  }
  std::string text;
  for (const Json& item : example) text += (text.empty() ? "" : ",") + item.get<std::string>();
  return text;
}

// A parameter's name as a shell variable, which may contain letters, digits and '_'.
std::string shell_variable(std::string_view name) {
  std::string variable = "${";
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) variable += '_';
  for (const char c : name) {
    variable += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return variable + "}";
}

// The query of a sample call: required parameters and one of each choice, with the example or, if
// there is none, a variable for the caller to set.
std::string sample_query(const registry::QueryPolicy& policy) {
  std::set<std::string> needed;
  for (const registry::QueryRule& rule : policy.rules) {
    const auto* choice = std::get_if<registry::AtLeastOne>(&rule);
    if (choice != nullptr) needed.insert(choice->parameters.front());
  }
  std::string query;
  for (const Json& parameter : query_parameters_json(policy)) {
    const std::string name = parameter["name"];
    if (!parameter["required"].get<bool>() && !needed.contains(name)) continue;
    const auto example = parameter.find("example");
    query += (query.empty() ? "?" : "&") + name + "=" +
             (example == parameter.end() ? shell_variable(name) : query_text(*example));
  }
  return query;
}

// A curl command line; path parameters are shell variables as well.
std::string curl_line(const OpenApiInput& input, const registry::Route& route,
                      const registry::Operation& operation) {
  std::string path;
  std::string_view rest = route.matcher.pattern;
  for (std::size_t open = rest.find('{'); open != rest.npos; open = rest.find('{')) {
    const std::size_t close = rest.find('}');
    path += rest.substr(0, open);
    path += shell_variable(rest.substr(open + 1, close - open - 1));
    rest.remove_prefix(close + 1);
  }
  path += rest;
  std::string line = "curl -s -H \"Authorization: Bearer $TURNPIKE_API_KEY\"";
  if (operation.method == Method::post && !route.body->media_types.empty()) {
    line += " -H 'Content-Type: " + route.body->media_types.front() + "' --data-binary @body";
  }
  return line + " \"" + std::string(input.base_url) + path + sample_query(*operation.query) + "\"";
}

Json success_responses(const registry::Operation& operation) {
  const registry::ResponsePolicy& response = *operation.response;
  const Json headers =
      header_references({"X-Request-Id", "Idempotent-Replayed", "Turnpike-Generation",
                         "Turnpike-Lane", "Turnpike-Credits-Charged", "Turnpike-Credits-Remaining",
                         "Turnpike-Reply-From", "Server-Timing"});
  Json content = Json::object();
  for (const std::string& type : response.allowed_content_types) {
    const bool is_known = operation.reply_schema && is_json_type(type);
    content[type] = {{"schema", is_known ? schema_reference(operation.reply_schema->name)
                                         : Json{{"description",
                                                 "The provider's answer, unchanged."}}}};
  }
  Json responses = Json::object();
  for (const std::uint16_t status : response.success_statuses) {
    responses[std::to_string(status)] = {
        {"description", "The provider's answer."}, {"headers", headers}, {"content", content}};
  }
  return responses;
}

Json responses_json(const OpenApiInput& input, const registry::Operation& operation) {
  Json responses = success_responses(operation);
  const auto& types = operation.response->error_content_types;
  const registry::ReplySchema* const schema = operation.error_schema.get();
  const bool has_usual_errors =
      schema == nullptr && types == registry::default_response().error_content_types;
  for (const int status : gateway_statuses) {
    const std::string text = std::to_string(status);
    if (responses.contains(text)) continue;
    if (has_usual_errors || !is_passed_on(status)) {
      responses[text] = {{"$ref", "#/components/responses/Gateway" + text}};
    } else {
      responses[text] = error_response(gateway_group, status, input, types, schema);
    }
  }
  return responses;
}

Json idempotency_key_parameter() {
  return {
      {"name", "Idempotency-Key"},
      {"in", "header"},
      {"required", false},
      {"description",
       "Makes the call safe to repeat: for 24 hours the same request under the same key gets the "
       "stored reply, with `Idempotent-Replayed: true`, and is not charged again. A reply over 1 "
       "MiB is not stored. An uncharged outcome frees the key. Ignored on `:free`."},
      {"schema",
       {{"type", "string"},
        {"minLength", 1},
        {"maxLength", base::limits::idempotency_key_bytes_max},
        {"pattern", "^[!-~]+$"}}}};
}

Json operation_json(const OpenApiInput& input, const registry::Route& route,
                    const registry::Operation& operation) {
  const registry::Program& program = input.program;
  const registry::Provider& provider = program.providers()[route.provider];
  const std::string fallback = std::string(name_of(operation.method)) + " " + route.matcher.pattern;
  Json security = Json::array({Json{{"ApiKey", Json::array()}}});
  const bool pays_per_call = is_paid_per_call(program, operation, input.features);
  const TermsDocuments* const payments = payment_documents(program, input.features);
  if (pays_per_call) security.push_back(Json::object());
  Json document = {{"operationId", operation_id_of(operation.method, route.matcher.pattern)},
                   {"tags", Json::array({provider.name})},
                   {"summary", operation.summary.empty() ? fallback : operation.summary},
                   {"description", description_of(program, route, operation, input.features)},
                   {"security", std::move(security)},
                   {"x-service-capability-id", route.id},
                   {"x-service-billing", billing_json(program, operation, input.features)}};
  if (pays_per_call)
    document.update(Json::parse(program.prices()[*operation.price].terms->openapi));
  if (input.features.free_lane && route.free_policy) {
    document["x-service-free-variant"] =
        free_rate_limit_json(program.free_policies()[*route.free_policy]);
  }
  Json parameters = path_parameters_json(route.matcher);
  for (Json& parameter : query_parameters_json(*operation.query))
    parameters.push_back(std::move(parameter));
  if (operation.price) parameters.push_back(idempotency_key_parameter());
  if (pays_per_call) parameters.push_back(Json::parse(payments->payment_header));
  if (!parameters.empty()) document["parameters"] = std::move(parameters);
  if (operation.method == Method::post && !route.body->forbidden) {
    document["requestBody"] = request_body_json(route);
  }
  document["responses"] = responses_json(input, operation);
  for (const std::uint16_t status : operation.response->success_statuses) {
    Json& headers = document["responses"][std::to_string(status)]["headers"];
    if (route.free_policy) headers.update(header_references({"RateLimit", "RateLimit-Policy"}));
    if (!pays_per_call) continue;
    headers[std::string(payments->settlement_header)] = payment_header(payments->settlement_text);
  }
  if (pays_per_call) {
    for (const std::uint16_t status : program.prices()[*operation.price].terms->statuses) {
      const std::string text = std::to_string(status);
      document["responses"][text] = {{"$ref", "#/components/responses/Gateway" + text}};
    }
  }
  document["x-codeSamples"] = Json::array(
      {{{"lang", "Shell"}, {"label", "curl"}, {"source", curl_line(input, route, operation)}}});
  return document;
}

// Rewrites references within a registry schema to point into this document.
void point_to_components(Json& schema) {
  constexpr std::string_view prefix = "#/$defs/";
  if (schema.is_object()) {
    const auto reference = schema.find("$ref");
    if (reference != schema.end() && reference->is_string()) {
      const std::string target = *reference;
      if (target.starts_with(prefix)) schema = schema_reference(target.substr(prefix.size()));
    }
  }
  if (!schema.is_structured()) return;
  for (Json& part : schema) point_to_components(part);
}

// Adds a registry schema and all schemas that it refers to, each under its name.
void add_schema(const registry::ReplySchema* schema, Json& document) {
  if (schema == nullptr) return;
  Json whole = Json::parse(schema->json);
  Json definitions = Json::object();
  if (const auto found = whole.find("$defs"); found != whole.end()) {
    definitions = std::move(*found);
    whole.erase("$defs");
  }
  definitions[schema->name] = std::move(whole);
  Json& schemas = document["components"]["schemas"];
  for (auto& [name, definition] : definitions.items()) {
    if (schemas.contains(name)) continue;
    point_to_components(definition);
    schemas[name] = std::move(definition);
  }
}

// Adds the callable operations in order of path and method, and the tags of their providers.
void add_program(const OpenApiInput& input, Json& document) {
  std::vector<const registry::Route*> routes;
  for (const registry::Route& route : input.program.routes()) routes.push_back(&route);
  std::sort(routes.begin(), routes.end(), [](const auto* left, const auto* right) {
    return left->matcher.pattern < right->matcher.pattern;
  });
  std::set<std::string> operation_ids;
  std::set<std::string> tags;
  for (const registry::Route* route : routes) {
    Json item = Json::object();
    for (const std::uint32_t index : route->operations) {
      const registry::Operation& operation = input.program.operations()[index];
      if (!is_callable(input.program, operation, input.readiness)) continue;
      Json entry = operation_json(input, *route, operation);
      if (!operation_ids.insert(entry["operationId"]).second) {
        entry["operationId"] = entry["operationId"].get<std::string>() + "_" + route->id.substr(6);
      }
      item[operation.method == Method::get ? "get" : "post"] = std::move(entry);
      add_schema(operation.reply_schema.get(), document);
      add_schema(operation.error_schema.get(), document);
      tags.insert(input.program.providers()[route->provider].name);
    }
    if (!item.empty()) document["paths"][route->matcher.pattern] = std::move(item);
  }
  // The operations come before the gateway's own routes, since readers look for them first.
  Json all = Json::array();
  for (const std::string& tag : tags) {
    all.push_back({{"name", tag}, {"description", "Operations of the provider " + tag + "."}});
  }
  for (Json& tag : document["tags"]) all.push_back(std::move(tag));
  document["tags"] = std::move(all);
}

// Adds the facts about every reply: it has a request id, "unchanged" repeats the ETag, and a
// malformed HTTP request is refused on every route.
void complete_responses(Json& paths) {
  for (Json& item : paths) {
    for (Json& operation : item) {
      Json& responses = operation["responses"];
      for (auto& [status, response] : responses.items()) {
        if (response.contains("$ref")) continue;
        response["headers"]["X-Request-Id"] = header_reference("X-Request-Id");
        if (status == "304") response["headers"]["ETag"] = header_reference("ETag");
      }
      responses["default"] = {{"$ref", "#/components/responses/Default"}};
    }
  }
}

Json default_response() {
  return {{"description",
           "Any other error, such as a request that is not HTTP/1.1 as it is spoken here: 405, "
           "408, 411, 414, 415, 431, 501, 505."},
          {"headers", header_references({"X-Request-Id"})},
          {"content",
           {{"application/json", {{"schema", {{"$ref", "#/components/schemas/ErrorEnvelope"}}}}}}}};
}

}  // namespace

std::string openapi_text(const OpenApiInput& input) {
  Json document = text::parse_json(input.frame);
  if (!input.service_name.empty()) {
    document["info"]["title"] = std::string(input.service_name) + " API";
  }
  document["info"]["description"] =
      "Operations of third-party data providers, called one by one and paid with prepaid Credits. "
      "This document lists the operations that can be called, in registry generation `" +
      input.generation.id +
      "`; the catalog at `/v1/capabilities` lists all, with their terms and "
      "whether their provider answers now.";
  document["servers"].push_back({{"url", input.base_url}});
  document["components"]["schemas"]["ErrorCode"] = error_code_schema(input);
  add_program(input, document);
  complete_responses(document["paths"]);
  std::set<std::string> names;
  collect_responses(document["paths"], names);
  document["components"]["responses"] = responses_for(names, input);
  document["components"]["responses"]["Default"] = default_response();
  return text_of(document);
}

}  // namespace turnpike::catalog

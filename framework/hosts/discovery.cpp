#include "hosts/discovery.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "catalog/rendering.h"
#include "hosts/agent_capabilities_schema.h"
#include "hosts/origins.h"
#include "hosts/reply_fields.h"

namespace turnpike::hosts {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view card_type = "application/mcp-server-card+json";
constexpr std::size_t card_text_characters_max = 100;  // a server card's title or description
constexpr std::string_view linkset_type =
    "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"";
constexpr std::string_view metadata_path = "/.well-known/oauth-protected-resource";

// Returns the first `most` characters of UTF-8 text.
std::string first_characters(std::string_view text, std::size_t most) {
  std::size_t characters = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins_one = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins_one && characters++ == most) return std::string(text.substr(0, at));
  }
  return std::string(text);
}

std::string description_of(const DiscoverySettings& settings) {
  const ServiceName& service = settings.service;
  return service.tagline.empty() ? service.name : service.tagline;
}

// "https://mcp.example.com" -> "com.example.mcp/acme-data". An IP address has no such name.
std::string card_name(std::string_view url, const ServiceName& service) {
  const std::string origin = origin_of(url);
  std::string_view rest = split_authority(authority_of(origin)).host;
  const bool is_address =
      rest.starts_with('[') || rest.find_first_not_of("0123456789.") == rest.npos;
  std::string name = is_address ? "local" : "";
  while (!is_address && !rest.empty()) {
    const std::size_t dot = rest.rfind('.');
    name += rest.substr(dot == rest.npos ? 0 : dot + 1);
    rest = rest.substr(0, dot == rest.npos ? 0 : dot);
    if (!rest.empty()) name += '.';
  }
  return name + "/" + service.slug();
}

// One URL for each way to pay: an account's API key, and x402 without an account.
Json remotes(const DiscoverySettings& settings, const Json& members_of_all,
             const Json& members_of_account) {
  Json account = {{"type", "streamable-http"}, {"url", settings.urls.mcp}};
  account.update(members_of_all);
  account.update(members_of_account);
  Json list = Json::array({std::move(account)});
  if (settings.takes_payments) {
    Json payment = {{"type", "streamable-http"}, {"url", settings.urls.mcp + "/x402"}};
    payment.update(members_of_all);
    list.push_back(std::move(payment));
  }
  return list;
}

// There is no agreed schema: these are the members that known readers look for.
std::string manifest(const DiscoverySettings& settings) {
  Json schemes = Json::array({"api_key"});
  Json authentication = {{"required", false}};
  if (!settings.authorization_server.empty()) schemes.insert(schemes.begin(), "oauth2");
  authentication["schemes"] = std::move(schemes);
  if (!settings.authorization_server.empty()) {
    authentication["resourceMetadata"] = settings.urls.mcp + std::string(metadata_path);
  }
  Json body = {
      {"version", "1.0"},
      {"serverInfo",
       {{"name", settings.service.slug()},
        {"title", settings.service.name},
        {"version", settings.release}}},
      {"description", description_of(settings)},
      {"protocolVersion", settings.protocol_versions.front()},
      {"protocolVersions", settings.protocol_versions},
      {"transport", {{"type", "streamable-http"}, {"endpoint", settings.urls.mcp}}},
      {"authentication", std::move(authentication)},
      {"capabilities",
       {{"tools", Json::object()}, {"resources", Json::object()}, {"prompts", Json::object()}}},
      {"remotes", remotes(settings, Json::object(), Json::object())}};
  if (!settings.urls.web.empty()) {
    body["documentation"] = settings.urls.web;
  } else if (!settings.urls.api.empty()) {
    body["documentation"] = settings.urls.api + "/openapi.json";
  }
  return body.dump();
}

// The server card of SEP-2127; it lists no tools, resources or prompts.
std::string server_card(const DiscoverySettings& settings) {
  const Json key = {
      {"name", "Authorization"},
      {"description", "Bearer and an API key: needed to run routes, not to read the catalog."},
      {"isRequired", false},
      {"isSecret", true}};
  Json body = {
      {"$schema", "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"},
      {"name", card_name(settings.urls.mcp, settings.service)},
      {"version", settings.release},
      {"description", first_characters(description_of(settings), card_text_characters_max)},
      {"title", first_characters(settings.service.name, card_text_characters_max)}};
  if (!settings.urls.web.empty()) body["websiteUrl"] = settings.urls.web;
  body["remotes"] = remotes(settings, {{"supportedProtocolVersions", settings.protocol_versions}},
                            {{"headers", Json::array({key})}});
  return body.dump();
}

// The metadata of RFC 9728. Members without a value are left out: the API host takes no OAuth
// tokens, so its document names no authorization server.
std::string protected_resource(const DiscoverySettings& settings, PublicHost host) {
  Json body = {{"resource", host == PublicHost::mcp ? settings.urls.mcp : settings.urls.api}};
  if (host == PublicHost::mcp) body["authorization_servers"] = Json::array({settings.urls.mcp});
  body["bearer_methods_supported"] = Json::array({"header"});
  body["resource_name"] = settings.service.name;
  if (!settings.urls.web.empty()) body["resource_documentation"] = settings.urls.web;
  return body.dump();
}

// RFC 9727: a linkset (RFC 9264) in which each API of the service is a context of its own.
std::string api_catalog(const DiscoverySettings& settings) {
  const PublicUrls& urls = settings.urls;
  const std::string catalog = urls.api + "/v1/capabilities";
  Json items = Json::array({{{"href", catalog}, {"type", json_type}}});
  Json pages = Json::array({{{"href", urls.web + "/developers"}, {"type", "text/html"}}});
  if (settings.has_reference) {
    pages.push_back({{"href", urls.api + "/reference"}, {"type", "text/html"}});
  }
  Json api = {{"anchor", catalog},
              {"service-desc",
               {{{"href", urls.api + "/openapi.json"}, {"type", "application/openapi+json"}}}},
              {"service-doc", pages},
              {"service-meta",
               {{{"href", urls.web + std::string(agent_capabilities_path)}, {"type", json_type}}}},
              {"status", {{{"href", urls.api + "/v1/status"}, {"type", json_type}}}},
              {"terms-of-service",
               {{{"href", urls.web + "/terms-of-service"}, {"type", "text/html"}}}}};
  Json contexts = Json::array({std::move(api)});
  if (!urls.mcp.empty() && !settings.protocol_versions.empty()) {
    items.push_back({{"href", urls.mcp}, {"type", json_type}});
    contexts.push_back(
        {{"anchor", urls.mcp},
         {"service-desc", {{{"href", urls.mcp + "/server-card"}, {"type", card_type}}}},
         {"service-meta", {{{"href", urls.mcp + "/.well-known/mcp.json"}, {"type", json_type}}}},
         {"status", {{{"href", urls.mcp + "/healthz"}, {"type", json_type}}}}});
  }
  contexts.insert(contexts.begin(),
                  Json{{"anchor", urls.web + std::string(api_catalog_path)}, {"item", items}});
  return Json{{"linkset", std::move(contexts)}}.dump();
}

// One body for two drafts, ARD and AI Catalog: it has what each requires and nothing that the other
// forbids (docs/protocols.md, "Discovery").
std::string ai_catalog(const DiscoverySettings& settings) {
  const PublicUrls& urls = settings.urls;
  const std::string origin = origin_of(urls.web);
  std::string host(split_authority(authority_of(origin)).host);
  std::erase_if(host, [](char c) { return c == '[' || c == ']'; });
  std::replace(host.begin(), host.end(), ':', '-');  // an IPv6 address
  const std::string& name = settings.service.name;
  // The drafts have no type for the HTTP API's document, so only the RFC 9727 catalog has it.
  Json entries = Json::array(
      {{{"identifier", "urn:air:" + host + ":mcp:" + settings.service.slug()},
        {"displayName", name + " (MCP)"},
        {"type", card_type},
        {"url", urls.mcp + "/server-card"},
        {"description", description_of(settings)},
        {"representativeQueries",
         {"Which data can be called here, and what does a call cost?",
          "Run an operation of a data provider and pay for that call alone.",
          "Is a source of data fresh, and does it work now?"}}}});
  Json body = {
      {"specVersion", "1.0"},
      {"host", {{"displayName", name}, {"documentationUrl", urls.web + "/developers"}}},
      {"entries", std::move(entries)}};
  if (settings.has_logo) body["host"]["logoUrl"] = urls.web + "/assets/logo.svg";
  return body.dump();
}

// The schema is identified by its URL.
std::string schema_of_this_host(const std::string& web_url) {
  constexpr std::string_view nowhere = "https://gateway.invalid";
  std::string schema(agent_capabilities_schema());
  schema.replace(schema.find(nowhere), nowhere.size(), web_url);
  return schema;
}

}  // namespace

std::string ServiceName::slug() const {
  std::string slug;
  for (const char c : name) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_word = is_upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (is_word) {
      slug += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  if (slug.ends_with('-')) slug.pop_back();
  constexpr std::size_t slug_bytes_max = 64;
  return slug.empty() ? "gateway" : slug.substr(0, slug_bytes_max);
}

Discovery::Discovery(const DiscoverySettings& settings) {
  const PublicUrls& urls = settings.urls;
  if (!urls.mcp.empty() && !settings.protocol_versions.empty()) {
    const std::string body = manifest(settings);
    for (const PublicHost host : {PublicHost::api, PublicHost::mcp, PublicHost::web}) {
      publish(host, "/.well-known/mcp.json", json_type, body);
    }
    // The path below /.well-known/ is from an older draft, which some clients still request.
    publish(PublicHost::web, "/.well-known/mcp/server-card.json", card_type, server_card(settings));
    for (const char* path : {"/server-card", "/.well-known/mcp/server-card.json"}) {
      publish(PublicHost::mcp, path, card_type, server_card(settings));
    }
  }
  if (!settings.authorization_server.empty()) {
    if (!urls.api.empty()) {
      publish(PublicHost::api, metadata_path, json_type,
              protected_resource(settings, PublicHost::api));
    }
    publish(PublicHost::mcp, metadata_path, json_type,
            protected_resource(settings, PublicHost::mcp));
    publish(PublicHost::mcp, "/.well-known/oauth-authorization-server", json_type,
            settings.authorization_server);
  }
  if (!settings.openai_apps_challenge.empty()) {
    publish(PublicHost::mcp, "/.well-known/openai-apps-challenge", "text/plain",
            settings.openai_apps_challenge);
  }
  publish_for_web(settings);
}

void Discovery::publish_for_web(const DiscoverySettings& settings) {
  const PublicUrls& urls = settings.urls;
  if (!settings.mcp_registry_auth.empty()) {
    publish(PublicHost::web, "/.well-known/mcp-registry-auth", "text/plain",
            settings.mcp_registry_auth);
  }
  if (urls.web.empty()) return;
  publish(PublicHost::web, agent_capabilities_schema_path, "application/schema+json",
          schema_of_this_host(urls.web));
  if (!urls.api.empty()) {
    const std::string link = "<" + urls.web + std::string(api_catalog_path) +
                             ">; rel=\"api-catalog\"; type=\"application/linkset+json\"";
    publish(PublicHost::web, api_catalog_path, linkset_type, api_catalog(settings), link);
  }
  if (urls.mcp.empty() || settings.protocol_versions.empty()) return;
  publish(PublicHost::web, "/.well-known/ard.json", json_type, ai_catalog(settings));
  publish(PublicHost::web, "/.well-known/ai-catalog.json", "application/ai-catalog+json",
          ai_catalog(settings));
}

void Discovery::publish(PublicHost host, std::string_view path, std::string_view content_type,
                        std::string body, std::string link) {
  const auto rendered = catalog::make_rendering(std::move(body), {}, std::nullopt);
  published_.push_back({host,
                        path,
                        {std::string(content_type), rendered->body, rendered->etag,
                         std::move(link)}});
}

const PublicDocument* Discovery::find(PublicHost host, std::string_view path) const noexcept {
  const auto found = std::find_if(
      published_.begin(), published_.end(),
      [&](const Published& published) { return published.host == host && published.path == path; });
  return found == published_.end() ? nullptr : &found->document;
}

}  // namespace turnpike::hosts

#include "hosts/discovery.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "catalog/rendering.h"
#include "hosts/origins.h"
#include "hosts/reply_fields.h"

namespace turnpike::hosts {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view card_type = "application/mcp-server-card+json";
constexpr std::string_view title = "Turnpike";
// The server card allows 100 characters.
constexpr std::string_view description =
    "Pay-per-call access to third-party data: find a route, see its price, run it.";
constexpr std::string_view metadata_path = "/.well-known/oauth-protected-resource";

// "https://mcp.example.com" -> "com.example.mcp/turnpike". An address has no such name.
std::string card_name(std::string_view url) {
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
  return name + "/turnpike";
}

// One URL for each way to pay: an account's key, and x402 without an account.
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

// No schema was ever agreed on: the members that readers were seen to look for.
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
      {"serverInfo", {{"name", "turnpike"}, {"title", title}, {"version", settings.release}}},
      {"description", description},
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

// SEP-2127; it lists no tools, resources or prompts.
std::string server_card(const DiscoverySettings& settings) {
  const Json key = {
      {"name", "Authorization"},
      {"description", "Bearer and an API key: needed to run routes, not to read the catalog."},
      {"isRequired", false},
      {"isSecret", true}};
  Json body = {
      {"$schema", "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"},
      {"name", card_name(settings.urls.mcp)},
      {"version", settings.release},
      {"description", description},
      {"title", title}};
  if (!settings.urls.web.empty()) body["websiteUrl"] = settings.urls.web;
  body["remotes"] = remotes(settings, {{"supportedProtocolVersions", settings.protocol_versions}},
                            {{"headers", Json::array({key})}});
  return body.dump();
}

// RFC 9728. What has no value is left out: the API host takes no OAuth tokens, so it names no
// server that gives them.
std::string protected_resource(const DiscoverySettings& settings, PublicHost host) {
  Json body = {{"resource", host == PublicHost::mcp ? settings.urls.mcp : settings.urls.api}};
  if (host == PublicHost::mcp) body["authorization_servers"] = Json::array({settings.urls.mcp});
  body["bearer_methods_supported"] = Json::array({"header"});
  body["resource_name"] = title;
  if (!settings.urls.web.empty()) body["resource_documentation"] = settings.urls.web;
  return body.dump();
}

}  // namespace

Discovery::Discovery(const DiscoverySettings& settings) {
  const PublicUrls& urls = settings.urls;
  if (!urls.mcp.empty() && !settings.protocol_versions.empty()) {
    const std::string body = manifest(settings);
    for (const PublicHost host : {PublicHost::api, PublicHost::mcp}) {
      publish(host, "/.well-known/mcp.json", json_type, body);
    }
    // The second path is that of an older draft, which is still looked at.
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
}

void Discovery::publish(PublicHost host, std::string_view path, std::string_view content_type,
                        std::string body) {
  const auto rendered = catalog::make_rendering(std::move(body), {}, std::nullopt);
  published_.push_back({host, path, {std::string(content_type), rendered->body, rendered->etag}});
}

const PublicDocument* Discovery::find(PublicHost host, std::string_view path) const noexcept {
  const auto found = std::find_if(
      published_.begin(), published_.end(),
      [&](const Published& published) { return published.host == host && published.path == path; });
  return found == published_.end() ? nullptr : &found->document;
}

}  // namespace turnpike::hosts

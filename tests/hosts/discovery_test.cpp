#include "hosts/discovery.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace turnpike::hosts {
namespace {

using nlohmann::json;

DiscoverySettings everything() {
  return {.urls = {.api = "https://api.example.com",
                   .mcp = "https://mcp.example.com",
                   .web = "https://example.com"},
          .release = "1.4.0",
          .protocol_versions = {"2026-07-28", "2025-11-25", "2025-06-18"},
          .takes_payments = true,
          .authorization_server = R"({"issuer": "https://mcp.example.com"})",
          .openai_apps_challenge = "token-1",
          .mcp_registry_auth = "v=MCPv1; k=ed25519; p=AAAA",
          .has_reference = true};
}

json body_at(const Discovery& discovery, PublicHost host, std::string_view path) {
  const PublicDocument* document = discovery.find(host, path);
  return document == nullptr ? json() : json::parse(document->body);
}

TEST(DiscoveryTest, TheManifestNamesUrlsVersionsAndEndpoints) {
  const Discovery discovery(everything());
  const PublicDocument* document = discovery.find(PublicHost::mcp, "/.well-known/mcp.json");
  ASSERT_NE(document, nullptr);
  EXPECT_EQ(document->content_type, "application/json");
  EXPECT_EQ(json::parse(document->body), json::parse(R"({
    "version": "1.0",
    "serverInfo": {"name": "turnpike", "title": "Turnpike", "version": "1.4.0"},
    "description": "Pay-per-call access to third-party data.",
    "protocolVersion": "2026-07-28",
    "protocolVersions": ["2026-07-28", "2025-11-25", "2025-06-18"],
    "transport": {"type": "streamable-http", "endpoint": "https://mcp.example.com"},
    "authentication": {"required": false, "schemes": ["oauth2", "api_key"],
      "resourceMetadata": "https://mcp.example.com/.well-known/oauth-protected-resource"},
    "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
    "remotes": [{"type": "streamable-http", "url": "https://mcp.example.com"},
                {"type": "streamable-http", "url": "https://mcp.example.com/x402"}],
    "documentation": "https://example.com"})"));
  const PublicDocument* same = discovery.find(PublicHost::api, "/.well-known/mcp.json");
  ASSERT_NE(same, nullptr);
  EXPECT_EQ(same->body, document->body);
  EXPECT_EQ(same->etag, document->etag);
}

TEST(DiscoveryTest, WhatIsNotOfferedIsNotNamed) {
  DiscoverySettings settings = everything();
  settings.takes_payments = false;
  settings.authorization_server = "";
  settings.urls.web = "";
  const Discovery discovery(settings);
  const json manifest = body_at(discovery, PublicHost::mcp, "/.well-known/mcp.json");
  EXPECT_EQ(manifest["authentication"],
            json::parse(R"({"required": false, "schemes": ["api_key"]})"));
  EXPECT_EQ(manifest["remotes"].size(), 1u);
  EXPECT_EQ(manifest["documentation"], "https://api.example.com/openapi.json");
  const json card = body_at(discovery, PublicHost::mcp, "/server-card");
  EXPECT_EQ(card["remotes"].size(), 1u);
  EXPECT_FALSE(card.contains("websiteUrl"));
}

TEST(DiscoveryTest, TheServerCardKeepsItsBounds) {
  const Discovery discovery(everything());
  const PublicDocument* document = discovery.find(PublicHost::mcp, "/server-card");
  ASSERT_NE(document, nullptr);
  EXPECT_EQ(document->content_type, "application/mcp-server-card+json");
  const json card = json::parse(document->body);
  EXPECT_EQ(card["$schema"],
            "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json");
  EXPECT_EQ(card["name"], "com.example.mcp/turnpike");
  EXPECT_EQ(card["version"], "1.4.0");
  const std::string description = card["description"];
  EXPECT_FALSE(description.empty());
  EXPECT_LE(description.size(), 100u);
  EXPECT_EQ(card["websiteUrl"], "https://example.com");
  EXPECT_EQ(card["remotes"][0]["url"], "https://mcp.example.com");
  EXPECT_EQ(card["remotes"][0]["supportedProtocolVersions"][0], "2026-07-28");
  EXPECT_EQ(card["remotes"][0]["headers"][0]["name"], "Authorization");
  EXPECT_EQ(card["remotes"][0]["headers"][0]["isSecret"], true);
  EXPECT_EQ(card["remotes"][1]["url"], "https://mcp.example.com/x402");
  EXPECT_FALSE(card["remotes"][1].contains("headers")) << "a key is refused there";
  for (const char* never : {"tools", "resources", "prompts"}) EXPECT_FALSE(card.contains(never));
  const PublicDocument* scanned =
      discovery.find(PublicHost::mcp, "/.well-known/mcp/server-card.json");
  ASSERT_NE(scanned, nullptr);
  EXPECT_EQ(scanned->body, document->body);
}

TEST(DiscoveryTest, TheNameOfACardIsTheHostBackwards) {
  const std::pair<const char*, const char*> names[] = {
      {"https://mcp.example.com", "com.example.mcp/turnpike"},
      {"https://MCP.Example.com:8443/sub", "com.example.mcp/turnpike"},
      {"http://localhost:8403", "localhost/turnpike"},
      {"http://127.0.0.1:8403", "local/turnpike"},
      {"http://[::1]:8403", "local/turnpike"},
  };
  for (const auto& [url, name] : names) {
    DiscoverySettings settings = everything();
    settings.urls.mcp = url;
    EXPECT_EQ(body_at(Discovery(settings), PublicHost::mcp, "/server-card")["name"], name);
  }
}

TEST(DiscoveryTest, ProtectedResourceMetadataNeedsAnAuthorizationServer) {
  const char* const path = "/.well-known/oauth-protected-resource";
  EXPECT_EQ(body_at(Discovery(everything()), PublicHost::mcp, path), json::parse(R"({
    "resource": "https://mcp.example.com",
    "authorization_servers": ["https://mcp.example.com"],
    "bearer_methods_supported": ["header"],
    "resource_name": "Turnpike",
    "resource_documentation": "https://example.com"})"));
  const json of_api = body_at(Discovery(everything()), PublicHost::api, path);
  EXPECT_EQ(of_api["resource"], "https://api.example.com");
  EXPECT_FALSE(of_api.contains("authorization_servers")) << "it takes no OAuth tokens";
  EXPECT_EQ(body_at(Discovery(everything()), PublicHost::mcp,
                    "/.well-known/oauth-authorization-server")["issuer"],
            "https://mcp.example.com");
  EXPECT_EQ(
      Discovery(everything()).find(PublicHost::mcp, "/.well-known/oauth-protected-resource/x402"),
      nullptr)
      << "it would send payers to a consent page";
  DiscoverySettings settings = everything();
  settings.authorization_server = "";
  for (const PublicHost host : {PublicHost::api, PublicHost::mcp}) {
    EXPECT_EQ(Discovery(settings).find(host, path), nullptr);
  }
}

TEST(DiscoveryTest, TheChallengeOfOpenAiIsTheTokenAlone) {
  const char* const path = "/.well-known/openai-apps-challenge";
  const Discovery discovery(everything());
  const PublicDocument* document = discovery.find(PublicHost::mcp, path);
  ASSERT_NE(document, nullptr);
  EXPECT_EQ(document->content_type, "text/plain");
  EXPECT_EQ(document->body, "token-1");
  EXPECT_EQ(discovery.find(PublicHost::api, path), nullptr);
  DiscoverySettings settings = everything();
  settings.openai_apps_challenge = "";
  EXPECT_EQ(Discovery(settings).find(PublicHost::mcp, path), nullptr);
}

TEST(DiscoveryTest, NothingIsSaidOfEndpointsThatAreNotThere) {
  DiscoverySettings no_url = everything();
  no_url.urls.mcp = "";
  DiscoverySettings no_version = everything();
  no_version.protocol_versions = {};
  for (const DiscoverySettings& settings : {no_url, no_version}) {
    const Discovery discovery(settings);
    EXPECT_EQ(discovery.find(PublicHost::api, "/.well-known/mcp.json"), nullptr);
    EXPECT_EQ(discovery.find(PublicHost::mcp, "/.well-known/mcp.json"), nullptr);
    EXPECT_EQ(discovery.find(PublicHost::mcp, "/server-card"), nullptr);
  }
}

TEST(DiscoveryTest, TheWebHostHasTheDocumentsOfTheMcpHost) {
  const Discovery discovery(everything());
  for (const char* const path : {"/.well-known/mcp.json", "/.well-known/mcp/server-card.json"}) {
    const PublicDocument* const of_web = discovery.find(PublicHost::web, path);
    ASSERT_NE(of_web, nullptr) << path;
    EXPECT_EQ(of_web->body, discovery.find(PublicHost::mcp, path)->body);
    EXPECT_EQ(of_web->content_type, discovery.find(PublicHost::mcp, path)->content_type);
  }
  const PublicDocument* const key =
      discovery.find(PublicHost::web, "/.well-known/mcp-registry-auth");
  EXPECT_EQ(key->body, "v=MCPv1; k=ed25519; p=AAAA");
  EXPECT_EQ(key->content_type, "text/plain");
}

TEST(DiscoveryTest, TheApiCatalogIsALinksetOfEachApi) {
  const Discovery discovery(everything());
  const PublicDocument* const found = discovery.find(PublicHost::web, api_catalog_path);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->content_type,
            "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"");
  EXPECT_EQ(found->link, "<https://example.com/.well-known/api-catalog>; rel=\"api-catalog\"; "
                         "type=\"application/linkset+json\"");
  EXPECT_EQ(json::parse(found->body), json::parse(R"({"linkset": [
    {"anchor": "https://example.com/.well-known/api-catalog",
     "item": [{"href": "https://api.example.com/v1/capabilities", "type": "application/json"},
              {"href": "https://mcp.example.com", "type": "application/json"}]},
    {"anchor": "https://api.example.com/v1/capabilities",
     "service-desc": [{"href": "https://api.example.com/openapi.json",
                       "type": "application/openapi+json"}],
     "service-doc": [{"href": "https://example.com/developers", "type": "text/html"},
                     {"href": "https://api.example.com/reference", "type": "text/html"}],
     "service-meta": [{"href": "https://example.com/discovery/agent-capabilities.json",
                       "type": "application/json"}],
     "status": [{"href": "https://api.example.com/v1/status", "type": "application/json"}],
     "terms-of-service": [{"href": "https://example.com/terms-of-service",
                           "type": "text/html"}]},
    {"anchor": "https://mcp.example.com",
     "service-desc": [{"href": "https://mcp.example.com/server-card",
                       "type": "application/mcp-server-card+json"}],
     "service-meta": [{"href": "https://mcp.example.com/.well-known/mcp.json",
                       "type": "application/json"}],
     "status": [{"href": "https://mcp.example.com/healthz", "type": "application/json"}]}]})"));
}

TEST(DiscoveryTest, TwoCatalogsOfAgentsAreOneBody) {
  const Discovery discovery(everything());
  const PublicDocument* const ard = discovery.find(PublicHost::web, "/.well-known/ard.json");
  const PublicDocument* const ai = discovery.find(PublicHost::web, "/.well-known/ai-catalog.json");
  ASSERT_NE(ard, nullptr);
  ASSERT_NE(ai, nullptr);
  EXPECT_EQ(ard->body, ai->body);
  EXPECT_EQ(ard->content_type, "application/json");
  EXPECT_EQ(ai->content_type, "application/ai-catalog+json");
  const json body = json::parse(ard->body);
  EXPECT_EQ(body["specVersion"], "1.0");
  EXPECT_EQ(body["host"]["displayName"], "Turnpike");
  ASSERT_EQ(body["entries"].size(), 1u);
  EXPECT_EQ(body["entries"][0]["identifier"], "urn:air:example.com:mcp:turnpike");
  EXPECT_EQ(body["entries"][0]["url"], "https://mcp.example.com/server-card");
  EXPECT_EQ(body["entries"][0]["representativeQueries"].size(), 3u);
}

TEST(DiscoveryTest, TheWebHostIsSilentOfHostsThatAreNotThere) {
  DiscoverySettings settings = everything();
  settings.urls.mcp = "";
  settings.mcp_registry_auth = "";
  const Discovery without_mcp(settings);
  EXPECT_EQ(body_at(without_mcp, PublicHost::web, api_catalog_path)["linkset"].size(), 2u);
  for (const char* const path : {"/.well-known/ard.json", "/.well-known/mcp.json",
                                 "/.well-known/mcp/server-card.json",
                                 "/.well-known/mcp-registry-auth"}) {
    EXPECT_EQ(without_mcp.find(PublicHost::web, path), nullptr) << path;
  }
  settings.urls.api = "";
  const Discovery alone(settings);
  EXPECT_EQ(alone.find(PublicHost::web, api_catalog_path), nullptr);
  EXPECT_EQ(alone.find(PublicHost::web, "/.well-known/ard.json"), nullptr);
  EXPECT_NE(alone.find(PublicHost::web, agent_capabilities_schema_path), nullptr);
  settings = everything();
  settings.urls.web = "";
  const Discovery no_web(settings);
  for (const auto path : {api_catalog_path, agent_capabilities_schema_path,
                          std::string_view("/.well-known/ard.json")}) {
    EXPECT_EQ(no_web.find(PublicHost::web, path), nullptr) << path;
  }
}

TEST(DiscoveryTest, SpeaksForTheBrandAlone) {
  DiscoverySettings settings = everything();
  settings.service = {"Ácme Data & Co.", std::string(150, 'x')};
  settings.has_logo = true;
  const Discovery discovery(settings);
  const json card = body_at(discovery, PublicHost::web, "/.well-known/mcp/server-card.json");
  EXPECT_EQ(card["name"], "com.example.mcp/cme-data-co");
  EXPECT_EQ(card["title"], "Ácme Data & Co.");
  EXPECT_EQ(card["description"], std::string(100, 'x')) << "as much as a card may hold";
  EXPECT_EQ(body_at(discovery, PublicHost::web, "/.well-known/ard.json")["host"]["logoUrl"],
            "https://example.com/assets/logo.svg");
  for (const PublicHost host : {PublicHost::api, PublicHost::mcp, PublicHost::web}) {
    for (const char* const path :
         {"/.well-known/mcp.json", "/.well-known/mcp/server-card.json", "/server-card",
          "/.well-known/ard.json", "/.well-known/api-catalog",
          "/.well-known/oauth-protected-resource", "/discovery/agent-capabilities.schema.json"}) {
      const PublicDocument* const found = discovery.find(host, path);
      if (found == nullptr) continue;
      EXPECT_EQ(found->body.find("urnpike"), std::string::npos) << path << found->body;
    }
  }
}

TEST(DiscoveryTest, ASlugIsMadeOfLettersAndDigits) {
  const std::pair<const char*, const char*> slugs[] = {{"Turnpike", "turnpike"},
                                                       {"  Acme  Data! ", "acme-data"},
                                                       {"数据", "gateway"},
                                                       {"", "gateway"},
                                                       {"A1", "a1"}};
  for (const auto& [name, slug] : slugs) EXPECT_EQ((ServiceName{name, ""}).slug(), slug) << name;
  EXPECT_EQ((ServiceName{std::string(100, 'a'), ""}).slug().size(), 64u);
}

TEST(DiscoveryTest, ACutDescriptionEndsWithAWholeCharacter) {
  DiscoverySettings settings = everything();
  std::string tagline;
  for (int at = 0; at < 120; ++at) tagline += "é";
  settings.service.tagline = tagline;
  EXPECT_EQ(body_at(Discovery(settings), PublicHost::mcp, "/server-card")["description"],
            tagline.substr(0, 200));
  settings.service.tagline = "";
  EXPECT_EQ(body_at(Discovery(settings), PublicHost::mcp, "/server-card")["description"],
            "Turnpike");
}

TEST(DiscoveryTest, OtherPathsHaveNoDocument) {
  const Discovery discovery(everything());
  for (const char* path : {"", "/", "/.well-known/", "/.well-known/mcp.json/", "/server-card/",
                           "/.well-known/MCP.json", "/.well-known/openid-configuration"}) {
    EXPECT_EQ(discovery.find(PublicHost::mcp, path), nullptr) << path;
  }
  EXPECT_EQ(discovery.find(PublicHost::api, "/server-card"), nullptr);
}

}  // namespace
}  // namespace turnpike::hosts

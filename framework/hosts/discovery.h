// Discovery: the documents by which clients find the service and learn its protocols. Made once, at
// start, from configured public URLs, never from what a request says of itself. A document whose
// subject is not configured does not exist: no document is empty.
//
// Owned by app/, shared by the hosts; immutable; any Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "site/facts.h"

namespace turnpike::hosts {

using PublicUrls = site::HostUrls;

// The name of the service in documents and for models: the operator's brand.
struct ServiceName {
  std::string name = "Turnpike";
  std::string tagline = "Pay-per-call access to third-party data.";
  // The name without blanks: "Acme Data" is "acme-data".
  [[nodiscard]] std::string slug() const;
};

struct DiscoverySettings {
  PublicUrls urls;
  ServiceName service = {};
  std::string release;  // "0.1.0"
  // The protocol versions of the MCP endpoints, the newest first; empty: no document names any.
  std::vector<std::string> protocol_versions = {};
  bool takes_payments = false;  // x402, at /x402 of the MCP host
  // The URL of the authorization server (RFC 8414), which is that of the MCP host. Empty: none.
  std::string authorization_server = {};
  std::string openai_apps_challenge = {};  // a token; empty: none
  std::string mcp_registry_auth = {};      // the line that the MCP Registry checks; empty: none
  bool has_reference = false;              // the API host has its page /reference
  bool has_logo = false;                   // the web host has /assets/logo.svg
};

struct PublicDocument {
  std::string content_type;
  std::string body;
  std::string etag;  // with its quotes
  std::string link = {};  // header field Link; empty: none
};

enum class PublicHost : std::uint8_t { api, mcp, web };

inline constexpr std::string_view api_catalog_path = "/.well-known/api-catalog";
inline constexpr std::string_view agent_capabilities_path = "/discovery/agent-capabilities.json";
inline constexpr std::string_view agent_capabilities_schema_path =
    "/discovery/agent-capabilities.schema.json";

class Discovery {
 public:
  explicit Discovery(const DiscoverySettings& settings);

  // Null: there is no such document on this host.
  [[nodiscard]] const PublicDocument* find(PublicHost host, std::string_view path) const noexcept;

 private:
  struct Published {
    PublicHost host;
    std::string_view path;
    PublicDocument document;
  };
  void publish(PublicHost host, std::string_view path, std::string_view content_type,
               std::string body, std::string link = {});
  void publish_for_web(const DiscoverySettings& settings);

  std::vector<Published> published_;
};

}  // namespace turnpike::hosts

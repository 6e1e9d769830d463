#include "hosts/mcp/mcp_host.h"

namespace turnpike::hosts::mcp {

namespace {

constexpr CorsHeaders cors_headers = {
    .exposed = "MCP-Protocol-Version, Retry-After, WWW-Authenticate, X-Request-Id",
    // The last, "*", allows Mcp-Param-<name>, which tools may require. It is a wildcard because
    // credentials in the sense of the Fetch standard are not allowed, but it never covers
    // Authorization.
    .requested =
        "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, "
        "MCP-Protocol-Version, Mcp-Session-Id, X-Request-Id, *"};

constexpr CorsHeaders cors_headers_of_documents = {
    .exposed = "ETag, X-Request-Id", .requested = "Content-Type, If-None-Match, X-Request-Id"};

HostRules rules(const Origins& origins) {
  return {.cors = Cors(origins, cors_headers),
          .cors_of_public = Cors(Origins({"*"}), cors_headers_of_documents),
          .nothing_here = "There is nothing at this path; MCP messages go to /.",
          .other_methods =
              "This route does not answer this method. MCP messages come by POST to / or /x402; no "
              "streams are opened."};
}

}  // namespace

McpHost::McpHost(const McpHostParts& parts, const McpHostSettings& settings)
    : access_(settings.access),
      build_(settings.build),
      messages_({parts.features, parts.executions, is_stopping_, settings.service,
                 settings.build.version, settings.messages_bytes_max,
                 settings.progress_interval_ms, parts.runtime.pool()}),
      rooms_{parts.backend, parts.discovery, build_, access_, messages_},
      oauth_rooms_(parts.oauth),
      host_({parts.runtime, parts.clock, parts.random, parts.access_log}, rows(),
            rules(access_.origins())) {}

std::vector<BoundRoute> McpHost::rows() const {
  std::vector<BoundRoute> rows = bind_routes(mcp_routes(), rooms_);
  if (oauth_rooms_) bind_routes(oauth_server::oauth_routes(), *oauth_rooms_, rows);
  return rows;
}

}  // namespace turnpike::hosts::mcp

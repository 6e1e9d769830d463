#include "hosts/mcp/document_routes.h"

#include <utility>

namespace turnpike::hosts::mcp {

namespace {

constexpr CorsHeaders cors_headers = {.exposed = "ETag, X-Request-Id",
                                      .requested = "Content-Type, If-None-Match, X-Request-Id"};

constexpr std::string_view allowed_methods(Endpoint endpoint) noexcept {
  return takes_messages(endpoint) ? "POST, OPTIONS" : "GET, HEAD, OPTIONS";
}

void send(Turn& turn, const ServiceDocument& document) {
  turn.send_json(document.status, document.body, "no-store");
}

}  // namespace

Endpoint endpoint_of(std::string_view path) noexcept {
  if (path == "/") return Endpoint::mcp;
  if (path == "/x402") return Endpoint::mcp_x402;
  if (path == "/healthz") return Endpoint::health;
  if (path == "/readyz") return Endpoint::readiness;
  if (path == "/version") return Endpoint::version;
  if (path == "/server-card" || path.starts_with("/.well-known/")) return Endpoint::well_known;
  return Endpoint::none;
}

DocumentRoutes::DocumentRoutes(Backend& backend, const Discovery& discovery, const Cors& cors,
                               BuildInfo build)
    : backend_(backend),
      discovery_(discovery),
      cors_(cors),
      cors_of_documents_(Origins({"*"}), cors_headers),
      build_(std::move(build)) {}

void DocumentRoutes::answer(Turn& turn, Endpoint endpoint) const {
  const std::string_view method = turn.request.method();
  if (method == "OPTIONS") return preflight(turn, endpoint);
  const bool is_read = method == "GET" || method == "HEAD";
  if (endpoint != Endpoint::none && (takes_messages(endpoint) || !is_read)) {
    turn.refuse(
        {base::ErrorCode::request_method_not_allowed,
         takes_messages(endpoint) ? "This endpoint takes MCP messages by POST; it opens no streams."
                                  : "This route does not answer this method."},
        {.allow = allowed_methods(endpoint)});
    return;
  }
  switch (endpoint) {
    case Endpoint::health:
      return send(turn, liveness_document());
    case Endpoint::readiness:
      return send(turn, readiness_document(backend_.health()));
    case Endpoint::version:
      return send(turn, version_document(build_, backend_.view().get()));
    case Endpoint::well_known:
      return document(turn);
    default:
      turn.refuse({base::ErrorCode::request_not_found,
                   "There is nothing at this path; MCP messages go to /."});
  }
}

void DocumentRoutes::preflight(Turn& turn, Endpoint endpoint) const {
  ReplyFields fields;
  const std::string_view methods = allowed_methods(endpoint);
  fields.add("Allow", methods);
  fields.add("Cache-Control", "no-store");
  fields.add("X-Request-Id", turn.request_id());
  cors_of(endpoint).add_preflight_fields(turn.origin(), methods, fields);
  turn.record.status = 204;
  turn.responder.send(204, fields.view(), {});
}

void DocumentRoutes::document(Turn& turn) const {
  if (const PublicDocument* found = discovery_.find(PublicHost::mcp, turn.request.path())) {
    turn.send_public(*found);
    return;
  }
  turn.refuse({base::ErrorCode::request_not_found, "There is no such document here."});
}

}  // namespace turnpike::hosts::mcp

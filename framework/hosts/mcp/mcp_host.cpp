#include "hosts/mcp/mcp_host.h"

#include <utility>

namespace turnpike::hosts::mcp {

namespace {

constexpr CorsHeaders cors_headers = {
    .exposed = "MCP-Protocol-Version, Retry-After, WWW-Authenticate, X-Request-Id",
    // The last stands for Mcp-Param-<name>, which tools may ask for. It means what it says, since
    // no credentials in the sense of the protocol are allowed, but never covers Authorization.
    .requested =
        "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, "
        "MCP-Protocol-Version, Mcp-Session-Id, X-Request-Id, *"};

}  // namespace

McpHost::McpHost(const McpHostParts& parts, const McpHostSettings& settings)
    : clock_(parts.clock),
      access_log_(parts.access_log),
      access_(settings.access),
      cors_(access_.origins(), cors_headers),
      documents_(parts.backend, parts.discovery, cors_, settings.build),
      ids_(parts.runtime, parts.clock, parts.random),
      messages_({parts.features, parts.executions, is_stopping_, settings.build.version,
                 settings.messages_bytes_max, settings.progress_interval_ms}) {}

void McpHost::handle(wire::Request& request, wire::Responder& responder) noexcept {
  const Endpoint endpoint = endpoint_of(request.path());
  Turn turn(request, responder, documents_.cors_of(endpoint), ids_.next(), clock_.monotonic_ns());
  turn.record.endpoint = endpoint;
  if (auto* fiber = runtime::Fiber::current()) fiber->set_name(turn.request_id());
  run_turn(turn, clock_, access_log_, [&] { dispatch(turn); });
}

void McpHost::refuse(const base::Error& error, wire::Request& request,
                     wire::Responder& responder) noexcept {
  Turn turn(request, responder, cors_, ids_.next(), clock_.monotonic_ns());
  run_turn(turn, clock_, access_log_, [&] { turn.refuse(error); });
}

void McpHost::dispatch(Turn& turn) {
  const Endpoint endpoint = turn.record.endpoint;
  if (!takes_messages(endpoint) || turn.request.method() != "POST") {
    return documents_.answer(turn, endpoint);
  }
  if (const auto refusal =
          access_.refusal(turn.request.headers(), turn.request.target_authority())) {
    turn.refuse(*refusal);
    return;
  }
  messages_.answer(turn, endpoint == Endpoint::mcp ? Door::account : Door::payment);
}

}  // namespace turnpike::hosts::mcp

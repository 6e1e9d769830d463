// McpHost: the MCP host of the gateway, on a listener of its own: the table of mcp_routes.h, with
// `/` for accounts and `/x402` for payments per call, and the objects that the handlers use.
//
// Owned by app/, given to wire::Server as a handler; called on the fibers of all loop Threads.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "base/limits.h"
#include "hosts/access_log.h"
#include "hosts/mcp/access.h"
#include "hosts/mcp/mcp_routes.h"
#include "hosts/mcp/message_routes.h"
#include "hosts/oauth/oauth_routes.h"
#include "hosts/routed_host.h"
#include "wire/server.h"

namespace turnpike::hosts::mcp {

// The parts that the host uses; all of them outlive it.
struct McpHostParts {
  Backend& backend;
  const Discovery& discovery;
  const Features& features;
  const Executions& executions;
  runtime::Runtime& runtime;
  const Clock& clock;
  Random& random;
  AccessLog& access_log;
  // The authorization server's routes; nothing: there is none.
  std::optional<oauth_server::OauthRooms> oauth = std::nullopt;
};

struct McpHostSettings {
  AccessSettings access;
  BuildInfo build;
  ServiceName service = {};
  std::uint64_t messages_bytes_max = base::limits::mcp_messages_bytes_max;
  std::uint32_t progress_interval_ms = 5'000;
};

class McpHost final : public wire::Handler {
 public:
  McpHost(const McpHostParts& parts, const McpHostSettings& settings);

  void handle(wire::Request& request, wire::Responder& responder) noexcept override {
    host_.handle(request, responder);
  }
  void refuse(const base::Error& error, wire::Request& request,
              wire::Responder& responder) noexcept override {
    host_.refuse(error, request, responder);
  }

  // Called when the drain time is over: tells calls in flight that the gateway stops. Any Thread.
  void stop() noexcept { is_stopping_.store(true, std::memory_order_relaxed); }

 private:
  [[nodiscard]] std::vector<BoundRoute> rows() const;

  const Access access_;
  const BuildInfo build_;
  std::atomic<bool> is_stopping_{false};
  MessageRoutes messages_;
  const McpRooms rooms_;
  const std::optional<oauth_server::OauthRooms> oauth_rooms_;
  RoutedHost host_;
};

}  // namespace turnpike::hosts::mcp

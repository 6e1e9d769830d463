// McpHost: the MCP skin of the gateway, on a listener of its own. It decides who may talk to the
// two endpoints, `/` for accounts and `/x402` for payments per call, and answers everything that is
// no message.
//
// Owned by app/, given to wire::Server as a handler; called on the fibers of all loop Threads.
#pragma once

#include <atomic>

#include "base/limits.h"
#include "hosts/access_log.h"
#include "hosts/mcp/access.h"
#include "hosts/mcp/document_routes.h"
#include "hosts/mcp/message_routes.h"
#include "hosts/request_ids.h"
#include "wire/server.h"

namespace turnpike::hosts::mcp {

// What the host stands on; all of it outlives the host.
struct McpHostParts {
  Backend& backend;
  const Discovery& discovery;
  const Features& features;
  const Executions& executions;
  runtime::Runtime& runtime;
  const Clock& clock;
  Random& random;
  AccessLog& access_log;
};

struct McpHostSettings {
  AccessSettings access;
  BuildInfo build;
  std::uint64_t messages_bytes_max = base::limits::mcp_messages_bytes_max;
  std::uint32_t progress_interval_ms = 5'000;
};

class McpHost final : public wire::Handler {
 public:
  McpHost(const McpHostParts& parts, const McpHostSettings& settings);

  void handle(wire::Request& request, wire::Responder& responder) noexcept override;
  void refuse(const base::Error& error, wire::Request& request,
              wire::Responder& responder) noexcept override;

  // The drain time is over: calls in flight are told that the gateway stops. Any Thread.
  void stop() noexcept { is_stopping_.store(true, std::memory_order_relaxed); }

 private:
  void dispatch(Turn& turn);

  const Clock& clock_;
  AccessLog& access_log_;
  const Access access_;
  const Cors cors_;
  const DocumentRoutes documents_;
  RequestIds ids_;
  std::atomic<bool> is_stopping_{false};
  MessageRoutes messages_;
};

}  // namespace turnpike::hosts::mcp

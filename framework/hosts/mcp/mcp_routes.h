// The table of the MCP host's routes: messages, the service's health and version, and the documents
// of discovery. Constants; any Thread.
#pragma once

#include <span>

#include "hosts/backend.h"
#include "hosts/discovery.h"
#include "hosts/mcp/access.h"
#include "hosts/mcp/message_routes.h"
#include "hosts/route.h"
#include "hosts/service_documents.h"

namespace turnpike::hosts::mcp {

// The objects that the handlers use; all outlive the host.
struct McpRooms {
  Backend& backend;
  const Discovery& discovery;
  const BuildInfo& build;
  const Access& access;
  MessageRoutes& messages;
};

std::span<const Route<McpRooms>> mcp_routes() noexcept;

}  // namespace turnpike::hosts::mcp

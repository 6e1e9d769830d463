// What the MCP host answers beside JSON-RPC: the service's health and version, the documents of
// discovery, preflights of browsers, and refusals of whatever else. Stateless over what it is
// given; called on the fiber of a request.
#pragma once

#include <string_view>

#include "hosts/backend.h"
#include "hosts/cors.h"
#include "hosts/discovery.h"
#include "hosts/endpoint.h"
#include "hosts/service_documents.h"
#include "hosts/turn.h"

namespace turnpike::hosts::mcp {

// Endpoint::well_known: whatever discovery may have a document at.
Endpoint endpoint_of(std::string_view path) noexcept;

constexpr bool takes_messages(Endpoint endpoint) noexcept {
  return endpoint == Endpoint::mcp || endpoint == Endpoint::mcp_x402;
}

class DocumentRoutes {
 public:
  // All outlive the object. `cors` are the rules of the endpoints; documents are for everyone.
  DocumentRoutes(Backend& backend, const Discovery& discovery, const Cors& cors, BuildInfo build);

  // The rules for the pages that read a reply of this endpoint.
  [[nodiscard]] const Cors& cors_of(Endpoint endpoint) const noexcept {
    return takes_messages(endpoint) ? cors_ : cors_of_documents_;
  }
  // Any request but a POST to an endpoint that takes messages.
  void answer(Turn& turn, Endpoint endpoint) const;

 private:
  void preflight(Turn& turn, Endpoint endpoint) const;
  void document(Turn& turn) const;

  Backend& backend_;
  const Discovery& discovery_;
  const Cors& cors_;
  const Cors cors_of_documents_;
  const BuildInfo build_;
};

}  // namespace turnpike::hosts::mcp

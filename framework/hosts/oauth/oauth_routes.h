// The routes of the authorization server, which stand on the MCP host (docs/protocols.md, "OAuth").
// Clients call three of them; the fourth is where they send the browser of a person, who goes on
// from there to the consent page of the web host. Constants; any Thread.
#pragma once

#include <span>

#include "hosts/account/pooled_people.h"
#include "hosts/oauth/client_documents.h"
#include "hosts/route.h"
#include "oauth/server.h"

namespace turnpike::hosts::oauth_server {

// The objects that the handlers work with; all outlive the host.
struct OauthRooms {
  oauth::Server& server;
  const account::PooledPeople& people;
  ClientDocuments& documents;
};

std::span<const Route<OauthRooms>> oauth_routes() noexcept;

}  // namespace turnpike::hosts::oauth_server

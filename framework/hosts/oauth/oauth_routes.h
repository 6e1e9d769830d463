// The routes of the authorization server, which belong to the MCP host (docs/protocols.md,
// "OAuth"). Clients call three of them; to the fourth they send the browser of a person, which is
// then redirected to the consent page of the web host. Constants; any Thread.
#pragma once

#include <span>

#include "hosts/account/pooled_people.h"
#include "hosts/oauth/client_documents.h"
#include "hosts/route.h"
#include "oauth/server.h"

namespace turnpike::hosts::oauth_server {

// The objects that the handlers use; all outlive the host.
struct OauthRooms {
  oauth::Server& server;
  const account::PooledPeople& people;
  ClientDocuments& documents;
};

std::span<const Route<OauthRooms>> oauth_routes() noexcept;

}  // namespace turnpike::hosts::oauth_server

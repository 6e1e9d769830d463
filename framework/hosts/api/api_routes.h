// The table of the API host's routes, and the part of the OpenAPI document that follows from it.
// Constants and pure functions; any Thread.
#pragma once

#include <span>
#include <string_view>

#include "hosts/account_reads.h"
#include "hosts/api/gateway_call.h"
#include "hosts/api/plugin_intake.h"
#include "hosts/api/public_routes.h"
#include "hosts/route.h"

namespace turnpike::hosts::api {

// The objects that the handlers use; all outlive the host.
struct ApiRooms {
  const PublicRoutes& public_routes;
  const AccountReads& account;
  GatewayCalls& calls;
  PluginIntake& intake;
};

std::span<const Route<ApiRooms>> api_routes() noexcept;

// Returns the OpenAPI document without the routes of the registry, as JSON; valid as long as the
// process.
std::string_view api_openapi_frame();

// The same document without any route.
std::string_view openapi_components() noexcept;

}  // namespace turnpike::hosts::api

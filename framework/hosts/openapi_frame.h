// The fixed part of the OpenAPI document: the routes of a host's table with the schemas that they
// refer to. catalog/openapi.h adds the routes of the registry. Pure function; any Thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "hosts/route.h"

namespace turnpike::hosts {

// `components`: an OpenAPI document without paths, as JSON.
std::string openapi_frame(std::string_view components, std::span<const RouteFacts* const> routes);

}  // namespace turnpike::hosts

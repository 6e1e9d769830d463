// Router: which endpoint a path names. The fixed routes are few and known; everything below
// /v1/gateway/ belongs to the registry. Pure functions over raw paths; any Thread.
#pragma once

#include <string_view>

#include "hosts/endpoint.h"

namespace turnpike::hosts::api {

struct Routed {
  Endpoint endpoint = Endpoint::none;
  std::string_view parameter;  // the one variable segment, raw; of reference the file's name
};

Routed route(std::string_view path) noexcept;

// Value of Allow: what the endpoint answers, for the fixed ones.
std::string_view allowed_methods(Endpoint endpoint) noexcept;

}  // namespace turnpike::hosts::api

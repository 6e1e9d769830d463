#include "hosts/api/router.h"

#include <array>

namespace turnpike::hosts::api {

namespace {

struct FixedRoute {
  std::string_view before;  // up to the variable segment, or the whole path
  std::string_view after;   // behind it
  bool has_parameter;
  Endpoint endpoint;
};

constexpr std::array<FixedRoute, 16> fixed_routes = {{
    {"/healthz", "", false, Endpoint::health},
    {"/readyz", "", false, Endpoint::readiness},
    {"/version", "", false, Endpoint::version},
    {"/openapi.json", "", false, Endpoint::openapi},
    {"/reference", "", false, Endpoint::reference},
    {"/reference/", "", true, Endpoint::reference},
    {"/v1/capabilities", "", false, Endpoint::capabilities},
    {"/v1/capabilities/", "", true, Endpoint::capability},
    {"/v1/operation-pricing-inventory", "", false, Endpoint::inventory},
    {"/v1/auth/context", "", false, Endpoint::auth_context},
    {"/v1/billing-accounts/", "/credit-balance", true, Endpoint::credit_balance},
    {"/v1/billing-accounts/", "/billing", true, Endpoint::billing},
    {"/v1/billing-accounts/", "/usage", true, Endpoint::usage},
    {"/v1/calls/", "", true, Endpoint::call},
    {"/v1/billing-accounts/", "/free-quotas", true, Endpoint::free_quotas},
    {"/.well-known/", "", true, Endpoint::well_known},
}};

}  // namespace

Routed route(std::string_view path) noexcept {
  if (path.starts_with("/v1/gateway/")) return {Endpoint::gateway, {}};
  for (const FixedRoute& fixed : fixed_routes) {
    if (!fixed.has_parameter) {
      if (path == fixed.before) return {fixed.endpoint, {}};
      continue;
    }
    if (path.size() <= fixed.before.size() + fixed.after.size()) continue;
    if (!path.starts_with(fixed.before) || !path.ends_with(fixed.after)) continue;
    const std::string_view parameter =
        path.substr(fixed.before.size(), path.size() - fixed.before.size() - fixed.after.size());
    if (parameter.find('/') == parameter.npos) return {fixed.endpoint, parameter};
  }
  return {};
}

std::string_view allowed_methods(Endpoint endpoint) noexcept {
  switch (endpoint) {
    case Endpoint::gateway:
      return "GET, POST, OPTIONS";
    case Endpoint::auth_context:
    case Endpoint::credit_balance:
    case Endpoint::billing:
    case Endpoint::usage:
    case Endpoint::call:
    case Endpoint::free_quotas:
      return "GET, OPTIONS";
    default:
      return "GET, HEAD, OPTIONS";
  }
}

}  // namespace turnpike::hosts::api

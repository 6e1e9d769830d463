#include "hosts/api/router.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace turnpike::hosts::api {
namespace {

TEST(RouterTest, FindsEveryEndpoint) {
  struct Case {
    std::string path;
    Endpoint endpoint;
    std::string parameter;
  };
  const std::vector<Case> cases = {
      {"/healthz", Endpoint::health, ""},
      {"/readyz", Endpoint::readiness, ""},
      {"/version", Endpoint::version, ""},
      {"/openapi.json", Endpoint::openapi, ""},
      {"/reference", Endpoint::reference, ""},
      {"/reference/swagger-ui.css", Endpoint::reference, "swagger-ui.css"},
      {"/v1/capabilities", Endpoint::capabilities, ""},
      {"/v1/capabilities/route-1", Endpoint::capability, "route-1"},
      {"/v1/operation-pricing-inventory", Endpoint::inventory, ""},
      {"/v1/auth/context", Endpoint::auth_context, ""},
      {"/v1/billing-accounts/acc_1/credit-balance", Endpoint::credit_balance, "acc_1"},
      {"/v1/billing-accounts/acc_1/billing", Endpoint::billing, "acc_1"},
      {"/v1/billing-accounts/acc_1/usage", Endpoint::usage, "acc_1"},
      {"/v1/calls/019a", Endpoint::call, "019a"},
      {"/v1/billing-accounts/acc_1/free-quotas", Endpoint::free_quotas, "acc_1"},
      {"/v1/gateway/govdata/global/v1/daos", Endpoint::gateway, ""},
      {"/v1/gateway/", Endpoint::gateway, ""},
  };
  for (const Case& one : cases) {
    const Routed routed = route(one.path);
    EXPECT_EQ(routed.endpoint, one.endpoint) << one.path;
    EXPECT_EQ(routed.parameter, one.parameter) << one.path;
  }
}

TEST(RouterTest, NothingElseIsARoute) {
  for (const std::string path : {"",
                                 "/",
                                 "*",
                                 "/healthz/",
                                 "//healthz",
                                 "/Healthz",
                                 "/v1",
                                 "/v1/",
                                 "/v1/gateway",
                                 "/v1/capabilities/",
                                 "/v1/capabilities/a/b",
                                 "/v1/billing-accounts//credit-balance",
                                 "/v1/billing-accounts/credit-balance",
                                 "/v1/billing-accounts/billing",
                                 "/v1/billing-accounts//usage",
                                 "/v1/billing-accounts/a/usage/m",
                                 "/v1/billing-accounts/a/b/credit-balance",
                                 "/v1/billing-accounts/a/credit-balance/",
                                 "/v1/auth/context/",
                                 "/reference/",
                                 "/reference/a/b",
                                 "/v1/calls",
                                 "/v1/calls/",
                                 "/v1/calls/a/b",
                                 "/v2/capabilities",
                                 "/openapi.json.bak"}) {
    EXPECT_EQ(route(path).endpoint, Endpoint::none) << path;
  }
}

TEST(RouterTest, EveryEndpointHasANameAndMethods) {
  for (std::size_t endpoint = 0; endpoint < endpoint_count; ++endpoint) {
    EXPECT_FALSE(name_of(static_cast<Endpoint>(endpoint)).empty());
    EXPECT_NE(allowed_methods(static_cast<Endpoint>(endpoint)).find("GET"), std::string::npos);
  }
  EXPECT_EQ(name_of(Endpoint::gateway), "gateway");
  EXPECT_EQ(name_of(Endpoint::capability), "capability");
}

}  // namespace
}  // namespace turnpike::hosts::api

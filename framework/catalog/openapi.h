// The OpenAPI 3.1 document: the fixed public and account routes, and every callable operation of
// the program. Internal to catalog/; a pure function of its arguments, safe on any Thread; its cost
// grows with the number of operations, so large programs are rendered away from the loops.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "catalog/features.h"
#include "catalog/readiness.h"
#include "registry/generation.h"

namespace turnpike::catalog {

struct OpenApiInput {
  const registry::Program& program;
  const registry::Generation& generation;
  const ReadinessSource& readiness;
  std::string_view frame;     // fixed routes and schemas, as JSON
  std::string_view service_name;  // the API's title; empty: that of the frame
  std::string_view base_url;      // without a trailing slash
  Features features;
  int (*http_status)(base::ErrorCode) noexcept;  // the status table of the API host
};

std::string openapi_text(const OpenApiInput& input);

}  // namespace turnpike::catalog

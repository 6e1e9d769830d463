// The one table from error codes to HTTP statuses. Pure functions; any Thread.
#pragma once

#include "base/error.h"

namespace turnpike::hosts {

int http_status(base::ErrorCode code) noexcept;

// The same for a call of a route of the registry: a body outside of what the route takes is 400
// there, whatever is wrong with it (docs/interface.md, "Errors").
int call_status(base::ErrorCode code) noexcept;

}  // namespace turnpike::hosts

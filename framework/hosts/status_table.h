// The one table from error codes to HTTP statuses; lanes give the statuses of their own codes. Pure
// functions; any Thread.
#pragma once

#include "base/error.h"

namespace turnpike::hosts {

int http_status(base::ErrorCode code) noexcept;

// The status of an error on a gateway route: as above, except that a body that the route does not
// take is always 400 (docs/interface.md, "Errors").
int call_status(base::ErrorCode code) noexcept;

}  // namespace turnpike::hosts

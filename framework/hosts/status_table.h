// The one table from error codes to HTTP statuses. A pure function; any Thread.
#pragma once

#include "base/error.h"

namespace turnpike::hosts {

int http_status(base::ErrorCode code) noexcept;

}  // namespace turnpike::hosts

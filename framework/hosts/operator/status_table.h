// The one table from error codes to HTTP statuses on the operator host. A pure function; any
// Thread.
#pragma once

#include "base/error.h"

namespace turnpike::hosts::operators {

int http_status(base::ErrorCode code) noexcept;

}  // namespace turnpike::hosts::operators

// The fields RateLimit-Policy and RateLimit, in the form of
// draft-ietf-httpapi-ratelimit-headers-11. Partition keys are omitted, so that the fields reveal
// neither the account nor the bucket. Pure functions; any Thread.
#pragma once

#include <optional>
#include <string>

#include "quota/limits.h"

namespace turnpike::lanes {

// "window";q=60;w=60, "concurrency";q=4;qu="concurrent-requests"
std::string rate_limit_policy(const quota::Limits& limits);

// "window";r=59;t=42, ... of all limits; for a refused request, of the exhausted limits only, so
// that no `t` is later than its Retry-After.
std::string rate_limit(const quota::Limits& limits, const quota::Standing& standing,
                       std::optional<quota::Limit> refused_by);

}  // namespace turnpike::lanes

// The upstream that verifies runtime upgrades. What takes time for each byte runs on the gateway's
// pool, what asks nodes suspends the call's fiber. Owned by the host; any Thread.
#pragma once

#include <memory>

#include <turnpike/provider.h>

#include "substrate/configuration.h"

namespace turnpike::substrate {

// `host` outlives it.
std::unique_ptr<Upstream> make_upstream(Configuration configuration, Host& host);

}  // namespace turnpike::substrate

// The upstream that verifies runtime upgrades. For long requests, work on the bytes runs on the
// gateway's blocking pool. Requests to nodes suspend the call's fiber. Owned by the host; any
// Thread may call it.
#pragma once

#include <memory>

#include <turnpike/provider.h>

#include "substrate/configuration.h"

namespace turnpike::substrate {

// `host` must outlive the result.
std::unique_ptr<Upstream> make_upstream(Configuration configuration, Host& host);

}  // namespace turnpike::substrate

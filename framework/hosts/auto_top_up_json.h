// The bodies of Auto Top-Up and of payment-method setups (docs/interface.md, "Auto Top-Up"). Pure
// functions; any Thread.
#pragma once

#include <string>

#include "commerce/auto_top_up_store.h"

namespace turnpike::hosts {

// The body of one revision. A revision never changes.
std::string policy_body(const commerce::Policy& policy);
// The newest revision and its current state.
std::string auto_top_up_body(const commerce::AutoTopUp& seen);
std::string setup_body(const commerce::MethodSetup& setup);

}  // namespace turnpike::hosts

// Opens the configured database, for the gateway and for tools beside it. Called once by main()'s
// Thread; the Node's owner decides which Threads use it.
#pragma once

#include <memory>
#include <string>

#include <turnpike/result.h>

#include "app/config/config.h"
#include "identity/account_store.h"
#include "storage/node.h"

namespace turnpike::app {

storage::Settings storage_settings(const Config& config);
identity::StarterGrant starter_grant(const Config& config);

// Migrates first if the configuration allows it. The error is a sentence for the operator.
Result<std::unique_ptr<storage::Node>, std::string> open_node(const Config& config,
                                                              storage::Role role,
                                                              const Clock& clock, Random& random);

}  // namespace turnpike::app

// Accounts as rows, for the stores in whose transactions one is made.
//
// Private to storage/; used by the Thread that has the transaction.
#pragma once

#include <optional>
#include <string_view>

#include "identity/account_store.h"
#include "storage/stores.h"

namespace turnpike::storage {

// An account that is provisioning, with its founder as owner, if there is one.
Result<identity::Account, base::Error> insert_account_as(
    const Context& context, Transaction& transaction, std::string_view name,
    std::string_view owner, const std::optional<identity::Founder>& founder);

}  // namespace turnpike::storage

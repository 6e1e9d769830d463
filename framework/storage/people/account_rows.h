// Account rows, for the stores that create an account in their transactions.
//
// Private to storage/; used by the Thread that runs the transaction.
#pragma once

#include <optional>
#include <string_view>

#include "identity/account_store.h"
#include "storage/stores.h"

namespace turnpike::storage {

// Inserts a provisioning account, with its founder, if given, as owner.
Result<identity::Account, base::Error> insert_account_as(
    const Context& context, Transaction& transaction, std::string_view name,
    std::string_view owner, const std::optional<identity::Founder>& founder);

}  // namespace turnpike::storage

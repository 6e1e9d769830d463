// Grants of OAuth clients as rows, for stores whose changes end grants.
//
// Private to storage/; used by the Thread that runs the transaction.
#pragma once

#include <string_view>

#include "storage/stores.h"

namespace turnpike::storage {

// Ends the grants of a person in an account, or in all accounts if `account_id` is empty, and
// notifies every node. `reason`: a word for the operator.
void end_grants_of(const Context& context, Transaction& transaction, std::string_view person_id,
                   std::string_view account_id, std::string_view reason);

}  // namespace turnpike::storage
